"""A registered schema: one version of what the content of a document may be. JSON Schema, Draft 2020-12."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jsonschema_rs import Draft202012Validator, RegexOptions

from memnet.domain.catalog.schema_additive import ADDITIVE_TO
from memnet.domain.catalog.schema_check import check_schema, registry, schema_uri
from memnet.domain.catalog.schema_shape import Shape
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.problem import Problem
from memnet.domain.core.scope import Json
from memnet.domain.core.violations import Violation, Violations, collect

__all__ = ["InvalidSchema", "Schema", "Violation", "Violations"]


class InvalidSchema(Exception):
    """The schema cannot be used; `problems` says why, all of it."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("; ".join(f"{p.pointer}: {p.reason}" for p in problems))


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """One schema version, compiled. `body` is shared by all who hold it and must not be changed."""

    schema_id: str
    version: str
    body: dict[str, Any]
    digest: str
    """SHA-256 of the canonical body: formatting does not count."""
    _validator: Draft202012Validator = field(repr=False)
    _shape: Shape = field(repr=False)

    @classmethod
    def compile(
        cls, schema_id: str, version: str, body: Json, registered: Mapping[str, Json] | None = None
    ) -> "Schema":
        """Check and compile. `registered` holds, by URI, the bodies it may refer to, themselves free of faults.

        Formats are asserted, patterns run in linear time, and no reference is ever fetched from network or disk.
        Raises InvalidSchema.
        """
        uri = schema_uri(schema_id, version)
        bodies = {**(registered or {}), uri: body}
        problems = check_schema(schema_id, version, body, bodies)
        if problems:
            raise InvalidSchema(problems)
        known = registry(uri, bodies)
        validator = Draft202012Validator(
            body,
            registry=known,
            validate_formats=True,
            ignore_unknown_formats=False,
            pattern_options=RegexOptions(),
            offline=True,
        )
        return cls(schema_id, version, body, sha256_hex(canonical(body)), validator, Shape(known.resolver(uri), body))

    @property
    def additive_to(self) -> str | None:
        """The older version that this one is proven additive to: it takes every content that the older one takes."""
        return self.body.get(ADDITIVE_TO)

    def violations(self, instance: Json) -> Violations:
        """Everything wrong with `instance`, empty if it is valid.

        A valid instance costs microseconds; an invalid one about 10 microseconds a violation, and all of them
        are gathered: bound the size of the instance first.
        """
        if self._validator.is_valid(instance):
            return Violations()
        return collect(list(self._validator.iter_errors(instance)))

    def has(self, pointer: str) -> bool:
        """Whether the schema declares the place; "*" is any segment, "-" the end of an array."""
        return self._shape.has(pointer)

    def has_array(self, pointer: str) -> bool:
        """Whether the value there can only be an array."""
        return self._shape.has_array(pointer)

    def has_number(self, pointer: str) -> bool:
        """Whether the value there can only be a number."""
        return self._shape.has_number(pointer)

    def choices(self, pointer: str) -> list[Json]:
        """The values of the enums at this place; empty if it has none."""
        return self._shape.choices(pointer)
