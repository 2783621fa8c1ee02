#!/usr/bin/env python3
"""Write a small gpt-oss and what transformers' function makes of its experts.

tests/files/encoded-gpt-oss/source   one layer of a gpt-oss in bf16 (`encoded_weights.py`; experts
                                     have the odd rows along the dimension that is quantized)
tests/files/encoded-gpt-oss/mxfp4    its experts by `quantize_to_mxfp4`, which calls
                                     `downcast_to_mxfp_torch` of Triton's kernels: torch alone, so it
                                     runs on a CPU. transformers does not save what it quantized: the
                                     tensors are laid out as it loads them, and must come back through
                                     its `convert_moe_packed_tensors`.

TRITON_KERNELS in the environment is the folder python/triton_kernels of a checkout of Triton
(TRITON_COMMIT below).

Usage: TRITON_KERNELS=DIR gpt_oss_encoded.py [project folder]
"""

import json
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

os.environ["CUDA_VISIBLE_DEVICES"] = ""
TRITON_COMMIT = "f4fca2c0bc0e19930d2be76bb06ee7b232b60e86"
sys.path.insert(0, os.environ["TRITON_KERNELS"])

import torch
from safetensors.torch import load_file, save_file
from transformers import GptOssConfig, GptOssForCausalLM
from transformers.integrations.mxfp4 import convert_moe_packed_tensors, quantize_to_mxfp4
from triton_kernels.numerics_details import mxfp

from encoded_weights import fill, matrix

torch.set_num_threads(1)
ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
OUT = ROOT / "tests/files/encoded-gpt-oss"
# What OpenAI's config says.
LEFT_OUT = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]


def quantized(weight):
    """[E, in, out] as blocks and scales."""
    hub = SimpleNamespace(numerics_details=SimpleNamespace(mxfp=mxfp))
    codes, scales = quantize_to_mxfp4(weight, hub)
    experts, inner, outer = weight.shape
    blocks = codes.transpose(1, 2).reshape(experts, outer, inner // 32, 16).contiguous()
    scales = scales.transpose(1, 2).contiguous()
    back = convert_moe_packed_tensors(blocks, scales)
    assert torch.equal(back, mxfp.upcast_from_mxfp_torch(codes, scales.transpose(1, 2), torch.bfloat16, 1))
    return blocks, scales


# Sinks and biases keep the numbers they are made with.
torch.manual_seed(2)
config = GptOssConfig(
    num_hidden_layers=1, hidden_size=64, intermediate_size=32, num_attention_heads=2,
    num_key_value_heads=1, head_dim=8, vocab_size=8, num_local_experts=3, num_experts_per_tok=2,
    max_position_embeddings=32, dtype="bfloat16", architectures=["GptOssForCausalLM"])
model = fill(GptOssForCausalLM(config).to(torch.bfloat16), seed=3)
generator = torch.Generator().manual_seed(4)
with torch.no_grad():
    for name, weight in model.named_parameters():
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            experts, inner, outer = weight.shape
            weight.copy_(matrix((experts, outer, inner), generator).transpose(1, 2))
shutil.rmtree(OUT, ignore_errors=True)
model.save_pretrained(OUT / "source")
os.remove(OUT / "source/generation_config.json")
tensors, made = load_file(OUT / "source/model.safetensors"), {}
for name, weight in tensors.items():
    if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
        made[name + "_blocks"], made[name + "_scales"] = quantized(weight)
    else:
        made[name] = weight
(OUT / "mxfp4").mkdir()
save_file(made, OUT / "mxfp4/model.safetensors", {"format": "pt"})
section = {"modules_to_not_convert": LEFT_OUT, "quant_method": "mxfp4"}
written = {**json.load(open(OUT / "source/config.json")), "quantization_config": section}
(OUT / "mxfp4/config.json").write_text(json.dumps(written, indent=2, sort_keys=True) + "\n")
