// Logs and telemetry. Both accept Entra tokens only.
param token string
param location string
param tags object
param retentionDays int
param publisherIds string[]

var roles = loadJsonContent('../roles.json')
var definitions = 'Microsoft.Authorization/roleDefinitions'

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-02-01' = {
  name: 'log-memnet-${token}'
  location: location
  tags: tags
  properties: {
    sku: { name: 'PerGB2018' }
    retentionInDays: retentionDays
    features: {
      disableLocalAuth: true
      enableLogAccessUsingOnlyResourcePermissions: true
    }
  }
}

resource insights 'Microsoft.Insights/components@2020-02-02' = {
  name: 'appi-memnet-${token}'
  location: location
  tags: tags
  kind: 'web'
  properties: {
    Application_Type: 'web'
    WorkspaceResourceId: workspace.id
    IngestionMode: 'LogAnalytics'
    DisableLocalAuth: true
  }
}

resource publishing 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for principalId in publisherIds: {
  name: guid(insights.id, principalId, roles.monitoringMetricsPublisher)
  scope: insights
  properties: {
    roleDefinitionId: subscriptionResourceId(definitions, roles.monitoringMetricsPublisher)
    principalId: principalId
    principalType: 'ServicePrincipal'
  }
}]

// Queries of the logs are logged, too.
resource queries 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'memnet'
  scope: workspace
  properties: {
    workspaceId: workspace.id
    logs: [
      { categoryGroup: 'audit', enabled: true }
    ]
  }
}

output workspaceId string = workspace.id
output insightsName string = insights.name
