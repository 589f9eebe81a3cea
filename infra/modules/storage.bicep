// The account with all memory, in one container. It accepts Entra identities only.
param token string
param location string
param tags object
param workspaceId string
param endpointSubnetId string
param zone string
param redundancy string
param softDeleteDays int
param accessLogs bool
param writerIds string[]
param encryptionIdentityId string
param encryptionKeyName string
param vaultUrl string

var names = loadJsonContent('../names.json')
var roles = loadJsonContent('../roles.json')
var definitions = 'Microsoft.Authorization/roleDefinitions'
var isPrivate = !empty(endpointSubnetId)
var withOwnKey = !empty(encryptionKeyName)

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' = {
  name: 'stmemnet${token}'
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: redundancy }
  identity: withOwnKey ? {
    type: 'UserAssigned'
    userAssignedIdentities: { '${encryptionIdentityId}': {} }
  } : {
    type: 'None'
  }
  properties: {
    accessTier: 'Hot'
    allowSharedKeyAccess: false
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    defaultToOAuthAuthentication: true
    isLocalUserEnabled: false
    isSftpEnabled: false
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    networkAcls: {
      bypass: 'None'
      defaultAction: isPrivate ? 'Deny' : 'Allow'
    }
    encryption: union({
      keySource: withOwnKey ? 'Microsoft.Keyvault' : 'Microsoft.Storage'
      requireInfrastructureEncryption: true
      services: {
        blob: { enabled: true, keyType: 'Account' }
      }
    }, withOwnKey ? {
      identity: { userAssignedIdentity: encryptionIdentityId }
      keyvaultproperties: { keyname: encryptionKeyName, keyvaulturi: vaultUrl }
    } : {})
  }
}

// Deleted and overwritten data stays recoverable for this long, and not longer: versions, change feed and restore
// points, which would keep erased memory for other periods, are off.
resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' = {
  parent: account
  name: 'default'
  properties: {
    deleteRetentionPolicy: { enabled: true, days: softDeleteDays, allowPermanentDelete: false }
    containerDeleteRetentionPolicy: { enabled: true, days: softDeleteDays }
    isVersioningEnabled: false
    changeFeed: { enabled: false }
    restorePolicy: { enabled: false }
  }
}

resource container 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = {
  parent: blobs
  name: names.container
  properties: { publicAccess: 'None' }
}

// memnet's own retention deletes expired data. This rule is for data that retention does not see: versions and
// snapshots that an administrator creates must not outlive the promise of an erasure.
resource lifecycle 'Microsoft.Storage/storageAccounts/managementPolicies@2025-01-01' = {
  parent: account
  name: 'default'
  properties: {
    policy: {
      rules: [
        {
          name: 'no-copies-beyond-soft-delete'
          type: 'Lifecycle'
          enabled: true
          definition: {
            filters: { blobTypes: ['blockBlob'] }
            actions: {
              version: { delete: { daysAfterCreationGreaterThan: softDeleteDays } }
              snapshot: { delete: { daysAfterCreationGreaterThan: softDeleteDays } }
            }
          }
        }
      ]
    }
  }
  dependsOn: [blobs]
}

resource writing 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for id in writerIds: {
  name: guid(container.id, id, roles.storageBlobDataContributor)
  scope: container
  properties: {
    roleDefinitionId: subscriptionResourceId(definitions, roles.storageBlobDataContributor)
    principalId: id
    principalType: 'ServicePrincipal'
  }
}]

resource logging 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
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

module endpoint 'private_endpoint.bicep' = if (isPrivate) {
  name: 'storage-endpoint'
  params: {
    name: 'pe-memnet-blob'
    location: location
    tags: tags
    subnetId: endpointSubnetId
    resourceId: account.id
    groupId: 'blob'
    zone: zone
  }
}

output containerUrl string = '${account.properties.primaryEndpoints.blob}${container.name}'
