// The workers on Functions Flex Consumption, which has no slots: two apps, of which one has its triggers on. A release
// is deployed to the other app, and serves when that app is named. An app without triggers costs nothing.
param token string
param location string
param tags object
param workspaceId string
param insightsName string
param endpointSubnetId string
param blobZone string
param tableZone string
param subnetId string
param identityId string
param identityPrincipalId string
param identityClientId string
param queueHost string
param settings object
@allowed(['blue', 'green'])
param serving string
@description('All functions that either app may have.')
param functions array
param maxInstances int
param accessLogs bool

var names = loadJsonContent('../names.json')
var roles = loadJsonContent('../roles.json')
var definitions = 'Microsoft.Authorization/roleDefinitions'
var isPrivate = !empty(endpointSubnetId)
var colours = ['blue', 'green']
var workerSettings = union(settings, {
  MEMNET_WORKER_PRINCIPAL: 'memnet-worker'
  AZURE_CLIENT_ID: identityClientId
  AzureWebJobsStorage__accountName: host.name
  AzureWebJobsStorage__credential: 'managedidentity'
  AzureWebJobsStorage__clientId: identityClientId
  '${names.queueConnection}__fullyQualifiedNamespace': queueHost
  '${names.queueConnection}__credential': 'managedidentity'
  '${names.queueConnection}__clientId': identityClientId
  MEMNET_TELEMETRY_CONNECTION_STRING: insights.properties.ConnectionString
  // For the Functions host, which is Microsoft's.
  APPLICATIONINSIGHTS_CONNECTION_STRING: insights.properties.ConnectionString
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
})
var triggersOff = toObject(functions, name => 'AzureWebJobs.${name}.Disabled', name => 'true')

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

// The host's own account: locks of timers and the packages. It holds no memory.
resource host 'Microsoft.Storage/storageAccounts@2025-01-01' = {
  name: 'stmemhost${token}'
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: 'Standard_LRS' }
  properties: {
    allowSharedKeyAccess: false
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    defaultToOAuthAuthentication: true
    isLocalUserEnabled: false
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    networkAcls: {
      bypass: 'None'
      defaultAction: isPrivate ? 'Deny' : 'Allow'
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' = {
  parent: host
  name: 'default'
  properties: {
    deleteRetentionPolicy: { enabled: false }
  }
}

resource hostLogging 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'memnet'
  scope: blobs
  properties: {
    workspaceId: workspaceId
    logs: [
      { category: 'StorageRead', enabled: accessLogs }
      { category: 'StorageWrite', enabled: accessLogs }
      { category: 'StorageDelete', enabled: accessLogs }
    ]
    metrics: [
      { category: 'Transaction', enabled: true }
    ]
  }
}

resource packages 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = [for colour in colours: {
  parent: blobs
  name: 'packages-${colour}'
  properties: { publicAccess: 'None' }
}]

resource locking 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(host.id, identityPrincipalId, roles.storageBlobDataOwner)
  scope: host
  properties: {
    roleDefinitionId: subscriptionResourceId(definitions, roles.storageBlobDataOwner)
    principalId: identityPrincipalId
    principalType: 'ServicePrincipal'
  }
}

// The host keeps its own diagnostics in a table.
resource diagnosing 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(host.id, identityPrincipalId, roles.storageTableDataContributor)
  scope: host
  properties: {
    roleDefinitionId: subscriptionResourceId(definitions, roles.storageTableDataContributor)
    principalId: identityPrincipalId
    principalType: 'ServicePrincipal'
  }
}

resource plans 'Microsoft.Web/serverfarms@2024-11-01' = [for colour in colours: {
  name: 'asp-memnet-workers-${colour}'
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: { reserved: true }
}]

resource apps 'Microsoft.Web/sites@2024-11-01' = [for (colour, i) in colours: {
  name: 'func-memnet-${colour}-${token}'
  location: location
  tags: union(tags, { 'azd-service-name': 'workers-${colour}' })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identityId}': {} }
  }
  properties: {
    serverFarmId: plans[i].id
    httpsOnly: true
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    siteConfig: {
      minTlsVersion: '1.2'
      // Nothing calls the workers. Deployments use the other address, and need a role.
      ipSecurityRestrictionsDefaultAction: isPrivate ? 'Deny' : 'Allow'
      scmIpSecurityRestrictionsDefaultAction: 'Allow'
      appSettings: map(items(union(workerSettings, colour == serving ? {} : triggersOff)), setting => {
        name: setting.key
        value: setting.value
      })
    }
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: '${host.properties.primaryEndpoints.blob}${packages[i].name}'
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      runtime: {
        name: 'python'
        version: names.python
      }
      scaleAndConcurrency: {
        instanceMemoryMB: 2048
        maximumInstanceCount: maxInstances
      }
    }
  }
  dependsOn: [locking]
}]

resource ftp 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = [for (colour, i) in colours: {
  parent: apps[i]
  name: 'ftp'
  properties: { allow: false }
}]

resource scm 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = [for (colour, i) in colours: {
  parent: apps[i]
  name: 'scm'
  properties: { allow: false }
}]

resource logging 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = [for (colour, i) in colours: {
  name: 'memnet'
  scope: apps[i]
  properties: {
    workspaceId: workspaceId
    logs: [
      { category: 'FunctionAppLogs', enabled: true }
    ]
    metrics: [
      { category: 'AllMetrics', enabled: true }
    ]
  }
}]

module blobEndpoint 'private_endpoint.bicep' = if (isPrivate) {
  name: 'host-blob-endpoint'
  params: {
    name: 'pe-memnet-host-blob'
    location: location
    tags: tags
    subnetId: endpointSubnetId
    resourceId: host.id
    groupId: 'blob'
    zone: blobZone
  }
}

module tableEndpoint 'private_endpoint.bicep' = if (isPrivate) {
  name: 'host-table-endpoint'
  params: {
    name: 'pe-memnet-host-table'
    location: location
    tags: tags
    subnetId: endpointSubnetId
    resourceId: host.id
    groupId: 'table'
    zone: tableZone
  }
}
