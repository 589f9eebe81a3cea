"""Every operation of the OpenAPI document, including new ones, and how to call each with a body that nothing reads."""

import httpx
from fastapi import FastAPI

VALUES = {
    "tenant_id": "t1",
    "user_id": "u1",
    "namespace": "user",
    "path": "user_dynamic.json",
    "conversation_id": "c_1",
    "snapshot_id": "s_1",
    "replay_id": "rpl-1",
    "conflict_id": "cfl-1",
    "pending_id": "p-1",
    "profile_id": "project-copilot-v1",
    "schema_id": "memory.project",
    "schema_version": "1.0.0",
    "erasure_id": "e-1",
    "retraction_id": "rtr-1",
}
WITHOUT_TENANT = {"list_profiles", "get_profile", "get_schema", "get_statistics", "get_me"}
"""Operations without a tenant in the path."""
OF_PERSONS = {"get_me"}
"""Operations of signed-in users alone."""


def operations(app: FastAPI) -> list[tuple[str, str, str]]:
    """Every (method, path, operation id) below /v1 that requires a token."""
    return [
        (method.upper(), path, operation["operationId"])
        for path, methods in app.openapi()["paths"].items()
        for method, operation in methods.items()
        if path.startswith("/v1/") and operation.get("security") != []
    ]


def of_services(app: FastAPI) -> list[tuple[str, str, str]]:
    """Those of them that the token of a service reaches."""
    return [row for row in operations(app) if row[2] not in OF_PERSONS]


def of_tenants(app: FastAPI) -> list[tuple[str, str, str]]:
    """Those of them that concern a tenant."""
    return [row for row in operations(app) if row[2] not in WITHOUT_TENANT]


async def call(client: httpx.AsyncClient, method: str, path: str, **values: str) -> httpx.Response:
    return await client.request(method, path.format(**(VALUES | values)), content=b"{not json")
