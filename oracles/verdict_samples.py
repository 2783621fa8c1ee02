#!/usr/bin/env python3
"""Writes tests/files/verdict: small matrices, and what canonical quantizers make of them.

  original.safetensors, original-bf16.safetensors   the matrices, as F32 and rounded to BF16
  plain.gguf         every type ggml quantizes, as `MATRIX.TYPE`; without an importance matrix,
                     or with one of ones for the three types that ggml makes only with one
  importance.gguf    the types whose quantizers look at an importance matrix, with an uneven one
  mlx-*, bnb-*, fp8-*   folders with a model each, as `MATRIX.weight`, where the library is there

Usage: verdict_samples.py LIBGGML [folder]; ggml_build.sh makes the library.
With requirements-verdict.txt; without mlx, torch and bitsandbytes their folders are left out.
"""

import json
import os
import sys

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

from ggml import Ggml

HERE = os.path.dirname(os.path.abspath(__file__))
# Not meant for files: they hold activations while a product is computed.
INTERNAL = ("Q8_1", "Q8_K")
# Their quantizers do not look at an importance matrix.
INDIFFERENT = ("Q8_0", "MXFP4", "NVFP4", "TQ1_0", "TQ2_0", "Q1_0", "Q2_0")
IMPORTANCE = {
    "quantize.imatrix.file": "lognormal.gguf",
    "quantize.imatrix.dataset": "lognormal weights",
}


def matrices():
    """Matrices of the kinds that models have, and of kinds that are hard to store."""
    random = np.random.default_rng(20261117)
    normal = random.normal(0, 0.03, (32, 512))
    heavy = random.standard_t(3, (32, 768)) * 0.02 * np.exp(0.5 * random.normal(size=(32, 1)))
    sparse = random.normal(0, 0.05, (8, 512)) * (random.random((8, 512)) < 0.1)
    sparse[3, 256:] = 0
    constant = np.repeat([0.0, 0.25, -0.1, 1.0, 3e-3, -7.0, 1 / 3, 0.02], 512).reshape(8, 512)
    small = random.normal(0, 1e-7, (8, 512))
    all_kinds = {"normal": normal, "heavy": heavy, "sparse": sparse, "constant": constant, "small": small}
    return {name: values.astype(np.float32) for name, values in all_kinds.items()}


def importance(columns, seed):
    """What single columns are worth: a few much more than most."""
    return np.random.default_rng(seed).lognormal(0, 1.5, columns).astype(np.float32)


def write_ggml(ggml, folder, originals):
    plain, weighed = [], []
    for kind in ggml.types:
        if not kind.is_block or kind.name in INTERNAL:
            continue
        for seed, (name, values) in enumerate(originals.items()):
            row, columns = list(values.shape), values.shape[1]
            data = ggml.quantize(kind, values, np.ones(columns))
            plain.append((f"{name}.{kind.name}", kind, row, data.tobytes()))
            if kind.name not in INDIFFERENT:
                data = ggml.quantize(kind, values, importance(columns, seed), always=True)
                weighed.append((f"{name}.{kind.name}", kind, row, data.tobytes()))
    described = {"general.architecture": "verdict"}
    ggml.write(os.path.join(folder, "plain.gguf"), described, plain)
    ggml.write(os.path.join(folder, "importance.gguf"), described | IMPORTANCE, weighed)


def model(folder, case, config, save):
    path = os.path.join(folder, case)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "config.json"), "w") as out:
        json.dump(config, out, indent=2)
        out.write("\n")
    file = os.path.join(path, "model.safetensors")
    save(file)
    os.chmod(file, 0o644)


def write_mlx(folder, originals):
    import mlx.core as mx

    mx.set_default_device(mx.cpu)
    for case, dtype, how in [
        ("mlx-affine4", mx.bfloat16, dict(group_size=64, bits=4, mode="affine")),
        ("mlx-affine8-f32", mx.float32, dict(group_size=64, bits=8, mode="affine")),
        ("mlx-affine2", mx.bfloat16, dict(group_size=32, bits=2, mode="affine")),
        ("mlx-mxfp4", mx.float32, dict(group_size=32, bits=4, mode="mxfp4")),
        ("mlx-mxfp8", mx.float32, dict(group_size=32, bits=8, mode="mxfp8")),
        ("mlx-nvfp4", mx.float32, dict(group_size=16, bits=4, mode="nvfp4")),
    ]:
        tensors = {}
        for name, values in originals.items():
            parts = mx.quantize(mx.array(values).astype(dtype), **how)
            tensors |= {f"{name}.{own}": part for own, part in zip(("weight", "scales", "biases"), parts)}
        model(folder, case, {"quantization": how}, lambda file: mx.save_safetensors(file, tensors, {"format": "mlx"}))


def write_bnb(folder, originals):
    import bitsandbytes as bnb
    import torch
    from safetensors.torch import save_file as save

    assert bnb.__version__ == "0.50.2", bnb.__version__
    for case, kind, nested in [("bnb-nf4", "nf4", False), ("bnb-nf4-nested", "nf4", True), ("bnb-fp4", "fp4", False)]:
        tensors = {}
        for name, values in originals.items():
            weight = bnb.nn.Params4bit(
                torch.from_numpy(values.copy()), requires_grad=False, quant_type=kind, compress_statistics=nested
            )._quantize("cpu")
            tensors[f"{name}.weight"] = weight.data.contiguous()
            for key, value in weight.quant_state.as_dict(packed=True).items():
                tensors[f"{name}.weight.{key}"] = value
        config = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": kind,
                  "bnb_4bit_use_double_quant": nested, "bnb_4bit_compute_dtype": "float32"}  # fmt: skip
        model(folder, case, {"quantization_config": config}, lambda file: save(tensors, file))
    tensors = {}
    for name, values in originals.items():
        # As its layers do before they quantize.
        codes, scales, _ = bnb.functional.int8_vectorwise_quant(torch.from_numpy(values.copy()).half())
        tensors |= {f"{name}.weight": codes, f"{name}.SCB": scales, f"{name}.weight_format": torch.tensor(0, dtype=torch.uint8)}
    config = {"quant_method": "bitsandbytes", "load_in_8bit": True, "load_in_4bit": False}
    model(folder, "bnb-int8", {"quantization_config": config}, lambda file: save(tensors, file))


def write_fp8(folder, originals):
    """The casts of torch under the scales that transformers' quantizers choose."""
    import torch
    from safetensors.torch import save_file as save

    kind, most = torch.float8_e4m3fn, 448.0

    def cast(values, scale):
        return (values / scale).clamp(-most, most).to(kind)

    def blocks(values, size):
        rows, columns = values.shape
        cut = values.reshape(rows // size, size, columns // size, size)
        scale = cut.abs().amax((1, 3), keepdim=True) / most
        scale = torch.where(scale == 0, 1.0, scale)
        return cast(cut, scale).reshape(rows, columns), scale[:, 0, :, 0].contiguous()

    block, tensor = {}, {}
    for name, values in originals.items():
        values = torch.from_numpy(values.copy())
        # Whole squares only, as transformers has it.
        codes, scales = blocks(values, 8)
        block |= {f"{name}.weight": codes, f"{name}.weight_scale_inv": scales}
        scale = values.abs().amax() / most
        tensor |= {f"{name}.weight": cast(values, scale), f"{name}.weight_scale": scale}
    config = {"quant_method": "fp8", "activation_scheme": "dynamic"}
    model(folder, "fp8-block", {"quantization_config": config | {"weight_block_size": [8, 8]}}, lambda file: save(block, file))
    model(folder, "fp8-tensor", {"quantization_config": config}, lambda file: save(tensor, file))


def main():
    folder = sys.argv[2] if len(sys.argv) > 2 else os.path.join(HERE, "..", "tests", "files", "verdict")
    os.makedirs(folder, exist_ok=True)
    originals = matrices()
    save_file(originals, os.path.join(folder, "original.safetensors"))
    rounded = {name: values.astype(ml_dtypes.bfloat16) for name, values in originals.items()}
    save_file(rounded, os.path.join(folder, "original-bf16.safetensors"))
    write_ggml(Ggml(sys.argv[1]), folder, originals)
    for write in (write_mlx, write_bnb, write_fp8):
        try:
            write(folder, originals)
        except ImportError as missing:
            print(f"{write.__name__}: left out, {missing}")
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            os.chmod(path, 0o644)


if __name__ == "__main__":
    main()
