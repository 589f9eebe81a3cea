"""Parameter files have only parameters of the template, and all that it requires."""

from collections.abc import Iterator

from local.infra_check.finding import Finding
from local.infra_check.symbols import check_argument, is_needed
from local.infra_check.syntax import Source, literal, parts
from local.infra_check.values import Scope


def check_parameters(source: Source) -> Iterator[Finding]:
    """Return findings about one .bicepparam file."""
    using = next((node for node in parts(source.root) if node.type == "using_statement"), None)
    path = literal(parts(using)[0]) if using is not None else None
    target = source.tree.sources.get(source.resolve(path)) if path else None
    if target is None:
        yield Finding(source.name, 1, "no-such-file", f"the template {path} does not exist")
        return
    wanted = {param.name: param for param in target.of("param")}
    given = {one.name: one for one in source.of("var")}
    for name, one in given.items():
        if name not in wanted:
            yield Finding(source.name, one.line, "unknown-parameter", f"{path} has no parameter {name}")
        elif one.value is not None:
            yield from check_argument(source, name, one.value, wanted[name], Scope(source))
    for name in [name for name, param in wanted.items() if is_needed(param) and name not in given]:
        yield Finding(source.name, 1, "missing-parameter", f"{path} needs the parameter {name}")
