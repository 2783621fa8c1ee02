"""Converts a model to safetensors as one would write it in Python: convert.py KIND FILE OUT.

The formulas are those of the libraries that own the formats; the results are 16-bit, as ours.
"""
import os
import sys


def fp8(path, out):
    import torch
    from safetensors.torch import load_file, save_file

    state = load_file(path)
    for name in [name for name in state if name.endswith(".weight")]:
        scale = state.pop(name + "_scale_inv")
        scale = scale.repeat_interleave(128, 0).repeat_interleave(128, 1)
        state[name] = (state[name].to(torch.float32) * scale).to(torch.bfloat16)
    save_file(state, out, {"format": "pt"})


def gguf(path, out):
    import ml_dtypes
    from gguf import GGUFReader, dequantize
    from safetensors.numpy import save_file

    state = {}
    for tensor in GGUFReader(path).tensors:
        values = dequantize(tensor.data, tensor.tensor_type)
        state[tensor.name] = values.astype(ml_dtypes.bfloat16)
    save_file(state, out)


def reshard(path, out):
    from safetensors import safe_open
    from safetensors.torch import save_file

    os.makedirs(out)
    shard, size, count = {}, 0, 0

    def flush():
        save_file(shard, os.path.join(out, f"model-{count:05}.safetensors"), {"format": "pt"})

    with safe_open(path, "pt") as file:
        for name in file.keys():
            tensor = file.get_tensor(name)
            if shard and size + tensor.nbytes > 500_000_000:
                flush()
                shard, size, count = {}, 0, count + 1
            shard[name] = tensor
            size += tensor.nbytes
    flush()


def pth(path, out):
    import torch
    from safetensors.torch import save_file

    save_file(torch.load(path, map_location="cpu", weights_only=True), out, {"format": "pt"})


def npz(path, out):
    import numpy as np
    from safetensors.numpy import save_file

    with np.load(path) as arrays:
        save_file({name: arrays[name] for name in arrays.files}, out)


def unpack(words, order, dim):
    """Eight 4-bit codes of every word, side by side along a dimension."""
    import torch

    shifts = torch.tensor(order, dtype=torch.int32) * 4
    codes = (words.unsqueeze(dim + 1) >> shifts.reshape([-1] + [1] * (1 - dim))) & 15
    return codes.flatten(dim, dim + 1)


def gptq(path, out):
    import torch
    from safetensors.torch import load_file, save_file

    stored, state = load_file(path), {}
    for base in [name[: -len(".qweight")] for name in stored if name.endswith(".qweight")]:
        codes = unpack(stored[base + ".qweight"], range(8), 0)
        zeros = unpack(stored[base + ".qzeros"], range(8), 1) + 1
        groups = stored[base + ".g_idx"].long()
        scales = stored[base + ".scales"]
        values = scales[groups] * (codes - zeros[groups]).to(torch.float16)
        state[base + ".weight"] = values.T.contiguous()
    save_file(state, out, {"format": "pt"})


def awq(path, out):
    import torch
    from safetensors.torch import load_file, save_file

    order = [0, 4, 1, 5, 2, 6, 3, 7]
    stored, state = load_file(path), {}
    for base in [name[: -len(".qweight")] for name in stored if name.endswith(".qweight")]:
        codes = unpack(stored[base + ".qweight"], order, 1)
        zeros = unpack(stored[base + ".qzeros"], order, 1)
        scales = stored[base + ".scales"]
        group = codes.shape[0] // scales.shape[0]
        zeros, scales = zeros.repeat_interleave(group, 0), scales.repeat_interleave(group, 0)
        values = (codes - zeros).to(torch.float16) * scales
        state[base + ".weight"] = values.T.contiguous()
    save_file(state, out, {"format": "pt"})


kind, source, target = sys.argv[1:]
{"fp8": fp8, "gguf": gguf, "reshard": reshard, "pth": pth, "npz": npz, "gptq": gptq, "awq": awq}[
    kind
](source, target)
