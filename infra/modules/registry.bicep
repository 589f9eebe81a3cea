// The registry of the API's images. They hold code and no memory, so it has no private endpoint.
param token string
param location string
param tags object
param workspaceId string
param pullerId string

var roles = loadJsonContent('../roles.json')
var definitions = 'Microsoft.Authorization/roleDefinitions'

resource registry 'Microsoft.ContainerRegistry/registries@2025-04-01' = {
  name: 'crmemnet${token}'
  location: location
  tags: tags
  sku: { name: 'Standard' }
  properties: {
    adminUserEnabled: false
    anonymousPullEnabled: false
  }
}

resource pulling 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(registry.id, pullerId, roles.acrPull)
  scope: registry
  properties: {
    roleDefinitionId: subscriptionResourceId(definitions, roles.acrPull)
    principalId: pullerId
    principalType: 'ServicePrincipal'
  }
}

resource logging 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'memnet'
  scope: registry
  properties: {
    workspaceId: workspaceId
    logs: [
      { categoryGroup: 'audit', enabled: true }
    ]
  }
}

output name string = registry.name
output server string = registry.properties.loginServer
