// One identity for each service, and one by which storage, queues and search index reach their key.
param location string
param tags object
param withEncryption bool

resource api 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: 'id-memnet-api'
  location: location
  tags: tags
}

resource workers 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: 'id-memnet-workers'
  location: location
  tags: tags
}

resource encryption 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = if (withEncryption) {
  name: 'id-memnet-encryption'
  location: location
  tags: tags
}

output apiId string = api.id
output apiPrincipalId string = api.properties.principalId
output apiClientId string = api.properties.clientId
output workersId string = workers.id
output workersPrincipalId string = workers.properties.principalId
output workersClientId string = workers.properties.clientId
output encryptionId string = withEncryption ? encryption.id : ''
output encryptionPrincipalId string = withEncryption ? encryption!.properties.principalId : ''
