"""Whole models in llama-quantize's file types.

    python oracles/quantize_files.py LLAMA_CPP LLAMA_BIN tests/files/quantize [MODEL ..]

LLAMA_CPP is the source tree (`ggml_build.sh DIR` leaves it in DIR/src/vendor/llama.cpp), for its converter.
LLAMA_BIN is the folder with llama-quantize and llama-imatrix, built from that tree on x86-64 with
`cmake -DCMAKE_BUILD_TYPE=Release -DLLAMA_CURL=OFF -DGGML_OPENMP=OFF`. Python as for `gguf_models.py`.

Each model has a folder with

* `hf`: its repository, without weights. These are made and not stored: `made.py`, by the name of each tensor.
  `model.safetensors` has them in the order of their names, as BF16;
* `imatrix.gguf`, and of one model `imatrix.dat`: importance that llama-imatrix measured over `TEXT`;
* `expected.json`: `weights`, the names and shapes of the weights; of the GGUF that llama.cpp's converter makes of the
  repository in BF16, `sha256`, `entries` (its metadata without lists: key, type, value) and `tensors` (in its order: name,
  shape, outermost dimension first, type, and CRC-32 of the bytes); and for each of `runs`, of llama-quantize on that file:
  `type` and `options` as they were given (`imatrix.gguf`, `imatrix.dat` or `ones.dat`, which is 1 for every column
  of every weight and is not stored, after `--imatrix`),
  `sha256` of the whole file,
  `last`: the metadata that comes after what the source has, with its types. Entries of the source with these keys
  are gone, all others are there, in their order;
  `written`: of each tensor, in the order of the file, name, type, CRC-32 of its bytes, and that of the first `ROWS`
  rows of each of its matrices;
* `whole`, of one model: a few of these files.
"""

import hashlib
import json
import logging
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

LLAMA_CPP, BIN, OUT = (os.path.abspath(path) for path in sys.argv[1:4])
CHOSEN = sys.argv[4:]
sys.argv[1:] = [LLAMA_CPP, OUT]

import made  # noqa: E402
import torch  # noqa: E402
from converter import gguf  # noqa: E402
from family_tokenizers import google, llama3, qwen2, vocabularies  # noqa: E402
from gguf_models import COMMON, convert, tokens  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from tiny_models import model_of  # noqa: E402

torch.set_num_threads(1)
TEXT = " ".join(f"the {a} {b} is on the {c}" for a in ["red", "old", "tall"] for b in ["cat", "tree", "lamp"] for c in ["hill", "roof", "sea", "map"])
WIDE = dict(hidden_size=256, intermediate_size=256, head_dim=64, num_attention_heads=4, num_key_value_heads=1, max_position_embeddings=512)
ROWS = 2
BY = ["--imatrix", "imatrix.gguf"]
ONES = ["--imatrix", "ones.dat"]
# name: model class, its config, its vocabulary, the pre-tokenizer's name, runs
MODELS = {
    "llama": (
        "Llama", dict(WIDE, num_hidden_layers=5), llama3, "llama-bpe",
        [
            *((kind, []) for kind in "Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K_M Q4_K_M Q5_K_M Q6_K IQ4_XS IQ4_NL IQ3_S TQ1_0 TQ2_0 Q1_0 Q2_0 MXFP4_MOE F16 F32".split()),
            *((kind, BY) for kind in "Q4_0 Q5_1 Q2_K_S Q3_K_S Q4_K_M Q5_K_S Q6_K IQ4_XS IQ3_XXS IQ2_XXS IQ2_M IQ1_S IQ1_M".split()),
            ("Q4_K_M", ["--imatrix", "imatrix.dat"]),
            ("Q4_K_S", ["--pure"]), ("Q4_K_S", ["--pure", *ONES]), ("IQ3_S", ["--pure", *ONES]), ("Q6_K", ["--leave-output-tensor"]),
            ("Q4_K_M", ["--tensor-type", "attn_v=q8_0", "--tensor-type", r"blk\.[12]\.ffn_down=iq4_nl"]),
            ("Q4_K_M", ["--token-embedding-type", "q3_k", "--output-tensor-type", "q8_0"]),
        ],
    ),
    "qwen3moe": (
        "Qwen3Moe", dict(WIDE, num_hidden_layers=2, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=256), qwen2, "qwen2",
        [*((kind, []) for kind in "Q4_K_M Q8_0 MXFP4_MOE Q5_0".split()), *((kind, BY) for kind in "Q4_K_M Q4_0 IQ2_XS IQ3_S".split())],
    ),
    # Tied, and its output of attention has 128 columns.
    "gemma3": (
        "Gemma3", dict(WIDE, num_hidden_layers=3, head_dim=32, num_key_value_heads=2, sliding_window=16), google, None,
        [*((kind, []) for kind in "Q4_K_M Q3_K_L Q2_K IQ4_XS Q6_K Q8_0 BF16".split()), *((kind, BY) for kind in "Q5_K_M IQ3_M IQ2_S".split())],
    ),
    "tiny": (
        "Llama", dict(WIDE, num_hidden_layers=1, hidden_size=64, intermediate_size=96, head_dim=16), llama3, "llama-bpe",
        [("Q4_0", []), ("Q4_K_M", []), ("IQ4_XS", []), ("Q8_0", []), ("Q4_0", ["--pure", *ONES])],
    ),
}  # fmt: skip
WHOLE = {"tiny": ["Q4_0", "Q4_K_M"]}
MATRICES = {"llama": ["gguf", "dat"], "qwen3moe": ["gguf"], "gemma3": ["gguf"]}


def run(program, *arguments, folder):
    done = subprocess.run([os.path.join(BIN, program), *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def repository(kind, chosen, vocabulary, folder):
    """A repository in `folder`, whose weights are made."""
    ids = vocabulary(folder)
    model = model_of(kind, {**COMMON, **ids, **chosen, "vocab_size": tokens(folder) + 2})
    model.to(torch.bfloat16)
    model.save_pretrained(folder)
    vocabularies.write_json(folder, "generation_config.json", ids, indent=2)
    path = os.path.join(folder, "model.safetensors")
    shapes = {name: list(tensor.shape) for name, tensor in sorted(load_file(path).items())}
    bits = {name: torch.from_numpy(made.weights(name, shape).view("int16")).view(torch.bfloat16) for name, shape in shapes.items()}
    save_file(bits, path, {"format": "pt"})
    return shapes


def fields(path):
    """The metadata of a file, in its order: key, type, value."""
    reader = gguf.GGUFReader(path)
    for key, field in reader.fields.items():
        if not key.startswith("GGUF."):
            yield key, [kind.name for kind in field.types], field.contents()


def written(path):
    reader = gguf.GGUFReader(path)
    for tensor in reader.tensors:
        shape, data = [int(size) for size in tensor.shape], tensor.data.tobytes()
        matrices = shape[2] if len(shape) > 2 else 1
        whole = [data[i * len(data) // matrices : (i + 1) * len(data) // matrices] for i in range(matrices)]
        rows = shape[1] if len(shape) > 1 else 1
        first = b"".join(matrix[: len(matrix) // rows * min(ROWS, rows)] for matrix in whole)
        yield [tensor.name, tensor.tensor_type.name, f"{zlib.crc32(data):08x}", f"{zlib.crc32(first):08x}"]


def stored(path):
    shapes = {tensor.name: [int(size) for size in tensor.shape][::-1] for tensor in gguf.GGUFReader(path).tensors}
    return [[name, shapes[name], kind, crc] for name, kind, crc, _ in written(path)]


def plain(entries):
    return [[key, kinds[0], value] for key, kinds, value in entries if kinds[0] != "ARRAY"]


def ones(source, path):
    tensors = [tensor for tensor in gguf.GGUFReader(source).tensors if len(tensor.shape) > 1]
    with open(path, "wb") as out:
        out.write(struct.pack("<i", len(tensors)))
        for tensor in tensors:
            name, count = tensor.name.encode(), int(tensor.shape[0]) * int(tensor.shape[2] if len(tensor.shape) > 2 else 1)
            out.write(struct.pack("<i", len(name)) + name + struct.pack(f"<ii{count}f", 1, count, *[1.0] * count))


def sha256(path):
    return hashlib.sha256(open(path, "rb").read()).hexdigest()


def quantized(work, kind, options):
    out = os.path.join(work, "out.gguf")
    run("llama-quantize", *options, "model.gguf", "out.gguf", kind, "1", folder=work)
    source, found = list(fields(os.path.join(work, "model.gguf"))), list(fields(out))
    own = {"general.quantization_version", "general.file_type"}
    is_own = lambda entry: entry[0] in own or entry[0].startswith("quantize.imatrix.")  # noqa: E731
    last = [entry for entry in found if is_own(entry)]
    assert found == [entry for entry in source if not is_own(entry)] + last, found
    said = {"type": kind, "options": options, "sha256": sha256(out), "last": plain(last), "written": list(written(out))}
    return said, out


def make(name, kind, chosen, vocabulary, pre, runs):
    folder = os.path.join(OUT, name)
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as work:
        hf = os.path.join(work, "hf")
        os.makedirs(hf)
        shapes = repository(kind, chosen, vocabulary, hf)
        model = os.path.join(work, "model.gguf")
        convert(hf, model, "bf16", pre)
        shutil.copytree(hf, os.path.join(folder, "hf"), ignore=shutil.ignore_patterns("*.safetensors"))
        open(os.path.join(work, "words.txt"), "w").write(TEXT)
        for form in MATRICES.get(name, []):
            given = ["-m", "model.gguf", "-f", "words.txt", "-c", "64", "-b", "64", "-t", "1", "--no-ppl", "--process-output"]
            run("llama-imatrix", *given, "--output-format", form, "-o", f"imatrix.{form}", folder=work)
            shutil.copy(os.path.join(work, f"imatrix.{form}"), folder)
        ones(model, os.path.join(work, "ones.dat"))
        said = {"weights": list(shapes.items()), "sha256": sha256(model), "entries": plain(fields(model)), "tensors": stored(model)}
        found = []
        for kind, options in runs:
            one, out = quantized(work, kind, options)
            found.append(json.dumps(one))
            if kind in WHOLE.get(name, []) and not options:
                os.makedirs(os.path.join(folder, "whole"), exist_ok=True)
                shutil.copy(out, os.path.join(folder, "whole", f"{kind}.gguf"))
            print(name, kind, *options, flush=True)
    with open(os.path.join(folder, "expected.json"), "w") as out:
        head = ",\n ".join(f'"{key}": {json.dumps(value)}' for key, value in said.items())
        out.write("{" + head + ',\n "runs": [\n  ' + ",\n  ".join(found) + "\n ]}\n")


if __name__ == "__main__":
    logging.disable(logging.INFO)
    for name in CHOSEN or MODELS:
        make(name, *MODELS[name])
