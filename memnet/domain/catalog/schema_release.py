"""Check that the examples of a schema hold, and that released versions never change."""

from collections.abc import Collection, Iterator, Mapping

from memnet.domain.catalog.schema import Schema
from memnet.domain.core.json_patch import pointer_text
from memnet.domain.core.problem import Problem
from memnet.domain.core.scope import Json

VERDICTS = ("valid", "invalid")


def check_examples(examples: Json, schema: Schema) -> Iterator[Problem]:
    """Yield where the schema's judgement differs from {"valid": [contents], "invalid": [contents]}."""
    if not isinstance(examples, dict) or not all(
        name in VERDICTS and isinstance(rows, list) for name, rows in examples.items()
    ):
        yield Problem("", 'must be {"valid": [...], "invalid": [...]}')
        return
    for index, content in enumerate(examples.get("valid", ())):
        for violation in schema.violations(content):
            yield Problem(f"/valid/{index}{violation.pointer}", f"the schema refuses it: {violation.message}")
    for index, content in enumerate(examples.get("invalid", ())):
        if not schema.violations(content):
            yield Problem(f"/invalid/{index}", "the schema takes it")


def check_released(
    released: Mapping[str, str],
    digests: Mapping[str, str],
    unusable: Collection[str] = (),
    *,
    kind: str = "schema",
    stays: bool = True,
) -> Iterator[Problem]:
    """Yield each released version that changed or is gone; `unusable` ones have been reported already.

    `kind` is what the problem calls them. `stays`: every released version has to be there; of a profile, only the
    newest one is.
    """
    for name, digest in released.items():
        if name in unusable or (name not in digests and not stays):
            continue
        if name not in digests:
            yield Problem(pointer_text([name]), f"is released but there is no such {kind} version")
        elif digests[name] != digest:
            yield Problem(pointer_text([name]), "is released and was changed since: make it a new version")


def release(released: Mapping[str, str], digests: Mapping[str, str]) -> dict[str, str]:
    """The released versions and, added, those that are not yet; an entry is never changed."""
    return {**digests, **released}
