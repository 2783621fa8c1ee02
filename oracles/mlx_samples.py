"""Writes tests/files/mlx: models quantized and saved by MLX and mlx-lm, and what MLX decodes.

Run without arguments to rewrite the samples in place, or give a directory to write elsewhere.
Everything runs on MLX's CPU backend. `expected.safetensors` is `mx.dequantize` of what was saved,
`expected-f32.safetensors` the same with scales and biases widened to f32 (affine) or with f32 as
the wanted type (the other modes). Samples of transformers' `metal` are by mlx_metal.py.
"""

import json
import os
import shutil
import sys
import zipfile

import mlx.core as mx
import mlx.nn as nn
import mlx_lm
import mlx_lm.utils
import numpy as np
from mlx.utils import tree_flatten
from mlx_lm.models import llama
from mlx_lm.models.switch_layers import SwitchLinear

from expect import Expect
from provenance import record

WRITER = f"mlx {mx.__version__}, mlx-lm {mlx_lm.__version__}"
HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {mx.uint32: "U32", mx.uint8: "U8", mx.bfloat16: "BF16", mx.float16: "F16", mx.float32: "F32"}


def raw(array):
    """The bytes of any array."""
    return bytes(np.array(mx.atleast_1d(array).view(mx.uint8)))


def decode(group, settings):
    """What MLX makes of a layer's tensors, in its own type and in f32."""
    mode = settings.get("mode", "affine")
    usual = {"affine": (64, 4), "mxfp4": (32, 4), "mxfp8": (32, 8), "nvfp4": (16, 4)}[mode]
    how = dict(group_size=settings.get("group_size", usual[0]), bits=settings.get("bits", usual[1]), mode=mode)
    weight, scales, biases = group["weight"], group["scales"], group.get("biases")
    glob = group.get("global_scale")
    if glob is not None:  # mx.dequantize takes one matrix at a time
        each = zip(weight, scales, glob)
        both = mx.stack([mx.dequantize(w, s, global_scale=g, **how) for w, s, g in each])
        assert both.dtype == mx.float32
        return both, both
    native = mx.dequantize(weight, scales, biases, **how)
    if mode != "affine":
        return native, mx.dequantize(weight, scales, dtype=mx.float32, **how)
    wide = mx.dequantize(weight, scales.astype(mx.float32), biases.astype(mx.float32), **how)
    assert native.dtype == scales.dtype
    return native, wide


def expected(weights, quantization):
    """Logical weights of a model, in the order of its tensors."""
    native, wide = {}, {}
    for name, array in weights.items():
        path, _, own = name.rpartition(".")
        if own in ("scales", "biases", "global_scale") and f"{path}.scales" in weights:
            continue
        if own != "weight" or f"{path}.scales" not in weights:
            native[name] = array
            wide[name] = array.astype(mx.float32)
            continue
        owns = ("weight", "scales", "biases", "global_scale")
        group = {own: weights[f"{path}.{own}"] for own in owns if f"{path}.{own}" in weights}
        settings = quantization.get(path, True)
        if settings is True:
            settings = {k: quantization[k] for k in ("group_size", "bits", "mode") if k in quantization}
        native[name], wide[name] = decode(group, settings)
    return native, wide


def save_expected(folder, weights, quantization, names=("expected", "expected-f32"), by="mx.quantize, mx.save_safetensors"):
    record(folder, "MLX mx.dequantize on its CPU backend", mx.__version__, f"{WRITER}, {by}")
    for name, arrays in zip(names, expected(weights, quantization)):
        mx.save_safetensors(os.path.join(folder, f"{name}.safetensors"), arrays)


def expect_file(path, metadata=None):
    """The expectation of one file that MLX wrote, read back by MLX in the order of its header."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    arrays = mx.load(path)
    expect = Expect(WRITER, "safetensors")
    for name in (name for name in header if name != "__metadata__"):
        expect.raw(name, arrays[name].shape, NAMES[arrays[name].dtype], raw(arrays[name]))
    expect.metadata.update(metadata or {})
    expect.save(path)


def save(root, case, weights, quantization, config=None):
    """One folder with a file as mlx-lm saves it, and what it holds."""
    folder = os.path.join(root, case)
    os.makedirs(folder)
    mx.save_safetensors(os.path.join(folder, "model.safetensors"), weights, metadata={"format": "mlx"})
    if config is not None:
        config = dict(config, quantization=quantization)
        mlx_lm.utils.save_config(config, os.path.join(folder, "config.json"))
    save_expected(folder, weights, quantization)
    expect_file(os.path.join(folder, "model.safetensors"), {"format": "mlx"})


def rows(count, columns, dtype):
    """Normal numbers whose size differs from group to group."""
    sizes = mx.repeat(mx.exp(mx.random.normal((count, columns // 8))), 8, axis=1)
    return (mx.random.normal((count, columns)) * sizes * 0.02).astype(dtype)


def random_words(shape):
    """Codes of every value."""
    return mx.random.randint(0, 256, (shape[0], 4 * shape[1])).astype(mx.uint8).view(mx.uint32)


def edge_scales(dtype, count):
    """Scales and biases of every size: zeros, subnormals, products that leave f16."""
    bits = mx.random.randint(0, 65536, (count, 4)).astype(mx.uint16)
    scales = bits.view(dtype)
    largest = 3e38 if dtype == mx.bfloat16 else 65000.0
    scales = mx.where(mx.isfinite(scales), scales, mx.array(0, dtype))
    # Neighbours of the code's own size, so that the sum cancels most of the product.
    biases = -scales.astype(mx.float32) * mx.random.randint(0, 256, (count, 4)).astype(mx.float32)
    biases = mx.clip(biases, -largest, largest).astype(dtype)
    scales[0, 0] = 0
    biases[0, 1] = 0
    scales[0, 2] = -0.0
    return scales, biases


def widths(root):
    """Every width and group, in every type of scales."""
    weights, quantization = {}, {"group_size": 64, "bits": 4, "mode": "affine"}
    types = {"bf16": mx.bfloat16, "f16": mx.float16, "f32": mx.float32}
    for name, dtype in types.items():
        for index, bits in enumerate((2, 3, 4, 5, 6, 8)):
            for at, group in enumerate((32, 64, 128)):
                if name != "bf16" and (index + at) % 3:
                    continue
                path = f"{name}.{bits}bit.g{group}"
                packed = mx.quantize(rows(2, max(128, 2 * group), dtype), group, bits)
                for own, array in zip(("weight", "scales", "biases"), packed):
                    weights[f"{path}.{own}"] = array
                if (group, bits) != (64, 4):
                    quantization[path] = {"group_size": group, "bits": bits}
        if name != "f32":
            path = f"{name}.edges"
            weights[f"{path}.weight"] = random_words((10, 32))
            weights[f"{path}.scales"], weights[f"{path}.biases"] = edge_scales(dtype, 10)
            quantization[path] = {"group_size": 32, "bits": 8}
    save(root, "widths", weights, quantization, {"model_type": "llama"})


def modes(root):
    """The other modes, named at the top and layer by layer; an entry without a mode is affine."""
    weights = {}
    quantization = {"group_size": 32, "bits": 4, "mode": "mxfp4"}
    layers = {
        "layers.0.mxfp4": None,
        "layers.0.mxfp8": {"group_size": 32, "bits": 8, "mode": "mxfp8"},
        "layers.0.nvfp4": {"group_size": 16, "bits": 4, "mode": "nvfp4"},
        "layers.0.affine": {"group_size": 32, "bits": 4},
        "layers.0.short": {"mode": "nvfp4"},
        "layers.0.whole": True,
        "layers.0.plain": False,
    }
    for path, settings in layers.items():
        if settings is not None:
            quantization[path] = settings
        array = rows(4, 96, mx.bfloat16)
        if settings is False:
            weights[f"{path}.weight"] = array
            continue
        how = dict(settings) if isinstance(settings, dict) else {"group_size": 32, "bits": 4, "mode": "mxfp4"}
        packed = mx.quantize(array, **how)
        for own, part in zip(("weight", "scales", "biases"), packed):
            weights[f"{path}.{own}"] = part
        weights[f"{path}.bias"] = rows(1, 16, mx.bfloat16)[0]
    every = np.array([code for code in range(256) if code & 127 != 127], np.uint8)
    # The smallest and largest scales that are numbers, over codes of every value.
    chosen = [0, 1, 2, 117, 126, 127, 128, 253, 254] + list(range(3, 253, 11))
    scales = np.resize(np.array(chosen, np.uint8), (8, 4))
    quantization["edges.mxfp8"] = {"group_size": 32, "bits": 8, "mode": "mxfp8"}
    weights["edges.mxfp8.weight"] = mx.array(np.resize(every, (8, 128)).view(np.uint32))
    weights["edges.mxfp8.scales"] = mx.array(scales)
    weights["edges.mxfp4.weight"] = random_words((8, 16))
    weights["edges.mxfp4.scales"] = mx.array(scales)
    quantization["edges.nvfp4"] = {"group_size": 16, "bits": 4, "mode": "nvfp4"}
    weights["edges.nvfp4.weight"] = random_words((8, 32))
    weights["edges.nvfp4.scales"] = mx.array(np.resize(every[::2], (8, 16)))
    save(root, "modes", weights, quantization, {"model_type": "gpt_oss"})


def experts(root):
    """Stacked matrices of mlx-lm's switch layers, one with a scale for each expert."""
    weights = {}
    quantization = {"group_size": 64, "bits": 4, "mode": "affine"}
    layers = {
        "gate_proj": {"group_size": 64, "bits": 4},
        "up_proj": {"group_size": 32, "bits": 3},
        "down_proj": {"group_size": 16, "bits": 4, "mode": "nvfp4", "global_scale": True},
    }
    for own, settings in layers.items():
        layer = SwitchLinear(64, 5, 3, bias=own == "up_proj")
        layer.weight = rows(15, 64, mx.bfloat16).reshape(3, 5, 64)
        if own == "up_proj":
            layer.bias = rows(3, 16, mx.bfloat16)[:, :5]
        path = f"model.layers.0.mlp.switch_mlp.{own}"
        quantization[path] = settings
        for part, array in tree_flatten(layer.to_quantized(**settings).parameters()):
            if array is not None:
                weights[f"{path}.{part}"] = array
    save(root, "experts", weights, quantization, {"model_type": "qwen3_moe"})


def no_config(root):
    """Widths and groups that only one kind has."""
    weights, quantization = {}, {}
    kinds = [(32, 2), (32, 3), (32, 5), (64, 5), (128, 5), (128, 6), (128, 8)]
    settings = [{"group_size": group, "bits": bits} for group, bits in kinds]
    settings += [{"group_size": 16 if m == "nvfp4" else 32, "bits": 8 if m == "mxfp8" else 4, "mode": m} for m in ("mxfp4", "mxfp8", "nvfp4")]
    for how in settings:
        path = "_".join(str(value) for value in how.values())
        quantization[path] = how
        for own, array in zip(("weight", "scales", "biases"), mx.quantize(rows(2, 128, mx.float16), **how)):
            weights[f"{path}.{own}"] = array
    save(root, "no-config", weights, quantization)


def tiny_llama(dtype):
    args = llama.ModelArgs(
        model_type="llama", hidden_size=64, num_hidden_layers=1, intermediate_size=32, num_attention_heads=1,
        head_dim=8, num_key_value_heads=1, rms_norm_eps=1e-5, vocab_size=12, tie_word_embeddings=False,
    )
    model = llama.Model(args)
    random = [(k, rows(v.shape[0], v.shape[1], dtype) if v.ndim == 2 else mx.ones_like(v).astype(dtype)) for k, v in tree_flatten(model.parameters())]
    model.load_weights(random)
    config = {k: v for k, v in vars(args).items() if v is not None}
    return model, config


def whole_model(root):
    """A model that mlx-lm quantizes and saves in parts: widths differ by layer, as its recipes have it."""
    model, config = tiny_llama(mx.bfloat16)

    def predicate(path, module):
        if path.endswith("v_proj"):
            return {"group_size": 64, "bits": 6, "mode": "affine"}
        if path.endswith("mlp.gate_proj"):
            return {"group_size": 32, "bits": 5, "mode": "affine"}
        if path == "lm_head":
            return {"group_size": 32, "bits": 8, "mode": "affine"}
        return not path.endswith("mlp.up_proj")

    model, config = mlx_lm.utils.quantize_model(model, config, 64, 3, quant_predicate=predicate)
    folder = os.path.join(root, "llama")
    weights = dict(tree_flatten(model.parameters()))
    # mlx-lm cuts by size alone, so a weight's companions may be in another file.
    mlx_lm.utils.make_shards = lambda weights: [dict(list(weights.items())[i::2]) for i in range(2)]
    mlx_lm.utils.save_model(folder, model)
    mlx_lm.utils.save_config(config, os.path.join(folder, "config.json"))
    save_expected(folder, weights, config["quantization"], ["expected"], "quantize_model, save_model")
    for part in (1, 2):
        expect_file(os.path.join(folder, f"model-0000{part}-of-00002.safetensors"), {"format": "mlx"})


def npz(root):
    """The file that MLX's first examples wrote."""
    model, config = tiny_llama(mx.float16)
    divides = lambda _, module: hasattr(module, "to_quantized") and module.weight.shape[-1] % 32 == 0
    nn.quantize(model, 32, 4, class_predicate=divides)
    weights = dict(tree_flatten(model.parameters()))
    folder = os.path.join(root, "npz")
    os.makedirs(folder)
    written = os.path.join(folder, "written.npz")
    mx.savez(written, **weights)
    # MLX stamps members with the time of day.
    path = os.path.join(folder, "weights.npz")
    with zipfile.ZipFile(written) as old, zipfile.ZipFile(path, "w") as new:
        for member in old.infolist():
            new.writestr(zipfile.ZipInfo(member.filename), old.read(member))
    os.remove(written)
    config["quantization"] = {"group_size": 32, "bits": 4}
    with open(os.path.join(folder, "config.json"), "w") as out:
        json.dump(config, out, indent=4)
    save_expected(folder, weights, config["quantization"], ["expected"], "nn.quantize, mx.savez")
    expect = Expect(WRITER, "npz")
    arrays = np.load(path)
    for name in arrays.files:
        expect.array(name, arrays[name])
    expect.save(path)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "../tests/files/mlx")
    mx.set_default_device(mx.cpu)
    for index, make in enumerate((widths, modes, experts, no_config, whole_model, npz)):
        mx.random.seed(7 + index)
        case = {"no_config": "no-config", "whole_model": "llama"}.get(make.__name__, make.__name__)
        shutil.rmtree(os.path.join(root, case), ignore_errors=True)
        make(root)


main()
