"""What package.py measures, one job at a time: reads lines of JSON, [NAME, ARGUMENTS..], and answers
each with a line. A job that loads gives the seconds it took, and its result is gone before the next."""
import contextlib
import gc
import json
import os
import sys
import threading
import time
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""
THREADS = 2


def on_threads(work, pieces):
    """Every second piece on each of two threads."""
    threads = [
        threading.Thread(target=lambda mine: [work(piece) for piece in mine], args=(pieces[at::THREADS],))
        for at in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# ---- ours

def ours(path, dtype=None):
    import weighbridge.numpy

    return weighbridge.numpy.load_file(path, dtype=dtype)


def ours_torch(path, dtype=None):
    import weighbridge.torch

    return weighbridge.torch.load_file(path, dtype=dtype)


kept = {}


def ours_touched(path, dtype):
    """The library's reading alone, into arrays that are there already."""
    import weighbridge as wb
    from weighbridge import _weighbridge as native
    from weighbridge._arrays import bytes_of

    key = path, dtype
    if key not in kept:
        model = wb.open(path)
        arrays = wb.numpy.load_file(model, dtype=dtype)
        name = {"f32": "F32", "bf16": "BF16"}[dtype]
        kept[key] = model, [(weight, name, bytes_of(array)) for weight, array in arrays.items()]
    model, requests = kept[key]
    return lambda: native.read_many(model._native, requests, None)


# ---- the machine

def touch(path, times):
    """Nothing but new memory for the result of `times` its bytes: every page of it is written to."""
    import numpy as np

    sizes = [times * size for size in tensor_bytes(path)]
    arrays = [np.empty(size, np.uint8) for size in sizes]
    on_threads(lambda array: array[::4096].fill(1), arrays)
    return arrays


def copy(path, times):
    """The copy loop: the model's bytes from memory into new memory, each written `times` times, in
    pieces that stay in the cache."""
    import numpy as np

    if path not in kept:
        kept[path] = np.fromfile(path, np.uint8)
    source, piece = kept[path], 1 << 18

    def work():
        out = np.empty((len(source) // piece, times, piece), np.uint8)

        def one(index):
            for time_ in range(times):
                np.copyto(out[index, time_], source[index * piece : (index + 1) * piece])

        half = len(out) // 2
        on_threads(lambda span: [one(index) for index in range(*span)], [(0, half), (half, len(out))])
        return out

    return work


def tensor_bytes(path):
    """The bytes of every tensor of a safetensors file."""
    with open(path, "rb") as file:
        entries = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return [entry["data_offsets"][1] - entry["data_offsets"][0] for entry in entries.values()]


# ---- others

def safetensors_numpy(path, dtype=None):
    import ml_dtypes  # noqa: F401  (or BF16 is not understood)
    import numpy as np
    from safetensors.numpy import load_file

    loaded = load_file(path)
    return loaded if dtype is None else {name: array.astype(np.float32) for name, array in loaded.items()}


def gguf(path, threads):
    from gguf import GGUFReader, dequantize

    tensors, out = GGUFReader(path).tensors, {}

    def one(tensor):
        out[tensor.name] = dequantize(tensor.data, tensor.tensor_type)

    on_threads(one, tensors) if threads == 2 else [one(tensor) for tensor in tensors]
    return out


def torch_load(path):
    import torch

    return torch.load(path, map_location="cpu", weights_only=True, mmap=False)


def torch_stored(path):
    import torch
    from safetensors.torch import load_file

    torch.set_num_threads(THREADS)
    return load_file(Path(path, "model.safetensors"))


def bitsandbytes(path):
    import torch
    from bitsandbytes import functional

    stored = torch_stored(path)
    parts = {}
    for name in [name for name in stored if not name.endswith(".weight")]:
        weight, part = name.split(".weight.")
        parts.setdefault(weight + ".weight", {})[part] = stored.pop(name)
    for name, pieces in parts.items():
        state = functional.QuantState.from_dict(pieces, torch.device("cpu"))
        stored[name] = functional.dequantize_4bit(stored[name], state)
    return stored


def transformers_fp8(path):
    import torch
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize

    stored = torch_stored(path)
    dequantize = Fp8Dequantize(None)._dequantize_one
    scales = {name: stored.pop(name) for name in list(stored) if name.endswith("_scale_inv")}
    for name, scale in scales.items():
        weight = name.removesuffix("_scale_inv")
        stored[weight] = dequantize(stored[weight], scale, output_dtype=torch.bfloat16)
    return stored


def gptqmodel(path):
    os.environ["GPTQMODEL_CPU_WORKERS"] = str(THREADS)
    import torch
    from gptqmodel.nn_modules.qlinear.torch import TorchLinear
    from gptqmodel.utils.model import convert_gptq_v1_to_v2_format_module

    stored, out = torch_stored(path), {}
    for base in [name.removesuffix("qweight") for name in stored if name.endswith("qweight")]:
        parts = {part: stored[base + part] for part in ("qweight", "qzeros", "scales", "g_idx")}
        layer = TorchLinear(bits=4, group_size=128, sym=True, desc_act=False, bias=False,
                            in_features=parts["g_idx"].shape[0], out_features=parts["scales"].shape[1])
        for name, tensor in parts.items():
            setattr(layer, name, tensor)
        convert_gptq_v1_to_v2_format_module(layer, 4, torch.int32)
        out[base + "weight"] = layer.dequantize_weight().T.contiguous()
    return out


def gptq_formula(path):
    """GPTQ's formula as one would write it in torch: see convert.py."""
    import torch

    def unpack(words, dim):
        shifts = torch.arange(8, dtype=torch.int32).reshape([-1] + [1] * (1 - dim)) * 4
        return ((words.unsqueeze(dim + 1) >> shifts) & 15).flatten(dim, dim + 1)

    stored, out = torch_stored(path), {}
    for base in [name.removesuffix("qweight") for name in stored if name.endswith("qweight")]:
        groups = stored[base + "g_idx"].long()
        zeros = unpack(stored[base + "qzeros"], 1) + 1
        codes = unpack(stored[base + "qweight"], 0)
        values = stored[base + "scales"][groups] * (codes - zeros[groups]).to(torch.float16)
        out[base + "weight"] = values.T.contiguous()
    return out


LOADING = {
    job.__name__: job
    for job in (ours, ours_torch, ours_touched, touch, copy, safetensors_numpy, gguf, torch_load, bitsandbytes,
                transformers_fp8, gptqmodel, gptq_formula)
}


def load(name, *arguments):
    """The seconds of one load."""
    job = LOADING[name]
    if job in (ours_touched, copy):
        # What they need is made once, and not timed.
        job, arguments = job(*arguments), ()
    gc.collect()
    start = time.perf_counter()
    result = job(*arguments)
    seconds = time.perf_counter() - start
    del result
    return seconds


def same(one, other):
    """Whether two jobs load the same weights, bit for bit."""
    results = []
    for name, *arguments in (one, other):
        results.append(LOADING[name](*arguments))
    first, second = results
    return sorted(first) == sorted(second) and all(bits(first[name]) == bits(second[name]) for name in first)


def bits(array):
    """What two arrays must have in common: type, shape, and a sum of their bytes."""
    import hashlib

    if hasattr(array, "data_ptr"):
        import torch

        dtype, memory = str(array.dtype), array.contiguous().view(torch.uint8).numpy()
    else:
        dtype, memory = str(array.dtype), array.reshape(-1).view("uint8")
    return dtype, tuple(array.shape), hashlib.blake2b(memory).digest()


# ---- figures of another kind

def status(field):
    """A line of /proc/self/status, in bytes."""
    for line in open("/proc/self/status"):
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024


def peak(name, *arguments):
    """The resident set before a load, imports done; the highest after it; the bytes of its result."""
    import numpy  # noqa: F401

    if "torch" in name:
        import torch  # noqa: F401
    before = status("VmRSS")
    result = LOADING[name](*arguments)
    return before, status("VmHWM"), sum(array.nbytes for array in result.values())


def calls(path, count):
    """Microseconds a call of reading a weight of 64 numbers, by each of the ways."""
    import numpy as np
    import weighbridge as wb
    from safetensors import safe_open

    weight, out = wb.open(path)["w50"], np.empty(64, np.float32)
    theirs = safe_open(path, "np")
    mine = wb.safe_open(path, "np")
    ways = {
        "numpy()": weight.numpy,
        "read(out=)": lambda: weight.read(out=out),
        "tensor()": weight.tensor,
        "get_tensor": lambda: mine.get_tensor("w50"),
        "safetensors": lambda: theirs.get_tensor("w50"),
    }
    answer = {}
    for name, way in ways.items():
        start = time.perf_counter()
        for _ in range(count):
            way()
        answer[name] = (time.perf_counter() - start) / count * 1e6
    return answer


def read_so_far():
    """Bytes that this process has asked the system for."""
    with open("/proc/self/io") as file:
        return int(file.readline().split()[1])


def one_of_many(path, name):
    """What is read from a large file for one weight: bytes, and whether the file is mapped."""
    import weighbridge as wb

    from weighbridge._arrays import numpy_dtype

    numpy_dtype("BF16")  # imports read files as well
    read_so_far()
    before = read_so_far()
    own = read_so_far() - before
    start = time.perf_counter()
    with wb.open(path) as model:
        array = model[name].numpy()
        seconds = time.perf_counter() - start
        read = read_so_far() - before - 2 * own
        is_mapped = path in Path("/proc/self/maps").read_text()
    return read, array.nbytes, is_mapped, seconds


def make_pth(path, layers):
    """A state dict, half of it in BF16 and half in F32."""
    import package_models
    import torch

    state = {}
    torch.manual_seed(package_models.SEED)
    for index, (name, shape) in enumerate(package_models.shapes(layers, tokens=16000)):
        dtype = torch.bfloat16 if index % 2 else torch.float32
        state[name] = torch.randn(shape).mul_(0.02).to(dtype)
    torch.save(state, path)


def versions(*names):
    """The versions of packages; `None` of those that are not there."""
    from importlib import metadata

    def version(name):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return None

    return {name: version(name) for name in names}


JOBS = {job.__name__: job for job in (load, same, peak, calls, one_of_many, make_pth, versions)}


def main():
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        # Some libraries greet on standard output, which is for answers alone.
        with contextlib.redirect_stdout(sys.stderr):
            answer = JOBS[name](*arguments)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
