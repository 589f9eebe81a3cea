"""Telemetry with OpenTelemetry; imported only if configured, because the import is slow."""
