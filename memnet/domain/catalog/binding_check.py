"""Check a profile's bindings: each covers one document or family of documents, and no two overlap."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from memnet.domain.catalog.document_family import DocumentFamily
from memnet.domain.catalog.path_policy import ROOT, check_content
from memnet.domain.catalog.profile import Binding, Profile
from memnet.domain.catalog.schema import Schema
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import FieldDenied, InvalidIdentifier
from memnet.domain.core.identifiers import MAX_PATH, MAX_SEGMENT, SEGMENT, check_path
from memnet.domain.core.problem import Problem

VARIABLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}", re.ASCII)
SAMPLE = "x"
"""Stands for the variable's value where a template's own characters are checked."""
PATH_REASON = f"is not 1 to 8 segments of {SEGMENT.pattern} joined by '/', {MAX_PATH} characters at most"


def check_bindings(profile: Profile) -> Iterator[Problem]:
    """Yield what is wrong with the bindings by themselves."""
    for at, binding in located(profile):
        yield from check_family(at, binding)
    for (first, a), (second, b) in combinations(located(profile), 2):
        if a.binding_id == b.binding_id:
            yield Problem(f"{second}/binding_id", f"is the binding_id of {first} already")
        if overlap(a, b):
            name = "path" if b.path is not None else "path_template"
            yield Problem(f"{second}/{name}", f"covers a document of {first}: one document, one binding")


def located(profile: Profile) -> list[tuple[str, Binding]]:
    """The bindings and their pointers."""
    return [(f"/document_bindings/{i}", binding) for i, binding in enumerate(profile.document_bindings)]


def check_family(at: str, binding: DocumentFamily) -> Iterator[Problem]:
    """Yield what is wrong with the path or the template; `at` is the pointer of what holds them."""
    if (binding.path is None) == (binding.path_template is None):
        yield Problem(at, "needs a path or a path_template" if binding.path is None else "has path and path_template")
    if binding.path is not None and not _is_path(binding.path):
        hint = "; a variable belongs in path_template" if {"{", "}"} & set(binding.path) else ""
        yield Problem(f"{at}/path", PATH_REASON + hint)
    if binding.path_template is not None:
        yield from _check_template(f"{at}/path_template", binding.path_template)


def _check_template(at: str, template: str) -> Iterator[Problem]:
    variables = VARIABLE.findall(template)
    rest = VARIABLE.sub(SAMPLE, template)
    if {"{", "}"} & set(rest):
        yield Problem(at, "has a brace that is not part of a {variable}; a variable is letters, digits and _")
    elif len(variables) != 1:
        yield Problem(at, f"needs exactly one {{variable}}, has {len(variables)}")
    elif not _is_path(rest):
        yield Problem(at, PATH_REASON)
    elif _longest(template) > MAX_PATH:
        yield Problem(at, f"makes paths of more than {MAX_PATH} characters when its variable is long")


def _longest(template: str) -> int:
    """The length of the longest path that the template makes: its variable fills up its segment."""
    return len("/".join("x" * MAX_SEGMENT if VARIABLE.search(part) else part for part in template.split("/")))


def _is_path(text: str) -> bool:
    try:
        check_path(text)
    except InvalidIdentifier:
        return False
    return True


def overlap(a: DocumentFamily, b: DocumentFamily) -> bool:
    """Whether some document belongs to both. False where a path is broken: that is another problem."""
    if a.namespace != b.namespace:
        return False
    mine, yours = _segments(a), _segments(b)
    return len(mine) == len(yours) > 0 and all(_meet(m, y) for m, y in zip(mine, yours, strict=True))


def _segments(binding: DocumentFamily) -> list[tuple[str, ...]]:
    """Each segment of the path: (text,) or, with the variable in it, (before, after)."""
    text = binding.path if binding.path_template is None else binding.path_template
    if text is None or len(VARIABLE.findall(text)) > 1 or not _is_path(VARIABLE.sub(SAMPLE, text)):
        return []
    return [tuple(VARIABLE.split(segment)[::2]) for segment in text.split("/")]


def _meet(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether one segment can be both."""
    if len(a) == len(b) == 1:
        return a == b
    if len(a) == 1:
        return _fits(a[0], b)
    if len(b) == 1:
        return _fits(b[0], a)
    before, after = max(a[0], b[0], key=len), max(a[1], b[1], key=len)
    shortest = before + SAMPLE + after
    return _fits(shortest, a) and _fits(shortest, b)


def _fits(text: str, template: tuple[str, ...]) -> bool:
    before, after = template
    value = text[len(before) : len(text) - len(after)]
    return text == before + value + after and SEGMENT.fullmatch(value) is not None


def check_contents(profile: Profile, schemas: Mapping[str, Schema]) -> Iterator[Problem]:
    """Yield what keeps a binding's `initial_content` from being written; `schemas` are by binding_id."""
    for at, binding in located(profile):
        if binding.initial_content is not None and binding.binding_id in schemas:
            problems = _check_content(profile, binding, schemas[binding.binding_id])
            yield from (Problem(f"{at}/initial_content{p.pointer}", p.reason) for p in problems)


def _check_content(profile: Profile, binding: Binding, schema: Schema) -> Iterator[Problem]:
    content = binding.initial_content or {}
    for violation in schema.violations(content):
        yield Problem(violation.pointer, violation.message)
    size = len(canonical(content).decode())
    if size > binding.max_chars:
        yield Problem("", f"has {size} characters, more than its max_chars {binding.max_chars}")
    for name, allowed in profile.array_limits(binding.binding_id).items():
        section = content.get(name)
        if isinstance(section, Sequence) and not isinstance(section, str) and len(section) > allowed:
            yield Problem(f"/{name}", f"has {len(section)} items, more than max_{name} {allowed}")
    try:
        check_content(content, profile.denied)
    except FieldDenied as error:
        yield Problem(str(error.details["path"]).removeprefix(f"/{ROOT}"), "is one of denied_fields")
