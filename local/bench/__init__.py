"""Measures the service on a local stack of its own, as ratios to the stock Azure clients in the same run."""
