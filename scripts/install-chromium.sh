#!/usr/bin/env bash
# Install Chromium for the browser tests, on Debian.
set -euo pipefail

sudo=
if [ "$(id -u)" != 0 ]; then
	sudo=sudo
fi
$sudo apt-get update
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y --no-install-recommends chromium
