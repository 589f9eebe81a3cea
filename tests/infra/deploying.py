"""A deployment without Azure: the hooks run with recording tools, and the templates are evaluated.

Revisions are created and get traffic as Container Apps documents it.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from local.infra_check.plan import Plan, Scenario
from local.infra_check.tree import Tree
from tests.architecture.source_tree import ROOT

AZURE: dict[str, Any] = yaml.safe_load((ROOT / "azure.yaml").read_text("utf-8"))
APP = "Microsoft.App/containerApps"
OUTPUTS = (
    *("AZURE_RESOURCE_GROUP", "MEMNET_API_HOST"),
    *("MEMNET_WORKER_FUNCTIONS", "MEMNET_SERVING_RELEASE", "MEMNET_SERVING_WORKERS"),
)
FAKE_AZ = """#!/bin/sh
echo "az $*" >> "$CALLS"
image="$(printf '%s' "$*" | sed -n 's/.*--image \\([^ ]*\\).*/\\1/p')"
case "$*" in
  *"repository show"*) grep -qx "$image" "$IMAGES" 2>/dev/null || exit 3 ;;
  *"acr build"*) echo "$image" >> "$IMAGES" ;;
  *"containerapp list"*) [ ! -s "$REVISIONS" ] || echo ca-memnet-api ;;
  *"containerapp revision list"*) cat "$REVISIONS" ;;
esac
"""
"""Knows the built images, and the active revisions, the oldest first: name, health, weight, image."""
FAKE_AZD = """#!/bin/sh
echo "azd $*" >> "$CALLS"
[ "$1 $2" = "env set" ] && echo "$3=$4" >> "$VALUES"
"""
"""Records the values that are set."""
SUBSCRIPTION = {"AZURE_SUBSCRIPTION_ID": "sub"}
REGISTRY = {"AZURE_CONTAINER_REGISTRY_NAME": "reg", "AZURE_RESOURCE_GROUP": "rg", **SUBSCRIPTION}


class Prompted(Exception):
    """azd asks for the parameters of main.bicep, and fails with --no-prompt."""


def repository(parent: Path) -> Path:
    """Create a repository with infra/ below `parent`, with the tools next to it."""
    tree = parent / "tree"
    shutil.copytree(ROOT / "infra", tree / "infra", ignore=shutil.ignore_patterns("main.bicepparam"))
    (tree / ".gitignore").write_text("main.bicepparam\n")
    git(tree, "init", "--quiet")
    commit(tree)
    tools = parent / "tools"
    tools.mkdir()
    for name, text in (("az", FAKE_AZ), ("azd", FAKE_AZD)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    return tree


def git(tree: Path, *words: str) -> str:
    """Run git and return its output."""
    who = ["-c", "user.name=x", "-c", "user.email=x@x"]
    return subprocess.run(["git", *who, *words], cwd=tree, capture_output=True, text=True, check=True).stdout.strip()


def commit(tree: Path) -> str:
    """Commit everything, and return the default name of its release."""
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--allow-empty", "--message", "x")
    return git(tree, "rev-parse", "--short=12", "HEAD")


def run(tree: Path, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a hook by its name, or a command of azure.yaml."""
    parent = tree.parent
    environment = {
        "PATH": f"{parent / 'tools'}:{os.environ['PATH']}",
        **{name.upper(): str(parent / name) for name in ("calls", "images", "revisions", "values")},
        **variables,
    }
    command = command if "/" in command else f"infra/hooks/{command}.sh"
    return subprocess.run(["sh", "-c", command], cwd=tree, env=environment, capture_output=True, text=True, check=False)


def calls(tree: Path) -> list[str]:
    """Return the recorded calls of the tools."""
    path = tree.parent / "calls"
    return path.read_text().splitlines() if path.exists() else []


def values(tree: Path) -> dict[str, str]:
    """Return azd's environment."""
    path = tree.parent / "values"
    return dict(line.split("=", 1) for line in path.read_text().splitlines()) if path.exists() else {}


@dataclass
class Revision:
    """A deployed template."""

    name: str
    template: Mapping[str, Any]
    active: bool = True
    ready: bool = True
    """Its probes have succeeded at least once."""

    @property
    def image(self) -> str:
        """The image; its tag is the release."""
        return str(self.template["containers"][0]["image"])

    @property
    def release(self) -> str:
        """The tag."""
        return self.image.rpartition(":")[2]

    def setting(self, name: str) -> str:
        """Return an environment variable."""
        return str({one["name"]: one["value"] for one in self.template["containers"][0]["env"]}[name])


@dataclass
class Deployment:
    """azd in a repository, and its deployment."""

    tree: Path
    revisions: list[Revision] = field(default_factory=list)
    traffic: list[Mapping[str, Any]] = field(default_factory=list)
    output: str = ""
    """The output of the last hook."""

    def tell(self, **given: str) -> None:
        """Set values as `azd env set` does."""
        with (self.tree.parent / "values").open("a") as kept:
            kept.writelines(f"{name}={value}\n" for name, value in given.items())

    def begin(self, **given: str) -> "Deployment":
        """Set the values that provisioning requires."""
        needed = {"AZURE_ENV_NAME": "x", "MEMNET_ISSUER_URL": "i", "MEMNET_AUDIENCE": "a", **SUBSCRIPTION}
        self.tell(**needed | given)
        return self

    def up(self) -> None:
        """Run `azd up`, which reads the parameters before it runs a hook."""
        self._find_parameters()
        for step in AZURE["workflows"]["up"]["steps"]:
            assert step == {"azd": "provision"}
            self.provision()

    def provision(self, *, ready: bool = True) -> None:
        """Run `azd provision`; a new revision becomes ready, or with `ready=False` never does."""
        self._hook("preprovision")
        plan = self._plan()
        self._apply(plan, ready)
        self.tell(AZURE_CONTAINER_REGISTRY_NAME="reg", **{name: str(plan.main.output(name)) for name in OUTPUTS})
        self._hook("postprovision")

    def deploy(self, service: str) -> subprocess.CompletedProcess[str]:
        """Run the hook before a package is deployed."""
        return run(self.tree, AZURE["services"][service]["hooks"]["predeploy"]["run"], **values(self.tree))

    def serving(self) -> Revision:
        """Return the revision with the traffic."""
        [one] = [one for one in self.traffic if one["weight"] == 100]
        if "revisionName" in one:
            return self._named(one["revisionName"])
        return [revision for revision in self.revisions if revision.active and revision.ready][-1]

    def next(self) -> Revision | None:
        """Return the revision with the label "next"."""
        return self.revisions[-1] if any(one.get("label") == "next" for one in self.traffic) else None

    def switched_off(self, colour: str) -> set[str]:
        """Return the disabled functions of a worker app."""
        app = self._plan().the("Microsoft.Web/sites", f"func-memnet-{colour}")
        names = [one["name"].split(".") for one in app.at("properties.siteConfig.appSettings")]
        return {name[1] for name in names if name[0] == "AzureWebJobs"}

    def _named(self, name: str) -> Revision:
        return next(one for one in self.revisions if one.name == name and one.active)

    def _find_parameters(self) -> None:
        if not (self.tree / "infra" / "main.bicepparam").is_file():
            raise Prompted

    def _hook(self, name: str) -> None:
        has = self.serving() if self.traffic else None
        rows = [
            (one.name, "Healthy" if one.ready else "Unhealthy", "100" if one is has else "0", one.image)
            for one in self.revisions
            if one.active
        ]
        (self.tree.parent / "revisions").write_text("".join("\t".join(row) + "\n" for row in rows))
        done = run(self.tree, AZURE["hooks"][name]["run"], **values(self.tree))
        self.output = done.stdout + done.stderr
        if done.returncode != 0:
            raise RuntimeError(self.output)

    def _plan(self) -> Plan:
        self._find_parameters()
        return Plan(Tree(self.tree), Scenario("infra/main.bicepparam", values(self.tree)))

    def _apply(self, plan: Plan, ready: bool) -> None:
        """A changed template is a new revision; with an existing name nothing happens."""
        for app in plan.of(APP):
            template = json.loads(json.dumps(app.at("properties.template")))
            suffix = template.pop("revisionSuffix", None) or f"{len(self.revisions) + 1:07}"
            name = f"{app.pick('name')}--{suffix}"
            is_new = not self.revisions or self.revisions[-1].template != template
            if is_new and name not in {one.name for one in self.revisions}:
                self.revisions.append(Revision(name, template, ready=ready))
            self.traffic = app.at("properties.configuration.ingress.traffic")
