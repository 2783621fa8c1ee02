"""Writes tests/files/mixed: one model whose parts are quantized in different ways.

modelopt   a tiny Llama, quantized and exported by nvidia-modelopt: attention in FP8 with one scale per
           tensor, the feed-forward part in NVFP4, norms and embeddings as they are. The export is
           then put into three shards, so that weights and their scales lie apart.
"""

import copy
import json
import os
import sys
import tempfile

import torch
from safetensors.torch import load_file

import modelopt.torch.quantization as mtq
from modelopt.torch.export import export_hf_checkpoint
from modelopt.torch.export.quant_utils import from_quantized_weight
from modelopt.torch.quantization.qtensor import NVFP4QTensor
from transformers import LlamaConfig, LlamaForCausalLM

from fp4_common import fresh, random, write_expected, write_json, write_model

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "files", "mixed")


def settings():
    """NVFP4's own settings, with FP8 for what belongs to attention."""
    mixed = copy.deepcopy(mtq.NVFP4_DEFAULT_CFG)
    eight = [entry for entry in mtq.FP8_DEFAULT_CFG["quant_cfg"] if "cfg" in entry]
    for entry in eight:
        kind = entry["quantizer_name"].removeprefix("*")
        mixed["quant_cfg"].append({**entry, "quantizer_name": f"*self_attn*{kind}"})
    return mixed


def export():
    torch.manual_seed(1)
    config = LlamaConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, vocab_size=16, dtype="bfloat16",
        architectures=["LlamaForCausalLM"])
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    with torch.no_grad():
        for index, (name, weight) in enumerate(model.named_parameters()):
            if "proj" in name:
                weight.copy_(random(*weight.shape, seed=index, spread=0.02))
    model = mtq.quantize(model, settings(), lambda m: m(torch.arange(16)[None]))
    with tempfile.TemporaryDirectory() as made:
        export_hf_checkpoint(model, export_dir=made)
        names = ["config.json", "hf_quant_config.json"]
        configs = {n: json.load(open(os.path.join(made, n))) for n in names}
        return load_file(os.path.join(made, "model.safetensors")), configs


def values(tensors, dtype):
    decoded = {}
    for name, stored in tensors.items():
        if stored.dtype == torch.uint8:
            shape = torch.Size((stored.shape[0], stored.shape[1] * 2))
            decoded[name] = NVFP4QTensor(shape, torch.bfloat16, stored).dequantize(
                dtype=dtype, scale=tensors[f"{name}_scale"],
                double_scale=tensors[f"{name}_scale_2"], block_sizes={-1: 16})
        elif stored.dtype == torch.float8_e4m3fn and name.endswith(".weight"):
            decoded[name] = from_quantized_weight(stored, tensors[f"{name}_scale"], "fp8", dtype)
        elif not stored.dtype.is_floating_point or "scale" in name:
            continue
        elif dtype == torch.bfloat16:
            decoded[name] = stored
    return decoded


def main():
    tensors, configs = export()
    directory = fresh(sys.argv[1] if len(sys.argv) > 1 else ROOT, "modelopt")
    for name, value in configs.items():
        write_json(directory, name, value)
    scales = {k: v for k, v in tensors.items() if "scale" in k.rsplit(".", 1)[1]}
    first = {k: v for k, v in tensors.items() if k not in scales and "layers.1." not in k}
    second = {k: v for k, v in tensors.items() if k not in scales and "layers.1." in k}
    write_model(directory, [first, second, scales])
    write_expected(directory, values(tensors, torch.bfloat16), values(tensors, torch.float32),
                   ("ModelOpt from_quantized_weight, NVFP4QTensor", "0.47.0"),
                   "ModelOpt 0.47.0, mtq.quantize, export_hf_checkpoint; put into three files")
    print({k: (v.dtype, tuple(v.shape)) for k, v in tensors.items() if "layers.0" in k})


if __name__ == "__main__":
    main()
