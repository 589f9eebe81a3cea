"""Measures the service on a local stack of its own, as ratios to the plain storage client in the same run."""
