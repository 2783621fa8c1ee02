#!/usr/bin/env python3
"""Write a small model and what ModelOpt makes of it without data, in four-bit floats.

tests/files/encoded-modelopt/source-TYPE   one layer of a Llama (`encoded_weights.py`)
tests/files/encoded-modelopt/nvfp4-TYPE    `mtq.quantize` with W4A16_NVFP4_CFG and no forward pass,
                                           then `export_hf_checkpoint`

Usage: modelopt_encoded.py [project folder]
"""

import os
import shutil
import sys
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""

import modelopt.torch.quantization as mtq
import torch
from modelopt.torch.export import export_hf_checkpoint
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from encoded_weights import fill

torch.set_num_threads(1)
ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
OUT = ROOT / "tests/files/encoded-modelopt"
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}

for name, dtype in TYPES.items():
    config = LlamaConfig(
        hidden_size=64, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, vocab_size=8, max_position_embeddings=32,
        dtype=str(dtype).removeprefix("torch."), architectures=["LlamaForCausalLM"])
    source = OUT / f"source-{name}"
    shutil.rmtree(source, ignore_errors=True)
    fill(LlamaForCausalLM(config).to(dtype), seed=len(name) + 7).save_pretrained(source)
    os.remove(source / "generation_config.json")
    model = AutoModelForCausalLM.from_pretrained(source, dtype=dtype)
    model = mtq.quantize(model, mtq.W4A16_NVFP4_CFG)
    written = OUT / f"nvfp4-{name}"
    shutil.rmtree(written, ignore_errors=True)
    export_hf_checkpoint(model, export_dir=written)
    for other in written.iterdir():
        if other.name not in ("config.json", "hf_quant_config.json", "model.safetensors"):
            other.unlink()
