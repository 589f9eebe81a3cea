// The search service. Its content is derived from the storage and can be rebuilt.
param token string
param location string
param tags object
param workspaceId string
param endpointSubnetId string
param zone string
param sku string
param replicas int
param semanticSearch string
param serviceIds string[]
param encryptionIdentityId string
param encryptionKeyName string

var roles = loadJsonContent('../roles.json')
var definitions = 'Microsoft.Authorization/roleDefinitions'
var group = resourceGroup().id
var isPrivate = !empty(endpointSubnetId)
var withOwnKey = !empty(encryptionKeyName)

resource service 'Microsoft.Search/searchServices@2025-05-01' = {
  name: 'srch-memnet-${token}'
  location: location
  tags: tags
  sku: { name: sku }
  identity: withOwnKey ? {
    type: 'UserAssigned'
    userAssignedIdentities: { '${encryptionIdentityId}': {} }
  } : {
    type: 'None'
  }
  properties: {
    // The service names the key when it creates an index; an index without one is refused.
    encryptionWithCmk: { enforcement: withOwnKey ? 'Enabled' : 'Unspecified' }
    disableLocalAuth: true
    hostingMode: 'default'
    partitionCount: 1
    replicaCount: replicas
    semanticSearch: semanticSearch
    publicNetworkAccess: isPrivate ? 'disabled' : 'enabled'
    networkRuleSet: { bypass: 'None' }
  }
}

// The rights of a rebuild on indexes, and nothing else. Azure's smallest own role for it, Search Service Contributor,
// may also enable keys, list them, and open the network.
resource indexManager 'Microsoft.Authorization/roleDefinitions@2022-04-01' = {
  name: guid(group, 'memnet-index-manager')
  properties: {
    roleName: 'memnet Index Manager ${token}'
    description: 'Makes, reads, lists and drops the indexes of a search service.'
    type: 'CustomRole'
    permissions: [
      {
        actions: [
          'Microsoft.Search/searchServices/read'
          'Microsoft.Search/searchServices/indexes/*'
        ]
        notActions: []
        dataActions: []
        notDataActions: []
      }
    ]
    assignableScopes: [group]
  }
}

resource managing 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for id in serviceIds: {
  name: guid(service.id, id, indexManager.name)
  scope: service
  properties: {
    roleDefinitionId: subscriptionResourceId(definitions, indexManager.name)
    principalId: id
    principalType: 'ServicePrincipal'
  }
}]

resource indexing 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for id in serviceIds: {
  name: guid(service.id, id, roles.searchIndexDataContributor)
  scope: service
  properties: {
    roleDefinitionId: subscriptionResourceId(definitions, roles.searchIndexDataContributor)
    principalId: id
    principalType: 'ServicePrincipal'
  }
}]

// Metrics only: the operation logs contain filters, and with them user ids.
resource logging 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'memnet'
  scope: service
  properties: {
    workspaceId: workspaceId
    metrics: [
      { category: 'AllMetrics', enabled: true }
    ]
  }
}

module endpoint 'private_endpoint.bicep' = if (isPrivate) {
  name: 'search-endpoint'
  params: {
    name: 'pe-memnet-search'
    location: location
    tags: tags
    subnetId: endpointSubnetId
    resourceId: service.id
    groupId: 'searchService'
    zone: zone
  }
}

output url string = 'https://${service.name}.search.windows.net'
