#!/bin/sh
# Installs every tool that the benchmarks compare with into a directory, each in the version that
# the records name, and prints the variables to export. What cannot be installed is told and left
# out; running this again goes on where it stopped. Takes 17 GB and, on two cores, most of an hour:
# five minutes for the Python libraries, the rest for compiling apr.
#
#   bench/peers.sh DIR > DIR/environment && . DIR/environment
#
# Python packages are installed by uv, which is installed first where it is missing: environments
# that want the same torch then share one copy of it on the disk. Three versions of torch remain.
set -eu

[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
oracles=$here/../oracles
python=${PYTHON:-python3}
# In the same file system as the environments, or nothing could be shared.
export UV_CACHE_DIR="$dir/cache" UV_LINK_MODE=hardlink

if ! command -v uv >/dev/null; then
    [ -x "$dir/uv/bin/uv" ] || { "$python" -m venv "$dir/uv" && "$dir/uv/bin/pip" install --quiet uv; } >&2
    PATH=$dir/uv/bin:$PATH
fi

# environment NAME PACKAGES.. -- VARIABLE..: a virtual environment, and what names its Python.
# Each word of PACKAGES is one step of the installation.
environment() {
    venv=$dir/venv-$1
    shift
    if [ ! -e "$venv/complete" ]; then
        echo "$venv .." >&2
        uv venv --quiet --allow-existing --python "$python" "$venv" >&2 || return 0
        while [ "$1" != -- ]; do
            # The step's own words are apart.
            uv pip install --quiet --python "$venv/bin/python" $1 >&2 ||
                { echo "$venv is not complete: $1" >&2; return 0; }
            shift
        done
        touch "$venv/complete"
    fi
    while [ "$1" != -- ]; do shift; done
    shift
    for variable in "$@"; do echo "export $variable=$venv/bin/python"; done
}

# without PACKAGE FILE: the other lines of a list of requirements.
without() { grep -v -e "^$1" -e '^#' "$2" | tr '\n' ' '; }

# program VARIABLE NAME CRATE..: a Rust program.
program() {
    variable=$1 name=$2
    shift 2
    if [ ! -x "$dir/bin/$name" ]; then
        echo "$dir/bin/$name .." >&2
        RUSTFLAGS=-Ctarget-cpu=native cargo install --quiet --locked --root "$dir" "$@" >&2 ||
            { echo "$name is not installed" >&2; return 0; }
    fi
    echo "export $variable=$dir/bin/$name"
}

environment torch "-r $oracles/requirements-bnb.txt" "gguf==0.19.0 ml_dtypes==0.6.0" -- \
    BENCH_PYTHON BENCH_PYTHON_BITSANDBYTES
environment fp8 "-r $oracles/requirements-fp8.txt" -- \
    BENCH_PYTHON_TRANSFORMERS BENCH_PYTHON_MODELOPT BENCH_PYTHON_COMFY_KITCHEN
environment compressed "-r $oracles/requirements-compressed.txt" -- BENCH_PYTHON_COMPRESSED_TENSORS
environment mlx "-r $oracles/requirements-mlx.txt" -- BENCH_PYTHON_MLX
# These two are built from source, which needs the torch that is there, and no GPU.
export BUILD_CUDA_EXT=0
environment gptq "setuptools wheel $(without gptqmodel "$oracles/requirements-gptq.txt")" \
    "--no-build-isolation-package gptqmodel $(grep '^gptqmodel' "$oracles/requirements-gptq.txt")" -- \
    BENCH_PYTHON_GPTQMODEL
environment awq "setuptools wheel $(without autoawq "$oracles/requirements-awq.txt")" \
    "--no-deps --no-build-isolation $(grep '^autoawq' "$oracles/requirements-awq.txt")" -- BENCH_PYTHON_AWQ
program BENCH_AMN amn anamnesis --version 0.7.10 --all-features
program BENCH_APR apr apr-cli --version 0.72.3
if [ ! -e "$dir/ggml/libggml-base.so" ]; then
    echo "$dir/ggml .." >&2
    "$oracles/ggml_build.sh" "$dir/ggml" >&2 || echo "ggml is not built" >&2
fi
[ ! -e "$dir/ggml/libggml-base.so" ] || echo "export BENCH_GGML=$dir/ggml/libggml-base.so"
