"""Plans are compared with what the Bicep CLI writes, in the form of its own recorded snapshots."""

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from local.infra_check import bicep_snapshot, snapshots
from local.infra_check.functions import SUBSCRIPTION, TOKEN
from local.infra_check.plan import Scenario
from local.infra_check.tree import Tree
from tests.architecture.source_tree import ROOT

GUID = "00000000-0000-0000-0000-000000000001"
ACCOUNT = f"{SUBSCRIPTION}/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/stmemnet{TOKEN}"
ROLE = {"roleDefinitionId": "r", "principalId": "/id#properties.principalId"}
PLAN: dict[str, Any] = {
    "resources": [
        {"id": ACCOUNT, "apiVersion": "1", "properties": {"open": False, "url": "known", "none": None}},
        {"id": f"{ACCOUNT}/providers/Microsoft.A/roleAssignments/guid(1)", "apiVersion": "1", "properties": ROLE},
    ]
}


def snapshot() -> dict[str, Any]:
    """The plan as `bicep snapshot` writes it: real names, and expressions for what only Azure knows."""
    text = json.dumps(PLAN["resources"]).replace(SUBSCRIPTION, f"/subscriptions/{GUID}").replace(TOKEN, "js26ofeqkqeve")
    account, role = json.loads(text)
    account |= {"type": "Microsoft.Storage/storageAccounts", "name": "stmemnetjs26ofeqkqeve"}
    account["properties"] = {"open": False, "url": "[reference('x').url]"}
    role |= {"type": "Microsoft.A/roleAssignments", "name": "[guid('x')]", "id": "[extensionResourceId('x')]"}
    role["properties"]["principalId"] = "[reference('x').principalId]"
    return {"predictedResources": [role, account], "diagnostics": []}


def test_the_same_resources_have_no_difference() -> None:
    assert list(bicep_snapshot.differences(PLAN, snapshot())) == []


def test_changed_missing_and_additional_resources_are_differences() -> None:
    other = snapshot()
    other["predictedResources"][1]["properties"]["open"] = True
    (found,) = bicep_snapshot.differences(PLAN, other)
    assert found == f"{ACCOUNT}: properties.open is False in the plan and True in Bicep's snapshot"
    other = snapshot()
    del other["predictedResources"][0]
    (found,) = bicep_snapshot.differences(PLAN, other)
    assert found.startswith("only in the plan: ")
    other = snapshot()
    other["predictedResources"].append(copy.deepcopy(other["predictedResources"][0]))
    (found,) = bicep_snapshot.differences(PLAN, other)
    assert found == "only in Bicep's snapshot: [extensionResourceId('x')]"


def test_a_scenario_overrides_the_parameters_of_its_file() -> None:
    scenario = Scenario("", {}, {"apiIsPublic": False, "apiHost": "appService"})
    text = bicep_snapshot.parameter_file("using 'main.bicep'\nparam apiIsPublic = true\nparam x = 1\n", scenario)
    assert text == "using 'main.bicep'\nparam x = 1\nparam apiIsPublic = false\nparam apiHost = 'appService'\n"


def test_the_program_evaluates_each_scenario_with_its_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The replacement knows no resources, so each plan differs. The files for it are removed."""
    shutil.copytree(ROOT / "infra", tmp_path / "infra")
    bicep, calls, tree = tmp_path / "bicep", tmp_path / "calls", Tree(tmp_path)
    bicep.write_text(
        f'#!/bin/sh\necho "$MEMNET_BUILT_RELEASE $*" >> {calls}\n'
        """echo '{"predictedResources": []}' > "${2%.bicepparam}.snapshot.json"\n"""
    )
    bicep.chmod(0o755)
    assert bicep_snapshot.main([str(bicep)], tree) == 1
    assert f"{snapshots.BASE}: only in the plan: " in capsys.readouterr().out
    written = calls.read_text().splitlines()
    assert len(written) == len([name for name in snapshots.scenarios(tree) if "refused" not in name])
    assert written[0].startswith("two snapshot ")
    assert "--mode overwrite --subscription-id" in written[0]
    assert not [name for name in tree.names("infra/*") if "snapshot" in name]
