// The API on App Service, for deployments that require it. The serving release is in the app, the next one in its slot.
param token string
param location string
param tags object
param workspaceId string
param insightsName string
param subnetId string
param endpointSubnetId string
param zone string
param registryServer string
param identityId string
param identityClientId string
param settings object
param release string
param serving string
param isPublic bool
param sku string
param instances int

var names = loadJsonContent('../names.json')
var image = 'DOCKER|${registryServer}/${names.image}'
// App Service pulls the image with an identity, and forwards to WEBSITES_PORT.
var siteConfig = {
  acrUseManagedIdentityCreds: true
  acrUserManagedIdentityID: identityClientId
  alwaysOn: true
  ftpsState: 'Disabled'
  healthCheckPath: names.readiness
  http20Enabled: true
  minTlsVersion: '1.2'
  scmMinTlsVersion: '1.2'
  vnetRouteAllEnabled: !empty(subnetId)
  appSettings: concat(map(items(settings), setting => { name: setting.key, value: setting.value }), [
    { name: 'MEMNET_TELEMETRY_CONNECTION_STRING', value: insights.properties.ConnectionString }
    // The default is five seconds; the API drains for 5 s, then gives requests 20 s and background work 10 s.
    { name: 'WEBSITES_CONTAINER_STOP_TIME_LIMIT', value: '60' }
    { name: 'WEBSITES_PORT', value: string(names.apiPort) }
    { name: 'WEBSITES_ENABLE_APP_SERVICE_STORAGE', value: 'false' }
  ])
}

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

resource plan 'Microsoft.Web/serverfarms@2024-11-01' = {
  name: 'asp-memnet-api'
  location: location
  tags: tags
  kind: 'linux'
  sku: {
    name: sku
    capacity: instances
  }
  properties: { reserved: true }
}

resource api 'Microsoft.Web/sites@2024-11-01' = if (!empty(release)) {
  name: 'app-memnet-${token}'
  location: location
  tags: tags
  kind: 'app,linux,container'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identityId}': {} }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    clientAffinityEnabled: false
    publicNetworkAccess: isPublic ? 'Enabled' : 'Disabled'
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    siteConfig: union(siteConfig, { linuxFxVersion: '${image}:${serving}' })
  }
}

resource next 'Microsoft.Web/sites/slots@2024-11-01' = if (!empty(release)) {
  parent: api
  name: 'next'
  location: location
  tags: tags
  kind: 'app,linux,container'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identityId}': {} }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    clientAffinityEnabled: false
    publicNetworkAccess: isPublic ? 'Enabled' : 'Disabled'
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    siteConfig: union(siteConfig, { linuxFxVersion: '${image}:${release}' })
  }
}

resource apiFtp 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = if (!empty(release)) {
  parent: api
  name: 'ftp'
  properties: { allow: false }
}

resource apiScm 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = if (!empty(release)) {
  parent: api
  name: 'scm'
  properties: { allow: false }
}

resource nextFtp 'Microsoft.Web/sites/slots/basicPublishingCredentialsPolicies@2024-11-01' = if (!empty(release)) {
  parent: next
  name: 'ftp'
  properties: { allow: false }
}

resource nextScm 'Microsoft.Web/sites/slots/basicPublishingCredentialsPolicies@2024-11-01' = if (!empty(release)) {
  parent: next
  name: 'scm'
  properties: { allow: false }
}

resource logging 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = if (!empty(release)) {
  name: 'memnet'
  scope: api
  properties: {
    workspaceId: workspaceId
    logs: [
      { category: 'AppServiceConsoleLogs', enabled: true }
      { category: 'AppServicePlatformLogs', enabled: true }
    ]
    metrics: [
      { category: 'AllMetrics', enabled: true }
    ]
  }
}

resource nextLogging 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = if (!empty(release)) {
  name: 'memnet'
  scope: next
  properties: {
    workspaceId: workspaceId
    logs: [
      { category: 'AppServiceConsoleLogs', enabled: true }
      { category: 'AppServicePlatformLogs', enabled: true }
    ]
    metrics: [
      { category: 'AllMetrics', enabled: true }
    ]
  }
}

module endpoint 'private_endpoint.bicep' = if (!isPublic && !empty(release)) {
  name: 'api-endpoint'
  params: {
    name: 'pe-memnet-api'
    location: location
    tags: tags
    subnetId: endpointSubnetId
    resourceId: api.id
    groupId: 'sites'
    zone: zone
  }
}

module nextEndpoint 'private_endpoint.bicep' = if (!isPublic && !empty(release)) {
  name: 'api-next-endpoint'
  params: {
    name: 'pe-memnet-api-next'
    location: location
    tags: tags
    subnetId: endpointSubnetId
    resourceId: api.id
    groupId: 'sites-${next.name}'
    zone: zone
  }
}

output url string = empty(release) ? '' : 'https://${api!.properties.defaultHostName}'
