"""Fetch the schemas again: `python -m local.infra_check.refresh AZMCP [RESOURCE_TYPE ...]`.

AZMCP is the program `azmcp` of Microsoft's npm package `@azure/mcp-linux-x64`. It contains Bicep's own type definitions
and needs no network. Without a type, all types of the templates are fetched. The cached API version becomes the newest
that the program knows, so raise it in the templates, too. Types with another source are skipped: the program does not
contain them, and they were written from the definitions in Microsoft's repository Azure/bicep-types-az.
"""

import json
import os
import subprocess
import sys
from typing import Any

from local.infra_check import schemas
from local.infra_check.check import check, resource_types
from local.infra_check.tree import Tree

SOURCE = "azmcp bicepschema"


def fetch(program: str, resource_type: str) -> schemas.Schema:
    """Return the schema that the program has. Raises ValueError if it does not know the type."""
    environment = {**os.environ, "AZURE_MCP_COLLECT_TELEMETRY": "false", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}
    command = [program, "bicepschema", "get", "--resource-type", resource_type]
    answer = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    try:
        found = json.loads(answer.stdout)["results"]["BicepSchemaResult"]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{resource_type} is unknown to {program}") from None
    return convert(resource_type, found)


def convert(resource_type: str, found: list[dict[str, Any]]) -> schemas.Schema:
    """Convert the program's response to a cached schema."""
    resource = next(entry for entry in found if entry["$type"] == "Resource")
    types: dict[str, Any] = {}
    _add(types, "resource", resource["bodyType"])
    for entry in found:
        if entry["$type"] in ("Object", "DiscriminatedObject"):
            _add(types, entry["name"], entry)
    version = resource["name"].partition("@")[2]
    return schemas.Schema(resource_type, version, SOURCE, "resource", types)


def _add(types: dict[str, Any], name: str, entry: dict[str, Any]) -> None:
    if entry["$type"] == "DiscriminatedObject":
        variants = {}
        for element in entry["elements"]:
            described = _properties([*entry["baseProperties"], *element["properties"]])
            word = described[entry["discriminator"]][0]
            variants[word] = f"{name}:{word}"
            types[f"{name}:{word}"] = {"properties": described}
        types[name] = {"discriminator": entry["discriminator"], "variants": variants}
        return
    types[name] = {"properties": _properties(entry.get("properties") or [])}
    if entry.get("additionalPropertiesType"):
        types[name]["others"] = entry["additionalPropertiesType"]


def _properties(entries: list[dict[str, Any]]) -> dict[str, list[str]]:
    return {entry["name"]: [entry["type"], *_flags(entry.get("flags", ""))] for entry in entries}


def _flags(written: str) -> list[str]:
    flags = ("R" if "Required" in written else "") + ("O" if "ReadOnly" in written else "")
    return [flags] if flags else []


def main(arguments: list[str]) -> None:
    """Fetch the schemas, and write those types that the templates use."""
    program, *wanted = arguments
    tree = Tree()
    used = set(wanted) or resource_types(tree)
    fetched = {}
    for resource_type in sorted(used):
        cached = schemas.load_schema(resource_type)
        if cached is not None and cached.source != SOURCE:
            print(f"{resource_type} stays as it is: its source is {cached.source}")
            continue
        fetched[resource_type] = fetch(program, resource_type)
    kept = schemas.load_schema
    schemas.load_schema.cache_clear()
    check(tree, lambda resource_type: fetched.get(resource_type) or kept(resource_type))
    for resource_type, schema in fetched.items():
        path = schemas.DIRECTORY / schemas.file_name(resource_type)
        path.write_text(schemas.dump(schema), "utf-8")
        print(f"{resource_type}@{schema.version}")


if __name__ == "__main__":
    main(sys.argv[1:])
