"""PyTorch files as the newest torch writes them.

    python oracles/torch_new.py [OUT]

Every sample is loaded back with the same torch; that load, not the object that
was saved, makes the expectation, except where a line below says otherwise.
"""

import argparse
import collections
import datetime
import decimal
import fractions
import functools
import io
import json
import os
import pathlib
import struct
import sys
import tarfile
import types
import uuid
import warnings
import zipfile
import zlib

import numpy as np
import torch
import torch.nn as nn

import torch_common as common

warnings.filterwarnings("ignore")
OUT = common.out_dir()
OD = collections.OrderedDict


def fill(*shape, start=-1.5, step=0.125):
    n = int(np.prod(shape, dtype=np.int64))
    return (torch.arange(n, dtype=torch.float32) * step + start).reshape(shape)


def place(name):
    return os.path.join(OUT, name)


def unsafe_globals(path):
    """What torch's own weights_only loader would not accept, where it can say so."""
    try:
        return sorted(torch.serialization.get_unsafe_globals_in_checkpoint(path))
    except Exception:
        return None


def weights_only(path):
    try:
        torch.load(path, map_location="cpu", weights_only=True)
        return True
    except Exception:
        return False


def facts(path, extra=None):
    out = dict(extra or {})
    with open(path, "rb") as f:
        head = f.read(4)
    out.setdefault("container", "zip" if head == b"PK\x03\x04" else "legacy")
    found = unsafe_globals(path) if out["container"] == "zip" else None
    if found:
        out["not_weights_only"] = found
    out.setdefault("weights_only", weights_only(path))
    return out


def save(name, obj, problems=None, extra=None, **how):
    path = place(name)
    torch.save(obj, path, **how)
    common.check(path, problems, facts(path, extra))
    return path


def counted(module):
    for i, p in enumerate(module.state_dict().values()):
        p.copy_((fill(*p.shape) + i).to(p.dtype) if p.dim() else torch.tensor(i))
    return module


def small_model():
    return counted(nn.Sequential(OD([
        ("embed", nn.Embedding(5, 4)),
        ("fc", nn.Linear(4, 3)),
        ("norm", nn.BatchNorm1d(3)),
        ("out", nn.Linear(3, 2, bias=False)),
    ])))


def tiny():
    return OD([("fc.weight", fill(2, 2)), ("fc.bias", fill(2))])


# --- classes that end up in the pickles -------------------------------------

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(6, 4)
        self.blocks = nn.ModuleList([nn.Linear(4, 4), nn.LayerNorm(4)])
        self.head = nn.Linear(4, 6, bias=False)
        self.head.weight = self.embed.weight
        self.gain = nn.Parameter(torch.ones(3))
        self.register_buffer("kept", torch.zeros(2))
        self.register_buffer("dropped", torch.ones(2), persistent=False)
        self.register_parameter("absent", None)
        self.note = torch.full((2,), 7.0)  # neither parameter nor buffer
        self.mode = "test"


class AttributeDict(dict):
    def __getattr__(self, key):
        return self[key]


class Checkpointer:
    def __init__(self):
        self.best = 0.25
        self.paths = ["a.ckpt", "b.ckpt"]
        self.when = datetime.datetime(2024, 2, 29, 12, 30, 15)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a = 1
        self.b = [2, 3]


class Named(torch.Tensor):
    """A subclass: pickled through _rebuild_from_type_v2."""


class Holder:
    def __init__(self, t):
        self.weight = t
        self.label = "holder"


Pair = collections.namedtuple("Pair", ["left", "right"])


# --- plain state dicts ------------------------------------------------------

def plain():
    save("state_dict.pth", small_model().state_dict())
    save("state_dict_dict.pt", dict(small_model().state_dict()))
    save("params.bin", OD((k, nn.Parameter(v.clone(), requires_grad=v.is_floating_point()))
                          for k, v in small_model().state_dict().items()))
    save("bare.pt", fill(3, 4))
    save("bare_param.pt", nn.Parameter(fill(2, 2)))
    save("top_list.pt", [fill(2), fill(3), {"a": fill(1)}])
    save("top_tuple.pt", (fill(2), (fill(3), None), "x"))
    save("no_tensors.pt", {"epoch": 1, "name": "none"})
    save("top_none.pt", None)


def dtypes():
    ints = OD()
    for name in ("bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        ints[name] = torch.tensor([0, 1, 1, 0, 1, 1] if name == "bool" else [0, 1, 2, 100, 3, 127],
                                  dtype=getattr(torch, name)).reshape(2, 3)
    save("dtypes_int.pth", ints)
    extremes = OD()
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        info = torch.iinfo(getattr(torch, name))
        extremes[name] = torch.tensor([info.min, info.max], dtype=getattr(torch, name))
    save("dtypes_int_extremes.pth", extremes)

    special = torch.tensor([0.0, -0.0, 1.0, -1.5, float("inf"), float("-inf"), float("nan"), 0.001])
    floats = OD()
    for name in ("float16", "bfloat16", "float32", "float64"):
        floats[name] = special.to(getattr(torch, name))
    save("dtypes_float.pth", floats)

    every_byte = torch.arange(256, dtype=torch.int16).to(torch.uint8)
    eight = OD()
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
                 "float8_e8m0fnu"):
        eight[name] = every_byte.view(getattr(torch, name)).reshape(16, 16).clone()
    save("dtypes_float8.pth", eight)
    save("dtypes_float4.pth", OD(w=every_byte.view(torch.float4_e2m1fn_x2).reshape(8, 32)))

    complexes = OD()
    for name in ("complex32", "complex64", "complex128"):
        real = torch.float16 if name == "complex32" else torch.float32
        c = torch.complex(fill(2, 3).to(torch.float32), -fill(2, 3).to(torch.float32))
        complexes[name] = torch.view_as_complex(torch.view_as_real(c).to(real)).to(getattr(torch, name)) \
            if name == "complex32" else c.to(getattr(torch, name))
    save("dtypes_complex.pth", complexes)

    bits = OD()
    for name in ("bits8", "bits16", "bits1x8", "bits2x4", "bits4x2"):
        if hasattr(torch, name):
            d = getattr(torch, name)
            bits[name] = every_byte[:24].clone().view(d)
    try:
        save("dtypes_bits.pth", bits)
    except Exception as e:
        print("  bits:", type(e).__name__, str(e)[:100])
    # integers of 1 to 7 bits exist as types only
    for name in ("uint4", "int4", "uint1", "int7"):
        try:
            t = torch.empty(4, dtype=getattr(torch, name))
            torch.save(t, io.BytesIO())
            print("  savable sub-byte integer:", name)
        except Exception as e:
            print("  ", name, type(e).__name__, str(e)[:80])

    # the newer types with offset and strides
    base = every_byte[:64].clone().view(torch.float8_e4m3fn).reshape(8, 8)
    u16 = torch.arange(30, dtype=torch.int16).view(torch.uint16).reshape(5, 6)
    save("views_new_dtypes.pth", OD(base=base, turned=base.t(), part=base[2:4, 1:7:2],
                                    u16=u16, u16_column=u16[:, 4]))

    # the old way out of one storage seen as two types is refused by torch
    raw = torch.arange(16, dtype=torch.uint8)
    try:
        torch.save({"a": raw, "b": raw.view(torch.float32)}, io.BytesIO())
        print("  one storage as two types: savable")
    except RuntimeError as e:
        print("  one storage as two types:", str(e)[:80])


def quantized():
    try:
        x = fill(4, 4)
        qs = OD()
        qs["i8"] = torch.quantize_per_tensor(x, 0.05, 3, torch.qint8)
        qs["u8"] = torch.quantize_per_tensor(x, 0.05, 10, torch.quint8)
        qs["i32"] = torch.quantize_per_tensor(x, 0.001, 0, torch.qint32)
        qs["channel"] = torch.quantize_per_channel(
            x, torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64),
            torch.tensor([0, 1, 2, 3]), 0, torch.qint8)
        qs["plain"] = fill(2, 2)
        save("quantized.pth", qs)
    except Exception as e:
        print("  quantized:", type(e).__name__, str(e)[:200])


# --- nested checkpoints -----------------------------------------------------

def nested():
    args = argparse.Namespace(lr=1e-3, layers=[1, 2], name="run", resume=None, fp16=True)
    save("wrapped_state_dict.pth",
         {"state_dict": small_model().state_dict(), "epoch": 3, "lr": 1e-3, "args": args})
    for key in ("model_state_dict", "model", "module"):
        save("wrapped_%s.pth" % key, {key: tiny(), "step": 7})
    save("not_wrapped_ema.pth", {"state_dict": tiny(),
                                 "ema": {"decay": torch.tensor(0.999)}})
    save("not_wrapped_key.pth", {"generator": tiny(), "step": 7})
    save("wrapped_twice.pth", {"model": {"module": tiny()}, "step": 7})
    save("wrapper_is_tensor.pth", {"model": fill(2, 2), "step": 7})

    net = small_model()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for i, p in enumerate(net.parameters()):
        p.grad = fill(*p.shape) * 0.01 + i
    opt.step()
    sched = torch.optim.lr_scheduler.StepLR(opt, 10)
    save("optimizer.pth", {"model": net.state_dict(), "optimizer": opt.state_dict(),
                           "scheduler": sched.state_dict(), "epoch": 2})
    sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    sgd.step()
    save("optimizer_only.pt", sgd.state_dict())

    save("containers.pth", {
        "list": [fill(2), fill(3)],
        "tuple": (fill(1), [fill(2), (fill(3),)]),
        7: fill(2, 2),
        -1: fill(1),
        "pair": {0: {"step": torch.tensor(3.0)}, 1: {"step": torch.tensor(4.0)}},
        "empty_dict": {}, "empty_list": [], "empty_tuple": (), "empty_od": OD(),
        "default": collections.defaultdict(list, {"a": [fill(1)]}),
        "counter": collections.Counter("aab"),
        "deque": collections.deque([1, 2], maxlen=4),
    })
    save("odd_keys.pth", {"": fill(1), "a.b": fill(2), "a": {"b": fill(3)}, "d\u00e9j\u00e0/vu": fill(4),
                          "with space": fill(5), "line\nbreak": fill(6), "\U0001f600": fill(7)})
    save("bool_and_tuple_keys.pth", {True: fill(1), (1, "x"): fill(2), None: fill(3), 2.5: fill(4)})
    save("named_tuple.pth", {"p": Pair(fill(2), fill(3))}, problems=["unknown-global"])
    loop = {"w": fill(2)}
    loop["self"] = loop
    loop["list"] = [loop]
    save("recursive.pth", loop)
    again = {"w": fill(2)}
    save("same_dict_twice.pth", {"a": again, "b": again})
    deep = fill(1)
    for _ in range(60):
        deep = {"d": deep}
    save("deep.pth", deep)
    save("many.pth", OD(("t%02d" % i, fill(1)) for i in range(24)))


# --- storages ---------------------------------------------------------------

def storages():
    weight = fill(5, 4)
    save("tied.pth", OD([("embed.weight", weight), ("head.weight", weight),
                         ("head.bias", fill(5)), ("again", weight.view(20))]))
    base = fill(6, 8)
    big = fill(1000)
    save("views.pth", OD([
        ("transposed", base.t()), ("base", base), ("rows", base[2:4]), ("columns", base[:, 1:6:2]),
        ("diagonal", base.diagonal()), ("row", base[3]), ("element", base[2, 3]),
        ("expanded", fill(1, 5).expand(3, 5)), ("expanded_scalar", torch.tensor(2.0).expand(2, 2)),
        ("narrowed", big.narrow(0, 100, 6)), ("permuted", fill(2, 3, 4).permute(2, 0, 1)),
        ("overlapping", fill(10).as_strided((4, 4), (2, 1), 0)),
        ("channels_last", fill(1, 3, 2, 2).contiguous(memory_format=torch.channels_last)),
        ("flipped", base.flip(0)), ("unfolded", fill(8).unfold(0, 4, 2)),
    ]))
    save("sizes.pth", OD([
        ("scalar", torch.tensor(2.5)), ("int_scalar", torch.tensor(-7)), ("bool_scalar", torch.tensor(True)),
        ("empty", torch.empty(0)), ("empty_2d", torch.empty(0, 4)), ("empty_mid", torch.empty(3, 0, 2)),
        ("empty_view", base[3:3]), ("one", fill(1)), ("ones_dims", fill(1, 1, 1, 2)),
        ("seven_dims", fill(1, 2, 1, 2, 1, 2, 1)),
    ]))
    c = torch.complex(fill(2, 3), fill(2, 3) + 1)
    save("conj_neg.pth", OD([("plain", c), ("conj", c.conj()), ("conj_t", c.mH),
                             ("neg", torch.complex(fill(4), fill(4) + 1).conj().imag),
                             ("real", torch.complex(fill(2), fill(2)).real)]))
    p = nn.Parameter(fill(2, 3))
    q = nn.Parameter(fill(3))
    q.tag = "no decay"
    g = fill(2, 2).requires_grad_()
    g.register_hook(_hook)
    h = fill(4).requires_grad_()
    save("grad.pth", OD([("param", p), ("param_with_state", q), ("hooked", g), ("requires_grad", h),
                         ("frozen", nn.Parameter(fill(2), requires_grad=False))]))
    save("buffer.pth", OD([("buffer", nn.Buffer(fill(2))), ("param", nn.Parameter(fill(2)))]))
    save("subclass.pth", OD([("a", fill(2, 3).as_subclass(Named)), ("b", fill(2))]),
         problems=["unknown-global"])
    typed = fill(4).storage()
    save("storage_objects.pth", {"untyped": fill(4).untyped_storage(), "typed": typed, "w": fill(2)})
    # a tensor and the storage under it
    t = torch.arange(6, dtype=torch.uint8)
    save("storage_and_tensor.pth", {"t": t, "s": t.untyped_storage()})
    # what accelerators write, told to say they were one
    real = torch.serialization.location_tag
    for tag in ("cuda:3", "mps"):
        torch.serialization.location_tag = lambda s, tag=tag: tag
        try:
            path = place("location_%s.pth" % tag.replace(":", "_"))
            torch.save(OD([("w", fill(2, 3)), ("b", fill(3))]), path)
        finally:
            torch.serialization.location_tag = real
        common.check(path, None, facts(path, {"location": tag}))
    save("meta.pth", OD([("on_meta", torch.empty(3, 4, device="meta")), ("real", fill(2)),
                         ("param_on_meta", nn.Parameter(torch.empty(2, device="meta", dtype=torch.bfloat16)))]))
    with torch.serialization.skip_data():
        path = place("skip_data.pth")
        torch.save(OD([("w", fill(2, 3)), ("b", fill(3))]), path)
    common.check(path, ["checksum"], facts(path, {"note": "written under skip_data: the room for the values is there, as zeros"}))

    i = torch.tensor([[0, 1, 1], [2, 0, 2]])
    coo = torch.sparse_coo_tensor(i, fill(3), (2, 3))
    save("sparse_coo.pth", OD([("coo", coo), ("coalesced", coo.coalesce()), ("dense", fill(2, 2))]))
    save("sparse_csr.pth", OD([("csr", coo.coalesce().to_sparse_csr()), ("csc", coo.to_dense().to_sparse_csc()),
                               ("bsr", fill(4, 4).to_sparse_bsr((2, 2))), ("dense", fill(2, 2))]))
    save("nested_tensor.pth", OD([("jagged", torch.nested.nested_tensor([fill(2), fill(3)])), ("dense", fill(2))]))


def _hook(grad):
    return grad


class Rebuilt:
    """Pickles as a call of `func` with `args`."""

    def __init__(self, func, *args):
        self.func, self.args = func, args

    def __reduce__(self):
        return self.func, self.args


def rebuilds():
    """Calls that other backends and older versions left in files."""
    u = torch._utils
    st = fill(12).storage()
    save("rebuild_calls.pth", OD([
        ("v1", Rebuilt(u._rebuild_tensor, st, 2, (2, 3), (3, 1))),
        ("v2", Rebuilt(u._rebuild_tensor_v2, st, 0, (3, 4), (4, 1), False, OD())),
        ("param", Rebuilt(u._rebuild_parameter, fill(2), True, OD())),
        ("from_numpy", Rebuilt(u._rebuild_device_tensor_from_numpy, fill(2, 2).numpy(), torch.float32, "cpu", False)),
        ("from_cpu", Rebuilt(u._rebuild_device_tensor_from_cpu_tensor, fill(2, 2), torch.float32, "cpu", False)),
        ("type_v2", Rebuilt(torch._tensor._rebuild_from_type_v2, u._rebuild_tensor_v2, torch.Tensor,
                            (st, 0, (2, 2), (2, 1), False, OD()), {})),
    ]))


# --- whole modules ----------------------------------------------------------

def modules():
    save("module_custom.pth", counted(Net()), problems=["unknown-global"])
    save("module_sequential.pth", counted(nn.Sequential(
        nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Embedding(3, 2))))
    save("module_nested.pth", {"model": counted(nn.Sequential(nn.Linear(2, 2))), "epoch": 1})
    save("module_two.pth", {"g": counted(nn.Linear(2, 2)), "d": [counted(nn.Linear(2, 1, bias=False))]})
    save("module_norms.pth", counted(nn.ModuleDict(OD([
        ("layer", nn.LayerNorm(3)), ("instance", nn.InstanceNorm1d(2, affine=True)),
        ("attention", nn.MultiheadAttention(2, 1)), ("conv", nn.Conv1d(2, 2, 1)),
        ("list", nn.ParameterList([fill(2), fill(3)])), ("dict", nn.ParameterDict({"a": fill(1)})),
    ]))))
    inner = counted(nn.Linear(2, 2))
    save("module_shared_child.pth", nn.ModuleDict(OD([("a", inner), ("b", inner)])))
    save("object_with_tensor.pth", {"holder": Holder(fill(2, 2)), "ns": argparse.Namespace(w=fill(3)), "w": fill(1)},
         problems=["unknown-global"])


# --- other things in checkpoints --------------------------------------------

def others():
    save("numpy.pth", {
        "w": fill(2, 2),
        "mean": np.arange(3, dtype=np.float32), "ids": np.arange(4, dtype=np.int64).reshape(2, 2),
        "fortran": np.asfortranarray(np.arange(6, dtype=np.float64).reshape(2, 3)),
        "big": np.arange(3, dtype=">i4"), "bools": np.array([True, False]),
        "half": np.arange(2, dtype=np.float16), "empty": np.zeros((0, 2), np.uint8),
        "complex": np.array([1 + 2j]), "text": np.array(["a", "bcd"]),
        "scalar": np.float64(0.5), "int_scalar": np.int64(7), "bool_scalar": np.bool_(True),
        "dtype": np.dtype("float32"), "zero_dim": np.array(5),
    })
    save("numpy_rng.pth", {"w": fill(2), "rng": np.random.RandomState(0).get_state()[2:],
                           "torch_rng": torch.arange(16, dtype=torch.uint8)})
    save("values.pth", {
        "w": fill(2),
        "size": torch.Size([2, 3]), "device": torch.device("cuda", 1), "cpu": torch.device("cpu"),
        "dtype": torch.bfloat16, "layout": torch.strided,
        "set": {1, 2, 3}, "frozenset": frozenset([4]), "bytes": b"\x00\xff", "bytearray": bytearray(b"xyz"),
        "ints": [0, 1, 255, 256, 65535, 65536, -1, 2**31 - 1, 2**31, -2**31, 2**63, -2**63, 2**100, -2**2100],
        "floats": [0.0, -0.0, 1.5, float("inf"), float("nan"), 1e300], "complex": 1 + 2j,
        "none": None, "bools": [True, False], "text": ["", "a" * 300, "\u00fc", "\u6f22"],
        "slice": slice(1, 2, 3), "range": range(3), "type": dict, "function": functools.partial,
        "ellipsis": Ellipsis,
    })
    save("stdlib.pth", {
        "w": fill(2),
        "datetime": datetime.datetime(2020, 1, 2, 3, 4, 5, 6), "date": datetime.date(2020, 1, 2),
        "delta": datetime.timedelta(days=1, seconds=2), "utc": datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc),
        "decimal": decimal.Decimal("1.5"), "fraction": fractions.Fraction(1, 3),
        "path": pathlib.PurePosixPath("runs/a"), "uuid": uuid.UUID(int=5),
        "simple": types.SimpleNamespace(a=1), "chain": collections.ChainMap({"a": 1}),
        "partial": functools.partial(max, 1),
    })
    save("lightning.ckpt", {
        "epoch": 4, "global_step": 100, "pytorch-lightning_version": "2.5.0",
        "state_dict": small_model().state_dict(),
        "loops": {"fit_loop": {"state_dict": {}, "epoch_progress": {"total": {"ready": 5}}}},
        "callbacks": {"ModelCheckpoint{'monitor': 'loss'}": {"best": 0.5, "object": Checkpointer()}},
        "optimizer_states": [], "lr_schedulers": [],
        "hparams_name": "kwargs", "hyper_parameters": AttributeDict(lr=1e-3, layers=3, slotted=Slotted()),
    }, problems=["unknown-global"])
    trained_by_lightning()
    save("enum_and_types.pth", {"w": fill(2), "qscheme": torch.per_tensor_affine,
                                "iinfo": None, "generator": torch.Generator().get_state()[:8].clone(),
                                "activation": torch.nn.functional.relu, "builtin": torch.tanh})


def trained_by_lightning():
    """The keys that Lightning's trainer writes, after a step of its optimizer; a mean that a callback
    keeps is a tensor, too."""
    net = small_model()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for i, p in enumerate(net.parameters()):
        p.grad = fill(*p.shape) * 0.01 + i
    opt.step()
    save("lightning_trained.ckpt", {
        "epoch": 4, "global_step": 100, "pytorch-lightning_version": "2.5.0",
        "state_dict": net.state_dict(),
        "loops": {"fit_loop": {"state_dict": {}, "epoch_progress": {"total": {"ready": 5}}}},
        "callbacks": {"ModelCheckpoint": {"best_model_score": torch.tensor(0.5)}},
        "optimizer_states": [opt.state_dict()], "lr_schedulers": [{"last_epoch": 4}],
        "hparams_name": "kwargs", "hyper_parameters": {"lr": 1e-3},
    })


# --- pickle protocols and the container -------------------------------------

def sample():
    return OD([("fc.weight", fill(3, 4)), ("fc.bias", fill(3)), ("tied", fill(2)), ("n", torch.tensor(5))])


def rezip(src, dst, compression=zipfile.ZIP_STORED, change=None, zip64=False, order=None):
    with zipfile.ZipFile(src) as z:
        items = [(i.filename, z.read(i)) for i in z.infolist()]
    if order:
        items.sort(key=lambda it: order(it[0]))
    with zipfile.ZipFile(dst, "w", compression) as z:
        for name, data in items:
            if change:
                name, data = change(name, data)
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = compression
            with z.open(info, "w", force_zip64=zip64) as f:
                f.write(data)


def full_zip64(src, dst):
    """Every size and offset moved to the Zip64 fields, in both headers."""
    with zipfile.ZipFile(src) as z:
        items = [(i.filename.encode(), z.read(i)) for i in z.infolist()]
    out, central = io.BytesIO(), []
    for name, data in items:
        at, crc = out.tell(), zlib.crc32(data)
        extra = struct.pack("<HHQQ", 1, 16, len(data), len(data))
        out.write(struct.pack("<IHHHHHIIIHH", 0x04034b50, 45, 0, 0, 0, 0x21, crc, 0xffffffff, 0xffffffff,
                              len(name), len(extra)) + name + extra + data)
        extra = struct.pack("<HHQQQ", 1, 24, len(data), len(data), at)
        central.append(struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 45, 45, 0, 0, 0, 0x21, crc, 0xffffffff,
                                   0xffffffff, len(name), len(extra), 0, 0, 0, 0, 0xffffffff) + name + extra)
    start = out.tell()
    for c in central:
        out.write(c)
    size, n = out.tell() - start, len(items)
    end64 = out.tell()
    out.write(struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, n, n, size, start))
    out.write(struct.pack("<IIQI", 0x07064b50, 0, end64, 1))
    out.write(struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 0xffff, 0xffff, 0xffffffff, 0xffffffff, 0))
    with open(dst, "wb") as f:
        f.write(out.getvalue())


def reads(path):
    try:
        common.load(path)
        return True
    except Exception as e:
        print("  torch does not read", os.path.basename(path), "-", str(e).split("\n")[0][:90])
        return False


def derived(name, obj, extra=None, problems=None):
    """A file this script made out of one that torch wrote. Torch's reading of it
    where torch reads it; else the object torch wrote the first file from."""
    path = place(name)
    ok = reads(path)
    extra = dict(extra or {}, torch_reads=ok)
    if not ok:
        extra["weights_only"] = False
    common.check(path, problems, facts(path, extra), obj=None if ok else obj)


def containers():
    mixed = {"state_dict": sample(), "epoch": 70000, "s": {1, 2}, "b": b"\x01\x02", "t": (1, 2, 3, 4),
             "long": 2**70, "text": "x" * 300, "od": OD(a=1), "args": argparse.Namespace(a=1)}
    for p in (2, 3, 4, 5):
        save("protocol_%d.pth" % p, mixed, pickle_protocol=p)
        if p in (2, 4):
            save("legacy_protocol_%d.pth" % p, mixed, pickle_protocol=p, _use_new_zipfile_serialization=False)
    save("legacy.pth", small_model().state_dict(), _use_new_zipfile_serialization=False)
    base = fill(6, 8)
    save("legacy_views.pth", OD([("base", base), ("t", base.t()), ("part", base[2:4, 1:3]), ("tied", base),
                                 ("s", torch.tensor(3)), ("e", torch.empty(0, 2))]),
         _use_new_zipfile_serialization=False)
    newer = OD([
        ("f8", torch.arange(16, dtype=torch.uint8).view(torch.float8_e4m3fn)),
        ("u16", torch.arange(4, dtype=torch.int16).view(torch.uint16)),
        ("bf16", fill(3).bfloat16()), ("c64", torch.complex(fill(2), fill(2))),
        ("bool", torch.tensor([True, False]))])
    torch.save(newer, place("legacy_new_dtypes.pth"), _use_new_zipfile_serialization=False)
    derived("legacy_new_dtypes.pth", newer)  # torch writes these and cannot read them
    real_source = torch.serialization.get_source_lines_and_file

    def bare(obj, *a):
        # the old format carries the source of every class: keep this machine's
        # folders and the text of torch's own classes out
        lines, number, name = real_source(obj, *a)
        if obj is not Net:
            lines = [lines[0], "    pass\n"]
        return lines, number, os.path.basename(name)

    torch.serialization.get_source_lines_and_file = bare
    save("legacy_module.pth", counted(Net()), problems=["unknown-global"], _use_new_zipfile_serialization=False)
    save("legacy_bare.pt", fill(3, 2), _use_new_zipfile_serialization=False)

    # root folder of the archive
    b = io.BytesIO()
    torch.save(sample(), b)
    with open(place("root_archive.pth"), "wb") as f:
        f.write(b.getvalue())
    derived("root_archive.pth", sample(), {"root": "archive"})
    for first, then in (("my model v1.2.pth", "root_renamed.pth"), ("ünïcode.pt", "root_unicode.pt"), ("noext", "root_noext.bin")):
        torch.save(sample(), place(first))
        os.replace(place(first), place(then))
        with zipfile.ZipFile(place(then)) as z:
            root = z.namelist()[0].rsplit("/", 1)[0]
        derived(then, sample(), {"root": root})

    src = place("root_archive.pth")
    rezip(src, place("deflated.pth"), zipfile.ZIP_DEFLATED)
    derived("deflated.pth", sample())
    rezip(src, place("restored_unaligned.pth"))
    derived("restored_unaligned.pth", sample())
    rezip(src, place("zip64_local.pth"), zip64=True)
    derived("zip64_local.pth", sample())
    full_zip64(src, place("zip64_full.pth"))
    derived("zip64_full.pth", sample())
    rezip(src, place("data_before_pickle.pth"), order=lambda n: (n.endswith("data.pkl"), n))
    derived("data_before_pickle.pth", sample())
    rezip(src, place("deep_root.pth"), change=lambda n, d: (n.replace("archive/", "a/b/c/", 1), d))
    derived("deep_root.pth", sample())
    rezip(src, place("no_root.pth"), change=lambda n, d: (n.replace("archive/", "", 1), d))
    derived("no_root.pth", sample())

    # a wrong CRC on one storage: in the local header, the data descriptor and the directory
    data = bytearray(open(src, "rb").read())
    with zipfile.ZipFile(src) as z:
        crc = next(i.CRC for i in z.infolist() if i.filename.endswith("data/0"))
    needle, at, n = struct.pack("<I", crc), 0, 0
    while True:
        at = data.find(needle, at)
        if at < 0:
            break
        data[at] ^= 0xff
        n += 1
        at += 4
    with open(place("wrong_crc.pth"), "wb") as f:
        f.write(data)
    # torch does not look at it; zipfile refuses the member, and with it the tensor that lies there
    damaged = zipfile.ZipFile(place("wrong_crc.pth")).testzip()
    assert damaged == "archive/data/0", damaged
    derived("wrong_crc.pth", sample(), {"crc_patched": n, "damaged": ["fc.weight"]}, problems=["checksum"])
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(sample(), place("crc_not_computed.pth"))
    finally:
        torch.serialization.set_crc32_options(True)
    derived("crc_not_computed.pth", sample(), problems=["checksum"])
    from torch.utils.serialization import config
    config.save.storage_alignment = 512
    try:
        torch.save(OD([("a", fill(4)), ("b", fill(4))]), place("aligned_512.pth"))
    finally:
        config.save.storage_alignment = 64
    derived("aligned_512.pth", OD([("a", fill(4)), ("b", fill(4))]))

    # byte order: values swapped in memory, then saved by a torch that is told it runs on such a machine
    def big_endian(name, obj, **how):
        swapped = OD()
        for k, v in obj.items():
            v = v.clone()
            v.untyped_storage().byteswap(v.dtype)
            swapped[k] = v
        sys.byteorder = "big"
        try:
            torch.save(swapped, place(name), **how)
        finally:
            sys.byteorder = "little"

    order = OD([("f32", fill(2, 3)), ("f16", fill(4).half()), ("bf16", fill(4).bfloat16()), ("f64", fill(3).double()),
                ("i16", torch.tensor([1, -2], dtype=torch.int16)), ("i32", torch.tensor([1, -2], dtype=torch.int32)),
                ("i64", torch.tensor([1, -2])), ("u8", torch.tensor([1, 2], dtype=torch.uint8)),
                ("bool", torch.tensor([True, False])), ("c64", torch.complex(fill(2), fill(2) + 1)),
                ("c128", torch.complex(fill(2), fill(2) + 1).to(torch.complex128))])
    big_endian("big_endian.pth", order)
    derived("big_endian.pth", order, {"byteorder": "big"})
    newer = OD([("u16", torch.tensor([1, 2, 3], dtype=torch.int16).view(torch.uint16)),
                ("f8", torch.arange(4, dtype=torch.uint8).view(torch.float8_e4m3fn)), ("f32", fill(2))])
    big_endian("big_endian_new_dtypes.pth", newer)
    # torch swaps by the storage's type, and these are saved as untyped bytes: on a
    # little-endian machine it reads them wrong. The values that were meant stand here.
    path = place("big_endian_new_dtypes.pth")
    back = common.load(path)
    wrong = [k for k in newer if not torch.equal(back[k].view(torch.uint8), newer[k].view(torch.uint8))]
    common.check(path, None, facts(path, {"byteorder": "big", "torch_reads_otherwise": wrong}), obj=newer)
    # the old format holds little-endian values whatever its header says
    sys.byteorder = "big"
    try:
        torch.save(sample(), place("legacy_header_big.pth"), _use_new_zipfile_serialization=False)
    finally:
        sys.byteorder = "little"
    derived("legacy_header_big.pth", sample(), {"byteorder": "header says big, values are little"})
    torch.save(sample(), place("no_byteorder.pth"), _disable_byteorder_record=True)
    derived("no_byteorder.pth", sample())


def legacy_tar():
    """No torch that installs writes the tar format of 2016 any more, but this one
    still reads it: written here by hand after its reader, read back by torch."""
    import pickle

    class P(pickle.Pickler):
        def persistent_id(self, x):
            return str(x.key) if isinstance(x, Ref) else None

    class Ref:
        def __init__(self, key):
            self.key = key

    def add(tar, name, data):
        info = tarfile.TarInfo(name)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))

    def dump(f, x):
        pickle.dump(x, f, protocol=2)

    floats = np.arange(12, dtype="<f4") * 0.5
    longs = np.arange(4, dtype="<i8")
    storages = io.BytesIO()
    dump(storages, 2)
    dump(storages, (101, "cpu", torch.FloatStorage))
    storages.write(struct.pack("<q", floats.size) + floats.tobytes())
    dump(storages, (102, "cpu", torch.LongStorage))
    storages.write(struct.pack("<q", longs.size) + longs.tobytes())
    dump(storages, [(103, 101, 4, 6)])  # a storage that is a part of the first
    tensors = io.BytesIO()
    rows = [(1, 101, torch.FloatTensor, (3, 4), (4, 1), 0), (2, 102, torch.LongTensor, (4,), (1,), 0),
            (3, 101, torch.FloatTensor, (4, 3), (1, 4), 0), (4, 103, torch.FloatTensor, (2, 2), (3, 1), 1)]
    dump(tensors, len(rows))
    for key, storage, kind, size, stride, offset in rows:
        dump(tensors, (key, storage, kind))
        tensors.write(struct.pack("<ii", len(size), 0))
        tensors.write(struct.pack("<%dq" % len(size), *size) + struct.pack("<%dq" % len(size), *stride))
        tensors.write(struct.pack("<q", offset))
    body = io.BytesIO()
    P(body, protocol=2).dump({"state_dict": OD([("w", Ref(1)), ("ids", Ref(2)), ("wt", Ref(3)), ("part", Ref(4))]),
                              "epoch": 5})
    info = io.BytesIO()
    dump(info, {"protocol_version": 1000, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}})
    path = place("legacy_tar.pth")
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        add(tar, "sys_info", info.getvalue())
        add(tar, "pickle", body.getvalue())
        add(tar, "tensors", tensors.getvalue())
        add(tar, "storages", storages.getvalue())
    with open(path, "r+b") as f:
        f.truncate(len(f.read().rstrip(b"\0")) // 512 * 512 + 1536)  # two empty blocks end it
    common.check(path, None, {"container": "tar", "weights_only": False, "refused_file": "tar format",
                              "note": "written by hand after torch's reader, read by torch"})


def legacy_view():
    """The sixth member of the old storage id, for a storage that is a part of
    another. Torch from 1.0 on always writes None there; what 0.x wrote is put
    together here by hand and read by torch."""
    import pickle

    class View:
        def __init__(self, key, view):
            self.pid = ("storage", torch.FloatStorage, key, "cpu", 10, view)

    class P(pickle.Pickler):
        def persistent_id(self, x):
            return x.pid if isinstance(x, View) else None

    root = View("900", None)
    part = View("900", ("901", 2, 6))
    rebuild = torch._utils._rebuild_tensor_v2
    obj = OD([("whole", Rebuilt(rebuild, root, 0, (2, 5), (5, 1), False, OD())),
              ("part", Rebuilt(rebuild, part, 0, (6,), (1,), False, OD())),
              ("part_tail", Rebuilt(torch._utils._rebuild_tensor, part, 3, (3,), (1,)))])
    path = place("legacy_view_metadata.pth")
    with open(path, "wb") as f:
        for x in (0x1950a86a20f9469cfc6c, 1001, {"protocol_version": 1001, "little_endian": True,
                                                 "type_sizes": {"short": 2, "int": 4, "long": 4}}):
            pickle.dump(x, f, protocol=2)
        P(f, protocol=2).dump(obj)
        pickle.dump(["900"], f, protocol=2)
        values = np.arange(10, dtype="<f4")
        f.write(struct.pack("<q", 10) + values.tobytes())
    back = common.load(path)
    meant = OD(whole=torch.arange(10.0).reshape(2, 5), part=torch.arange(2.0, 8.0), part_tail=torch.arange(5.0, 8.0))
    wrong = [k for k in meant if not torch.equal(back[k], meant[k])]
    extra = {"container": "legacy", "weights_only": weights_only(path), "note": "written by hand after torch's reader"}
    if wrong:
        extra["torch_reads_otherwise"] = wrong
    common.check(path, None, extra, obj=meant if wrong else back)


def script():
    class Scripted(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 2)
            self.register_buffer("table", fill(2, 2))
            self.small = nn.Parameter(fill(2).half())
            self.sizes = [1, 2, 3]
            self.names = {"a": 1.5}

        def forward(self, x):
            return self.fc(x) @ self.table

    class Loose(nn.Module):
        """A tensor that is neither parameter nor buffer, after a submodule."""

        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)
            self.free = fill(3)
            self.late = nn.Parameter(fill(2))

        def forward(self, x):
            return self.fc(x) * self.late + self.free[0]

    # a scripted module carries the names of the source files: keep this machine's out
    real = torch._sources.get_source_lines_and_file

    def bare(*a, **k):
        lines, number, name = real(*a, **k)
        return lines, number, os.path.basename(name)

    torch._sources.get_source_lines_and_file = bare
    torch.jit.frontend.get_source_lines_and_file = bare
    for name, module, make in (("script.pt", Scripted, lambda m: m), ("script_frozen.pt", Scripted, torch.jit.freeze),
                               ("script_attribute.pt", Loose, lambda m: m)):
        m = make(torch.jit.script(counted(module()).eval()))
        path = place(name)
        torch.jit.save(m, path)
        back = torch.jit.load(path, map_location="cpu")
        extra = {"container": "torchscript", "weights_only": weights_only(path)}
        # constants.pkl with constants/ is built like data.pkl with data/
        found = io.BytesIO()
        rezip(path, found, change=lambda n, d: (
            n.replace("/data", "/was_data", 1).replace("/constants", "/data", 1), d))
        found.seek(0)
        constants = common.expectation(list(torch.load(found, weights_only=False)), "constants")["tensors"]
        for constant in constants:
            constant["name"] = "constants." + constant["name"]
        if constants:
            extra["constants"] = constants
        if module is Loose:
            extra["attributes"] = common.expectation({"free": back.free}, "x")["tensors"]
        common.check(path, None, extra, obj=OD(back.state_dict()))


def sharded():
    d = place("sharded")
    os.makedirs(d, exist_ok=True)
    one = OD([("model.embed_tokens.weight", fill(6, 4).bfloat16()), ("model.layers.0.q_proj.weight", fill(4, 4).half())])
    two = OD([("model.layers.1.q_proj.weight", fill(4, 4).half() + 1), ("model.norm.weight", fill(4)), ("lm_head.weight", fill(6, 4).bfloat16() * 2)])
    files = ["pytorch_model-0000%d-of-00002.bin" % n for n in (1, 2)]
    weight_map = {}
    for f, part in zip(files, (one, two)):
        torch.save(part, os.path.join(d, f))
        for k in part:
            weight_map[k] = f
    total = sum(t.numel() * t.element_size() for part in (one, two) for t in part.values())
    with open(os.path.join(d, "pytorch_model.bin.index.json"), "w") as f:
        json.dump({"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))}, f, indent=2, sort_keys=True)
        f.write("\n")
    with open(os.path.join(d, "config.json"), "w") as f:
        json.dump({"architectures": ["LlamaForCausalLM"], "hidden_size": 4, "model_type": "llama",
                   "num_hidden_layers": 2, "torch_dtype": "bfloat16", "vocab_size": 6}, f, indent=2)
        f.write("\n")
    both = OD()
    for f in files:
        both.update(common.load(os.path.join(d, f)))
    e = common.expectation(both, "sharded", extra={"container": "directory", "files": weight_map})
    common.write_expectation(d, e)


def python2_order():
    """A dict loaded by Python 2 has lost the order of the file. Where the samples of
    torch_old.py from Python 2.7 are there, put their expectations into the order
    this torch meets the tensors in; the entries themselves must be the same."""
    for name in sorted(os.listdir(OUT)):
        if "_py27_" not in name or name.endswith(".json") or "_module" in name:
            continue
        path = place(name)
        with open(path + ".expect.json") as f:
            e = json.load(f, object_pairs_hook=OD)
        obj = torch.load(path, map_location="cpu", weights_only=False, encoding="latin1")
        tensors, arrays, refused, wrapper = common.read(obj, os.path.splitext(name)[0])
        for key, mine in (("tensors", tensors), ("arrays", arrays)):
            theirs = e.get(key, [])
            assert sorted(map(json.dumps, mine)) == sorted(map(json.dumps, theirs)), name
            if mine:
                e[key] = mine
        assert wrapper == e.get("wrapper") and refused == e["refused"], name
        common.write_expectation(path, e)


if __name__ == "__main__":
    torch.manual_seed(0)
    for part in (plain, dtypes, quantized, nested, storages, rebuilds, modules, others, containers,
                 legacy_tar, legacy_view, script, sharded, python2_order):
        print("#", part.__name__)
        part()
