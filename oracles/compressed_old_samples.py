#!/usr/bin/env python3
"""Write samples of early compressed-tensors versions and their expected values.

Before 0.18, widths that do not divide 32 were packed as whole codes in each word; in the first
versions zero points were not packed at all, and columns could be in an order of their own. The
library's `PackedQuantizationCompressor` packs and decodes each weight.

    with compressed-tensors 0.9.2:   old-widths, old-actorder
    with compressed-tensors 0.13.0:  words-widths

Usage: compressed_old_samples.py [project folder]
"""

import json
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import torch
from compressed_tensors.compressors.quantized_compressors.pack_quantized import (
    PackedQuantizationCompressor,
)
from compressed_tensors.quantization import QuantizationArgs, QuantizationConfig, QuantizationScheme
from compressed_tensors.quantization.utils import calculate_qparams
from safetensors.torch import save_file

from provenance import record

torch.set_num_threads(1)
ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
VERSION = version("compressed-tensors")


def parameters(weight, args, order):
    """Scales and zero points by the library, for groups of columns in that order."""
    size = args.group_size if args.strategy == "group" else weight.shape[1]
    if order is not None:
        weight = weight[:, torch.argsort(order, stable=True)]
    groups = weight.unflatten(-1, (-1, size))
    scale, zero = calculate_qparams(groups.amin(-1), groups.amax(-1), args)
    return scale, zero.to(torch.int8)


def write(case, layers, key="quantization_config"):
    out = ROOT / "tests/files/compressed" / case
    torch.manual_seed(3)
    stored, expected, wide, groups = {}, {}, {}, {}
    for index, (name, rows, columns, args, dtype, order) in enumerate(layers):
        args = QuantizationArgs(**args)
        weight = (torch.randn(rows, columns) + torch.linspace(-1, 1, rows).unsqueeze(1)).to(dtype)
        scale, zero = parameters(weight, args, order)
        scheme = QuantizationScheme(targets=[f"re:.*{name}$"], weights=args)
        groups[f"group_{index}"] = scheme
        config = QuantizationConfig(config_groups=groups, format="pack-quantized")
        compressor = PackedQuantizationCompressor(config=config)
        # As the library does with a whole model: what is zero throughout is left out.
        zero = None if args.symmetric else zero
        state = {"weight_scale": scale}
        state |= {"weight_zero_point": zero} if zero is not None else {}
        state |= {"weight_g_idx": order} if order is not None else {}
        unset = order if order is None or -1 not in order else None
        state |= compressor.compress_weight(weight, scale, args, zero_point=zero, g_idx=unset)
        decode = lambda s: compressor.decompress_weight(s, args)
        module = f"model.layers.0.{name}"
        stored |= {f"{module}.{k}": v.contiguous() for k, v in state.items()}
        expected[f"{module}.weight"] = decode(state).contiguous()
        wide[f"{module}.weight"] = decode(state | {"weight_scale": scale.float()}).contiguous()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    save_file(stored, out / "model.safetensors", metadata={"format": "pt"})
    record(out, "compressed-tensors", VERSION, f"compressed-tensors {VERSION}, its compressor; laid out after its loader")
    save_file(expected, out / "expected.safetensors")
    save_file(wide, out / "expected-f32.safetensors")
    config = json.loads(config.model_dump_json()) | {"version": VERSION, "quant_method": "compressed-tensors"}
    text = {"model_type": "llama", "torch_dtype": "bfloat16", key: config}
    (out / "config.json").write_text(json.dumps(text, indent=2))


def args(bits, group=None, symmetric=False):
    kind = {"strategy": "group", "group_size": group} if group else {"strategy": "channel"}
    return {"num_bits": bits, "type": "int", "symmetric": symmetric} | kind


BF16, F16 = torch.bfloat16, torch.float16
# Rows fill whole words: these versions cannot pack zero points otherwise.
WIDTHS = [
    ("self_attn.q_proj", 16, 32, args(2, 16), BF16, None),
    ("self_attn.k_proj", 20, 64, args(3, 32), BF16, None),
    # The same width as eight bits: only the config tells.
    ("self_attn.v_proj", 12, 32, args(7, 16), BF16, None),
    # As many words as a stream would take: only the version tells.
    ("self_attn.o_proj", 10, 40, args(3, symmetric=True), BF16, None),
    ("mlp.gate_proj", 12, 33, args(5), F16, None),
    ("mlp.up_proj", 10, 32, args(6, 16), BF16, None),
    ("mlp.down_proj", 8, 24, args(8), BF16, None),
]

if VERSION == "0.9.2":
    write("old-widths", WIDTHS, key="compression_config")
    mixed = torch.arange(32, dtype=torch.int32) * 7 % 32 // 16
    unset = mixed.clone()
    unset[5] = -1
    write(
        "old-actorder",
        [
            ("self_attn.q_proj", 9, 32, args(4, 16, True), BF16, mixed),
            ("self_attn.k_proj", 10, 32, args(4, 16), F16, mixed.flip(0)),
            ("mlp.down_proj", 8, 32, args(4, 16), BF16, None),
            ("mlp.up_proj", 8, 32, args(4, 16, True), BF16, unset),
        ],
    )
else:
    write("words-widths", WIDTHS)
