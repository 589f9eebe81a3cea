// Lets API and workers use the models of an existing Azure OpenAI account.
param account string
param userIds string[]

var roles = loadJsonContent('../roles.json')
var definitions = 'Microsoft.Authorization/roleDefinitions'

resource models 'Microsoft.CognitiveServices/accounts@2025-06-01' existing = {
  name: account
}

resource asking 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for id in userIds: {
  name: guid(models.id, id, roles.openAiUser)
  scope: models
  properties: {
    roleDefinitionId: subscriptionResourceId(definitions, roles.openAiUser)
    principalId: id
    principalType: 'ServicePrincipal'
  }
}]
