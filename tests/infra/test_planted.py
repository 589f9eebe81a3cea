"""`make infra` refuses each of these mistakes, and every part of its command line works."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from local.infra_check import snapshots
from local.infra_check.__main__ import main
from local.infra_check.check import check, findings
from local.infra_check.tree import Tree
from tests.architecture.source_tree import ROOT
from tests.infra.planting import MAIN, NAMES, STORAGE, planted

ALERTS = "infra/modules/alerts.bicep"
API = "infra/modules/api_container_app.bicep"
APP_SERVICE = "infra/modules/api_app_service.bicep"
BUS = "infra/modules/service_bus.bicep"
FUNCTIONS = "workers/function_app.py"
MONITORING = "infra/modules/monitoring.bicep"
PROD = "infra/main.prod.bicepparam"
ROLES = "infra/roles.json"
SEARCH = "infra/modules/search.bicep"
VAULT = "infra/modules/vault.bicep"


@dataclass(frozen=True)
class Mistake:
    """An edit, the code of the finding that it leads to, and a part of the finding's message."""

    file: str
    old: str
    new: str
    code: str
    message: str


IN_A_FILE = {
    "a bracket is missing": Mistake(STORAGE, "writerIds: {\n", "writerIds:\n", "syntax", "not Bicep"),
    "a comma is missing in JSON": Mistake(NAMES, '"memnet",', '"memnet"', "syntax", "not JSON"),
    "a property is misspelt": Mistake(STORAGE, "minimumTlsVersion:", "minimalTlsVersion:", "unknown-property",
        "minimalTlsVersion"),
    "a property is misspelt in what a lambda makes": Mistake(ALERTS, "operator: 'Include'", "operation: 'Include'",
        "unknown-property", "operation"),
    "a property is misspelt in a part of a union": Mistake(STORAGE, "keyname: encryptionKeyName",
        "keyName: encryptionKeyName", "unknown-property", "keyName"),
    "a required property deep below is missing": Mistake(VAULT, "      family: 'A'\n", "", "missing-property",
        "family is required"),
    "what Azure alone sets is set": Mistake(SEARCH, "replicaCount: replicas", "provisioningState: 'succeeded'",
        "read-only", "provisioningState"),
    "a parameter of the wrong type is put into a property": Mistake(SEARCH, "replicaCount: replicas",
        "replicaCount: sku", "wrong-type", "string where int is expected"),
    "a word is none of those that are known": Mistake(STORAGE, "accessTier: 'Hot'", "accessTier: 'Warm'",
        "wrong-value", "'Warm' is none of"),
    "the API version is another one": Mistake(SEARCH, "searchServices@2025-05-01", "searchServices@2019-01-01",
        "api-version", "2025-05-01"),
    "the resource type does not exist": Mistake(SEARCH, "Microsoft.Search/searchServices@",
        "Microsoft.Search/service@", "unknown-resource", "Search/service"),
    "a property that is read does not exist": Mistake(STORAGE, "account.properties.primaryEndpoints.blob",
        "account.properties.endpoints.blob", "unknown-property", "endpoints"),
    "an undeclared name": Mistake(STORAGE, "days: softDeleteDays, allow", "days: keptDays, allow",
        "undefined", "keptDays"),
    "a function that does not exist": Mistake(MAIN, "toLower(", "lower(", "undefined", "lower"),
    "an unused parameter": Mistake(SEARCH, "param sku string", "param sku string\nparam tier string",
        "unused", "tier"),
    "a name that is declared twice": Mistake(SEARCH, "var isPrivate", "param sku int\nvar isPrivate",
        "declared-twice", "sku"),
    "a member that names.json does not have": Mistake(BUS, "names.lockDuration", "names.lockTime", "undefined",
        "'lockTime'"),
    "a file that is loaded is missing": Mistake(ALERTS, "queries/index-lag.kql", "queries/index_lag.kql",
        "no-such-file", "index_lag.kql"),
    "a module that is missing": Mistake(MAIN, "modules/search.bicep", "modules/find.bicep", "no-such-file",
        "find.bicep"),
    "a module's parameter that it does not have": Mistake(MAIN, "replicas: searchReplicas",
        "replicaCount: searchReplicas", "unknown-parameter", "replicaCount"),
    "a module's parameter that it needs": Mistake(MAIN, "    sku: searchSku\n", "", "missing-parameter",
        "needs the parameter sku"),
    "a module's parameter of the wrong type": Mistake(MAIN, "replicas: searchReplicas", "replicas: searchSku",
        "parameter-type", "replicas is given string"),
    "a module's parameter with a value it does not take": Mistake(MAIN, "? 'Premium' : serviceBusSku",
        "? 'Premium' : 'Basic'", "parameter-value", "sku is 'Basic'"),
    "an output that a module does not have": Mistake(MAIN, "vault.outputs.url", "vault.outputs.uri",
        "unknown-output", "no output uri"),
    "a parameter file without what is needed": Mistake(PROD,
        "param audience = readEnvironmentVariable('MEMNET_AUDIENCE')\n", "", "missing-parameter", "audience"),
    "a parameter file with what is not there": Mistake(PROD, "param searchReplicas", "param searchCopies",
        "unknown-parameter", "searchCopies"),
    "a parameter file with the wrong type": Mistake(PROD, "softDeleteDays = 7", "softDeleteDays = 'P7D'",
        "parameter-type", "softDeleteDays is given string"),
    "a parameter file with a word that is not allowed": Mistake(PROD, "'Standard_GZRS'", "'Premium_LRS'",
        "parameter-value", "storageRedundancy"),
    "Owner": Mistake(ROLES, "ba92f5b4-2d11-453d-a403-e96b0029c9fe", "8e3af657-a8ff-443c-a75c-2fe8c4bcb635",
        "role-not-allowed", "Owner"),
    "a role under the name of another one": Mistake(ROLES, "4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0",
        "69a216fc-b8fb-44d8-bc22-1f3c2cd27a39", "role-not-allowed",
        "serviceBusDataReceiver is the id of Azure Service Bus Data Sender"),
    "a key as an output": Mistake(STORAGE, "output containerUrl",
        "output key string = account.listKeys().keys[0].value\noutput containerUrl", "key-read", "listKeys"),
    "a connection string as an output": Mistake(MONITORING, "output insightsName string = insights.name",
        "output insightsName string = insights.name\noutput address string = insights.properties.ConnectionString",
        "secret-output", "ConnectionString"),
    "a secure parameter as an output": Mistake(SEARCH, "output url string",
        "@secure()\nparam adminWord string\noutput word string = adminWord\noutput url string", "secret-output",
        "secure parameter adminWord"),
    "a secure output": Mistake(SEARCH, "output url string", "@secure()\noutput url string", "secret-output",
        "marked"),
    "a key in a file": Mistake(SEARCH, "'pe-memnet-search'", "'AccountKey=abc'", "secret-in-file",
        "looks like a key"),
    "a trigger without sessions": Mistake(FUNCTIONS, "is_sessions_enabled=True", "is_sessions_enabled=False",
        "differs-from-code", "trigger"),
    "a function that the templates do not know": Mistake(FUNCTIONS, 'function_name("apply_due")',
        'function_name("sign_all")', "differs-from-code", "sign_all"),
    "a host without sessions": Mistake('workers/host.json', '"maxConcurrentSessions": 4,', "", "differs-from-code",
        "sessions"),
    "an alert on a metric that is not measured": Mistake('infra/queries/index-lag.kql', "memnet.index.lag",
        "memnet.index.age", "differs-from-code", "memnet.index.age"),
    "an alert on an error code that does not exist": Mistake('infra/queries/stale-writes.kql', "ETAG_MISMATCH",
        "ETAG_STALE", "differs-from-code", "ETAG_STALE"),
    "an alert by a column that its query lacks": Mistake('infra/queries/stale-writes.kql', "Binding", "Bound",
        "differs-from-code", "Binding"),
    "an alert without a query": Mistake('infra/alerts.json', '"index-lag"', '"index-delay"', "differs-from-code",
        "index-delay"),
    "the probe asks for a route that is not there": Mistake(NAMES, "/health/ready", "/health/redy",
        "differs-from-code", "readiness: docs/api.md has no health_ready at /health/redy"),
    "the image is another one than the hook's": Mistake(NAMES, '"memnet-api"', '"memnet-service"',
        "differs-from-code", "builds memnet-api"),
    "the hook looks for another app": Mistake('infra/hooks/find_revision.sh', "--name ca-memnet-api --output",
        "--name memnet-api --output", "differs-from-code", "another app"),
    "the hook looks for another image": Mistake('infra/hooks/find_revision.sh', 'image="/memnet-api:',
        'image="/memnet:', "differs-from-code", "image: infra/hooks/find_revision.sh looks for another image"),
    "an output that the deployment of workers reads is gone": Mistake(MAIN, "output MEMNET_WORKER_FUNCTIONS",
        "output MEMNET_FUNCTIONS", "differs-from-code", "a hook reads MEMNET_WORKER_FUNCTIONS, which is no output"),
    "Functions do not have this Python": Mistake(NAMES, '"3.13"', '"3.9"', "differs-from-code",
        "python: the API's image has 3.13, Functions 3.10, 3.11, 3.12, 3.13"),
    "the API runs whatever host was chosen": Mistake(MAIN, "if (apiHost == 'containerApps')",
        "if (apiHost == 'containerApp')", "not-planned", "apiContainerApp"),
    "a role without a process": Mistake('infra/queries/silent-workers.kql', '"memnet-worker"', '"memnet-workers"',
        "differs-from-code", "no process reports as memnet-workers"),
    "an alert without a section in the runbook": Mistake(ALERTS, "docs/runbook.md#dead-letters'",
        "docs/runbook.md#dead'", "differs-from-code", "no section dead"),
    "a module that does not take what it is given": Mistake('infra/modules/network.bicep',
        "@allowed(['containerApps', 'appService'])", "@allowed(['containerApps', 'appServices'])",
        "parameter-value", "apiHost is 'appService'"),
    "a trigger on a queue without jobs": Mistake(FUNCTIONS, "QUEUES[JobKind.REPLAY]",
        "QUEUES[JobKind.REINDEX]", "differs-from-code",
        "QUEUES[JobKind.REINDEX] is not a job queue, or has two triggers"),
    "a parameter from another variable": Mistake(PROD, "readEnvironmentVariable('MEMNET_ISSUER_URL')",
        "readEnvironmentVariable('MEMNET_ISSUER')", "differs-from-code", "issuerUrl is read from MEMNET_ISSUER"),
    "bounds that leave nothing": Mistake(MAIN, "@minValue(1)\n@maxValue(12)", "@minValue(12)\n@maxValue(1)",
        "parameter-value", "at least 12"),
    "a default that is not allowed": Mistake(MAIN, "param storageRedundancy string = 'Standard_ZRS'",
        "param storageRedundancy string = 'Standard'", "parameter-value", "storageRedundancy"),
    "a member that is given twice": Mistake(SEARCH, "    partitionCount: 1\n",
        "    partitionCount: 1\n    partitionCount: 1\n", "declared-twice", "partitionCount"),
    "a schedule beyond its range": Mistake(FUNCTIONS, '"*/20 * * * * *"', '"75 * * * * *"', "differs-from-code",
        "'75 * * * * *'"),
    "a value that the page does not have": Mistake(PROD, "softDeleteDays = 7", "softDeleteDays = 8",
        "differs-from-code", "softDeleteDays of prod is not 7"),
    "a parameter that only the page has": Mistake(MAIN, "param alertThresholds object", "param alertLimits object",
        "differs-from-code", "has no parameter alertThresholds"),
    "an alert that the page does not have": Mistake('infra/alerts.json', '"index-lag"', '"index-delay"',
        "differs-from-code", "the table of alerts has no index-delay"),
    "messages without completion": Mistake('workers/host.json', '"autoCompleteMessages": true',
        '"autoCompleteMessages": false', "differs-from-code", "completes"),
}  # fmt: skip


IN_A_PLAN = {
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
MISTAKES = IN_A_FILE | IN_A_PLAN
PAGE = "docs/deployment.md"


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=[name.replace(" ", "-") for name in MISTAKES])
def test_a_planted_mistake_is_found(mistake: Mistake) -> None:
    found = findings(planted((mistake.file, mistake.old, mistake.new)))
    assert any(one.code == mistake.code and mistake.message in one.message for one in found)


def test_the_shipped_templates_have_no_finding() -> None:
    assert check(Tree()) == []


def test_a_finding_has_its_line_and_ends_the_command_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    tree = planted((STORAGE, "minimumTlsVersion:", "minimalTlsVersion:"))
    line = tree.text(STORAGE).splitlines().index("    minimalTlsVersion: 'TLS1_2'") + 1
    assert main([], tree) == 1
    found = capsys.readouterr().out
    assert found.startswith(f"{STORAGE}:{line}: unknown-property: account.properties: ")
    assert len(found.splitlines()) == 1


def test_a_tree_without_a_finding_ends_the_command_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], Tree()) == 0
    assert re.fullmatch(r"infra: \d+ files and \d+ plans without a finding\n", capsys.readouterr().out)


def test_a_missing_role_is_found_even_if_the_page_omits_it() -> None:
    mistake = MISTAKES["the workers may not take dead letters out"]
    both = "Azure Service Bus Data Sender, Azure Service Bus Data Receiver | the queue of dead letters"
    edit = (PAGE, both, "Azure Service Bus Data Sender | the queue of dead letters")
    found = check(planted((mistake.file, mistake.old, mistake.new), edit))
    needed = "does not get Azure Service Bus Data Receiver on sb-memnet/memnet-dead-letters"
    assert needed in " ".join(one.message for one in found)


def test_a_function_that_was_deployed_stays_in_the_list_of_names() -> None:
    """The app that does not serve may still have it, and runs it once nothing switches it off."""
    gone = (NAMES, '    "apply_due",\n', ""), (FUNCTIONS, '"apply_due"', '"requeue_jobs"')
    assert "apply_due was a function" in " ".join(one.message for one in check(planted(*gone)))


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
