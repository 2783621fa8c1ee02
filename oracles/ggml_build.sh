#!/bin/sh
# Builds ggml's base library, which holds its quantizers, its decoders and its GGUF writer.
#
#   oracles/ggml_build.sh DIR
#
# The sources are those inside the llama-cpp-python source package; they stay in DIR/src, the
# library becomes DIR/libggml-base.so. Flags are those of ggml's release build of this library: it
# has no instruction set flags of its own, and no fast math.
set -eu

version=0.3.36
[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)

# pip asks a source package for its metadata before it saves it, and this one answers by cmake.
if ! ls "$dir"/download/*-"$version".tar.gz >/dev/null 2>&1; then
    python3 -m venv "$dir/venv"
    "$dir/venv/bin/pip" install --quiet scikit-build-core==1.1.1 cmake==4.4.4 ninja==1.13.2
    PATH="$dir/venv/bin:$PATH" "$dir/venv/bin/pip" download --quiet --no-binary :all: --no-deps \
        --no-build-isolation --dest "$dir/download" "llama-cpp-python==$version"
fi
echo "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e  $dir/download/llama_cpp_python-$version.tar.gz" | sha256sum --check --quiet
mkdir -p "$dir/src"
tar xzf "$dir/download/llama_cpp_python-$version.tar.gz" -C "$dir/src" --strip-components=1

ggml=$dir/src/vendor/llama.cpp/ggml
objects=$dir/objects
mkdir -p "$objects"
# cmake would write this header.
printf '#define GGML_VERSION "0.25.3"\n#define GGML_COMMIT "unknown"\n' > "$objects/ggml-version.h"
flags="-O3 -DNDEBUG -fPIC -I$objects -I$ggml/include -I$ggml/src -D_GNU_SOURCE"
for source in ggml.c ggml-alloc.c ggml-quants.c; do
    gcc -std=c11 $flags -c "$ggml/src/$source" -o "$objects/$source.o"
done
for source in ggml.cpp ggml-backend.cpp ggml-backend-meta.cpp ggml-opt.cpp ggml-threading.cpp gguf.cpp; do
    g++ -std=c++17 $flags -c "$ggml/src/$source" -o "$objects/$source.o"
done
g++ -shared -o "$dir/libggml-base.so" "$objects"/*.o -lm -lpthread
echo "$dir/libggml-base.so"
