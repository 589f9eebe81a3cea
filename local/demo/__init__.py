"""The demo: a conversation of several sessions played against the whole local stack, through the real HTTP API."""
