#!/usr/bin/env sh
# Log in to Azure without a secret, from a workflow that may request an id token.
set -eu
token="$(curl --fail --silent --show-error --header "Authorization: bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" \
  "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=api://AzureADTokenExchange" | jq --exit-status --raw-output .value)"
az login --service-principal --username "$AZURE_CLIENT_ID" --tenant "$AZURE_TENANT_ID" --federated-token "$token" \
  --output none
az account set --subscription "$AZURE_SUBSCRIPTION_ID"
