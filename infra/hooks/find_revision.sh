#!/usr/bin/env sh
# `find_revision.sh RELEASE SERVING` prints the revision of Container Apps that gets the traffic while RELEASE is deployed
# and SERVING serves. It prints nothing if the newest revision may get it as soon as it is ready. Until then Azure gives
# it to the newest ready revision, which therefore has to be of the serving release.
set -eu
release="$1" serving="$2"
[ "${MEMNET_API_HOST:-containerApps}" = containerApps ] || exit 0
here="--subscription $AZURE_SUBSCRIPTION_ID --resource-group $AZURE_RESOURCE_GROUP"
# shellcheck disable=SC2086
app="$(az containerapp list $here --query "[?name=='ca-memnet-api'].name" --output tsv)"
[ -n "$app" ] || exit 0
# Azure names revisions; their image identifies the release.
# shellcheck disable=SC2086
revisions="$(az containerapp revision list $here --name ca-memnet-api --output tsv --query "sort_by([?properties.active], \
&properties.createdTime)[].[name, properties.healthState, properties.trafficWeight, properties.template.containers[0].image]")"
if [ -z "${MEMNET_SERVING_RELEASE:-}" ] && [ -n "$revisions" ]; then
  echo "A release already serves, and this environment does not know which one. Run: azd env refresh" >&2
  exit 1
fi
found="$(printf '%s\n' "$revisions" | awk -F '\t' -v image="/memnet-api:$serving" -v itself="$([ "$release" = "$serving" ] && echo 1)" '
  NF == 4 {
    ours = substr($4, length($4) - length(image) + 1) == image
    if ($3 + 0 > most) { most = $3 + 0; now = $1 }
    if (ours && $3 + 0 > weight) { weight = $3 + 0; has = $1 }
    if ($2 == "Healthy") { newest_is_ours = ours; if (ours) ready = $1 }
  }
  END {
    if (itself && newest_is_ours) print "-"
    else if (has) print has
    else if (ready) print ready
    else if (itself) print now ? now : "-"
  }')"
if [ -z "$found" ]; then
  echo "The release '$serving' should serve, but no active revision has it. To deploy it:" >&2
  echo "  azd env set MEMNET_RELEASE $serving" >&2
  echo "Or let the deployed release serve: azd env set MEMNET_SERVING_RELEASE $release" >&2
  exit 1
fi
[ "$found" = - ] || echo "$found"
