#!/bin/sh
# Copies small samples into a corpus for each target: the folder given, or fuzz/corpus.
# The corpora in the repository are smaller; see README.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
samples=$here/../tests/files
corpus=${1:-$here/corpus}
most=${2:-8k}

# seed TARGET FOLDER..: every file of at most $most below tests/files/FOLDER, under a flat name.
seed() {
    target=$1
    shift
    mkdir -p "$corpus/$target"
    for folder in "$@"; do
        [ -d "$samples/$folder" ] || continue
        find "$samples/$folder" -type f -size "-$most" \
            ! -name '*.json' ! -name '*.md' ! -path '*/sources/*' |
            while read -r file; do
                cp "$file" "$corpus/$target/$(basename "$folder")-$(basename "$file")"
            done
    done
}

seed safetensors safetensors
seed gguf gguf
seed npz npy npz
seed pth pth
seed apr apr
seed zip npz

# The convert target takes a byte before the file: format and type.
mkdir -p "$corpus/convert"
for kind in safetensors gguf npz npy pth apr; do
    [ -d "$samples/$kind" ] || continue
    number=0
    find "$samples/$kind" -type f -size "-$most" ! -name '*.json' ! -name '*.md' ! -path '*/sources/*' | sort |
        while read -r file; do
            number=$((number + 1))
            { printf "\\$(printf %03o $((number % 16)))"; cat "$file"; } >"$corpus/convert/$kind-$(basename "$file")"
        done
done

# Importance matrices lie beside the models that were quantized with them.
mkdir -p "$corpus/imatrix"
find "$samples" -type f -name 'imatrix*' -size "-$most" | while read -r file; do
    cp "$file" "$corpus/imatrix/$(basename "$(dirname "$file")")-$(basename "$file")"
done

# The tokenizer target takes three bytes before the file: how it is read, how many tokens there are, and
# which file it is.
mkdir -p "$corpus/tokenizer"
number=0
for name in tokenizer.json tokenizer.model tokenizer_config.json vocab.txt tekken.json; do
    find "$samples/tokenizers" -type f -name "$name" -size "-$most" | sort | while read -r file; do
        folder=$(basename "$(dirname "$file")")
        for kind in 0 5 7 8; do
            { printf "\\$(printf %03o $kind)\\000\\$(printf %03o $number)"; cat "$file"; } \
                >"$corpus/tokenizer/$folder-$kind-$name"
        done
    done
    number=$((number + 1))
done

# The pickle target takes what lies inside an archive.
mkdir -p "$corpus/pickle"
python3 - "$samples/pth" "$corpus/pickle" <<'PYTHON'
import os
import sys
import zipfile

samples, corpus = sys.argv[1:]
for name in sorted(os.listdir(samples)):
    path = os.path.join(samples, name)
    if not os.path.isfile(path) or not zipfile.is_zipfile(path):
        continue
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            if not member.endswith("data.pkl") or archive.getinfo(member).file_size > 8192:
                continue
            try:
                pickle = archive.read(member)
            except zipfile.BadZipFile:  # A wrong checksum, on purpose.
                continue
            with open(os.path.join(corpus, name + ".pkl"), "wb") as out:
                out.write(pickle)
PYTHON
for target in "$corpus"/*; do
    echo "$(basename "$target"): $(find "$target" -type f | wc -l) files, $(du -sb "$target" | cut -f1) bytes"
done
