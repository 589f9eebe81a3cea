#!/usr/bin/env sh
# Runs before and after azd provisions: builds the API's image of the release in the registry, unless it exists, and
# names it in MEMNET_BUILT_RELEASE for the templates. You may name the release by MEMNET_RELEASE; the default is the
# commit. A release's image is locked, so that its name always means the same bytes.
set -eu
cd "$(dirname "$0")/../.."
registry="${AZURE_CONTAINER_REGISTRY_NAME:-}"
if [ -z "$registry" ]; then
  echo "There is no registry yet. The image is built after the registry is created."
  # Values of deleted resources.
  [ -z "${MEMNET_BUILT_RELEASE:-}" ] || azd env set MEMNET_BUILT_RELEASE ""
  [ -z "${MEMNET_SERVING_RELEASE:-}" ] || azd env set MEMNET_SERVING_RELEASE ""
  [ -z "${MEMNET_SERVING_REVISION:-}" ] || azd env set MEMNET_SERVING_REVISION ""
  exit 0
fi

release="${MEMNET_RELEASE:-$(git rev-parse --short=12 HEAD)}"
# It is the tag of an image, typed by people.
is_label() (
  LC_ALL=C
  case "$1" in -* | *- | *--* | *[!a-z0-9-]*) exit 1 ;; esac
)
if ! is_label "$release" || [ "${#release}" -gt 20 ]; then
  echo "A release name has up to 20 lower-case letters and digits, with single hyphens in between, unlike '$release'." >&2
  exit 1
fi

# The first release serves; a later one gets no traffic until MEMNET_SERVING_RELEASE names it.
serving="${MEMNET_SERVING_RELEASE:-$release}"
revision="$(infra/hooks/find_revision.sh "$release" "$serving")"

image="memnet-api:$release"
# The login may have several subscriptions, and azd has its own.
if ! az acr repository show --subscription "$AZURE_SUBSCRIPTION_ID" --name "$registry" --image "$image" --output none \
  2>/dev/null; then
  changes="$(git status --porcelain)"
  if [ -n "$changes" ]; then
    echo "No release is built from uncommitted changes:" >&2
    echo "$changes" >&2
    exit 1
  fi
  az acr build --subscription "$AZURE_SUBSCRIPTION_ID" --registry "$registry" --image "$image" \
    --file "${MEMNET_API_DOCKERFILE:-docker/api.Dockerfile}" .
fi
# Also an existing image: the run that built it may have ended before this step.
az acr repository update --subscription "$AZURE_SUBSCRIPTION_ID" --name "$registry" --image "$image" \
  --write-enabled false --delete-enabled false --output none
azd env set MEMNET_BUILT_RELEASE "$release"
azd env set MEMNET_SERVING_RELEASE "$serving"
azd env set MEMNET_SERVING_REVISION "$revision"
if [ -n "$revision" ] && [ "$serving" = "$release" ]; then
  echo "$revision has the traffic until the new revision is ready. Then run azd provision again."
elif [ -n "$revision" ]; then
  echo "$serving continues to serve with its own settings; $release is deployed without traffic, with the current settings."
  echo "To change the settings of the serving release: azd env set MEMNET_RELEASE $serving"
fi
