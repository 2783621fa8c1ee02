"""Compares two models weight by weight as one would write it in Python: diff.py A B.

Figures are sums of doubles, as in ours; the report goes to the standard output.
"""
import json
import sys

import numpy as np


def safetensors(path):
    from safetensors import safe_open
    import torch

    with safe_open(path, "pt") as file:
        names = set(file.keys())
        for name in sorted(names):
            if name.endswith("_scale_inv"):
                continue
            tensor = file.get_tensor(name).to(torch.float32)
            if name + "_scale_inv" in names:
                scale = file.get_tensor(name + "_scale_inv")
                tensor *= scale.repeat_interleave(128, 0).repeat_interleave(128, 1)
            yield name, tensor.numpy()


def gguf(path):
    from gguf import GGUFReader, dequantize

    for tensor in sorted(GGUFReader(path).tensors, key=lambda tensor: tensor.name):
        yield tensor.name, dequantize(tensor.data, tensor.tensor_type)


def figures(a, b):
    identical = int(np.count_nonzero(a.view(np.uint32) == b.view(np.uint32)))
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    apart = np.abs(a - b)
    noise, norm = np.dot(apart, apart), np.dot(a, a)
    return {
        "elements": a.size,
        "identical": identical,
        "max_abs": float(apart.max()),
        "max_abs_index": int(apart.argmax()),
        "mean_abs": float(apart.mean()),
        "rmse": float(np.sqrt(noise / a.size)),
        "relative": float(np.sqrt(noise / norm)),
        "cosine": float(np.dot(a, b) / np.sqrt(norm * np.dot(b, b))),
        "mean_a": float(a.mean()),
        "mean_b": float(b.mean()),
        "std_a": float(a.std()),
        "std_b": float(b.std()),
        "nan_a": int(np.isnan(a).sum()),
        "nan_b": int(np.isnan(b).sum()),
    }


def main():
    sides = [gguf(path) if path.endswith(".gguf") else safetensors(path) for path in sys.argv[1:3]]
    # Layers come in the same order on both sides.
    report = [{"name_a": a[0], "name_b": b[0], **figures(a[1], b[1])} for a, b in zip(*sides)]
    json.dump(report, sys.stdout, indent=1)


main()
