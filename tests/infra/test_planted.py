"""`make infra` refuses each of these mistakes, planted by one edit in a copy, with the right finding."""

import re
import subprocess
import sys
from pathlib import Path

from local.infra_check.check import check
from tests.house.source_tree import ROOT
from tests.infra.planting import (
    ALERTS,
    API,
    BUS,
    MAIN,
    MONITORING,
    NAMES,
    PROD,
    ROLES,
    SEARCH,
    STORAGE,
    VAULT,
    WORKERS,
    Mistake,
    check_that_it_is_found,
    copy_to,
    each,
    plant,
)

OWNER = "8e3af657-a8ff-443c-a75c-2fe8c4bcb635"


MISTAKES = {
    # what is no Bicep
    "a bracket is missing": Mistake(STORAGE, "writerIds: {\n", "writerIds:\n", "syntax", "not Bicep"),
    "a comma is missing in JSON": Mistake(NAMES, '"memnet",', '"memnet"', "syntax", "not JSON"),
    # against Azure's schemas
    "a property is misspelt": Mistake(
        STORAGE, "minimumTlsVersion:", "minimalTlsVersion:", "unknown-property", "minimalTlsVersion"
    ),
    "a property deep below is misspelt": Mistake(
        API, "terminationGracePeriodSeconds", "gracePeriodSeconds", "unknown-property", "gracePeriodSeconds"
    ),
    "a property in an item of a list is misspelt": Mistake(
        API, "failureThreshold:", "failures:", "unknown-property",
        "probes[0]: ContainerAppProbe has no property failures",
    ),
    "a property is misspelt in what a lambda makes": Mistake(
        ALERTS, "operator: 'Include'", "operation: 'Include'", "unknown-property", "operation"
    ),
    "a property is misspelt in a part of a union": Mistake(
        STORAGE, "keyname: encryptionKeyName", "keyName: encryptionKeyName", "unknown-property", "keyName"
    ),
    "a required property is missing": Mistake(
        SEARCH, "  location: location\n", "", "missing-property", "location is required"
    ),
    "a required property deep below is missing": Mistake(
        VAULT, "      family: 'A'\n", "", "missing-property", "family is required"
    ),
    "what Azure alone sets is set": Mistake(
        SEARCH, "replicaCount: replicas", "provisioningState: 'succeeded'", "read-only", "provisioningState"
    ),
    "a string stands for a number": Mistake(
        API, "weight: 100, label: 'serving' }\n        ] :", "weight: '100', label: 'serving' }\n        ] :",
        "wrong-type", "string where int is expected",
    ),
    "a parameter of the wrong type is put into a property": Mistake(
        SEARCH, "replicaCount: replicas", "replicaCount: sku", "wrong-type", "string where int is expected"
    ),
    "a word is none of those that are known": Mistake(
        STORAGE, "accessTier: 'Hot'", "accessTier: 'Warm'", "wrong-value", "'Warm' is none of"
    ),
    "a word from another file is none of those that are known": Mistake(
        "infra/alerts.json", '"aggregation": "Total"', '"aggregation": "Sum"', "wrong-value", "'Sum' is none of", ALERTS
    ),
    "the API version is another one": Mistake(
        SEARCH, "searchServices@2025-05-01", "searchServices@2019-01-01", "api-version", "2025-05-01"
    ),
    "the resource type does not exist": Mistake(
        SEARCH, "Microsoft.Search/searchServices@", "Microsoft.Search/service@", "unknown-resource", "Search/service"
    ),
    "a property that is read does not exist": Mistake(
        STORAGE, "account.properties.primaryEndpoints.blob", "account.properties.endpoints.blob", "unknown-property",
        "endpoints",
    ),
    # names
    "a name that nobody declared": Mistake(
        STORAGE, "days: softDeleteDays, allow", "days: keptDays, allow", "undefined", "keptDays"
    ),
    "a function that does not exist": Mistake(MAIN, "toLower(", "lower(", "undefined", "lower"),
    "a parameter that nobody uses": Mistake(
        SEARCH, "param sku string", "param sku string\nparam tier string", "unused", "tier"
    ),
    "a variable that nobody uses": Mistake(BUS, "var forever", "var never = 1\nvar forever", "unused", "never"),
    "a name that is declared twice": Mistake(
        SEARCH, "var isPrivate", "param sku int\nvar isPrivate", "declared-twice", "sku"
    ),
    "a member that names.json does not have": Mistake(
        BUS, "names.lockDuration", "names.lockTime", "undefined", "'lockTime'"
    ),
    "a file that is loaded is missing": Mistake(
        ALERTS, "queries/index-lag.kql", "queries/index_lag.kql", "no-such-file", "index_lag.kql"
    ),
    # modules
    "a module that is missing": Mistake(
        MAIN, "modules/search.bicep", "modules/find.bicep", "no-such-file", "find.bicep"
    ),
    "a module's parameter that it does not have": Mistake(
        MAIN, "replicas: searchReplicas", "replicaCount: searchReplicas", "unknown-parameter", "replicaCount"
    ),
    "a module's parameter that it needs": Mistake(
        MAIN, "    sku: searchSku\n", "", "missing-parameter", "needs the parameter sku"
    ),
    "a module's parameter of the wrong type": Mistake(
        MAIN, "replicas: searchReplicas", "replicas: searchSku", "parameter-type", "replicas is given string"
    ),
    "a module's parameter with a value it does not take": Mistake(
        MAIN, "? 'Premium' : serviceBusSku", "? 'Premium' : 'Basic'", "parameter-value", "sku is 'Basic'"
    ),
    "an output that a module does not have": Mistake(
        MAIN, "vault.outputs.url", "vault.outputs.uri", "unknown-output", "no output uri"
    ),
    # parameter files
    "a parameter file without what is needed": Mistake(
        PROD, "param audience = readEnvironmentVariable('MEMNET_AUDIENCE')\n", "", "missing-parameter", "audience"
    ),
    "a parameter file with what is not there": Mistake(
        PROD, "param searchReplicas", "param searchCopies", "unknown-parameter", "searchCopies"
    ),
    "a parameter file with the wrong type": Mistake(
        PROD, "softDeleteDays = 7", "softDeleteDays = 'P7D'", "parameter-type", "softDeleteDays is given string"
    ),
    "a parameter file with a word that is not allowed": Mistake(
        PROD, "'Standard_GZRS'", "'Premium_LRS'", "parameter-value", "storageRedundancy"
    ),
    "a parameter file with a number out of bounds": Mistake(
        PROD, "softDeleteDays = 7", "softDeleteDays = 365", "parameter-value", "at most 30"
    ),
    # roles
    "Owner": Mistake(ROLES, "ba92f5b4-2d11-453d-a403-e96b0029c9fe", OWNER, "role-not-allowed", "Owner"),
    "Owner, by its id": Mistake(
        STORAGE, "definitions, roles.storageBlobDataContributor)", f"definitions, '{OWNER}')",
        "role-not-allowed", "Owner",
    ),
    "a role under the name of another one": Mistake(
        ROLES, "4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0", "69a216fc-b8fb-44d8-bc22-1f3c2cd27a39", "role-not-allowed",
        "serviceBusDataReceiver is the id of Azure Service Bus Data Sender",
    ),
    "a role that only a deployment knows": Mistake(
        SEARCH, "subscriptionResourceId(definitions, indexManager.name)", "sku", "role-not-allowed", "cannot be told",
    ),
    "everything on the search service": Mistake(
        SEARCH, "definitions, indexManager.name)", "definitions, '7ca78c08-252a-4471-8644-bb5ff32d4ba0')",
        "role-not-allowed", "Search Service Contributor",
    ),
    "a role of ours that nobody knows": Mistake(
        SEARCH, "indexManager", "indexOwner", "role-not-allowed", "assigns indexOwner"
    ),
    "a role on the whole resource group": Mistake(
        STORAGE, "  scope: container\n", "", "role-scope", "whole resource group"
    ),
    "a role on the whole account": Mistake(
        STORAGE, "  scope: container\n", "  scope: account\n", "role-scope", "not for Microsoft.Storage/storageAccounts"
    ),
    "a role on the whole namespace": Mistake(
        BUS, "  scope: deadLetters\n", "  scope: namespace\n", "role-scope", "not for Microsoft.ServiceBus/namespaces"
    ),
    "a role for a person": Mistake(
        SEARCH, "principalType: 'ServicePrincipal'", "principalType: 'User'", "role-principal", "identities"
    ),
    # keys and doors
    "a key as an output": Mistake(
        STORAGE, "output containerUrl", "output key string = account.listKeys().keys[0].value\noutput containerUrl",
        "key-read", "listKeys",
    ),
    "keys by the function": Mistake(
        BUS, "output id string = namespace.id",
        "output id string = namespace.id\noutput rule object = listKeys(namespace.id, '2024-01-01')",
        "key-read", "listKeys",
    ),
    "a connection string as an output": Mistake(
        MONITORING, "output insightsName string = insights.name",
        "output insightsName string = insights.name\noutput address string = insights.properties.ConnectionString",
        "secret-output", "ConnectionString",
    ),
    "a secure parameter as an output": Mistake(
        SEARCH, "output url string",
        "@secure()\nparam adminWord string\noutput word string = adminWord\noutput url string",
        "secret-output", "secure parameter adminWord",
    ),
    "a secure output": Mistake(SEARCH, "output url string", "@secure()\noutput url string", "secret-output", "marked"),
    "a key in a file": Mistake(
        SEARCH, "'pe-memnet-search'", "'AccountKey=abc'", "secret-in-file", "looks like a key"
    ),
    "shared keys of the storage": Mistake(
        STORAGE, "allowSharedKeyAccess: false", "allowSharedKeyAccess: true", "open-door", "allowSharedKeyAccess"
    ),
    "shared keys of the host's storage": Mistake(
        WORKERS, "    allowSharedKeyAccess: false\n", "", "open-door", "allowSharedKeyAccess"
    ),
    "keys of the search service": Mistake(
        SEARCH, "disableLocalAuth: true", "disableLocalAuth: false", "open-door", "disableLocalAuth"
    ),
    "keys of the queues": Mistake(
        BUS, "disableLocalAuth: true", "disableLocalAuth: false", "open-door", "disableLocalAuth"
    ),
    "a door that a parameter opens": Mistake(
        SEARCH, "disableLocalAuth: true", "disableLocalAuth: isPrivate", "open-door", "disableLocalAuth"
    ),
    "a vault that can be purged": Mistake(
        VAULT, "enablePurgeProtection: true", "enablePurgeProtection: false", "open-door", "enablePurgeProtection"
    ),
    "a container that anybody reads": Mistake(
        STORAGE, "publicAccess: 'None'", "publicAccess: 'Blob'", "open-door", "publicAccess"
    ),
    # what the code says, too
    "a queue under another name": Mistake(NAMES, '"memnet-replay"', '"memnet-replays"', "differs-from-code", "queues"),
    "a queue without sessions": Mistake(
        BUS, "requiresSession: true", "requiresSession: false", "differs-from-code", "memnet-replay: requiresSession"
    ),
    "a queue without duplicate detection": Mistake(
        BUS, "    requiresDuplicateDetection: true\n", "", "differs-from-code", "requiresDuplicateDetection"
    ),
    "a shorter window against duplicates": Mistake(
        NAMES, "PT10M", "PT1M", "differs-from-code", "duplicateDetectionHistoryTimeWindow has to be 'PT10M'", BUS
    ),
    "letters that ten erasures push to the broker's own": Mistake(
        BUS, "    maxDeliveryCount: names.lettersMaxDeliveryCount\n", "", "differs-from-code",
        "memnet-dead-letters: maxDeliveryCount has to be 2000",
    ),
    "a trigger without sessions": Mistake(
        "workers/function_app.py", "is_sessions_enabled=True", "is_sessions_enabled=False", "differs-from-code",
        "trigger",
    ),
    "a function that the templates do not know": Mistake(
        "workers/function_app.py", 'function_name("sign_heads")', 'function_name("sign_all")', "differs-from-code",
        "sign_all", NAMES,
    ),
    "a host without sessions": Mistake(
        "workers/host.json", '"maxConcurrentSessions": 4,', "", "differs-from-code", "sessions"
    ),
    "an index under another name": Mistake(NAMES, '"memnet-events"', '"events"', "differs-from-code", "searchIndex"),
    "another port": Mistake(NAMES, "8080", "80", "differs-from-code", "apiPort"),
    "a setting that the code does not have": Mistake(
        MAIN, "MEMNET_MODEL_PROVIDERS:", "MEMNET_MODEL:", "differs-from-code", "has no MEMNET_MODEL"
    ),
    "a setting that the services need": Mistake(
        MAIN, "  MEMNET_AUDIENCE: audience\n", "", "differs-from-code", "workers is not given MEMNET_AUDIENCE"
    ),
    "an alert on a metric that is not measured": Mistake(
        "infra/queries/index-lag.kql", "memnet.index.lag", "memnet.index.age", "differs-from-code", "memnet.index.age"
    ),
    "an alert on an error code that does not exist": Mistake(
        "infra/queries/stale-writes.kql", "ETAG_MISMATCH", "ETAG_STALE", "differs-from-code", "ETAG_STALE"
    ),
    "an alert by a column that its query lacks": Mistake(
        "infra/queries/stale-writes.kql", "Binding", "Bound", "differs-from-code", "Binding", "infra/alerts.json"
    ),
    "an alert without a query": Mistake(
        "infra/alerts.json", '"index-lag"', '"index-delay"', "differs-from-code", "index-delay", ALERTS
    ),
}  # fmt: skip


@each(MISTAKES)
def test_a_planted_mistake_is_found(tmp_path: Path, mistake: Mistake) -> None:
    check_that_it_is_found(tmp_path, mistake)


def test_there_are_more_than_twenty_kinds_of_places_for_them() -> None:
    assert len(MISTAKES) >= 20
    assert len({mistake.code for mistake in MISTAKES.values()}) >= 20


def test_what_is_shipped_has_no_finding() -> None:
    assert check(ROOT) == []


def test_a_finding_is_told_at_its_line_and_ends_the_command_with_1(tmp_path: Path) -> None:
    mistake = MISTAKES["shared keys of the storage"]
    plant(copy_to(tmp_path), mistake)
    line = (tmp_path / STORAGE).read_text("utf-8").splitlines().index("    allowSharedKeyAccess: true") + 1
    command = [sys.executable, "-m", "local.infra_check", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == f"{STORAGE}:{line}: open-door: account: allowSharedKeyAccess has to be false\n"


def test_a_tree_without_a_finding_ends_the_command_with_0(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "local.infra_check", str(copy_to(tmp_path))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert re.fullmatch(r"infra: \d+ files without a finding\n", done.stdout)
