#!/usr/bin/env python3
"""Write the bitsandbytes samples and their expected values.

bitsandbytes quantizes the layers of small module trees on the CPU; what their own `state_dict()`
gives is saved with safetensors (or `torch.save`) under the names that models on disk have. The
files are then read back and decoded by bitsandbytes from what was stored, never from the modules.

  tests/files/bnb/<case>/config.json, model*.safetensors or pytorch_model.bin
  tests/files/bnb/<case>/expected.safetensors       in the type bitsandbytes decodes to
  tests/files/bnb/<case>/expected-f32.safetensors   with f32 as that type

Two of its decoders exist on a CPU: compiled kernels, and torch code for a last dimension that is
odd. They agree but for the sign of FP4's second zero (code 8), where the compiled kernels, like
those for GPUs, give -0; that is what is expected here, for odd shapes too.

Usage: bnb_samples.py [project folder]
"""

import json
import os
import shutil
import sys
import warnings
from math import prod
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TORCHDYNAMO_DISABLE"] = "1"
warnings.simplefilter("ignore")

import torch
from safetensors.torch import load_file, save_file

torch.set_num_threads(1)
torch.manual_seed(20260817)

import bitsandbytes as bnb
from bitsandbytes import functional as F
from bitsandbytes.backends.default.ops import _dequantize_4bit_compute
from bitsandbytes.backends.utils import _get_4bit_code
from bitsandbytes.nn.parametrize import replace_parameter_4bit

from provenance import record

assert bnb.__version__ == "0.50.2", bnb.__version__

BF16, F16, F32, U8 = torch.bfloat16, torch.float16, torch.float32, torch.uint8
LAYER = "model.layers.0."


def numbers(*shape, dtype=BF16, spread=True):
    """Weights whose rows differ in size, as those of models do."""
    values = torch.randn(shape)
    if spread:
        values = values * torch.logspace(-3, 1, shape[0]).reshape(-1, *[1] * (len(shape) - 1))
    return (values * 0.05).to(dtype)


def four_bits(weight, kind, nested, block=64, storage=U8, bias=None):
    """A layer whose weight bitsandbytes has quantized."""
    outputs, inputs = weight.shape
    layer = bnb.nn.Linear4bit(inputs, outputs, bias=bias is not None, quant_type=kind)
    layer.weight = bnb.nn.Params4bit(
        weight, requires_grad=False, blocksize=block, compress_statistics=nested,
        quant_type=kind, quant_storage=storage, module=layer,
    )
    if bias is not None:
        layer.bias = torch.nn.Parameter(bias, requires_grad=False)
    return layer.to("cpu")


def eight_bits(weight, bias=None):
    outputs, inputs = weight.shape
    layer = bnb.nn.Linear8bitLt(inputs, outputs, bias=bias is not None, has_fp16_weights=False)
    layer.weight = bnb.nn.Int8Params(weight, requires_grad=False, has_fp16_weights=False)
    if bias is not None:
        layer.bias = torch.nn.Parameter(bias, requires_grad=False)
    return layer.to("cpu")


def plain(tensor):
    module = torch.nn.Module()
    module.weight = torch.nn.Parameter(tensor, requires_grad=False)
    return module


def experts(kind, nested, **parameters):
    """Stacked weights that are no layer's: the library replaces the parameters in place."""
    module = torch.nn.Module()
    for name, weight in parameters.items():
        setattr(module, name, torch.nn.Parameter(weight, requires_grad=False))
        replace_parameter_4bit(module, name, compress_statistics=nested, quant_type=kind)
    return module


def state_dict(modules):
    """The entries of a tree of modules, by dotted names."""
    entries = {}
    for path, module in modules.items():
        entries |= {f"{path}.{name}": t.contiguous() for name, t in module.state_dict().items()}
    return entries


def config(dtype, eight=False, kind="nf4", nested=False, storage="uint8"):
    """The part of a model's config.json that matters, as transformers writes it."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "quantization_config": {
            "_load_in_4bit": not eight,
            "_load_in_8bit": eight,
            "bnb_4bit_compute_dtype": str(dtype).removeprefix("torch."),
            "bnb_4bit_quant_storage": storage,
            "bnb_4bit_quant_type": kind,
            "bnb_4bit_use_double_quant": nested,
            "llm_int8_enable_fp32_cpu_offload": False,
            "llm_int8_has_fp16_weight": False,
            "llm_int8_skip_modules": None,
            "llm_int8_threshold": 6.0,
            "load_in_4bit": not eight,
            "load_in_8bit": eight,
            "quant_method": "bitsandbytes",
        },
        "torch_dtype": str(dtype).removeprefix("torch."),
    }


def absmax_of(state):
    """Each block's largest number, by the library's own way."""
    if not state.nested:
        return state.absmax.float()
    absmax = F.dequantize_blockwise(state.absmax, state.state2)
    absmax += state.offset
    return absmax


def decode_four(stored, name, as_f32):
    """What bitsandbytes makes of a stored weight; both of its decoders must agree."""
    pieces = {k[len(name) + 1 :]: v for k, v in stored.items() if k.startswith(name + ".")}
    state = F.QuantState.from_dict(pieces, torch.device("cpu"))
    if as_f32:
        state.dtype = F32
    packed = stored[name]
    flat = packed.view(U8).reshape(-1)
    absmax, code = absmax_of(state), _get_4bit_code(state.quant_type, packed.device)
    by_torch = _dequantize_4bit_compute(
        flat, absmax, code, state.blocksize, state.shape, state.dtype
    ).reshape(state.shape)
    if state.shape[-1] % 2 == 0 and packed.shape[0] != 1:
        out = F.dequantize_4bit(packed, state)
    else:
        # The compiled kernel takes no odd rows: one long row of whole bytes, then cut.
        out = torch.ops.bitsandbytes.dequantize_4bit(
            packed, absmax, state.blocksize, state.quant_type, [1, flat.numel() * 2], state.dtype
        ).reshape(-1)[: prod(state.shape)].reshape(state.shape)
    assert torch.equal(out, by_torch) and out.shape == state.shape and out.dtype == state.dtype
    return out.contiguous()


def decode(stored, as_f32):
    expected = {}
    for name in stored:
        if ".quant_state." in name:
            weight = name.split(".quant_state.")[0]
            expected[weight] = decode_four(stored, weight, as_f32)
        elif name.endswith(".SCB"):
            weight = name.removesuffix("SCB") + "weight"
            expected[weight] = F.int8_vectorwise_dequant(stored[weight], stored[name])
    return expected


def write(folder, name, entries, settings, shards=None, by_torch=False):
    """Saves a case, reads it back and decodes it."""
    case = folder / name
    case.mkdir(parents=True)
    if settings is not None:
        (case / "config.json").write_text(json.dumps(settings, indent=2) + "\n")
    if by_torch:
        torch.save(entries, case / "pytorch_model.bin")
        stored = torch.load(case / "pytorch_model.bin", weights_only=True)
    elif shards:
        stored = write_shards(case, entries, shards)
    else:
        save_file(entries, case / "model.safetensors", metadata={"format": "pt"})
        stored = load_file(case / "model.safetensors")
    native, single = decode(stored, False), decode(stored, True)
    assert native
    saver = "torch.save" if by_torch else "safetensors"
    record(case, "bitsandbytes", bnb.__version__, f"bitsandbytes {bnb.__version__}, state_dict of its modules, saved by {saver}")
    save_file(native, case / "expected.safetensors")
    if any(t.dtype != F32 for t in native.values()):
        save_file(single, case / "expected-f32.safetensors")


def write_shards(case, entries, second):
    """Two files with an index; the entries that `second` picks are in the second."""
    files = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    where = {name: files[second(name)] for name in entries}
    stored = {}
    for file in files:
        chosen = {name: t for name, t in entries.items() if where[name] == file}
        save_file(chosen, case / file, metadata={"format": "pt"})
        stored |= load_file(case / file)
    total = sum(t.numel() * t.element_size() for t in entries.values())
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(where.items()))}
    (case / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
    return stored


def every_code():
    """A weight that holds each of the sixteen codes in either half of a byte."""
    return torch.arange(256, dtype=U8).reshape(-1, 1)


def with_every_code(entries, name):
    entries[name] = every_code()
    return entries


def write_all(folder):
    # Double quantization with more than 256 blocks, so that there are two nested scales. What
    # describes a weight lies in another file than the weight.
    layers = {
        "model.embed_tokens": plain(numbers(6, 16)),
        LAYER + "self_attn.q_proj": four_bits(numbers(136, 128), "nf4", True),
        LAYER + "self_attn.k_proj": four_bits(numbers(12, 32), "nf4", True, bias=numbers(12)),
        LAYER + "input_layernorm": plain(numbers(16)),
    }
    write(folder, "nf4-nested", state_dict(layers), config(BF16, nested=True),
          shards=lambda name: ".quant_state" in name or "absmax" in name)

    # Rows that are not made of whole blocks, every code, a block of nothing, absmax in bf16.
    zeros = numbers(4, 64, dtype=F16)
    zeros[1] = 0
    entries = state_dict({
        LAYER + "self_attn.q_proj": four_bits(numbers(7, 48, dtype=F16), "nf4", False),
        LAYER + "self_attn.k_proj": four_bits(zeros, "nf4", False),
        LAYER + "self_attn.v_proj": four_bits(numbers(8, 64, dtype=F16), "nf4", False),
        LAYER + "self_attn.o_proj": four_bits(numbers(5, 64, dtype=F16), "nf4", False),
    })
    entries = with_every_code(entries, LAYER + "self_attn.v_proj.weight")
    of_o = LAYER + "self_attn.o_proj.weight.absmax"
    entries[of_o] = entries[of_o].to(BF16)
    write(folder, "nf4-plain", entries, config(F16))

    entries = state_dict({
        LAYER + "mlp.up_proj": four_bits(numbers(7, 48), "fp4", False),
        LAYER + "mlp.down_proj": four_bits(numbers(8, 64), "fp4", False),
    })
    entries = with_every_code(entries, LAYER + "mlp.down_proj.weight")
    write(folder, "fp4-plain", entries, config(BF16, kind="fp4"))

    layers = {
        LAYER + "mlp.up_proj": four_bits(numbers(24, 64, dtype=F32), "fp4", True),
        LAYER + "mlp.down_proj": four_bits(numbers(20, 48, dtype=F32), "fp4", True),
    }
    write(folder, "fp4-nested-f32", state_dict(layers), config(F32, kind="fp4", nested=True))

    blocks = {32: (9, 24), 128: (9, 48), 256: (9, 64), 512: (9, 64), 4096: (65, 64)}
    layers = {
        f"model.layers.{i}.mlp.up_proj": four_bits(numbers(*shape), "nf4", i % 2 == 0, block)
        for i, (block, shape) in enumerate(blocks.items())
    }
    write(folder, "block-sizes", state_dict(layers), config(BF16))

    layers = {
        LAYER + f"self_attn.{name}_proj": four_bits(numbers(6, 64), "nf4", True, storage=storage)
        for name, storage in {"q": BF16, "k": F16, "v": F32, "o": torch.int8}.items()
    }
    settings = config(BF16, nested=True, storage="bfloat16")
    write(folder, "typed-storage", state_dict(layers), settings)

    # An odd count of elements leaves half a byte.
    layers = {
        LAYER + "self_attn.q_proj": four_bits(numbers(5, 7), "nf4", False),
        LAYER + "self_attn.k_proj": four_bits(numbers(5, 33), "nf4", True),
        LAYER + "self_attn.v_proj": four_bits(numbers(7, 19), "fp4", False),
        LAYER + "self_attn.o_proj": four_bits(numbers(1, 1), "nf4", False),
    }
    settings = config(BF16)
    del settings["quantization_config"]["bnb_4bit_quant_type"]
    write(folder, "odd-counts", state_dict(layers), settings)

    stacked = dict(gate_up_proj=numbers(3, 16, 20), down_proj=numbers(3, 10, 13))
    layers = {LAYER + "mlp.experts": experts("nf4", True, **stacked)}
    write(folder, "experts", state_dict(layers), config(BF16, nested=True))

    zeros = numbers(12, 40, dtype=F16)
    zeros[3] = 0
    every = torch.arange(-127, 128).to(F16).reshape(15, 17) * numbers(15, 1, dtype=F16)
    layers = {
        LAYER + "self_attn.q_proj": eight_bits(numbers(48, 32, dtype=F16), bias=numbers(48)),
        LAYER + "self_attn.k_proj": eight_bits(zeros),
        LAYER + "self_attn.v_proj": eight_bits(every),
        LAYER + "input_layernorm": plain(numbers(32, dtype=F16)),
    }
    settings = config(F16, eight=True, kind="fp4")
    write(folder, "int8", state_dict(layers), settings, shards=lambda name: "SCB" in name)

    layers = {
        LAYER + "self_attn.q_proj": four_bits(numbers(10, 48, dtype=F16), "nf4", True),
        LAYER + "self_attn.k_proj": eight_bits(numbers(6, 20, dtype=F16)),
        LAYER + "input_layernorm": plain(numbers(48, dtype=F16)),
    }
    write(folder, "torch-saved", state_dict(layers), config(F16, nested=True), by_torch=True)


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent
    folder = root / "tests/files/bnb"
    shutil.rmtree(folder, ignore_errors=True)
    write_all(folder)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            print(path.stat().st_size, path.relative_to(root))


if __name__ == "__main__":
    main()
