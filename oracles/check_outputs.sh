#!/bin/sh
# Every sample in every container, by canonical readers: makes what check_outputs.py needs in DIR
# (an environment of requirements-containers.txt, ggml's library), then runs it on a built command.
#
#   oracles/check_outputs.sh DIR WEIGH [options of check_outputs.py]
#
# The first run downloads; later ones need no network.
set -eu

[ $# -ge 2 ] || { echo "usage: $0 DIR WEIGH [options]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)
weigh=$(realpath "$2")
shift 2
python=$dir/venv-containers/bin/python
if [ ! -x "$python" ]; then
    python3.11 -m venv "$dir/venv-containers"
    "$python" -m pip install --quiet -r "$here/requirements-containers.txt"
fi
[ -f "$dir/ggml/libggml-base.so" ] || "$here/ggml_build.sh" "$dir/ggml"
cd "$here"
exec "$python" check_outputs.py "$weigh" --ggml "$dir/ggml/libggml-base.so" "$@"
