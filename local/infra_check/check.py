"""All checks of one tree."""

from collections.abc import Iterator

from local.infra_check import snapshots
from local.infra_check.code_consistency import check_code, check_queues
from local.infra_check.cross_checks import check_files
from local.infra_check.exposure import check_keys_refused, check_secrets
from local.infra_check.finding import Finding
from local.infra_check.grants import check_grants
from local.infra_check.network import check_network
from local.infra_check.parameters import check_parameters
from local.infra_check.plan import MAIN, Plan
from local.infra_check.properties import Load, check_resources
from local.infra_check.roles import check_table
from local.infra_check.schemas import load_schema
from local.infra_check.service_settings import check_settings
from local.infra_check.symbols import check_symbols, outside
from local.infra_check.tree import INFRA, Tree
from local.infra_check.values import NoSuchMember


def check(tree: Tree, load: Load = load_schema) -> list[Finding]:
    """Return all findings of a tree by file and line; a difference of several plans counts once."""
    found: dict[object, Finding] = {}
    for finding in findings(tree, load):
        found.setdefault((finding.code, finding.message) if finding.code == snapshots.CODE else finding, finding)
    return sorted(found.values())


def findings(tree: Tree, load: Load = load_schema) -> Iterator[Finding]:
    """Yield the findings one by one, up to the first stage with findings: they would cause others in later stages."""
    for stage in (_syntax(tree), _text(tree, load), _plans(tree)):
        is_clean = True
        try:
            for finding in stage:
                is_clean = False
                yield finding
        except (NoSuchMember, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            yield Finding(MAIN, 1, "not-planned", f"this cannot be evaluated: {type(error).__name__}: {error}")
            return
        if not is_clean:
            return


def resource_types(tree: Tree) -> set[str]:
    """Return the resource types that the templates use."""
    return {declared.target for source in tree.sources.values() for declared in source.of("resource")}


def _syntax(tree: Tree) -> Iterator[Finding]:
    for source in tree.sources.values():
        yield from source.problems
    for name in tree.names(f"{INFRA}/*.json"):
        try:
            tree.json(name)
        except ValueError as error:
            yield Finding(name, getattr(error, "lineno", 1), "syntax", "this is not JSON")


def _text(tree: Tree, load: Load) -> Iterator[Finding]:
    for source in tree.sources.values():
        yield from check_resources(source, load) if source.is_template else check_parameters(source)
        yield from check_symbols(source)
        yield from check_secrets(source)
    yield from check_table(tree)
    yield from check_code(tree)
    yield from check_files(tree)


def _plans(tree: Tree) -> Iterator[Finding]:
    yield from snapshots.compare(tree, snapshots.INTERFACE, snapshots.make_interface(tree))
    reached: set[object] = set()
    for name, plan, content in snapshots.make_plans(tree):
        if plan is not None:
            yield from _invariants(tree, plan)
            reached |= {one.declared.node for one in plan.resources}
        yield from snapshots.compare(tree, name, content)
    for source in tree.sources.values():
        for one in source.of("resource"):
            if not one.existing and one.node not in reached:
                yield Finding(source.name, one.line, "never-deployed", f"no scenario deploys {one.name}")


def _invariants(tree: Tree, plan: Plan) -> Iterator[Finding]:
    yield from check_keys_refused(plan)
    yield from check_network(plan)
    yield from check_grants(tree, plan)
    yield from check_settings(plan)
    yield from check_queues(plan)
    deployed = {one.id for one in plan.resources}
    for one in plan.existing:
        if one.id not in deployed and one.type != "Microsoft.CognitiveServices/accounts":
            yield one.finding("name", "not-deployed", f"nothing deploys the {one.type} {one.name}")
    for one in plan.resources:
        for other in (one.parent, one.on):
            if other is not None and not other.declared.existing and other.id not in deployed:
                yield one.finding("", "not-deployed", f"it is deployed without {other.name}")
    for module in plan.modules:
        for param in module.target.of("param"):
            value = module.world.names[param.name]
            problem = outside(value, param, module.world.scope)
            if problem:
                yield Finding(
                    module.target.name, param.line, "parameter-value", f"{param.name} is {value!r}; {problem}"
                )
