#!/usr/bin/env python3
"""Write tests/files/encoded-bnb: tiny models, and what transformers makes of them with bitsandbytes.

  <model>/source/        config.json, model.safetensors: a model as transformers saves it
  <model>/<quantizer>/   the same, loaded with a BitsAndBytesConfig on the CPU and saved again
  <model>/<quantizer>/decoded.json   SHA-256 of what bitsandbytes decodes each weight to, zeros positive

bitsandbytes runs its own torch code (its `default` backend), as it does where it has no compiled
library: the compiled one for CPUs finds the codes of scales through a table of 65536 steps, which
are not always the nearest. Torch runs on one thread and without AVX-512, since the order of its
sums depends on both.

Usage: bnb_encoded.py [project folder]
"""

import ctypes
import hashlib
import json
import os
import shutil
import sys
import warnings
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TORCHDYNAMO_DISABLE"] = "1"
os.environ["ATEN_CPU_CAPABILITY"] = "avx2"
warnings.simplefilter("ignore")

import torch

torch.set_num_threads(1)
assert torch.backends.cpu.get_cpu_capability() == "AVX2"

load_library = ctypes.cdll.LoadLibrary


def without_compiled(name):
    if "bitsandbytes" in str(name):
        raise OSError("its own torch code is wanted")
    return load_library(name)


ctypes.cdll.LoadLibrary = without_compiled
import bitsandbytes as bnb

ctypes.cdll.LoadLibrary = load_library

import transformers
from bitsandbytes import functional as F
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, LlamaConfig, Qwen3MoeConfig

from provenance import record

assert bnb.__version__ == "0.50.2", bnb.__version__
BF16, F16, F32 = torch.bfloat16, torch.float16, torch.float32

KINDS = {
    "nf4": dict(load_in_4bit=True, bnb_4bit_quant_type="nf4"),
    "fp4": dict(load_in_4bit=True, bnb_4bit_quant_type="fp4"),
    "nf4-nested": dict(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True),
    "fp4-nested": dict(load_in_4bit=True, bnb_4bit_quant_type="fp4", bnb_4bit_use_double_quant=True),
    "int8": dict(load_in_8bit=True),
}

# Sizes that are no whole blocks, an odd count of numbers, and more than 256 blocks.
ODD = dict(hidden_size=35, intermediate_size=33, num_attention_heads=5, num_key_value_heads=1, head_dim=4)
EVEN = dict(hidden_size=64, intermediate_size=24, num_attention_heads=2, num_key_value_heads=1, head_dim=4)
EXPERTS = dict(EVEN, num_experts=3, num_experts_per_tok=1, moe_intermediate_size=8)
MANY = dict(hidden_size=64, intermediate_size=8, num_attention_heads=16, num_key_value_heads=1, head_dim=18)


def fill(name, shape, dtype):
    """Numbers of many sizes: heavy tails, rows of nothing, ties between codes, the smallest ones."""
    if len(shape) == 1:
        return (1 + 0.1 * torch.randn(shape)).to(dtype)
    values = torch.randn(shape) * 0.05
    values = values * torch.exp(1.5 * torch.randn(shape[0], 1))
    values[torch.rand(shape) < 0.01] *= 20
    if "k_proj" in name:
        values[1] = 0
        values[2] = -0.0
    if "v_proj" in name:  # Every multiple of a sixteenth and its halves, under a scale of one.
        values = torch.arange(values.numel()).reshape(shape) % 129 / 64.0 - 1.0
    if "up_proj" in name:  # All of it in one or two blocks' size, and signs of zero.
        values[:, ::3] = 0
        values[3] *= 1e-4
        values[5] = 3e-39 if dtype == F32 else 0.0
    if "down_proj" in name:
        values[-1] = 0
        values[-2] = 0
    return values.to(dtype)


def source(folder, seed, sizes, dtype, tied):
    torch.manual_seed(seed)
    kind = Qwen3MoeConfig if "num_experts" in sizes else LlamaConfig
    config = kind(vocab_size=6, num_hidden_layers=1, max_position_embeddings=16, tie_word_embeddings=tied,
                  bos_token_id=0, eos_token_id=1, **sizes)
    model = AutoModelForCausalLM.from_config(config).to(dtype)
    for name, parameter in model.named_parameters():
        if parameter.ndim < 3:
            parameter.data = fill(name, tuple(parameter.shape), dtype)
    model.save_pretrained(folder)


def decoded(stored):
    """What bitsandbytes makes of every weight that it has quantized, by name."""
    out = {}
    for name in stored:
        if ".quant_state." in name:
            weight = name.split(".quant_state.")[0]
            pieces = {k[len(weight) + 1 :]: v for k, v in stored.items() if k.startswith(weight + ".")}
            state = F.QuantState.from_dict(pieces, torch.device("cpu"))
            out[weight] = F.dequantize_4bit(stored[weight], state)
        elif name.endswith(".SCB"):
            weight = name.removesuffix("SCB") + "weight"
            out[weight] = F.int8_vectorwise_dequant(stored[weight], stored[name])
    # FP4's second zero is negative to some of the library's decoders.
    raw = lambda tensor: (tensor + 0.0).contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return {name: hashlib.sha256(raw(tensor)).hexdigest() for name, tensor in sorted(out.items())}


def quantized(case, kind, dtype, skip):
    """Loads the source in fewer bits and saves it."""
    settings = dict(KINDS[kind], llm_int8_skip_modules=skip)
    if settings.get("load_in_4bit"):
        settings["bnb_4bit_compute_dtype"] = dtype
    model = AutoModelForCausalLM.from_pretrained(
        case / "source", quantization_config=BitsAndBytesConfig(**settings), device_map="cpu", dtype=dtype
    )
    folder = case / kind
    model.save_pretrained(folder)
    stored = load_file(folder / "model.safetensors")
    (folder / "decoded.json").write_text(json.dumps(decoded(stored), indent=1) + "\n")


def write(root, name, seed, sizes, dtype, kinds=KINDS, skip=("lm_head",), tied=False):
    case = root / name
    source(case / "source", seed, sizes, dtype, tied)
    for kind in kinds:
        quantized(case, kind, dtype, list(skip))
    for extra in case.rglob("generation_config.json"):
        extra.unlink()
    versions = f"transformers {transformers.__version__} on torch {torch.__version__}, save_pretrained"
    record(case, "bitsandbytes, its default backend", bnb.__version__, versions)


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent
    folder = root / "tests/files/encoded-bnb"
    shutil.rmtree(folder, ignore_errors=True)
    write(folder, "odd-bf16", 1, ODD, BF16)
    write(folder, "even-f16", 2, EVEN, F16, tied=True)
    kept = ["lm_head", "model.layers.0.self_attn.k_proj"]
    write(folder, "odd-f32", 3, ODD, F32, ["nf4-nested", "fp4", "int8"], skip=kept)
    write(folder, "many-bf16", 4, MANY, BF16, ["nf4-nested"])
    write(folder, "experts-bf16", 5, EXPERTS, BF16, ["nf4"], skip=["lm_head", "model.layers.0.mlp.gate"])
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            print(path.stat().st_size, path.relative_to(root))


if __name__ == "__main__":
    main()
