"""Writes tests/files/mlx/metal: layers packed by transformers' `metal` quantizer, and what it decodes.

Only its Metal kernels need a Mac: packing and the decoding it falls back to elsewhere are torch.
"""

import json
import os
import shutil
import sys
from types import SimpleNamespace

import torch
import transformers
from safetensors.torch import save_file
from transformers import MetalConfig
from transformers.integrations.metal_quantization import MetalDequantize, MetalQuantize

from expect import Expect
from provenance import record

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "../tests/files/mlx")
    torch.manual_seed(11)
    for bits, group in ((2, 32), (4, 64), (8, 128)):
        quantizer = SimpleNamespace(quantization_config=MetalConfig(bits=bits, group_size=group))
        stored, native = {}, {}
        for name, dtype in (("model.q_proj", torch.bfloat16), ("model.k_proj", torch.float16), ("model.v_proj", torch.float32)):
            weight = (torch.randn(3, 256) * torch.exp(torch.randn(3, 8)).repeat_interleave(32, 1)).to(dtype)
            packed = MetalQuantize(quantizer).convert({f"{name}.weight": [weight]})
            stored.update(packed)
            parts = {own: [packed[f"{name}.{own}"]] for own in ("weight", "scales", "qbiases")}
            native.update(MetalDequantize(quantizer).convert(parts, full_layer_name=f"{name}.weight"))
        stored["model.norm.weight"] = native["model.norm.weight"] = torch.ones(4, dtype=torch.bfloat16)
        folder = os.path.join(root, f"metal-{bits}bit")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        path = os.path.join(folder, "model.safetensors")
        save_file(stored, path, metadata={"format": "pt"})
        save_file(native, os.path.join(folder, "expected.safetensors"))
        config = {"model_type": "llama", "quantization_config": quantizer.quantization_config.to_dict()}
        with open(os.path.join(folder, "config.json"), "w") as out:
            json.dump(config, out, indent=2)
        record(folder, "transformers MetalDequantize", transformers.__version__,
               f"transformers {transformers.__version__}, MetalQuantize; laid out after its loader, no CPU writer")
        expectation(path, stored)


def expectation(path, stored):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    expect = Expect(f"transformers {transformers.__version__}, torch {torch.__version__}", "safetensors")
    for name in (name for name in header if name != "__metadata__"):
        data = bytes(stored[name].contiguous().view(torch.uint8).numpy())
        expect.raw(name, stored[name].shape, header[name]["dtype"], data)
    expect.metadata["format"] = "pt"
    expect.save(path)


main()
