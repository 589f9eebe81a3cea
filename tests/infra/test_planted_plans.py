"""`make infra` refuses mistakes that no file shows by itself: roles, settings, and what runs."""

from pathlib import Path

from local.infra_check.check import check
from tests.infra.planting import (
    API,
    BUS,
    MAIN,
    MONITORING,
    NAMES,
    PROD,
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

APP_SERVICE = "infra/modules/api_app_service.bicep"
IDENTITIES = "infra/modules/identities.bicep"
REGISTRY = "infra/modules/registry.bicep"
BOTH = "[identities.outputs.apiPrincipalId, identities.outputs.workersPrincipalId]"

MISTAKES = {
    # who may do what
    "the workers may not take dead letters out": Mistake(
        BUS, "guid(deadLetters.id, workersPrincipalId, roles.serviceBusDataReceiver)\n  scope: deadLetters",
        "guid(queues[0].id, workersPrincipalId, roles.serviceBusDataReceiver)\n  scope: queues[0]", "grant",
        "id-memnet-workers does not get Azure Service Bus Data Receiver on sb-memnet/memnet-dead-letters", BUS,
    ),
    "the workers receive from one queue": Mistake(
        BUS, "[for (name, i) in names.queues: {\n  name: guid(queues[i].id, workersPrincipalId",
        "[for i in range(0, 1): {\n  name: guid(queues[i].id, workersPrincipalId", "grant",
        "does not get Azure Service Bus Data Receiver on sb-memnet/memnet-replay",
    ),
    "the workers do not write to the storage": Mistake(
        MAIN, f"writerIds: {BOTH}", "writerIds: [identities.outputs.apiPrincipalId]", "grant",
        "id-memnet-workers does not get Storage Blob Data Contributor", STORAGE,
    ),
    "the workers are the API": Mistake(
        MAIN, "workersPrincipalId: identities.outputs.workersPrincipalId",
        "workersPrincipalId: identities.outputs.apiPrincipalId", "grant", "id-memnet-api gets Azure Service Bus", BUS,
    ),
    "dead letters go to another queue": Mistake(
        BUS, "name: guid(deadLetters.id, workersPrincipalId, roles.serviceBusDataSender)\n  scope: deadLetters",
        "name: guid(queues[0].id, workersPrincipalId, roles.serviceBusDataSender)\n  scope: queues[0]", "grant",
        "does not get Azure Service Bus Data Sender on sb-memnet/memnet-dead-letters",
    ),
    "the API receives": Mistake(
        MAIN, "workersPrincipalId: identities.outputs.workersPrincipalId\n    encryption",
        "workersPrincipalId: identities.outputs.apiPrincipalId\n    encryption", "grant", "gets", BUS,
    ),
    "a role by the id of the client": Mistake(
        IDENTITIES, "workers.properties.principalId", "workers.properties.clientId", "grant", "clientId gets", STORAGE
    ),
    "the workers pull the image": Mistake(
        MAIN, "pullerId: identities.outputs.apiPrincipalId", "pullerId: identities.outputs.workersPrincipalId",
        "grant", "id-memnet-api does not get AcrPull", REGISTRY,
    ),
    "nobody sends telemetry": Mistake(
        MAIN, f"publisherIds: {BOTH}", "publisherIds: []", "grant", "Monitoring Metrics Publisher", MONITORING
    ),
    "the models are for the API alone": Mistake(
        MAIN, f"userIds: {BOTH}", "userIds: [identities.outputs.apiPrincipalId]", "grant",
        "id-memnet-workers does not get Cognitive Services OpenAI User", MAIN,
    ),
    "keys are made by who may only read them": Mistake(
        VAULT, "if (!serviceMakesKeys)", "if (serviceMakesKeys)", "grant", "Key Vault Secrets User"
    ),
    "the assignment is named after another role": Mistake(
        SEARCH, "guid(service.id, id, roles.searchIndexDataContributor)",
        "guid(service.id, id, indexManager.name)", "grant", "guid",
    ),
    "whoever makes indexes may do everything": Mistake(
        SEARCH, "'Microsoft.Search/searchServices/indexes/*'", "'Microsoft.Search/searchServices/*'", "decided",
        "permissions",
    ),
    "a role of ours is for everywhere": Mistake(SEARCH, "[group]", "['/']", "decided", "assignableScopes"),
    "the page tells of another role": Mistake(
        "docs/deployment.md", "| API | AcrPull | the registry |", "", "grant", "AcrPull", REGISTRY
    ),
    # settings
    "the API does not say who it is": Mistake(
        MAIN, "  AZURE_CLIENT_ID: identities.outputs.apiClientId\n", "", "setting", "AZURE_CLIENT_ID is not given", API
    ),
    "the API says that it is the workers": Mistake(
        MAIN, "AZURE_CLIENT_ID: identities.outputs.apiClientId", "AZURE_CLIENT_ID: identities.outputs.workersClientId",
        "setting", "AZURE_CLIENT_ID is", API,
    ),
    "the host's storage is asked by nobody": Mistake(
        WORKERS, "  AzureWebJobsStorage__clientId: identityClientId\n", "", "setting", "AzureWebJobsStorage__clientId"
    ),
    "the host's storage is another account": Mistake(
        WORKERS, "AzureWebJobsStorage__accountName: host.name", "AzureWebJobsStorage__accountName: insightsName",
        "setting", "AzureWebJobsStorage__accountName is",
    ),
    "the triggers ask without a credential": Mistake(
        WORKERS, "  '${names.queueConnection}__credential': 'managedidentity'\n", "", "setting",
        "MEMNET_SERVICE_BUS__credential is not given",
    ),
    "the triggers' credential is misspelt": Mistake(
        WORKERS, "__credential': 'managedidentity'", "__credential': 'managedIdentities'", "setting", "__credential is"
    ),
    "the triggers have no address": Mistake(
        WORKERS, "__fullyQualifiedNamespace'", "__namespace'", "setting", "fullyQualifiedNamespace is not given"
    ),
    "the API tells nobody": Mistake(
        API, "{ name: 'MEMNET_TELEMETRY_CONNECTION_STRING', value: insights.properties.ConnectionString }",
        "", "setting", "MEMNET_TELEMETRY_CONNECTION_STRING is not given",
    ),
    "the API tells by the key alone": Mistake(
        API, "insights.properties.ConnectionString", "insights.properties.InstrumentationKey", "setting",
        "MEMNET_TELEMETRY_CONNECTION_STRING is",
    ),
    "telemetry goes where the code knows nobody": Mistake(
        MAIN, "'azure_monitor'", "'azure-monitor'", "setting", "must be one of", API,
    ),
    "functions are turned off by a name that nobody reads": Mistake(
        WORKERS, "'AzureWebJobs.${name}.Disabled'", "'AzureWebJobs.${name}.Disable'", "setting",
        "AzureWebJobs.erase_users.Disabled is not given",
    ),
    "the functions that serve are off": Mistake(
        WORKERS, "colour == serving ?", "colour != serving ?", "setting", "Disabled"
    ),
    "functions are turned off with a word": Mistake(
        WORKERS, "name => 'true')", "name => 'yes')", "setting", "Disabled is 'yes'"
    ),
    "the audience is the issuer": Mistake(
        MAIN, "MEMNET_AUDIENCE: audience", "MEMNET_AUDIENCE: empty(audience) ? audience : issuerUrl", "setting",
        "MEMNET_AUDIENCE is", API,
    ),
    "a setting of nobody": Mistake(
        WORKERS, "AZURE_CLIENT_ID:", "AZURE_CLIENTID:", "setting", "nothing here is known to read it"
    ),
    "the container in the address is not the one that is made": Mistake(
        STORAGE, "primaryEndpoints.blob}${container.name}", "primaryEndpoints.blob}memory", "setting",
        "MEMNET_STORAGE_URL is", API,
    ),
    "the API's identity is the workers'": Mistake(
        MAIN, "identityId: identities.outputs.apiId", "identityId: identities.outputs.workersId", "setting",
        "its identity has to be id-memnet-api", API,
    ),
    # what runs
    "the probe asks for a route that is not there": Mistake(
        NAMES, "/health/ready", "/health/redy", "differs-from-code", "the API answers at /health/ready"
    ),
    "alive is asked for as ready": Mistake(
        API, "type: 'Liveness'\n              httpGet: { path: names.liveness",
        "type: 'Liveness'\n              httpGet: { path: names.readiness", "service", "Liveness probe",
    ),
    "no readiness": Mistake(API, "type: 'Readiness'", "type: 'Startup'", "service", "Readiness probe"),
    "readiness is asked for too seldom": Mistake(
        API, "periodSeconds: 10\n              timeoutSeconds: 10",
        "periodSeconds: 60\n              timeoutSeconds: 10",
        "service", "every 60 s",
    ),
    "the image is another one than the hook's": Mistake(
        NAMES, '"memnet-api"', '"memnet-service"', "differs-from-code", "builds memnet-api"
    ),
    "the image of the wrong release": Mistake(
        API, "${names.image}:${release}'", "${names.image}:latest'", "service", "image is"
    ),
    "the API is killed while it drains": Mistake(
        API, "terminationGracePeriodSeconds: 45", "terminationGracePeriodSeconds: 30", "service", "needs 35 s"
    ),
    "App Service kills the API while it drains": Mistake(
        APP_SERVICE, "    { name: 'WEBSITES_CONTAINER_STOP_TIME_LIMIT', value: '60' }\n", "", "service", "needs 35 s"
    ),
    "App Service gives no such time": Mistake(
        APP_SERVICE, "TIME_LIMIT', value: '60'", "TIME_LIMIT', value: '600'", "service", "gives 120"
    ),
    "a new release serves at once": Mistake(
        API, "weight: 0, label: 'next'", "weight: 50, label: 'next'", "service", "traffic"
    ),
    "a revision gets a name that there may be already": Mistake(
        API, "    template: {\n", "    template: {\n      revisionSuffix: 'r${release}'\n", "service",
        "revisionSuffix is 'rtwo'",
    ),
    "another release serves by being the latest": Mistake(
        API, "{ revisionName: servingRevision, weight: 100", "{ latestRevision: true, weight: 100", "service", "traffic"
    ),
    "what is put in place has no address": Mistake(
        API, "{ latestRevision: true, weight: 0, label: 'next' }", "", "service", "traffic"
    ),
    "a revision that is to go on has no traffic": Mistake(
        MAIN, "servingRevision: trafficRevision", "servingRevision: servesItself ? '' : trafficRevision", "service",
        "traffic", API,
    ),
    "nobody knows which revision goes on serving": Mistake(
        MAIN, "missesRevision ? fail(", "missesRevision && empty(release) ? fail(", "service",
        "another servingRelease without a servingRevision has to be refused",
    ),
    "the hook looks for another app": Mistake(
        "infra/hooks/find_revision.sh", "--name ca-memnet-api --output", "--name memnet-api --output", "service",
        "another app", API,
    ),
    "the hook looks for another image": Mistake(
        "infra/hooks/find_revision.sh", 'image="/memnet-api:', 'image="/memnet:', "service", "another app or image", API
    ),
    "an output that the deployment of workers reads is gone": Mistake(
        MAIN, "output MEMNET_WORKER_FUNCTIONS", "output MEMNET_FUNCTIONS", "service", "no output MEMNET_WORKER"
    ),
    "a revision is replaced and not kept": Mistake(
        API, "activeRevisionsMode: 'Multiple'", "activeRevisionsMode: 'Single'", "service", "activeRevisionsMode"
    ),
    "fewest and most replicas are exchanged": Mistake(
        API, "minReplicas: minReplicas\n        maxReplicas: maxReplicas",
        "minReplicas: maxReplicas\n        maxReplicas: minReplicas",
        "service", "minReplicas is",
    ),
    "fewer replicas at most than at least": Mistake(
        PROD, "apiMaxReplicas = 10", "apiMaxReplicas = 2", "decided", "apiMinReplicas is larger"
    ),
    "the package lies in another container": Mistake(
        WORKERS, "primaryEndpoints.blob}${packages[i].name}", "primaryEndpoints.blob}${packages[0].name}", "service",
        "packages-green",
    ),
    "the workers start before they may read their package": Mistake(
        WORKERS, "  dependsOn: [locking]\n", "", "service", "dependsOn"
    ),
    "Functions do not have this Python": Mistake(NAMES, '"3.13"', '"3.9"', "differs-from-code", "python is 3.9"),
    "an output tells another address": Mistake(
        MAIN, "output MEMNET_QUEUE_URL string = serviceBus.outputs.url",
        "output MEMNET_QUEUE_URL string = vault.outputs.url",
        "service", "MEMNET_QUEUE_URL",
    ),
    "an output that a hook reads is gone": Mistake(
        MAIN, "output AZURE_CONTAINER_REGISTRY_NAME", "output AZURE_REGISTRY", "differs-from-code", "is no output"
    ),
    "the API runs whatever host was chosen": Mistake(
        MAIN, "if (apiHost == 'containerApps')", "if (apiHost == 'containerApp')", "not-planned", "apiContainerApp"
    ),
}  # fmt: skip


def test_a_role_that_the_workers_need_is_missed_though_the_page_does_not_name_it_either(tmp_path: Path) -> None:
    plant(copy_to(tmp_path), MISTAKES["the workers may not take dead letters out"])
    page = tmp_path / "docs" / "deployment.md"
    both = "Azure Service Bus Data Sender, Azure Service Bus Data Receiver | the queue of dead letters"
    assert both in page.read_text("utf-8")
    page.write_text(page.read_text("utf-8").replace(", Azure Service Bus Data Receiver | the queue", " | the queue"))
    needed = "does not get Azure Service Bus Data Receiver on sb-memnet/memnet-dead-letters"
    assert needed in " ".join(one.message for one in check(tmp_path))


@each(MISTAKES)
def test_a_planted_mistake_is_found(tmp_path: Path, mistake: Mistake) -> None:
    check_that_it_is_found(tmp_path, mistake)
