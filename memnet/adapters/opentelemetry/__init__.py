"""Telemetry by OpenTelemetry; imported only where it is configured, for it takes a while."""
