#!/usr/bin/env python3
"""Decode every folder of tests/files/gptq with GPTQModel's own layer.

For each folder with a config and packed layers, GPTQModel's torch layer is filled with the stored
tensors, turned to the second format by the library where the file is of the first, and decoded:
in the type of its scales, which must be what the whole loaded model gave when the folder was
written (`expected.safetensors`), and with its scales widened to f32 (`expected-f32.safetensors`).
Tensors that are not packed are expected as they are.

Usage: gptq_decode.py [project folder]
"""

import json
import os
import sys
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["GPTQMODEL_CPU_WORKERS"] = "2"

import torch

torch.set_num_threads(1)

import gptqmodel
from gptqmodel.nn_modules.qlinear.torch import TorchLinear
from gptqmodel.quantization.config import dynamic_get
from gptqmodel.utils.model import convert_gptq_v1_to_v2_format_module
from safetensors.torch import load_file, save_file

from provenance import record

VERSION = "7.7.0"
WRITERS = {"autogptq": "AutoGPTQ 0.7.1, quantize, save_quantized"}
# Folders with values in f32 too: one for each width, and one out of order.
WIDE = ("asym-v1-zero", "bits2", "bits3", "bits8", "desc-act", "dynamic")
PARTS = ("qweight", "qzeros", "scales", "g_idx")


def settings_of(folder):
    config = json.loads((folder / "config.json").read_text())
    if "quantization_config" in config:
        return config["quantization_config"]
    return json.loads((folder / "quantize_config.json").read_text())


def decode(name, parts, settings, dtype):
    rule = dynamic_get(settings.get("dynamic"), name) or {}
    assert rule is not False, f"{name} should not be packed"
    bits = rule.get("bits", settings["bits"])
    group_size = rule.get("group_size", settings["group_size"])
    inputs, outputs = parts["g_idx"].shape[0], parts["scales"].shape[1]
    layer = TorchLinear(bits=bits, group_size=group_size, sym=settings["sym"], desc_act=settings["desc_act"],
                        in_features=inputs, out_features=outputs, bias=False)
    for key, value in parts.items():
        assert getattr(layer, key).shape == value.shape, (name, key)
        setattr(layer, key, value.clone())
    layer.scales = layer.scales.to(dtype or layer.scales.dtype)
    if settings.get("checkpoint_format", "gptq") == "gptq":
        convert_gptq_v1_to_v2_format_module(layer, bits, torch.int32)
    weight = layer.dequantize_weight()
    assert weight.dtype == layer.scales.dtype
    return weight.T.contiguous()


def main():
    if gptqmodel.__version__ != VERSION:
        raise SystemExit(f"this generator is pinned to gptqmodel {VERSION}")
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    for folder in sorted(p.parent for p in (root / "tests" / "files" / "gptq").glob("*/config.json")):
        settings = settings_of(folder)
        stored = {}
        for file in sorted(folder.glob("*.safetensors")):
            if not file.name.startswith("expected"):
                stored |= load_file(file)
        native, wide = {}, {}
        for name, value in stored.items():
            module, _, part = name.rpartition(".")
            if part == "qweight":
                parts = {key: stored[f"{module}.{key}"] for key in PARTS}
                native[f"{module}.weight"] = decode(module, parts, settings, None)
                wide[f"{module}.weight"] = decode(module, parts, settings, torch.float32)
            elif part not in PARTS:
                native[name], wide[name] = value, value.float()
        for name, value in load_file(folder / "expected.safetensors").items():
            assert torch.equal(value, native[name]), (folder, name)
        save_file(native, folder / "expected.safetensors")
        record(folder, "GPTQModel TorchLinear", VERSION,
               WRITERS.get(folder.name, f"GPTQModel {VERSION}, quantize, save"))
        if folder.name in WIDE:
            save_file(wide, folder / "expected-f32.safetensors")
    print("written")


if __name__ == "__main__":
    main()
