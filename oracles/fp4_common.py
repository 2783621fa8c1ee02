"""What the generators of NVFP4 and MX samples share: writing a model directory and its values."""

import json
import os
import shutil

import torch
from safetensors.torch import save_file

from provenance import record


def fresh(*path):
    directory = os.path.join(*path)
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    return directory


def write_json(directory, name, value):
    with open(os.path.join(directory, name), "w") as f:
        json.dump(value, f, indent=1, sort_keys=True)
        f.write("\n")


def write_model(directory, shards, config=None, metadata=None):
    """One file, or several with their index; the umask's mode."""
    if config is not None:
        write_json(directory, "config.json", config)
    if len(shards) == 1:
        names = ["model.safetensors"]
    else:
        names = [f"model-{i + 1:05}-of-{len(shards):05}.safetensors" for i in range(len(shards))]
        sizes = [t.numel() * t.element_size() for shard in shards for t in shard.values()]
        index = {
            "metadata": {"total_size": sum(sizes)},
            "weight_map": {k: n for n, shard in zip(names, shards) for k in shard},
        }
        write_json(directory, "model.safetensors.index.json", index)
    for name, shard in zip(names, shards):
        save(os.path.join(directory, name), shard, metadata or {"format": "pt"})


def save(path, tensors, metadata=None):
    save_file({k: v.contiguous() for k, v in tensors.items()}, path, metadata=metadata)
    os.chmod(path, 0o644)


def write_expected(directory, native, f32=None, decoder=None, writer=None):
    """The decoded values, by `decoder` (name, version); the model is by `writer`."""
    record(directory, *decoder, writer)
    save(os.path.join(directory, "expected.safetensors"), native)
    if f32 is not None:
        save(os.path.join(directory, "expected-f32.safetensors"), f32)


def random(*shape, seed, spread=1.0):
    """Values with a wide range from row to row, so that scales differ."""
    g = torch.Generator().manual_seed(seed)
    rows = torch.exp2(torch.randint(-4, 5, (*shape[:-1], 1), generator=g).float())
    return torch.randn(*shape, generator=g) * rows * spread
