"""The cache of Azure's schemas: made from what Microsoft's program answers, and only what is used is kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from local.infra_check import refresh, schemas
from local.infra_check.check import check, resource_types
from local.infra_check.tree import Tree
from tests.infra.planting import STORAGE, planted

KIND = "Microsoft.Test/things"
ANSWER: list[dict[str, Any]] = [
    {
        "$type": "Resource",
        "name": f"{KIND}@2025-01-01",
        "bodyType": {
            "$type": "Object",
            "name": KIND,
            "properties": [
                {"name": "name", "type": "string", "flags": "Required, DeployTimeConstant", "description": "long"},
                {"name": "id", "type": "string", "flags": "ReadOnly, DeployTimeConstant"},
                {"name": "parts", "type": "Part[]"},
            ],
        },
    },
    {
        "$type": "Object",
        "name": "Part",
        "properties": [{"name": "size", "type": "int"}, {"name": "far", "type": "Far"}],
    },
    {"$type": "Object", "name": "Far", "properties": [], "additionalPropertiesType": "string"},
    {"$type": "Object", "name": "Elsewhere", "properties": []},
    {
        "$type": "DiscriminatedObject",
        "name": "Choice",
        "discriminator": "kind",
        "baseProperties": [{"name": "name", "type": "string"}],
        "elements": [{"$type": "Object", "properties": [{"name": "kind", "type": "one", "flags": "Required"}]}],
    },
]


def test_a_response_becomes_a_schema() -> None:
    schema = refresh.convert(KIND, ANSWER)
    assert (schema.version, schema.body) == ("2025-01-01", "resource")
    assert schema.properties("resource") == {"name": ["string", "R"], "id": ["string", "O"], "parts": ["Part[]"]}
    assert schema.others("Far") == "string"
    assert schema.variant("Choice", "one") == "Choice:one"
    assert schema.variant("Choice", "two") is None


def test_unused_types_are_named_without_their_properties() -> None:
    schema = refresh.convert(KIND, ANSWER)
    schema.properties("resource")
    schema.properties("Part")
    kept = json.loads(schemas.dump(schema))
    assert kept["types"].keys() == {"resource", "Part", "Far"}
    assert kept["types"]["Far"] is None


def test_a_used_type_without_properties_is_a_finding() -> None:
    edit = (STORAGE, "accessTier: 'Hot'", "sasPolicy: { sasExpirationPeriod: '1.0:0:0' }")
    (finding,) = check(planted(edit))
    assert (finding.code, "refresh it" in finding.message) == ("schema-missing", True)


def test_exactly_the_used_types_are_cached() -> None:
    cached = {path.name for path in schemas.DIRECTORY.iterdir()}
    assert cached == {schemas.file_name(kind) for kind in resource_types(Tree())}


def test_only_a_type_without_a_stable_version_is_a_preview() -> None:
    found = {kind: schemas.load_schema(kind) for kind in resource_types(Tree())}
    previews = {kind for kind, schema in found.items() if schema is not None and "preview" in schema.version}
    assert previews == {"Microsoft.Insights/diagnosticSettings"}


def test_an_unknown_type_is_reported(tmp_path: Path) -> None:
    program = tmp_path / "azmcp"
    program.write_text("#!/bin/sh\necho no\n")
    program.chmod(0o755)
    with pytest.raises(ValueError, match=KIND):
        refresh.fetch(str(program), KIND)


def test_the_program_runs_without_telemetry(tmp_path: Path) -> None:
    answer = json.dumps({"results": {"BicepSchemaResult": ANSWER}})
    program = tmp_path / "azmcp"
    program.write_text(f"#!/bin/sh\n[ \"$AZURE_MCP_COLLECT_TELEMETRY\" = false ] && echo '{answer}'\n")
    program.chmod(0o755)
    assert refresh.fetch(str(program), KIND).version == "2025-01-01"
