"""An AMQP 1.0 emulator of Azure Service Bus: pure queues, SQLite below them, a thin proton shell above them.

`python -m local.emulators.service_bus` starts it; README.md says what it supports.
"""
