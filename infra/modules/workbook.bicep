// One page of charts over the same telemetry as the alerts.
param location string
param tags object
param workspaceId string

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(workspaceId, 'memnet')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: 'memnet'
    category: 'workbook'
    sourceId: workspaceId
    serializedData: loadTextContent('../workbook.json')
  }
}
