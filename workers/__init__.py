"""The work behind the API: Azure Functions on Service Bus queues and timers; function_app.py holds every trigger."""
