// The queues. Jobs of one session run one after the other; a message sent twice within the window arrives once.
param token string
param location string
param tags object
param workspaceId string
param endpointSubnetId string
param zone string
@allowed(['Standard', 'Premium'])
param sku string
param senderIds string[]
param workersPrincipalId string
param encryptionIdentityId string
param encryptionKeyName string
param vaultUrl string

var names = loadJsonContent('../names.json')
var roles = loadJsonContent('../roles.json')
var definitions = 'Microsoft.Authorization/roleDefinitions'
var isPrivate = !empty(endpointSubnetId)
var withOwnKey = !empty(encryptionKeyName)
// No message expires.
var forever = 'P10675199DT2H48M5.4775807S'
var grants = flatten(map(senderIds, id => map(range(0, length(names.queues)), i => { id: id, queue: i })))

resource namespace 'Microsoft.ServiceBus/namespaces@2024-01-01' = {
  name: 'sb-memnet-${token}'
  location: location
  tags: tags
  sku: {
    name: sku
    tier: sku
  }
  identity: withOwnKey ? {
    type: 'UserAssigned'
    userAssignedIdentities: { '${encryptionIdentityId}': {} }
  } : {
    type: 'None'
  }
  properties: union({
    disableLocalAuth: true
    minimumTlsVersion: '1.2'
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
  }, withOwnKey ? {
    encryption: {
      keySource: 'Microsoft.KeyVault'
      keyVaultProperties: [
        {
          keyName: encryptionKeyName
          keyVaultUri: vaultUrl
          identity: { userAssignedIdentity: encryptionIdentityId }
        }
      ]
    }
  } : {})
}

resource queues 'Microsoft.ServiceBus/namespaces/queues@2024-01-01' = [for name in names.queues: {
  parent: namespace
  name: name
  properties: {
    requiresSession: true
    requiresDuplicateDetection: true
    duplicateDetectionHistoryTimeWindow: names.duplicateDetectionWindow
    lockDuration: names.lockDuration
    maxDeliveryCount: names.maxDeliveryCount
    defaultMessageTimeToLive: forever
  }
}]

resource deadLetters 'Microsoft.ServiceBus/namespaces/queues@2024-01-01' = {
  parent: namespace
  name: names.deadLetters
  properties: {
    // An erasure releases each message ahead of the user's, which counts as a delivery.
    maxDeliveryCount: names.lettersMaxDeliveryCount
    defaultMessageTimeToLive: forever
  }
}

resource sending 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for grant in grants: {
  name: guid(queues[grant.queue].id, grant.id, roles.serviceBusDataSender)
  scope: queues[grant.queue]
  properties: {
    roleDefinitionId: subscriptionResourceId(definitions, roles.serviceBusDataSender)
    principalId: grant.id
    principalType: 'ServicePrincipal'
  }
}]

resource burying 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(deadLetters.id, workersPrincipalId, roles.serviceBusDataSender)
  scope: deadLetters
  properties: {
    roleDefinitionId: subscriptionResourceId(definitions, roles.serviceBusDataSender)
    principalId: workersPrincipalId
    principalType: 'ServicePrincipal'
  }
}

// An erasure also removes the user's jobs from the dead letters.
resource exhuming 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(deadLetters.id, workersPrincipalId, roles.serviceBusDataReceiver)
  scope: deadLetters
  properties: {
    roleDefinitionId: subscriptionResourceId(definitions, roles.serviceBusDataReceiver)
    principalId: workersPrincipalId
    principalType: 'ServicePrincipal'
  }
}

resource receiving 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for (name, i) in names.queues: {
  name: guid(queues[i].id, workersPrincipalId, roles.serviceBusDataReceiver)
  scope: queues[i]
  properties: {
    roleDefinitionId: subscriptionResourceId(definitions, roles.serviceBusDataReceiver)
    principalId: workersPrincipalId
    principalType: 'ServicePrincipal'
  }
}]

resource logging 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'memnet'
  scope: namespace
  properties: {
    workspaceId: workspaceId
    logs: [
      { category: 'OperationalLogs', enabled: true }
    ]
    metrics: [
      { category: 'AllMetrics', enabled: true }
    ]
  }
}

module endpoint 'private_endpoint.bicep' = if (isPrivate) {
  name: 'service-bus-endpoint'
  params: {
    name: 'pe-memnet-service-bus'
    location: location
    tags: tags
    subnetId: endpointSubnetId
    resourceId: namespace.id
    groupId: 'namespace'
    zone: zone
  }
}

output id string = namespace.id
output host string = '${namespace.name}.servicebus.windows.net'
output url string = 'sb://${namespace.name}.servicebus.windows.net'
