"""azure.yaml and its hooks match the templates, and the hooks call their tools as documented."""

import json
import os
from pathlib import Path

import pytest
import yaml

from tests.architecture.source_tree import ROOT
from tests.infra.deploying import AZURE, REGISTRY, calls, repository, run, values

NAMES = json.loads((ROOT / "infra" / "names.json").read_text("utf-8"))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Create a repository with infra/ and tools that record their calls."""
    return repository(tmp_path)


def test_the_services_are_the_two_function_apps_of_the_templates() -> None:
    template = (ROOT / "infra" / "modules" / "workers.bicep").read_text("utf-8")
    assert "'azd-service-name': 'workers-${colour}'" in template
    assert "var colours = ['blue', 'green']" in template
    assert set(AZURE["services"]) == {"workers-blue", "workers-green"}
    for service in AZURE["services"].values():
        assert (service["host"], service["language"]) == ("function", "py")
        assert service["hooks"]["predeploy"]["run"] == "infra/hooks/check_functions.sh"
        assert service["hooks"]["prepackage"]["run"].endswith(f"-m local.stack.worker_package {service['dist']}")
    assert len({service["dist"] for service in AZURE["services"].values()}) == 2


def test_the_template_and_the_hooks_exist() -> None:
    assert (ROOT / AZURE["infra"]["path"] / f"{AZURE['infra']['module']}.bicep").is_file()
    for hook in AZURE["hooks"].values():
        for script in hook["run"].split(" && "):
            assert os.access(ROOT / script, os.X_OK)


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_the_parameters_are_those_of_the_stage(copy: Path, stage: str) -> None:
    assert run(copy, "choose_parameters", MEMNET_STAGE=stage).returncode == 0
    chosen = (copy / "infra" / "main.bicepparam").read_text("utf-8")
    assert chosen == (ROOT / "infra" / f"main.{stage}.bicepparam").read_text("utf-8")
    refused = run(copy, "choose_parameters", MEMNET_STAGE="test")
    assert (refused.returncode, "must be dev or prod" in refused.stderr) == (1, True)


def test_without_a_registry_nothing_is_built(copy: Path) -> None:
    assert run(copy, "build_release", MEMNET_RELEASE="1").returncode == 0
    assert calls(copy) == []


def test_values_of_deleted_resources_are_cleared(copy: Path) -> None:
    left = dict.fromkeys(("MEMNET_BUILT_RELEASE", "MEMNET_SERVING_RELEASE", "MEMNET_SERVING_REVISION"), "1")
    assert run(copy, "build_release", **left).returncode == 0
    assert values(copy) == dict.fromkeys(left, "")


def test_a_release_is_built_once_locked_and_named_in_the_subscription_of_the_environment(copy: Path) -> None:
    assert run(copy, "build_release", **REGISTRY, MEMNET_RELEASE="abc").returncode == 0
    app, show, build, lock, named, serving, revision = calls(copy)
    assert app.startswith("az containerapp list --subscription sub --resource-group rg ")
    assert "repository show" in show
    assert build.startswith(f"az acr build --subscription sub --registry reg --image {NAMES['image']}:abc ")
    assert "--write-enabled false" in lock
    assert all(" --subscription sub " in call for call in (show, build, lock))
    assert (named, serving) == ("azd env set MEMNET_BUILT_RELEASE abc", "azd env set MEMNET_SERVING_RELEASE abc")
    assert revision == "azd env set MEMNET_SERVING_REVISION "


def test_an_existing_release_is_locked_and_not_built_again(copy: Path) -> None:
    for _ in range(2):
        assert run(copy, "build_release", **REGISTRY, MEMNET_RELEASE="abc").returncode == 0
    assert [call.split()[2] for call in calls(copy) if "az acr" in call] == [
        *("repository", "build", "repository"),
        *("repository", "repository"),
    ]


def test_a_build_that_fails_names_no_release(copy: Path) -> None:
    (copy.parent / "tools" / "az").write_text("#!/bin/sh\nexit 1\n")
    assert run(copy, "build_release", **REGISTRY, MEMNET_RELEASE="abc").returncode != 0
    assert calls(copy) == []


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_the_templates_read_the_built_release(stage: str) -> None:
    """An image that was asked for may not be there yet."""
    parameters = (ROOT / "infra" / f"main.{stage}.bicepparam").read_text("utf-8")
    assert "param release = readEnvironmentVariable('MEMNET_BUILT_RELEASE', '')" in parameters
    assert "'MEMNET_RELEASE'" not in parameters


@pytest.mark.parametrize("change", ["infra/main.bicep", "stray.py"])
def test_uncommitted_changes_are_not_built(copy: Path, change: str) -> None:
    (copy / change).write_text("// changed")
    for own in ({}, {"MEMNET_RELEASE": "abc"}):
        done = run(copy, "build_release", **REGISTRY, **own)
        assert done.returncode == 1
        assert change in done.stderr
    assert [call for call in calls(copy) if "acr build" in call or "azd" in call] == []


def test_what_was_built_can_be_provisioned_with_changes(copy: Path) -> None:
    assert run(copy, "build_release", **REGISTRY).returncode == 0
    (copy / "stray.py").write_text("")
    assert run(copy, "build_release", **REGISTRY, **values(copy)).returncode == 0


@pytest.mark.parametrize("name", ["1.2.0", "-a", "a--b", "a\nb", "a" * 21])
def test_an_invalid_release_name_is_refused_before_the_build(copy: Path, name: str) -> None:
    done = run(copy, "build_release", **REGISTRY, MEMNET_RELEASE=name)
    assert (done.returncode, "A release name has up to" in done.stderr, calls(copy)) == (1, True, [])
    assert run(copy, "build_release", **REGISTRY, MEMNET_RELEASE="2026-02-14" + "a" * 10).returncode == 0


def test_the_workflow_lints_builds_and_runs_what_if() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "infra.yml").read_text("utf-8"))
    said = {name: " ".join(step.get("run", "") for step in job["steps"]) for name, job in workflow["jobs"].items()}
    for command in ("az bicep lint --file", "az bicep build --file", "main.dev.bicepparam", "main.prod.bicepparam"):
        assert command in said["build"]
    assert "az deployment sub what-if" in said["what-if"]
    asked, _, _ = said["what-if"].partition("az deployment sub what-if")
    assert 'MEMNET_BUILT_RELEASE="${MEMNET_RELEASE:-$(git rev-parse --short=12 HEAD)}"' in asked
    assert 'infra/hooks/find_revision.sh "$MEMNET_BUILT_RELEASE" "$serving"' in asked
    assert "export MEMNET_BUILT_RELEASE MEMNET_SERVING_REVISION" in asked
    assert "vars.AZURE_CLIENT_ID != ''" in workflow["jobs"]["what-if"]["if"]
    assert "if" not in workflow["jobs"]["build"]


def test_what_if_needs_only_read_permissions() -> None:
    """Otherwise the right to write every resource is asked for."""
    written = (ROOT / ".github" / "workflows" / "infra.yml").read_text("utf-8")
    steps = yaml.safe_load(written)["jobs"]["what-if"]["steps"]
    assert "--validation-level ProviderNoRbac" in steps[-1]["run"].partition("az deployment sub what-if")[2]
    assert "Azure CLI has from 2.76.0 on" in written


def test_a_workflow_logs_in_with_its_own_token(copy: Path) -> None:
    tools = copy.parent / "tools"
    (tools / "curl").write_text('#!/bin/sh\necho "curl $*" >> "$CALLS"\necho \'{"value": "t0k"}\'\n')
    (tools / "jq").write_text('#!/bin/sh\nsed \'s/.*"value": "\\(.*\\)".*/\\1/\'\n')
    for name in ("curl", "jq"):
        (tools / name).chmod(0o755)
    known = {"ACTIONS_ID_TOKEN_REQUEST_TOKEN": "asking", "ACTIONS_ID_TOKEN_REQUEST_URL": "http://127.0.0.1/?v=1"}
    identity = {"AZURE_CLIENT_ID": "app", "AZURE_TENANT_ID": "home", "AZURE_SUBSCRIPTION_ID": "sub"}
    done = run(copy, "log_in_by_federation", **known, **identity)
    assert done.returncode == 0, done.stderr
    asked, logged_in, _ = calls(copy)
    assert "http://127.0.0.1/?v=1&audience=api://AzureADTokenExchange" in asked
    assert "--username app --tenant home --federated-token t0k" in logged_in
    assert "t0k" not in done.stdout + done.stderr
