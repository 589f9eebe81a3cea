// A private endpoint of one resource, and its name in the private network.
param name string
param location string
param tags object
param subnetId string
param resourceId string
param groupId string
param zone string

resource dnsZone 'Microsoft.Network/privateDnsZones@2024-06-01' existing = {
  name: zone
}

resource endpoint 'Microsoft.Network/privateEndpoints@2024-07-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    subnet: { id: subnetId }
    privateLinkServiceConnections: [
      {
        name: name
        properties: {
          privateLinkServiceId: resourceId
          groupIds: [groupId]
        }
      }
    ]
  }
}

resource zoneGroup 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2024-07-01' = {
  parent: endpoint
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: groupId
        properties: { privateDnsZoneId: dnsZone.id }
      }
    ]
  }
}
