#!/bin/sh
# Installs every tool that the benchmarks compare with into a directory, each in the version that
# the records name, and prints the variables to export. Takes about 20 GB and an hour, most of it
# for torch, once for each library that wants its own version of it. What cannot be installed is
# told and left out; running this again goes on where it stopped.
#
#   bench/peers.sh DIR > DIR/environment && . DIR/environment
set -eu

[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}

# environment NAME REQUIREMENTS.. -- VARIABLE..: a virtual environment, and what names its Python.
environment() {
    venv=$dir/venv-$1
    shift
    if [ ! -e "$venv/complete" ]; then
        "$python" -m venv "$venv" >&2 || return 0
        while [ "$1" != -- ]; do
            "$venv/bin/pip" install --quiet $1 >&2 || { echo "$venv is not complete" >&2; return 0; }
            shift
        done
        touch "$venv/complete"
    fi
    while [ "$1" != -- ]; do shift; done
    shift
    for variable in "$@"; do echo "export $variable=$venv/bin/python"; done
}

# program VARIABLE NAME CRATE..: a Rust program.
program() {
    variable=$1 name=$2
    shift 2
    if [ ! -x "$dir/bin/$name" ]; then
        RUSTFLAGS=-Ctarget-cpu=native cargo install --quiet --root "$dir" "$@" >&2 ||
            { echo "$name is not installed" >&2; return 0; }
    fi
    echo "export $variable=$dir/bin/$name"
}

oracles=$here/../oracles
environment torch "-r $oracles/requirements-torch.txt" "safetensors==0.8.0 gguf==0.19.0 ml_dtypes==0.6.0" -- BENCH_PYTHON
environment bnb "-r $oracles/requirements-bnb.txt" -- BENCH_PYTHON_BITSANDBYTES
environment compressed "-r $oracles/requirements-compressed.txt" -- BENCH_PYTHON_COMPRESSED_TENSORS
environment fp8 "-r $oracles/requirements-fp8.txt" -- \
    BENCH_PYTHON_TRANSFORMERS BENCH_PYTHON_MODELOPT BENCH_PYTHON_COMFY_KITCHEN
environment mlx "-r $oracles/requirements-mlx.txt" -- BENCH_PYTHON_MLX
environment gptq "-r $oracles/requirements-gptq.txt" -- BENCH_PYTHON_GPTQMODEL
environment awq "-r $oracles/requirements-awq.txt" -- BENCH_PYTHON_AWQ
program BENCH_AMN amn anamnesis --version 0.7.10 --all-features
program BENCH_APR apr apr-cli --version 0.72.3
if [ ! -e "$dir/ggml/libggml-base.so" ]; then
    "$oracles/ggml_build.sh" "$dir/ggml" >&2 || echo "ggml is not built" >&2
fi
[ ! -e "$dir/ggml/libggml-base.so" ] || echo "export BENCH_GGML=$dir/ggml/libggml-base.so"
