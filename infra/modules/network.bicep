// The private network: one subnet for the endpoints, one each for API and workers, and the names of the endpoints.
param location string
param tags object
param prefix string
@allowed(['containerApps', 'appService'])
param apiHost string
param zones object

resource network 'Microsoft.Network/virtualNetworks@2024-07-01' = {
  name: 'vnet-memnet'
  location: location
  tags: tags
  properties: {
    addressSpace: {
      addressPrefixes: [prefix]
    }
    subnets: [
      {
        name: 'endpoints'
        properties: {
          addressPrefix: cidrSubnet(prefix, 24, 0)
          privateEndpointNetworkPolicies: 'Enabled'
        }
      }
      {
        name: 'api'
        properties: {
          addressPrefix: cidrSubnet(prefix, 24, 1)
          delegations: [
            {
              name: 'api'
              properties: {
                serviceName: apiHost == 'containerApps' ? 'Microsoft.App/environments' : 'Microsoft.Web/serverFarms'
              }
            }
          ]
        }
      }
      {
        name: 'workers'
        properties: {
          addressPrefix: cidrSubnet(prefix, 24, 2)
          delegations: [
            {
              name: 'workers'
              properties: {
                serviceName: 'Microsoft.App/environments'
              }
            }
          ]
        }
      }
    ]
  }
}

resource dnsZones 'Microsoft.Network/privateDnsZones@2024-06-01' = [for zone in items(zones): {
  name: zone.value
  location: 'global'
  tags: tags
}]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [for (zone, i) in items(zones): {
  parent: dnsZones[i]
  name: 'memnet'
  location: 'global'
  tags: tags
  properties: {
    registrationEnabled: false
    virtualNetwork: { id: network.id }
  }
}]

output networkId string = network.id
output endpointSubnetId string = network.properties.subnets[0].id
output apiSubnetId string = network.properties.subnets[1].id
output workerSubnetId string = network.properties.subnets[2].id
