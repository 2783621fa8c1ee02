# -*- coding: utf-8 -*-
"""Shared by the torch_*.py sample writers: walk a loaded object, hash every
tensor in it, write the expectation file (same shape as expect.py's, which
needs a newer Python than some of these run under).

Runs under Python 2.7 to 3.13 and torch 0.3 to 2.15, hence the plain style.
"""
from __future__ import print_function

import collections
import hashlib
import io
import json
import os
import sys

import numpy as np
import torch

WRAPPERS = ("state_dict", "model_state_dict", "model", "module")

# what training keeps beside the model: left out where it holds tensors
BESIDE = ("optimizer", "optimizers", "optimizer_state_dict", "optimizer_states", "optim",
          "optim_state_dict", "lr_scheduler", "lr_schedulers", "scheduler", "scheduler_state_dict",
          "scaler", "grad_scaler", "callbacks", "loops", "rng_state", "rng_states")

TORCH = torch.__version__.split("+")[0]
WRITER = "torch " + TORCH

# name of a torch dtype -> the name weighbridge prints
NAMES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "uint16": "U16",
    "int32": "I32", "uint32": "U32", "int64": "I64", "uint64": "U64",
    "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
    "complex32": "C32", "complex64": "C64", "complex128": "C128",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
    "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "float8_e8m0fnu": "F8_E8M0", "float4_e2m1fn_x2": "F4_X2",
    "qint8": "QI8", "quint8": "QU8", "qint32": "QI32",
    "quint4x2": "QU4X2", "quint2x4": "QU2X4",
    "bits8": "BITS8", "bits16": "BITS16", "bits1x8": "BITS1X8",
    "bits2x4": "BITS2X4", "bits4x2": "BITS4X2",
}

# torch before 0.4 has tensor types instead of dtypes
OLD_TYPES = {
    "ByteTensor": "U8", "CharTensor": "I8", "ShortTensor": "I16",
    "IntTensor": "I32", "LongTensor": "I64", "HalfTensor": "F16",
    "FloatTensor": "F32", "DoubleTensor": "F64",
}

try:
    TEXT = (str, unicode)  # noqa: F821 (Python 2)
    INTS = (int, long)  # noqa: F821
except NameError:
    TEXT = (str,)
    INTS = (int,)


def is_tensor(x):
    if torch.is_tensor(x):
        return True
    # before 0.4 a Variable (and so a Parameter) was not a tensor
    return hasattr(torch.autograd, "Variable") and isinstance(x, torch.autograd.Variable)


def dtype_name(t):
    if hasattr(t, "dtype"):
        return NAMES[str(t.dtype).split(".")[-1]]
    return OLD_TYPES[t.type().split(".")[-1]]


def plain(t):
    """The tensor itself, without autograd, subclass or lazy conjugation."""
    if hasattr(t, "detach") and hasattr(torch, "float32"):
        t = t.detach()
        if type(t) is not torch.Tensor and hasattr(t, "as_subclass"):
            t = t.as_subclass(torch.Tensor)
    elif isinstance(t, torch.autograd.Variable):
        t = t.data
    if hasattr(t, "resolve_conj"):
        t = t.resolve_conj()
    if hasattr(t, "resolve_neg"):
        t = t.resolve_neg()
    return t


def numel(t):
    n = 1
    for d in t.size():
        n *= d
    return n if t.dim() or hasattr(torch, "float32") else t.numel()


def value_bytes(t):
    """Row-major little-endian bytes of a dense CPU tensor."""
    name = dtype_name(t)
    t = plain(t)
    if numel(t) == 0:
        return b""
    size = t.element_size()
    if name == "BF16" and not hasattr(torch, "uint16"):
        a = t.contiguous().float().numpy().view(np.uint32)
        a = (a >> 16).astype("<u2")
    elif name == "I8":
        # torch 1.0 gives numpy no signed bytes
        a = t.contiguous().short().numpy().astype(np.int8)
    elif name in ("F64", "F32", "F16", "I64", "I32", "I16", "U8", "BOOL", "C64", "C128"):
        a = t.contiguous().numpy()
    else:
        # no numpy type: look at the same bytes as an integer of that width
        as_int = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}[size]
        a = t.view(getattr(torch, as_int)).contiguous().numpy()
    a = np.ascontiguousarray(a)
    if a.dtype.byteorder == ">" or (a.dtype.byteorder == "=" and sys.byteorder == "big"):
        a = a.byteswap()
    return a.tobytes()


def sha(data):
    return hashlib.sha256(data).hexdigest()


def array_entry(name, a):
    """A numpy array met on the way."""
    names = {"f2": "F16", "f4": "F32", "f8": "F64", "i1": "I8", "i2": "I16", "i4": "I32",
             "i8": "I64", "u1": "U8", "u2": "U16", "u4": "U32", "u8": "U64", "b1": "BOOL",
             "c8": "C64", "c16": "C128"}
    code = a.dtype.kind + str(a.dtype.itemsize)
    e = collections.OrderedDict()
    e["name"] = name
    e["shape"] = [int(d) for d in a.shape]
    e["dtype"] = names.get(code, str(a.dtype))
    if code in names:
        little = np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<"))
        e["sha256"] = sha(little.tobytes())
    return e


class Walk(object):
    def __init__(self):
        self.tensors = []
        self.arrays = []
        self.refused = []

    def tensor(self, name, t):
        layout = str(getattr(t, "layout", "torch.strided"))
        device = getattr(getattr(t, "device", None), "type", "cpu")
        if layout != "torch.strided" or device == "meta" or getattr(t, "is_nested", False):
            # listed, but no dense numbers to compare with
            e = collections.OrderedDict()
            e["name"] = name
            e["shape"] = None if getattr(t, "is_nested", False) else [int(d) for d in t.size()]
            e["dtype"] = dtype_name(t)
            e["sha256"] = None
            self.tensors.append(e)
            self.refused.append(name)
            return
        e = collections.OrderedDict()
        e["name"] = name
        e["shape"] = [int(d) for d in t.size()]
        e["dtype"] = dtype_name(t)
        if getattr(t, "is_quantized", False):
            # the stored integers; a reading as plain numbers needs scale and zero point
            ints = plain(t).int_repr()
            e["sha256"] = None
            e["stored_sha256"] = sha(value_bytes(ints))
            e["scheme"] = str(t.qscheme()).split(".")[-1]
            if "channel" in e["scheme"]:
                e["axis"] = int(t.q_per_channel_axis())
                e["scales"] = [float(v) for v in t.q_per_channel_scales()]
                e["zero_points"] = [float(v) for v in t.q_per_channel_zero_points()]
            else:
                e["scales"] = [float(t.q_scale())]
                e["zero_points"] = [int(t.q_zero_point())]
            e["dequantized_sha256"] = sha(value_bytes(plain(t).dequantize()))
            self.refused.append(name)
        else:
            e["sha256"] = sha(value_bytes(t))
        self.tensors.append(e)

    def go(self, path, x, above=()):
        name = ".".join(path)
        if is_tensor(x):
            self.tensor(name, x)
            return
        if isinstance(x, np.ndarray):
            self.arrays.append(array_entry(name, x))
            return
        if isinstance(x, type) or id(x) in above:
            return
        above = above + (id(x),)
        if isinstance(x, torch.nn.Module):
            for k, v in x.state_dict().items():
                self.go(path + [k], v, above)
        elif isinstance(x, dict):
            for k, v in x.items():
                self.go(path + [key_text(k)], v, above)
        elif isinstance(x, (list, tuple)) and not isinstance(x, torch.Size):
            for i, v in enumerate(x):
                self.go(path + [str(i)], v, above)
        elif hasattr(x, "__dict__") and not callable(x):
            for k, v in x.__dict__.items():
                self.go(path + [key_text(k)], v, above)


def key_text(k):
    if isinstance(k, TEXT):
        return k
    if isinstance(k, bool) or not isinstance(k, INTS):
        return str(k)
    return "%d" % k


def load(path):
    try:
        return torch.load(path, map_location="cpu", weights_only=False)
    except TypeError:
        return torch.load(path, map_location=lambda storage, loc: storage)


def read(obj, stem):
    """(tensors, arrays, refused, wrapper) of an object, by the naming rules."""
    w = Walk()
    w.go([], obj)
    for group in (w.tensors, w.arrays):
        for e in group:
            if e["name"] == "":
                e["name"] = stem
    w.refused = [n or stem for n in w.refused]
    wrapper = None
    if isinstance(obj, dict):
        holding = []
        for k, v in obj.items():
            part = Walk()
            part.go([], v)
            if part.tensors or part.refused:
                holding.append((k, part))
        models = [k for k, _ in holding if k in WRAPPERS and not is_tensor(obj[k])]
        if len(models) == 1 and all(k in BESIDE for k, _ in holding if k != models[0]):
            wrapper = models[0]
            w = Walk()
            for k, v in obj.items():
                if k == wrapper or k not in [k for k, _ in holding]:
                    w.go([k], v)
            cut = len(wrapper) + 1
            for e in w.tensors:
                e["name"] = e["name"][cut:]
            w.refused = [n[cut:] for n in w.refused]
    return w.tensors, w.arrays, w.refused, wrapper


def expectation(obj, stem, writer=None, problems=None, extra=None, fmt="pth"):
    tensors, arrays, refused, wrapper = read(obj, stem)
    e = collections.OrderedDict()
    e["writer"] = writer or WRITER
    e["format"] = fmt
    if wrapper:
        e["wrapper"] = wrapper
    e["tensors"] = tensors
    if arrays:
        e["arrays"] = arrays
    if problems:
        e["problems"] = list(problems)
    e["refused"] = refused
    for k in sorted(extra or {}):
        e[k] = extra[k]
    return e


def write_expectation(path, e):
    """One tensor a line, so that a change shows as one line."""
    lines = []
    for k, v in e.items():
        if isinstance(v, list) and v and isinstance(v[0], dict):
            rows = ",\n".join("  " + json.dumps(row) for row in v)
            lines.append(" %s: [\n%s\n ]" % (json.dumps(k), rows))
        else:
            lines.append(" %s: %s" % (json.dumps(k), json.dumps(v)))
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    with io.open(path + ".expect.json", "w", encoding="utf-8", newline="\n") as f:
        f.write(text if not isinstance(text, bytes) else text.decode("ascii"))


def check(path, problems=None, extra=None, obj=None):
    """Load `path` back with this torch (or take `obj` where torch must not or
    cannot) and write the expectation beside it."""
    stem = os.path.splitext(os.path.basename(path))[0]
    if obj is None:
        obj = load(path)
    e = expectation(obj, stem, problems=problems, extra=extra)
    write_expectation(path, e)
    print("%-44s %6d bytes %3d tensors" % (os.path.basename(path), os.path.getsize(path), len(e["tensors"])))


def out_dir():
    if len(sys.argv) > 1:
        d = sys.argv[1]
    else:
        here = os.path.dirname(os.path.abspath(__file__))
        d = os.path.join(os.path.dirname(here), "tests", "files", "pth")
    if not os.path.isdir(d):
        os.makedirs(d)
    return d
