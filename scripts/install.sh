#!/usr/bin/env bash
# Install Debian packages on this machine, with sudo where it takes it:
#
#   scripts/install.sh PACKAGE…
#
# Steps of `make system-test` run at once, and apt-get does not wait for another
# one: so the next call here waits for the last to end.
set -euo pipefail

sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
exec 9<"$0"
flock 9
$sudo apt-get update >&2
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >&2
