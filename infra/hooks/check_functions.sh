#!/usr/bin/env sh
# Before a package goes to an app of the workers: the last provisioning knows all its functions. One that it does not
# know would be on in the app that does not serve, too.
set -eu
cd "$(dirname "$0")/../.."
for name in $(sed -n '/"functions": \[/,/\]/s/^ *"\([a-z_]*\)",\{0,1\}$/\1/p' infra/names.json); do
  case ",${MEMNET_WORKER_FUNCTIONS:-}," in
    *",$name,"*) ;;
    *)
      echo "The deployment does not know the function $name yet. Run azd provision first, and then this again." >&2
      exit 1
      ;;
  esac
done
