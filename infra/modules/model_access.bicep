// Lets API and workers ask the models of an Azure OpenAI account that is there already.
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
