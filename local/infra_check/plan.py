"""Evaluate the templates with given parameters into the list of deployed resources.

A value that only Azure knows is written as its source, `<resource>#properties.principalId`, so that values passed
between resources can be compared.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from local.infra_check.finding import Finding
from local.infra_check.functions import SUBSCRIPTION, TOKEN
from local.infra_check.syntax import Declaration, Source, line, member
from local.infra_check.tree import Tree
from local.infra_check.values import UNKNOWN, NoSuchMember, Scope, Symbol, evaluate, iterations

MAIN: Final = "infra/main.bicep"
_ADDRESSES: Final[Mapping[str, str]] = {
    "Microsoft.Storage/storageAccounts#properties.primaryEndpoints.blob": "https://{}.blob.core.windows.net/",
    "Microsoft.KeyVault/vaults#properties.vaultUri": "https://{}.vault.azure.net/",
    "Microsoft.ContainerRegistry/registries#properties.loginServer": "{}.azurecr.io",
    "Microsoft.App/managedEnvironments#properties.staticIp": "10.80.1.4",
    "Microsoft.App/managedEnvironments#properties.defaultDomain": "calm-sea.westeurope.azurecontainerapps.io",
}
"""Values of Azure with a known form, by the name of the resource."""


@dataclass(frozen=True)
class Scenario:
    """A parameter file, the environment variables that it reads, and parameters that override the file's."""

    file: str
    environment: Mapping[str, str]
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Resource(Symbol):
    """One resource that is deployed or exists."""

    source: Source
    declared: Declaration
    scope: Scope
    group: str
    """The id of its resource group or subscription."""
    is_made: bool

    @property
    def type(self) -> str:
        """Azure's name of its type."""
        return self.declared.target

    @cached_property
    def body(self) -> dict[str, Any]:
        """The evaluated body."""
        found = evaluate(self.declared.value, self.scope) if self.declared.value is not None else {}
        return found if isinstance(found, dict) else {}

    @cached_property
    def parent(self) -> "Resource | None":
        """The parent resource."""
        found = self._own("parent")
        return found if isinstance(found, Resource) else None

    @cached_property
    def name(self) -> str:
        """The name, with those of its parents before it."""
        own = str(self._own("name"))
        return own if self.parent is None else f"{self.parent.name}/{own}"

    @cached_property
    def on(self) -> "Resource | None":
        """The resource that an extension, such as a role assignment, is deployed on."""
        found = self._own("scope")
        return found if isinstance(found, Resource) else None

    @cached_property
    def id(self) -> str:
        """The resource id."""
        if self.type == "Microsoft.Resources/resourceGroups":
            return f"{self.group}/resourceGroups/{self.name}"
        provider, *words = self.type.split("/")
        pairs = zip(words, self.name.split("/"), strict=False)
        around = self.group if self.on is None else self.on.id
        return f"{around}/providers/{provider}/" + "/".join(f"{word}/{name}" for word, name in pairs)

    def _own(self, name: str) -> Any:
        node = member(self.declared.value, name) if self.declared.value is not None else None
        return None if node is None else evaluate(node, self.scope)

    def pick(self, key: Any) -> Any:
        """Return the member as the files have it, or the source of Azure's value."""
        if key == "id":
            return self.id
        if key == "name":
            return self._own("name")
        return Answer(self, (), self.body).pick(key)

    def at(self, path: str) -> Any:
        """Return the value at a dotted path of the body, as text where only Azure knows it; None if it is absent."""
        found: Any = self.body
        for name in path.split("."):
            if isinstance(found, dict):
                found = found.get(name)
            elif isinstance(found, list) and name.isdigit() and int(name) < len(found):
                found = found[int(name)]
            else:
                return None
        return plain(found)

    def finding(self, path: str, code: str, message: str) -> Finding:
        """Return a finding about the value at a path, with its line."""
        found, place = self.declared.value, self.declared.line
        for name in path.split("."):
            found = member(found, name) if found is not None and found.type == "object" else None
            place = place if found is None else line(found)
        return Finding(self.source.name, place, code, f"{own_name(self)}: {message}")


@dataclass(frozen=True)
class Answer(Symbol):
    """A value below a resource."""

    resource: Resource
    path: tuple[Any, ...]
    known: Any

    def __str__(self) -> str:
        """The source of the value."""
        where = ".".join(map(str, self.path))
        known = _ADDRESSES.get(f"{self.resource.type}#{where}")
        return f"{self.resource.id}#{where}" if known is None else known.format(self.resource.name)

    def __eq__(self, other: object) -> bool:
        """Compare by source."""
        return str(self) == str(other)

    def __hash__(self) -> int:
        """Hash the source."""
        return hash(str(self))

    def pick(self, key: Any) -> Any:
        """Return the member if the files have it, else its source."""
        known = self.known
        if key == "id" and isinstance(known, dict) and self.path and isinstance(self.path[-1], int):
            return f"{self.resource.id}/{self.path[-2]}/{known.get('name')}"
        has = isinstance(known, dict) and key in known
        has = has or (isinstance(known, list) and isinstance(key, int) and key < len(known))
        inner = known[key] if has else None
        if inner is None or isinstance(inner, dict | list):
            return Answer(self.resource, (*self.path, key), inner)
        return inner


@dataclass
class Module(Symbol):
    """A module: a file with values for its parameters."""

    target: Source
    declared: Declaration
    scope: Scope
    is_made: bool

    @cached_property
    def body(self) -> dict[str, Any]:
        """Its name and scope."""
        found = {}
        for name in ("name", "scope"):
            node = member(self.declared.value, name) if self.declared.value is not None else None
            found[name] = None if node is None else evaluate(node, self.scope)
        return found

    @cached_property
    def world(self) -> "World":
        """The evaluated file."""
        node = member(self.declared.value, "params") if self.declared.value is not None else None
        given = evaluate(node, self.scope) if node is not None else {}
        scope = self.body["scope"]
        group = scope.id if isinstance(scope, Resource) else scope["id"] if isinstance(scope, dict) else ""
        outer = (self.scope.world or {}).get("$group", SUBSCRIPTION)
        return World(self.target, given, group or outer)

    def pick(self, key: Any) -> Any:
        """Return its outputs, or a member of its body. Raises NoSuchMember if it is not deployed."""
        if key != "outputs":
            return self.body.get(key)
        if not self.is_made:
            raise NoSuchMember(f"{self.declared.name} is not made here, and its outputs are asked for")
        return Outputs(self.world)


class World:
    """One file with values for its parameters."""

    def __init__(self, source: Source, given: Mapping[str, Any], group: str) -> None:
        """`group` is the id of the resource group or subscription that it deploys into."""
        self.source = source
        self.names: dict[str, Any] = {"$group": group}
        self.scope = Scope(source, world=self.names)
        for param in source.of("param"):
            default = evaluate(param.value, self.scope) if param.value is not None else UNKNOWN
            self.names[param.name] = given.get(param.name, default)
        self.made: list[Resource] = []
        self.modules: list[Module] = []
        for declared in source.of("resource", "module"):
            rounds = [self._make(declared, scope, group) for scope in self._rounds(declared)]
            self.names[declared.name] = rounds if declared.loop is not None else rounds[0]

    def _rounds(self, declared: Declaration) -> list[Scope]:
        return [self.scope] if declared.loop is None else iterations(declared.loop, self.scope) or []

    def _make(self, declared: Declaration, scope: Scope, group: str) -> Symbol:
        is_made = declared.condition is None or bool(evaluate(declared.condition, scope))
        if declared.kind == "resource":
            resource = Resource(self.source, declared, scope, group, is_made)
            self.made += [resource] if is_made else []
            return resource
        target = self.source.tree.sources[self.source.resolve(declared.target)]
        module = Module(target, declared, scope, is_made)
        self.modules += [module] if is_made else []
        return module

    def output(self, name: str) -> Any:
        """Return the value of an output. Raises NoSuchMember."""
        declared = next((one for one in self.source.of("output") if one.name == name), None)
        if declared is None or declared.value is None:
            raise NoSuchMember(f"there is no output {name}")
        return evaluate(declared.value, self.scope)

    def resources(self) -> Iterator[Resource]:
        """Yield all resources, including those of its modules."""
        yield from self.made
        for module in self.modules:
            yield from module.world.resources()


@dataclass(frozen=True)
class Outputs(Symbol):
    """The outputs of a module."""

    world: World

    def pick(self, key: Any) -> Any:
        """Return the value of an output. Raises NoSuchMember."""
        return self.world.output(str(key))


class Plan:
    """The resources that main.bicep deploys in a scenario."""

    def __init__(self, tree: Tree, scenario: Scenario) -> None:
        """Raises Refused if the template refuses the parameters, NoSuchMember if it cannot be evaluated."""
        file = tree.sources[scenario.file]
        reading = Scope(file, environment=scenario.environment)
        given = {one.name: evaluate(one.value, reading) for one in file.of("var") if one.value is not None}
        self.scenario = scenario
        self.main = World(tree.sources[MAIN], {**given, **scenario.parameters}, SUBSCRIPTION)
        found = list(self.main.resources())
        self.resources = [one for one in found if not one.declared.existing]
        self.existing = [one for one in found if one.declared.existing]
        self.modules = list(_modules(self.main))
        for resource in self.resources:
            _ = resource.body

    def __getitem__(self, name: str) -> Any:
        """Return a parameter's value."""
        return self.main.names[name]

    def of(self, *types: str) -> list[Resource]:
        """Return the resources of these types."""
        return [one for one in self.resources if one.type in types]

    def the(self, kind: str, start: str = "") -> Resource:
        """Return the resource of a type whose name has this start. Raises NoSuchMember."""
        found = next((one for one in self.of(kind) if one.name.startswith(start)), None)
        if found is None:
            raise NoSuchMember(f"no {kind} {start} is deployed")
        return found

    def by_id(self, wanted: Any) -> Resource | None:
        """Return the resource with an id."""
        return next((one for one in self.resources if one.id == str(wanted)), None)


def _modules(world: World) -> Iterator[Module]:
    for module in world.modules:
        yield module
        yield from _modules(module.world)


def plain(value: Any) -> Any:
    """Return the value with the sources of Azure's values as text."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return str(value) if isinstance(value, Symbol) else value


def own_name(resource: Resource) -> str:
    """Return the name without its unique token; of an assignment, which is named by a guid, that of its declaration."""
    found = re.sub(f"-?{TOKEN}", "", resource.name)
    return resource.declared.name if found.startswith("guid(") else found
