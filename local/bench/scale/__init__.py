"""Seeds many users and measures the timers: their storage calls, processor time, and cost at list prices."""
