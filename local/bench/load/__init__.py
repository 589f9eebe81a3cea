"""Puts a mixed load on a local stack of its own: how fast, how many failures, what grows, and what is the limit.

Not locust: its clients, on gevent and requests, take more processor time per call than the service, so that on one
machine they would be what is measured. The clients here are those of `local.bench`, which cost next to nothing.
"""
