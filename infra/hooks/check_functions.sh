#!/usr/bin/env sh
# Runs before a package is deployed to an app of the workers: checks that the last provisioning knows all its functions.
# An unknown function would also be enabled in the idle app.
set -eu
cd "$(dirname "$0")/../.."
for name in $(sed -n '/"functions": \[/,/\]/s/^ *"\([a-z_]*\)",\{0,1\}$/\1/p' infra/names.json); do
  case ",${MEMNET_WORKER_FUNCTIONS:-}," in
    *",$name,"*) ;;
    *)
      echo "The deployment does not know the function $name yet. Run azd provision first, then repeat this." >&2
      exit 1
      ;;
  esac
done
