#!/usr/bin/env sh
# Runs before azd provisions: selects the parameter file of the stage, MEMNET_STAGE (dev or prod, default dev).
set -eu
cd "$(dirname "$0")/.."
stage="${MEMNET_STAGE:-dev}"
case "$stage" in
  dev | prod) cp "main.$stage.bicepparam" main.bicepparam ;;
  *) echo "MEMNET_STAGE is $stage; it must be dev or prod." >&2; exit 1 ;;
esac
