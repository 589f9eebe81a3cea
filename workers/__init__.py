"""The background work, as Azure Functions on Service Bus queues and timers; function_app.py has every trigger."""
