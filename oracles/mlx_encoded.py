#!/usr/bin/env python3
"""Write tests/files/encoded-mlx: tiny models, and what mlx-lm quantizes them to.

  <model>/source/        config.json, model.safetensors: a model as transformers names its tensors
  <model>/<quantizer>/   what mlx-lm's `quantize_model`, `save_model` and `save_config` make of it
  <model>/<quantizer>/decoded.json   SHA-256 of what `mx.dequantize` makes of each weight, zeros positive

Everything runs on MLX's CPU backend. The source is loaded as mlx-lm's `convert` loads it, by its
model class and `sanitize`; the tokenizer, which `convert` wants too, plays no part.

Usage: mlx_encoded.py [folder]
"""

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

import mlx.core as mx
import mlx_lm
import mlx_lm.utils
import numpy as np
from mlx.utils import tree_flatten

from provenance import record

HERE = Path(__file__).resolve().parent
AFFINE = {f"{bits}bit": dict(bits=bits, mode="affine") for bits in (2, 3, 4, 5, 6, 8)}
MODES = {mode: dict(bits=None, mode=mode) for mode in ("mxfp4", "mxfp8", "nvfp4")}
LAYER = "model.layers.0."


def sizes(hidden, inner, heads, head_dim, tied):
    """A config of transformers; the output matrix is the embedding if they are tied."""
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": hidden,
        "num_hidden_layers": 1, "intermediate_size": inner, "num_attention_heads": heads,
        "num_key_value_heads": 1, "head_dim": head_dim, "rms_norm_eps": 1e-5, "vocab_size": 6,
        "tie_word_embeddings": tied, "rope_theta": 10000.0,
    }


def shapes(config):
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    queries, keys = config["num_attention_heads"] * config["head_dim"], config["head_dim"]
    found = {
        "model.embed_tokens.weight": (config["vocab_size"], hidden),
        LAYER + "self_attn.q_proj.weight": (queries, hidden),
        LAYER + "self_attn.k_proj.weight": (keys, hidden),
        LAYER + "self_attn.v_proj.weight": (keys, hidden),
        LAYER + "self_attn.o_proj.weight": (hidden, queries),
        LAYER + "mlp.gate_proj.weight": (inner, hidden),
        LAYER + "mlp.up_proj.weight": (inner, hidden),
        LAYER + "mlp.down_proj.weight": (hidden, inner),
        LAYER + "input_layernorm.weight": (hidden,),
        LAYER + "post_attention_layernorm.weight": (hidden,),
        "model.norm.weight": (hidden,),
    }
    if not config["tie_word_embeddings"]:
        found["lm_head.weight"] = (config["vocab_size"], hidden)
    return found


def fill(random, name, shape):
    """Numbers of many sizes: heavy tails, rows of nothing, ties between codes, tiny ones."""
    if len(shape) == 1:
        return 1 + 0.1 * random.standard_normal(shape)
    values = random.standard_normal(shape) * 0.05 * np.exp(1.5 * random.standard_normal((shape[0], 1)))
    values[random.random(shape) < 0.01] *= 20
    if "embed_tokens" in name:  # Sizes around the least scales, and the powers between two.
        values *= np.exp2(np.linspace(-12, 6, shape[1]))
        values[1] = 0
        values[2, ::2] = -0.0
    if "k_proj" in name:  # One sign only, constants, an outlier.
        values[0] = np.abs(values[0])
        values[1] = -np.abs(values[1])
        values[2] = 0.3
        values[3] = -0.3
        values[3, 5] = 40
    if "v_proj" in name:  # Multiples of a sixteenth: many lie between two codes.
        values = (np.arange(values.size).reshape(shape) * 7 % 129 - 64) / 16.0
    if "up_proj" in name:  # Small enough for scales of eight bits to vanish.
        values *= np.exp2(-np.arange(shape[0]))[:, None]
    return values


def source(folder, seed, config, dtype):
    random = np.random.default_rng(seed)
    numbers = {name: mx.array(fill(random, name, shape).astype(np.float32)) for name, shape in shapes(config).items()}
    folder.mkdir(parents=True)
    mx.save_safetensors(str(folder / "model.safetensors"), {name: a.astype(dtype) for name, a in numbers.items()}, metadata={"format": "pt"})
    config = dict(config, torch_dtype=str(dtype).removeprefix("mlx.core."))
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def decoded(weights, how):
    out = {}
    for name, scales in weights.items():
        if not name.endswith(".scales"):
            continue
        path = name.removesuffix(".scales")
        numbers = mx.dequantize(weights[f"{path}.weight"], scales, weights.get(f"{path}.biases"), **how)
        raw = bytes(np.array((numbers + mx.array(0, numbers.dtype)).view(mx.uint8)))
        out[f"{path}.weight"] = hashlib.sha256(raw).hexdigest()
    return dict(sorted(out.items()))


def quantized(case, kind, group, kept):
    settings = {**AFFINE, **MODES}[kind]
    model, config = mlx_lm.utils.load_model(case / "source", lazy=True)
    predicate = (lambda path, module: path not in kept) if kept else None
    model, config = mlx_lm.utils.quantize_model(model, config, group, settings["bits"], settings["mode"], quant_predicate=predicate)
    folder = case / (kind if group is None else f"{kind}-g{group}")
    mlx_lm.utils.save_model(folder, model)
    (folder / "model.safetensors.index.json").unlink()
    mlx_lm.utils.save_config(config, folder / "config.json")
    how = {key: config["quantization"][key] for key in ("group_size", "bits", "mode")}
    sums = decoded(dict(tree_flatten(model.parameters())), how)
    assert sums
    (folder / "decoded.json").write_text(json.dumps(sums, indent=1) + "\n")


def write(root, name, seed, config, dtype, kinds, kept=()):
    case = root / name
    source(case / "source", seed, config, dtype)
    for kind, group in kinds:
        quantized(case, kind, group, kept)
    writer = f"mlx {mx.__version__}, mlx-lm {mlx_lm.__version__}, quantize_model, save_model"
    record(case, "MLX mx.quantize on its CPU backend", mx.__version__, writer)


def main():
    mx.set_default_device(mx.cpu)
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "tests/files/encoded-mlx"
    shutil.rmtree(root, ignore_errors=True)
    every = [(kind, None) for kind in (*AFFINE, *MODES)]
    # Columns of 32 are no group of 64, so some layers stay.
    write(root, "bf16", 1, sizes(64, 32, 4, 8, False), mx.bfloat16, every)
    groups = [("2bit", 32), ("5bit", 32), ("4bit", 32), ("8bit", 128), ("3bit", 128), ("6bit", 128), ("mxfp4", None), ("mxfp8", None), ("nvfp4", None)]
    write(root, "f16", 2, sizes(128, 32, 4, 8, True), mx.float16, groups)
    kept = [LAYER + "mlp.gate_proj", "model.embed_tokens"]
    kinds = [("4bit", None), ("6bit", 32), ("mxfp4", None), ("mxfp8", None), ("nvfp4", None)]
    write(root, "f32", 3, sizes(64, 32, 4, 8, False), mx.float32, kinds, kept)
    for path in sorted(root.rglob("*")):
        if path.is_file():
            print(path.stat().st_size, path.relative_to(root))


if __name__ == "__main__":
    main()
