#!/usr/bin/env sh
# `find_revision.sh RELEASE SERVING` prints the revision of Container Apps by which the release SERVING goes on serving
# while RELEASE is put in place: its newest active one. It prints nothing where none has to be named.
set -eu
release="$1" serving="$2"
if [ "$serving" = "$release" ] || [ "${MEMNET_API_HOST:-containerApps}" != containerApps ]; then
  exit 0
fi
# Azure names revisions; what tells them apart is their image.
ours="properties.active && ends_with(properties.template.containers[0].image, '/memnet-api:$serving')"
revision="$(az containerapp revision list --subscription "$AZURE_SUBSCRIPTION_ID" --resource-group "$AZURE_RESOURCE_GROUP" \
  --name ca-memnet-api --query "sort_by([?$ours], &properties.createdTime)[-1].name" --output tsv || true)"
if [ -z "$revision" ]; then
  echo "The release '$serving' is to serve, and no active revision runs it. Put it in place, and it serves:" >&2
  echo "  azd env set MEMNET_RELEASE $serving" >&2
  echo "Or have the release that is put in place serve: azd env set MEMNET_SERVING_RELEASE $release" >&2
  exit 1
fi
echo "$revision"
