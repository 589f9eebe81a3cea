// The alerts of alerts.json: each runs its query over the telemetry and compares the column Value with a threshold.
param location string
param tags object
param workspaceId string
param serviceBusId string
param emails string[]
param thresholds object

var alerts = loadJsonContent('../alerts.json')
var queries = {
  'dead-letters': loadTextContent('../queries/dead-letters.kql')
  'index-lag': loadTextContent('../queries/index-lag.kql')
  'late-replays': loadTextContent('../queries/late-replays.kql')
  'late-upkeep': loadTextContent('../queries/late-upkeep.kql')
  'open-erasures': loadTextContent('../queries/open-erasures.kql')
  'replay-backlog': loadTextContent('../queries/replay-backlog.kql')
  'schema-violations': loadTextContent('../queries/schema-violations.kql')
  'server-errors': loadTextContent('../queries/server-errors.kql')
  'silent-api': loadTextContent('../queries/silent-api.kql')
  'silent-workers': loadTextContent('../queries/silent-workers.kql')
  'stale-writes': loadTextContent('../queries/stale-writes.kql')
}

resource told 'Microsoft.Insights/actionGroups@2023-01-01' = {
  name: 'ag-memnet'
  location: 'global'
  tags: tags
  properties: {
    groupShortName: 'memnet'
    enabled: true
    emailReceivers: [for (email, i) in emails: {
      name: 'operator-${i}'
      emailAddress: email
      useCommonAlertSchema: true
    }]
  }
}

resource rules 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [for alert in items(alerts): {
  name: 'memnet-${alert.key}'
  location: location
  tags: tags
  kind: 'LogAlert'
  properties: {
    displayName: 'memnet: ${alert.value.title}'
    description: '${alert.value.meaning} What to do: docs/runbook.md#${alert.key}'
    severity: alert.value.severity
    enabled: true
    scopes: [workspaceId]
    evaluationFrequency: alert.value.every
    windowSize: alert.value.window
    criteria: {
      allOf: [
        {
          query: queries[alert.key]
          metricMeasureColumn: 'Value'
          timeAggregation: alert.value.aggregation
          operator: alert.value.operator
          threshold: thresholds[?alert.key] ?? alert.value.threshold
          dimensions: map(alert.value.by, name => { name: name, operator: 'Include', values: ['*'] })
          failingPeriods: {
            numberOfEvaluationPeriods: alert.value.periods
            minFailingPeriodsToAlert: alert.value.failing
          }
        }
      ]
    }
    autoMitigate: true
    // Before the first telemetry the table has no columns to check the query against.
    skipQueryValidation: true
    actions: {
      actionGroups: [told.id]
    }
  }
}]

// Messages that the broker itself dead-lettered are in no telemetry of memnet.
resource buried 'Microsoft.Insights/metricAlerts@2018-03-01' = {
  name: 'memnet-broker-dead-letters'
  location: 'global'
  tags: tags
  properties: {
    description: 'The broker put messages into a dead-letter queue. What to do: docs/runbook.md#dead-letters'
    severity: 2
    enabled: true
    scopes: [serviceBusId]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT5M'
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          criterionType: 'StaticThresholdCriterion'
          name: 'dead-lettered'
          metricName: 'DeadletteredMessages'
          timeAggregation: 'Maximum'
          operator: 'GreaterThan'
          threshold: 0
        }
      ]
    }
    actions: [
      { actionGroupId: told.id }
    ]
  }
}
