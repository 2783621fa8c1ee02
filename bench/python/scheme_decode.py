"""Decodes the one weight of a checkpoint with the library that owns its scheme, in one thread, to
that library's own type: once for every line on standard input, which says FILE, KIND and OUT with
tabs between them; prints the seconds.

KIND is what our own recognition says, as scheme/variant. When a line differs from the one before,
the result is also written to OUT.
"""
import contextlib
import json
import os
import sys
import time
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"



def torch_parts(path):
    """The stored tensors by the last part of their names."""
    import torch
    from safetensors import safe_open

    torch.set_num_threads(1)
    with safe_open(path, "pt") as file:
        return {name.split("up_proj.")[-1]: file.get_tensor(name).clone() for name in file.keys()}


def transformers_fp8(parts, ending):
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize
    import torch

    dequantize = Fp8Dequantize(None)._dequantize_one
    weight = next(t for n, t in parts.items() if n.endswith("weight"))
    scale = next(t for n, t in parts.items() if n.endswith(ending))
    # A scale a row is stored flat, and expected as a column.
    scale = scale[:, None] if scale.dim() == 1 else scale
    return lambda: dequantize(weight, scale, output_dtype=torch.bfloat16)


def transformers_moe(parts):
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors
    import torch

    blocks, scales = (next(t for n, t in parts.items() if n.endswith(e)) for e in ("blocks", "scales"))
    return lambda: convert_moe_packed_tensors(blocks, scales, dtype=torch.bfloat16)


def modelopt_mxfp8(parts):
    from modelopt.torch.quantization.qtensor import MXFP8QTensor
    import torch

    weight = MXFP8QTensor(parts["weight"].shape, torch.bfloat16, parts["weight"])
    return lambda: weight.dequantize(torch.bfloat16, scale=parts["weight_scale"])


def modelopt_nvfp4(parts):
    from modelopt.torch.quantization.qtensor import NVFP4QTensor
    import torch

    rows, half = parts["weight"].shape
    weight = NVFP4QTensor(torch.Size((rows, half * 2)), torch.bfloat16, parts["weight"])
    scales = dict(scale=parts["weight_scale"], double_scale=parts["weight_scale_2"], block_sizes={-1: 16})
    return lambda: weight.dequantize(dtype=torch.bfloat16, **scales)


def comfy_fp8(parts):
    import comfy_kitchen
    import torch

    weight = next(t for n, t in parts.items() if n.endswith(".weight"))
    scale = next(t for n, t in parts.items() if n.endswith(".scale_weight"))

    def decode():
        with comfy_kitchen.use_backend("eager"):
            return comfy_kitchen.dequantize_per_tensor_fp8(weight, scale, torch.bfloat16)

    return decode


def bitsandbytes_int8(parts):
    from bitsandbytes import functional

    return lambda: functional.int8_vectorwise_dequant(parts["weight"], parts["SCB"])


def bitsandbytes_four(parts):
    from bitsandbytes import functional
    import torch

    pieces = {name.removeprefix("weight."): t for name, t in parts.items() if name.startswith("weight.")}
    state = functional.QuantState.from_dict(pieces, torch.device("cpu"))
    return lambda: functional.dequantize_4bit(parts["weight"], state)


def compressed_tensors(parts, path):
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationConfig

    config = json.loads(Path(path).with_name("config.json").read_text())["quantization_config"]
    scheme = QuantizationConfig.model_validate(config).config_groups["group_0"]
    form = getattr(scheme.format, "value", scheme.format)
    compressor = BaseCompressor.get_value_from_registry(form)
    return lambda: compressor.decompress(dict(parts), scheme)["weight"]


def gptqmodel(parts, bits):
    os.environ["GPTQMODEL_CPU_WORKERS"] = "1"
    import torch
    from gptqmodel.nn_modules.qlinear.torch import TorchLinear
    from gptqmodel.utils.model import convert_gptq_v1_to_v2_format_module

    torch.set_num_threads(1)
    inputs, outputs = parts["g_idx"].shape[0], parts["scales"].shape[1]
    layer = TorchLinear(bits=bits, group_size=128, sym=True, desc_act=True,
                        in_features=inputs, out_features=outputs, bias=False)
    for name, tensor in parts.items():
        setattr(layer, name, tensor)
    convert_gptq_v1_to_v2_format_module(layer, bits, torch.int32)
    return lambda: layer.dequantize_weight().T.contiguous()


def autoawq(parts):
    from awq.utils.packing_utils import dequantize_gemm

    three = parts["qweight"], parts["qzeros"], parts["scales"]
    return lambda: dequantize_gemm(*three, 4, 128).t().contiguous()


def mlx(path, bits):
    import mlx.core as mx

    mx.set_default_device(mx.cpu)
    parts = {name.split("up_proj.")[-1]: array for name, array in mx.load(path).items()}
    mx.eval(parts)

    def decode():
        result = mx.dequantize(parts["weight"], parts["scales"], parts["biases"], group_size=64, bits=bits)
        mx.eval(result)
        return result

    return decode


def decoder(path, kind):
    scheme, variant = kind.split("/")
    if scheme == "mlx":
        return mlx(path, int(variant[0]))
    parts = torch_parts(path)
    if scheme == "compressed":
        return compressed_tensors(parts, path)
    if scheme == "gptq":
        return gptqmodel(parts, int(variant[0]))
    if scheme == "bnb":
        return bitsandbytes_int8(parts) if variant == "int8" else bitsandbytes_four(parts)
    return {
        "awq/gemm-4bit-g128": lambda: autoawq(parts),
        "fp8/e4m3-tensor": lambda: transformers_fp8(parts, "_scale"),
        "fp8/e4m3-channel": lambda: transformers_fp8(parts, "_scale"),
        "fp8/e4m3-b128x128": lambda: transformers_fp8(parts, "_scale_inv"),
        "fp8/e4m3-b128x128-e8m0": lambda: transformers_fp8(parts, "_scale_inv"),
        "fp8/e4m3-g32-e8m0": lambda: modelopt_mxfp8(parts),
        "fp8/e5m2-tensor": lambda: comfy_fp8(parts),
        "mx/mxfp4": lambda: transformers_fp8(parts, ".scale"),
        "mx/mxfp4-transposed": lambda: transformers_moe(parts),
        "nvfp4/modelopt": lambda: modelopt_nvfp4(parts),
    }[kind]()


def write(result, out):
    """The result's own bytes, and nothing else."""
    if type(result).__module__.startswith("mlx"):
        import mlx.core as mx
        import numpy

        numpy.array(result.view(mx.uint16)).tofile(out)
    else:
        import torch

        result.contiguous().view(torch.uint8).numpy().tofile(out)


def timed(decode):
    start = time.perf_counter()
    result = decode()
    return result, time.perf_counter() - start


def main():
    before, decode = None, None
    for line in sys.stdin:
        try:
            # Some libraries greet on standard output, which is for seconds alone.
            with contextlib.redirect_stdout(sys.stderr):
                path, kind, out = line.rstrip("\n").split("\t")
                fresh, before = line != before, line
                if fresh:
                    decode = decoder(path, kind)
                result, answer = timed(decode)
                if fresh:
                    write(result, out)
        except Exception as problem:
            answer = f"{type(problem).__name__}: {problem}".replace("\n", " ")
        print(answer, flush=True)


main()
