#!/usr/bin/env sh
# Before and after azd provisions: build the API's image of the release in the registry, unless it is there, and tell the
# templates of it by MEMNET_BUILT_RELEASE. MEMNET_RELEASE is yours: it names the release; without it, the commit does. A
# release's image is locked, so that its name stands for the same bytes for good.
set -eu
cd "$(dirname "$0")/../.."
registry="${AZURE_CONTAINER_REGISTRY_NAME:-}"
if [ -z "$registry" ]; then
  echo "There is no registry yet; the image is built after it is made."
  # Left over from resources that were taken down.
  [ -z "${MEMNET_BUILT_RELEASE:-}" ] || azd env set MEMNET_BUILT_RELEASE ""
  [ -z "${MEMNET_SERVING_RELEASE:-}" ] || azd env set MEMNET_SERVING_RELEASE ""
  [ -z "${MEMNET_SERVING_REVISION:-}" ] || azd env set MEMNET_SERVING_REVISION ""
  exit 0
fi

release="${MEMNET_RELEASE:-$(git rev-parse --short=12 HEAD)}"
# It is the tag of an image, and typed by people.
is_label() (
  LC_ALL=C
  case "$1" in -* | *- | *--* | *[!a-z0-9-]*) exit 1 ;; esac
)
if ! is_label "$release" || [ "${#release}" -gt 20 ]; then
  echo "A release is named by up to 20 small letters and digits, with single hyphens in between, and not '$release'." >&2
  exit 1
fi

# The first one serves; every later one is put in place beside it, until somebody names it here.
serving="${MEMNET_SERVING_RELEASE:-$release}"
revision="$(infra/hooks/find_revision.sh "$release" "$serving")"

image="memnet-api:$release"
# The login may be for several subscriptions, and azd has its own.
if ! az acr repository show --subscription "$AZURE_SUBSCRIPTION_ID" --name "$registry" --image "$image" --output none \
  2>/dev/null; then
  changes="$(git status --porcelain)"
  if [ -n "$changes" ]; then
    echo "No release is built of changes that are in no commit:" >&2
    echo "$changes" >&2
    exit 1
  fi
  az acr build --subscription "$AZURE_SUBSCRIPTION_ID" --registry "$registry" --image "$image" \
    --file "${MEMNET_API_DOCKERFILE:-docker/api.Dockerfile}" .
fi
# Also one that is there: the run that built it may have ended before this.
az acr repository update --subscription "$AZURE_SUBSCRIPTION_ID" --name "$registry" --image "$image" \
  --write-enabled false --delete-enabled false --output none
azd env set MEMNET_BUILT_RELEASE "$release"
azd env set MEMNET_SERVING_RELEASE "$serving"
azd env set MEMNET_SERVING_REVISION "$revision"
if [ -n "$revision" ] && [ "$serving" = "$release" ]; then
  echo "$revision has the traffic, until what is put in place now is ready. Then run azd provision once more."
elif [ -n "$revision" ]; then
  echo "$serving serves on, with the settings that it has; $release is put in place beside it, with those of now."
  echo "To change the settings of what serves: azd env set MEMNET_RELEASE $serving"
fi
