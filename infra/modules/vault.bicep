// The key vault: tenants' keys and the signing key as secrets, and for regulated tenants the key of storage, queues and search index.
param token string
param location string
param tags object
param workspaceId string
param endpointSubnetId string
param zone string
param serviceMakesKeys bool
param serviceIds string[]
param withEncryptionKey bool
param encryptionPrincipalId string

var roles = loadJsonContent('../roles.json')
var definitions = 'Microsoft.Authorization/roleDefinitions'
var isPrivate = !empty(endpointSubnetId)

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' = {
  name: 'kv-memnet-${token}'
  location: location
  tags: tags
  properties: {
    tenantId: tenant().tenantId
    sku: {
      family: 'A'
      name: withEncryptionKey ? 'premium' : 'standard'
    }
    enableRbacAuthorization: true
    enableSoftDelete: true
    softDeleteRetentionInDays: 90
    enablePurgeProtection: true
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    networkAcls: {
      // Storage, Service Bus and AI Search read their key as trusted services.
      bypass: 'AzureServices'
      defaultAction: isPrivate ? 'Deny' : 'Allow'
    }
  }
}

resource making 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for id in serviceIds: if (serviceMakesKeys) {
  name: guid(vault.id, id, roles.keyVaultSecretsOfficer)
  scope: vault
  properties: {
    roleDefinitionId: subscriptionResourceId(definitions, roles.keyVaultSecretsOfficer)
    principalId: id
    principalType: 'ServicePrincipal'
  }
}]

resource reading 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for id in serviceIds: if (!serviceMakesKeys) {
  name: guid(vault.id, id, roles.keyVaultSecretsUser)
  scope: vault
  properties: {
    roleDefinitionId: subscriptionResourceId(definitions, roles.keyVaultSecretsUser)
    principalId: id
    principalType: 'ServicePrincipal'
  }
}]

resource encryptionKey 'Microsoft.KeyVault/vaults/keys@2024-11-01' = if (withEncryptionKey) {
  parent: vault
  name: 'memnet-at-rest'
  tags: tags
  properties: {
    kty: 'RSA-HSM'
    keySize: 3072
    keyOps: ['wrapKey', 'unwrapKey']
    rotationPolicy: {
      attributes: { expiryTime: 'P2Y' }
      lifetimeActions: [
        {
          action: { type: 'rotate' }
          trigger: { timeAfterCreate: 'P1Y' }
        }
      ]
    }
  }
}

resource usingKey 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (withEncryptionKey) {
  name: guid(encryptionKey.id, encryptionPrincipalId, roles.keyVaultCryptoServiceEncryptionUser)
  scope: encryptionKey
  properties: {
    roleDefinitionId: subscriptionResourceId(definitions, roles.keyVaultCryptoServiceEncryptionUser)
    principalId: encryptionPrincipalId
    principalType: 'ServicePrincipal'
  }
}

resource logging 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'memnet'
  scope: vault
  properties: {
    workspaceId: workspaceId
    logs: [
      { categoryGroup: 'audit', enabled: true }
    ]
    metrics: [
      { category: 'AllMetrics', enabled: true }
    ]
  }
}

module endpoint 'private_endpoint.bicep' = if (isPrivate) {
  name: 'vault-endpoint'
  params: {
    name: 'pe-memnet-vault'
    location: location
    tags: tags
    subnetId: endpointSubnetId
    resourceId: vault.id
    groupId: 'vault'
    zone: zone
  }
}

output url string = vault.properties.vaultUri
output encryptionKeyName string = withEncryptionKey ? encryptionKey.name : ''
