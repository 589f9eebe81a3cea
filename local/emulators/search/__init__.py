"""An emulator of Azure AI Search: a pure engine, SQLite below it, a thin ASGI shell above it.

`python -m local.emulators.search` starts it; README.md says what it supports.
"""
