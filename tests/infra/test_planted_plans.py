"""`make infra` refuses each of these mistakes, which show in what would be deployed, and writes plans on request."""

import json
import shutil
from pathlib import Path

import pytest

from local.infra_check import snapshots
from local.infra_check.__main__ import main
from local.infra_check.check import check
from local.infra_check.tree import Tree
from tests.architecture.source_tree import ROOT
from tests.infra.planting import (
    API,
    APP_SERVICE,
    BUS,
    FUNCTIONS,
    MAIN,
    NAMES,
    SEARCH,
    STORAGE,
    VAULT,
    Mistake,
    check_that_it_is_found,
    each,
    planted,
)

MISTAKES = {
    "a role that only a deployment knows": Mistake(SEARCH, "subscriptionResourceId(definitions, indexManager.name)",
        "sku", "role-not-allowed", "managing:  is not among the allowed roles"),
    "a role on the whole resource group": Mistake(STORAGE, "  scope: container\n", "", "role-scope",
        "whole resource group"),
    "a role on the whole account": Mistake(STORAGE, "  scope: container\n", "  scope: account\n", "role-scope",
        "writing: Storage Blob Data Contributor is for Microsoft.Storage/storag"),
    "a role for a person": Mistake(SEARCH, "principalType: 'ServicePrincipal'", "principalType: 'User'",
        "role-principal", "identities"),
    "a door that a parameter opens": Mistake(SEARCH, "disableLocalAuth: true", "disableLocalAuth: isPrivate",
        "open-door", "disableLocalAuth"),
    "a vault that can be purged": Mistake(VAULT, "enablePurgeProtection: true", "enablePurgeProtection: false",
        "open-door", "enablePurgeProtection"),
    "a queue without sessions": Mistake(BUS, "requiresSession: true", "requiresSession: false", "differs-from-code",
        "memnet-replay: requiresSession"),
    "a setting that the code does not have": Mistake(MAIN, "MEMNET_MODEL_PROVIDERS:", "MEMNET_MODEL:", "setting",
        "has no MEMNET_MODEL"),
    "the workers may not take dead letters out": Mistake(BUS,
        "guid(deadLetters.id, workersPrincipalId, roles.serviceBusDataReceiver)\n  scope: deadLetters",
        "guid(queues[0].id, workersPrincipalId, roles.serviceBusDataReceiver)\n  scope: queues[0]", "grant",
        "id-memnet-workers does not get Azure Service Bus Data Receiver on sb-memnet/memnet-dead-letters"),
    "a role that the page does not name": Mistake('docs/deployment.md', "| API | AcrPull | the registry |", "", "grant",
        "AcrPull"),
    "an unknown telemetry exporter": Mistake(MAIN, "'azure_monitor'", "'azure-monitor'", "setting",
        "must be one of"),
    "the container in the address is not the one that is made": Mistake(STORAGE,
        "primaryEndpoints.blob}${container.name}", "primaryEndpoints.blob}memory", "plan-differs",
        "properties.template.containers.api.env.MEMNET_STORAGE_URL.value is"),
    "the image of the wrong release": Mistake(API, "${names.image}:${release}'", "${names.image}:latest'",
        "plan-differs", "properties.template.containers.api.image is"),
    "the firewall of the vault is open": Mistake(VAULT, "defaultAction: isPrivate ? 'Deny' : 'Allow'",
        "defaultAction: 'Allow'", "public-endpoint", "defaultAction"),
    "a zone that is not deployed": Mistake('infra/modules/private_endpoint.bicep', "  name: zone\n",
        "  name: '${zone}.local'\n", "not-deployed",
        "nothing deploys the Microsoft.Network/privateDnsZones"),
    "a parent that is none": Mistake(STORAGE, "blobServices/containers@2025-01-01' = {\n  parent: blobs",
        "blobServices/containers@2025-01-01' = {\n  parent: account", "grant",
        "writing: id-memnet-api gets Storage Blob Data Contributor on stmemnet/"),
    "a slot's lock without a slot": Mistake(APP_SERVICE,
        "slots/basicPublishingCredentialsPolicies@2024-11-01' = if (!empty(release))",
        "slots/basicPublishingCredentialsPolicies@2024-11-01' = if (!empty(serving))", "not-deployed",
        "app-memnet/next/ftp: it is deployed without app-memnet-abcdefghijklm/n"),
    "the workbook shows another file": Mistake('infra/modules/workbook.bicep', "../workbook.json", "../names.json",
        "plan-differs", "properties.serializedData is"),
    "a resource that is gone": Mistake(STORAGE,
        "= {\n  parent: account\n  name: 'default'\n  properties: {\n    policy",
        "= if (empty(token)) {\n  parent: account\n  name: 'default'\n  properties: {\n    policy", "plan-differs",
        "default is gone"),
    "erased memory stays for a year": Mistake(MAIN, "@maxValue(30)\nparam softDeleteDays",
        "@maxValue(365)\nparam softDeleteDays", "plan-differs", "maxValue is 365"),
}  # fmt: skip
PAGE = "docs/deployment.md"


@each(MISTAKES)
def test_a_planted_mistake_is_found(mistake: Mistake) -> None:
    check_that_it_is_found(mistake)


def test_a_missing_role_is_found_even_if_the_page_omits_it() -> None:
    mistake = MISTAKES["the workers may not take dead letters out"]
    both = "Azure Service Bus Data Sender, Azure Service Bus Data Receiver | the queue of dead letters"
    edit = (PAGE, both, "Azure Service Bus Data Sender | the queue of dead letters")
    found = check(planted((mistake.file, mistake.old, mistake.new), edit))
    needed = "does not get Azure Service Bus Data Receiver on sb-memnet/memnet-dead-letters"
    assert needed in " ".join(one.message for one in found)


def test_a_function_that_was_deployed_stays_in_the_list_of_names() -> None:
    """The app that does not serve may still have it, and runs it once nothing switches it off."""
    gone = (NAMES, '    "sign_checkpoints",\n', ""), (FUNCTIONS, '"sign_checkpoints"', '"requeue_jobs"')
    assert "sign_checkpoints was a function" in " ".join(one.message for one in check(planted(*gone)))


def test_a_change_of_several_plans_is_one_finding() -> None:
    found = check(planted((STORAGE, "accessTier: 'Hot'", "accessTier: 'Cold'")))
    assert [(one.file, one.message) for one in found] == [
        (
            snapshots.BASE,
            "Microsoft.Storage/storageAccounts/stmemnetabcdefghijklm: properties.accessTier is "
            '"Cold"; the plan has "Hot"',
        )
    ]


def test_a_resource_that_no_scenario_deploys_is_a_finding() -> None:
    module = "module workbook 'modules/workbook.bicep' = "
    found = check(planted((MAIN, f"{module}{{", f"{module}if (false) {{")))
    assert "never-deployed" in {one.code for one in found}


def test_an_update_writes_the_plans_and_refuses_what_they_cannot_decide(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("infra", "workers", "docs", "api", "docker"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.pyc", "*.png"))
    storage = tmp_path / STORAGE
    storage.write_text(storage.read_text("utf-8").replace("accessTier: 'Hot'", "accessTier: 'Cold'"), "utf-8")
    assert main([], Tree(tmp_path)) == 1
    assert "make infra UPDATE=1" in capsys.readouterr().out
    assert main(["--update"], Tree(tmp_path)) == 0
    plan = json.loads((tmp_path / snapshots.BASE).read_text("utf-8"))
    assert '"Cold"' in json.dumps(plan["resources"])
    storage.write_text(storage.read_text("utf-8").replace("KeyAccess: false", "KeyAccess: true"), "utf-8")
    assert main(["--update"], Tree(tmp_path)) == 1
    assert "open-door" in capsys.readouterr().out
