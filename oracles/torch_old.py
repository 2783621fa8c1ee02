# -*- coding: utf-8 -*-
"""PyTorch files as older versions of torch wrote them.

    python oracles/torch_old.py [OUT]

The torch that runs this gives its version to the names and to the "writer" of
each expectation: old_1_5_state_dict.pth and so on (old_1_0_py27_... under
Python 2.7). Values are made by counting, not at random, so that a second run
writes the same tensors.
"""
from __future__ import print_function

import collections
import functools
import inspect
import os
import sys

import torch
import torch.nn as nn

import torch_common as common

VERSION = tuple(int(x) for x in common.TORCH.split(".")[:2])
PREFIX = "old_%d_%d_" % VERSION + ("py27_" if sys.version_info[0] == 2 else "")


def fill(*shape):
    n = 1
    for d in shape:
        n *= d
    t = torch.arange(0, n).float() * 0.125 - 1.5
    return t.view(*shape)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.embed = nn.Embedding(7, 4)
        self.body = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 4, bias=False))
        self.head = nn.Linear(4, 7, bias=False)
        self.scale = nn.Parameter(torch.ones(4))
        self.register_buffer("offset", torch.zeros(4))

    def forward(self, x):
        return self.head(self.body(self.embed(x)) * self.scale + self.offset)


def counted(module):
    for i, p in enumerate(module.state_dict().values()):
        if p.dim():
            p.copy_((fill(*p.size()) + i).to(p.dtype))
        else:
            p.fill_(i)
    return module


class ShortSource(object):
    """Stands in for `inspect` inside torch.serialization: up to 1.5 a pickled
    module carries the source of its classes. Keep its file names free of this
    machine's folders, and leave out the text of torch's own classes."""

    def __getattr__(self, name):
        return getattr(inspect, name)

    @staticmethod
    def getsourcefile(obj):
        return os.path.basename(inspect.getsourcefile(obj))

    @staticmethod
    def getsourcelines(obj):
        lines, at = inspect.getsourcelines(obj)
        if not issubclass(obj, (Net,)):
            lines = [lines[0], "    pass\n"]
        return lines, at

    @staticmethod
    def getsource(obj):
        return "".join(ShortSource.getsourcelines(obj)[0])


def hide_folders():
    if hasattr(torch.serialization, "inspect"):
        torch.serialization.inspect = ShortSource()
    for holder in (torch.serialization, getattr(torch, "_sources", None), getattr(torch, "_utils_internal", None),
                   torch.jit, getattr(torch.jit, "frontend", None)):
        real = getattr(holder, "get_source_lines_and_file", None)
        if real:
            def bare(obj, *a, **k):
                real = k.pop("_real")
                lines, number, name = real(obj, *a, **k)
                if isinstance(obj, type) and not issubclass(obj, Net):
                    lines = [lines[0], "    pass\n"]
                return lines, number, os.path.basename(name)
            setattr(holder, "get_source_lines_and_file", functools.partial(bare, _real=real))


def conv():
    return counted(nn.Sequential(collections.OrderedDict([
        ("conv", nn.Conv2d(3, 4, 3)),
        ("norm", nn.BatchNorm2d(4)),
        ("fc", nn.Linear(4, 2)),
    ])))


def save(name, obj, problems=None, extra=None, ext=".pth", **how):
    path = os.path.join(OUT, PREFIX + name + ext)
    torch.save(obj, path, **how)
    extra = dict(extra or {})
    with open(path, "rb") as f:
        extra["container"] = "zip" if f.read(4) == b"PK\x03\x04" else "legacy"
    extra["python"] = "%d.%d" % sys.version_info[:2]
    common.check(path, problems, extra)


def checkpoint():
    net = conv()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for i, p in enumerate(net.parameters()):
        p.grad = (fill(*p.size()) * 0.01 + i).detach()
    opt.step()
    return {"epoch": 3, "best": 0.875, "arch": "conv", "state_dict": net.state_dict(),
            "optimizer": opt.state_dict(), "done": False, "note": None}


def dtypes():
    out = collections.OrderedDict()
    for name in ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
                 "bool", "bfloat16", "complex64", "complex128"):
        if not hasattr(torch, name):
            continue
        try:
            t = torch.arange(0, 6).float().view(2, 3).to(getattr(torch, name))
            torch.save(t, os.devnull)
        except (RuntimeError, KeyError, AttributeError, TypeError, NotImplementedError) as e:
            print("  no", name, "here:", str(e).split("\n")[0][:70])
            continue
        out[name] = t
    return out


def shared():
    base = fill(6, 8)
    weight = fill(4, 3)
    out = collections.OrderedDict()
    out["embed.weight"] = weight
    out["head.weight"] = weight
    out["base"] = base
    out["transposed"] = base.t()
    out["rows"] = base[2:4]
    out["columns"] = base[:, 1:6:2]
    out["row"] = base[3]
    out["expanded"] = fill(1, 5).expand(3, 5)
    out["part_of_large"] = torch.arange(0, 500).float()[100:104]
    out["permuted"] = fill(2, 3, 4).permute(2, 0, 1)
    out["scalar"] = torch.tensor(2.5)
    out["empty"] = torch.zeros(0, 4)
    out["param"] = nn.Parameter(fill(2, 2))
    return out


def main():
    hide_folders()
    save("module", counted(Net()), problems=["unknown-global"])
    if VERSION != (1, 4):  # its old format is 1.5's; only its early zip is of interest
        save("state_dict", conv().state_dict())
        save("checkpoint", checkpoint(), ext=".pth.tar")
        save("shared", shared(), ext=".pt")
        save("dtypes", dtypes(), ext=".bin")
    if VERSION < (1, 2):
        save("bare", fill(3, 2), ext=".pt")
        save("wrapped", {"state_dict": conv().state_dict(), "epoch": 3, "lr": 1e-3})
    if VERSION != (1, 4):
        save("numpy", {"w": fill(2, 2), "mean": fill(3).numpy(), "loss": fill(1).numpy()[0]})
    if VERSION == (1, 6):
        save("legacy", conv().state_dict(), _use_new_zipfile_serialization=False)
    if VERSION in ((1, 4), (1, 5)):
        # the zip format was there before it became the default
        try:
            save("zip", conv().state_dict(), _use_new_zipfile_serialization=True)
        except Exception as e:
            print("  zip not here:", type(e).__name__, e)
    if VERSION < (1, 2):
        # a slice of a storage is a storage of its own, looking into another
        try:
            root = fill(10).storage()
            view = root[2:8]
            a = torch.FloatTensor(root)
            b = torch.FloatTensor(view)
            save("storage_view", collections.OrderedDict([("a", a), ("b", b), ("b_tail", b[3:])]))
        except Exception as e:
            print("  storage view not here:", type(e).__name__, e)
    if VERSION >= (1, 5) and VERSION != (1, 6):
        q = torch.quantize_per_tensor(fill(4, 4), 0.05, 10, torch.quint8)
        c = torch.quantize_per_channel(fill(4, 4), torch.tensor([0.1, 0.2, 0.3, 0.4]).double(),
                                       torch.tensor([0, 1, 2, 3]), 0, torch.qint8)
        try:
            save("quantized", collections.OrderedDict([("tensor", q), ("channel", c)]))
        except Exception as e:
            print("  quantized not here:", type(e).__name__, e)
    if VERSION >= (1, 0) and sys.version_info[0] == 3:
        # the whole of a scripted module is a zip of its own kind
        class Scripted(torch.jit.ScriptModule):
            def __init__(self):
                super(Scripted, self).__init__()
                self.weight = nn.Parameter(fill(3, 2))

            @torch.jit.script_method
            def forward(self, x):
                return x.mm(self.weight)

        path = os.path.join(OUT, PREFIX + "script.pt")
        m = Scripted()
        m.save(path)
        state = collections.OrderedDict((k, v) for k, v in torch.jit.load(path).state_dict().items())
        common.check(path, None, {"container": "torchscript", "python": "%d.%d" % sys.version_info[:2]}, obj=state)


if __name__ == "__main__":
    OUT = common.out_dir()
    main()
