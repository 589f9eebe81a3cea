// The API on Container Apps. A release, and every change of its settings, is a revision of its own. Azure names it,
// because it creates nothing under a used name. A new revision serves when it is ready, unless another serving
// revision is named.
param location string
param tags object
param workspaceId string
param insightsName string
param subnetId string
param networkId string
param registryServer string
param identityId string
param settings object
param release string
param servingRevision string
param isPublic bool
param minReplicas int
param maxReplicas int

var names = loadJsonContent('../names.json')

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

resource surroundings 'Microsoft.App/managedEnvironments@2025-01-01' = {
  name: 'cae-memnet'
  location: location
  tags: tags
  properties: {
    // Not 'log-analytics', which takes the workspace's key.
    appLogsConfiguration: { destination: 'azure-monitor' }
    vnetConfiguration: empty(subnetId) ? null : {
      infrastructureSubnetId: subnetId
      internal: !isPublic
    }
    workloadProfiles: [
      { name: 'Consumption', workloadProfileType: 'Consumption' }
    ]
    zoneRedundant: !empty(subnetId)
  }
}

resource logging 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'memnet'
  scope: surroundings
  properties: {
    workspaceId: workspaceId
    logs: [
      { category: 'ContainerAppConsoleLogs', enabled: true }
      { category: 'ContainerAppSystemLogs', enabled: true }
    ]
    metrics: [
      { category: 'AllMetrics', enabled: true }
    ]
  }
}

resource api 'Microsoft.App/containerApps@2025-01-01' = if (!empty(release)) {
  name: 'ca-memnet-api'
  location: location
  tags: tags
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identityId}': {} }
  }
  properties: {
    environmentId: surroundings.id
    workloadProfileName: 'Consumption'
    configuration: {
      activeRevisionsMode: 'Multiple'
      maxInactiveRevisions: 10
      registries: [
        { server: registryServer, identity: identityId }
      ]
      ingress: {
        // Outside of the environment: the internet or the network, depending on the environment.
        external: true
        targetPort: names.apiPort
        transport: 'http'
        allowInsecure: false
        traffic: empty(servingRevision) ? [
          { latestRevision: true, weight: 100, label: 'serving' }
        ] : [
          { revisionName: servingRevision, weight: 100, label: 'serving' }
          { latestRevision: true, weight: 0, label: 'next' }
        ]
      }
    }
    template: {
      // The API drains for 5 s, then gives active requests 20 s and background work 10 s.
      terminationGracePeriodSeconds: 45
      containers: [
        {
          name: 'api'
          image: '${registryServer}/${names.image}:${release}'
          resources: {
            cpu: 1
            memory: '2Gi'
          }
          env: concat(map(items(settings), setting => { name: setting.key, value: setting.value }), [
            { name: 'MEMNET_TELEMETRY_CONNECTION_STRING', value: insights.properties.ConnectionString }
          ])
          probes: [
            {
              type: 'Startup'
              httpGet: { path: names.liveness, port: names.apiPort }
              periodSeconds: 5
              failureThreshold: 10
            }
            {
              type: 'Liveness'
              httpGet: { path: names.liveness, port: names.apiPort }
              periodSeconds: 10
              timeoutSeconds: 5
            }
            {
              type: 'Readiness'
              httpGet: { path: names.readiness, port: names.apiPort }
              periodSeconds: 10
              timeoutSeconds: 10
            }
          ]
        }
      ]
      scale: {
        minReplicas: minReplicas
        maxReplicas: maxReplicas
        rules: [
          {
            name: 'requests'
            http: {
              metadata: { concurrentRequests: '50' }
            }
          }
        ]
      }
    }
  }
}

// A zone's name has to be known at the start of its deployment, and Azure chooses this one: hence its own module.
module domain 'environment_domain.bicep' = if (!isPublic) {
  name: 'api-domain'
  params: {
    tags: tags
    domain: surroundings.properties.defaultDomain
    address: surroundings.properties.staticIp
    networkId: networkId
  }
}

output url string = empty(release) ? '' : 'https://${api!.properties.configuration.ingress.fqdn}'
