"""Check the shape of a document's content: its schema, and how many entries its arrays may have."""

from collections.abc import Sequence

import orjson

from memnet.domain.catalog.catalog import WriteRules
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.schema import Schema
from memnet.domain.core import json_patch
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import LimitExceeded, SchemaViolation
from memnet.domain.core.json_patch import Op, Operation
from memnet.domain.core.scope import Json
from memnet.domain.core.violations import Violations


def check_shape(content: Json, rules: WriteRules, before: Json, ops: Sequence[Operation]) -> None:
    """Check the content that the operations make of `before`. Raises SchemaViolation, LimitExceeded."""
    violations = rules.schema.violations(content)
    if violations:
        raise _violated(violations, rules.schema, ops)
    for name, allowed in rules.profile.array_limits(rules.binding.binding_id).items():
        found, had = _length(content, name), _length(before, name)
        # An array over the limit (a stricter profile, or another one wrote it) may stay the same.
        if found > allowed and (found > had or (found == had and canonical(content[name]) != canonical(before[name]))):
            path = f"/{ROOT}/{name}"
            message = f"{path} would have {found} items, and the profile allows {allowed}."
            raise LimitExceeded(
                message, param=_param(path, ops), limit=f"max_{name}", allowed=allowed, found=found, path=path
            )


def check_proposed(asked: Sequence[Op], rules: WriteRules, before: Json, ops: Sequence[Operation]) -> None:
    """Check statements that are only proposed: an answer has to be able to write them into the content `before`.

    Raises SchemaViolation.
    """
    if asked:
        content = json_patch.apply({ROOT: orjson.loads(canonical(before))}, orjson.loads(canonical(list(asked))))[ROOT]
        violations = rules.schema.violations(content)
        if violations:
            raise _violated(violations, rules.schema, ops)


def _violated(violations: Violations, schema: Schema, ops: Sequence[Operation]) -> SchemaViolation:
    """Return the refusal; its message names the first violation."""
    first, others = violations[0], violations.total - 1
    path = f"/{ROOT}{first.pointer}"
    more = {0: "", 1: " details.violations has one more."}.get(others, f" details.violations has {others} more.")
    needed = schema.required(first.pointer)
    members = f" Its required members are {', '.join(needed)}." if needed else ""
    return SchemaViolation(
        f"{path} {first.message}.{more}",
        param=_param(path, ops),
        hint=f"Correct the value.{members} GET /v1/schemas/{schema.schema_id}/{schema.version} returns the schema.",
        **violations.details(f"/{ROOT}"),
        schema_id=schema.schema_id,
        schema_version=schema.version,
        expected=needed,
    )


def _param(path: str, ops: Sequence[Operation]) -> str:
    """Return the value in the body that the place in the document comes from: of the last operation that wrote it."""
    place = json_patch.pointer(path)
    for index, op in reversed(list(enumerate(ops))):
        if op.verb != "test" and all(a in (b, "-") for a, b in zip(op.path, place, strict=False)):
            return f"/ops/{index}/value" if op.verb in ("add", "replace") else f"/ops/{index}"
    return "/ops" if ops else f"/document{path}"


def _length(content: Json, name: str) -> int:
    section = content.get(name) if isinstance(content, dict) else None
    return len(section) if isinstance(section, list) else 0
