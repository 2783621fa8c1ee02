#!/usr/bin/env python3
"""Write the sample of six-bit floats, which compressed-tensors has had since 0.20.

Usage: compressed_mxfp6.py [project folder]     (with compressed-tensors 0.20.0)
"""

import json
import shutil
import sys
from pathlib import Path

import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.compressors.mx_utils import decompress_mx_scale
from compressed_tensors.compressors.mxfp6.helpers import unpack_fp6_from_uint8
from compressed_tensors.quantization import QuantizationArgs, QuantizationConfig, QuantizationScheme
from compressed_tensors.quantization.lifecycle.forward import dequantize
from safetensors.torch import save_file

from provenance import record

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
OUT = ROOT / "tests/files/compressed/mxfp6"
NAME = "model.layers.0.mlp.down_proj"

torch.manual_seed(5)
args = QuantizationArgs(
    num_bits=6, type="float", strategy="group", group_size=32, scale_dtype="torch.uint8"
)
scheme = QuantizationScheme(targets=["Linear"], weights=args, format="mxfp6-pack-quantized")
compressor = BaseCompressor.get_value_from_registry("mxfp6-pack-quantized")
weight = torch.randn(12, 64, dtype=torch.bfloat16) * torch.linspace(-8, 8, 12).exp2().unsqueeze(1)
scale = weight.unflatten(-1, (2, 32)).abs().amax(-1).log2().floor().sub(2).exp2()
state = compressor.compress({"weight": weight, "weight_scale": scale}, scheme)
packed = state["weight_packed"]
codes = unpack_fp6_from_uint8(packed, 12, 64, torch.float32)
wide = dequantize(
    codes, decompress_mx_scale(state["weight_scale"]).float(), args=args, dtype=torch.float32
)
shutil.rmtree(OUT, ignore_errors=True)
OUT.mkdir(parents=True)
record(OUT, "compressed-tensors", "0.20.0", "compressed-tensors 0.20.0, its compressor; laid out after its loader")
stored = {f"{NAME}.{k}": v.contiguous() for k, v in state.items()}
save_file(stored, OUT / "model.safetensors", metadata={"format": "pt"})
save_file({f"{NAME}.weight": compressor.decompress(state, scheme)["weight"]}, OUT / "expected.safetensors")
save_file({f"{NAME}.weight": wide}, OUT / "expected-f32.safetensors")
config = QuantizationConfig(
    config_groups={"group_0": scheme}, format="mxfp6-pack-quantized", quantization_status="compressed"
)
config = json.loads(config.model_dump_json()) | {"version": "0.20.0", "quant_method": "compressed-tensors"}
text = {"model_type": "llama", "dtype": "bfloat16", "quantization_config": config}
(OUT / "config.json").write_text(json.dumps(text, indent=2))
