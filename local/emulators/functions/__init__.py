"""A small Azure Functions host for this machine, around Microsoft's own Python worker runtime.

`python -m local.emulators.functions --app workers` indexes the app as in Azure, takes messages from Service Bus with
the stock SDK, and fires timers. What it does of a host: Service Bus queue triggers (with and without sessions),
Service Bus outputs, timers, the settings of host.json that concern them, `POST /admin/functions/{name}`.
"""
