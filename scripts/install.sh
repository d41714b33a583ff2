#!/usr/bin/env bash
# Install Debian packages on this machine, with sudo if this user is not root:
#
#   scripts/install.sh PACKAGE…
#
# Steps of `make system-test` run at the same time, and apt-get does not wait for another apt-get.
# So each call of this script waits for the previous one.
set -euo pipefail

sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
exec 9<"$0"
flock 9
$sudo apt-get update >&2
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >&2
