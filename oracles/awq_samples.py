#!/usr/bin/env python3
"""Write AWQ samples and their expected values with AutoAWQ 0.2.9.

The library quantizes each layer (`AwqQuantizer.pseudo_quantize_tensor`), packs it
(`WQLinear_GEMM.from_linear`) and decodes it again (`dequantize_gemm`); the settings are written
by its own `AwqConfig`. Nothing here packs or unpacks. Searching scales with calibration data, the
part of AWQ that needs a whole model, changes which weights are quantized, not how they lie.

  tests/files/awq/gemm-g32/       zero points at both ends, two shards: codes in one, scales in the other
  tests/files/awq/gemm-channel/   one group for all inputs, more outputs than a strip of 64

Usage: awq_samples.py [project folder]
"""

import json
import os
import shutil
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

os.environ["CUDA_VISIBLE_DEVICES"] = ""
warnings.simplefilter("ignore")

import torch

torch.set_num_threads(1)

import awq
from awq.models._config import AwqConfig
from awq.modules.linear.gemm import WQLinear_GEMM
from awq.quantize.quantizer import AwqQuantizer
from awq.utils.packing_utils import dequantize_gemm
from safetensors.torch import save_file

from provenance import record

VERSION = "0.2.9"
CASES = {
    # folder: (group size, [(layer, outputs, inputs)])
    "gemm-g32": (32, [("model.layers.0.mlp.up_proj", 96, 128), ("model.layers.0.self_attn.q_proj", 32, 96)]),
    "gemm-channel": (-1, [("model.layers.0.mlp.down_proj", 160, 72)]),
}


def quantized(outputs, inputs, group_size):
    linear = torch.nn.Linear(inputs, outputs, bias=False).half()
    with torch.no_grad():                                # zero points of 0 and of 15
        linear.weight[1::4] = linear.weight[1::4].abs()
        linear.weight[3::8] = -linear.weight[3::8].abs()
    settings = SimpleNamespace(w_bit=4, group_size=group_size, zero_point=True)
    weight, scales, zeros = AwqQuantizer.pseudo_quantize_tensor(settings, linear.weight.data.float())
    linear.weight.data = weight.half()
    packed = WQLinear_GEMM.from_linear(
        linear, 4, group_size if group_size > 0 else inputs, False, scales.t().contiguous(), zeros.t().contiguous())
    return {"qweight": packed.qweight, "qzeros": packed.qzeros, "scales": packed.scales}


def decoded(parts, group_size, dtype):
    inputs = parts["qweight"].shape[0]
    size = group_size if group_size > 0 else inputs
    weight = dequantize_gemm(parts["qweight"], parts["qzeros"], parts["scales"].to(dtype), 4, size)
    assert weight.dtype == dtype
    return weight.t().contiguous()


def write(folder, group_size, layers):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    stored, native, wide = {}, {}, {}
    for name, outputs, inputs in layers:
        parts = quantized(outputs, inputs, group_size)
        zeros = parts["qzeros"]
        fields = torch.stack([zeros >> s & 15 for s in range(0, 32, 4)])
        assert 0 in fields and 15 in fields
        stored.update({f"{name}.{key}": value.contiguous() for key, value in parts.items()})
        native[f"{name}.weight"] = decoded(parts, group_size, torch.float16)
        wide[f"{name}.weight"] = decoded(parts, group_size, torch.float32)
    stored["model.norm.weight"] = torch.randn(8).half()
    native["model.norm.weight"] = stored["model.norm.weight"]
    wide["model.norm.weight"] = stored["model.norm.weight"].float()
    shards = [{n: t for n, t in stored.items() if n.endswith("qweight")},
              {n: t for n, t in stored.items() if not n.endswith("qweight")}]
    names = [f"model-{i + 1:05}-of-00002.safetensors" for i in range(2)]
    for name, shard in zip(names, shards):
        save_file(shard, folder / name, metadata={"format": "pt"})
    index = {n: name for name, shard in zip(names, shards) for n in shard}
    total = sum(t.numel() * t.element_size() for t in stored.values())
    write_json(folder / "model.safetensors.index.json",
               {"metadata": {"total_size": total}, "weight_map": dict(sorted(index.items()))})
    settings = AwqConfig(quant_method="awq", zero_point=True, q_group_size=group_size, w_bit=4, version="gemm")
    write_json(folder / "config.json", {"architectures": ["LlamaForCausalLM"], "model_type": "llama",
                                        "quantization_config": settings.to_transformers_dict(),
                                        "torch_dtype": "float16"})
    record(folder, "AutoAWQ dequantize_gemm", VERSION,
           f"AutoAWQ {VERSION}, WQLinear_GEMM.from_linear and AwqConfig; the folder laid out as its save_quantized does")
    save_file(native, folder / "expected.safetensors")
    save_file(wide, folder / "expected-f32.safetensors")


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1) + "\n")


def main():
    if awq.__version__ != VERSION:
        raise SystemExit(f"this generator is pinned to autoawq {VERSION}")
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    torch.manual_seed(17)
    for name, (group_size, layers) in CASES.items():
        write(root / "tests" / "files" / "awq" / name, group_size, layers)
    print("written")


if __name__ == "__main__":
    main()
