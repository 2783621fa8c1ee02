"""Checkpoints that would run something when unpickled, and odd ones that would not.

    python oracles/torch_evil.py [OUT]

Nothing here is ever unpickled: the expectation comes from the dict as it was
before the payload went in. The payloads are harmless all the same (`true`,
`1+1`). Files whose name starts with evil_ name under "dangerous" the callables
a reader has to report; files whose name starts with odd_ must raise no alarm.
"""

import _compat_pickle
import builtins
import collections
import functools
import io
import operator
import os
import pickle
import runpy
import subprocess
import sys
import types
import warnings
import zipfile

import torch

import torch_common as common

warnings.filterwarnings("ignore")
OUT = common.out_dir()
OD = collections.OrderedDict


def state():
    return OD([("fc.weight", torch.arange(6, dtype=torch.float32).reshape(2, 3) * 0.5), ("fc.bias", torch.ones(2))])


class Call:
    """Pickles as a call of `func`; a third member becomes a BUILD."""

    def __init__(self, func, *args, build=None):
        self.func, self.args, self.build = func, args, build

    def __reduce__(self):
        if self.build is not None:
            return self.func, self.args, self.build
        return self.func, self.args


made = []


def put(module, name, what):
    """Makes `what` importable as module.name, which need not exist here."""
    what.__module__, what.__qualname__ = module, name
    parts = module.split(".")
    for i in range(1, len(parts) + 1):
        m = ".".join(parts[:i])
        if m not in sys.modules:
            sys.modules[m] = types.ModuleType(m)
            made.append((m, None))
    made.append((module, (name, getattr(sys.modules[module], name, None))))
    setattr(sys.modules[module], name, what)
    return what


def by_name(module, name):
    return put(module, name, types.FunctionType((lambda *a, **k: None).__code__, {}, name))


def undo():
    while made:
        module, what = made.pop()
        if what is None:
            del sys.modules[module]
        elif what[1] is None:
            delattr(sys.modules[module], what[0])
        else:
            setattr(sys.modules[module], *what)


def old_spelling(name):
    """Protocol 2 and below write Python 2's name of a global, and the unpickler of
    Python 3 turns it back: subprocess.Popen stands in the file as commands.Popen."""
    pair = tuple(name.rsplit(".", 1))
    pair = _compat_pickle.REVERSE_NAME_MAPPING.get(pair, pair)
    return "%s.%s" % (_compat_pickle.REVERSE_IMPORT_MAPPING.get(pair[0], pair[0]), pair[1])


def as_written(path):
    """Globals of every pickle in the file, in order, nothing run."""
    import torch_globals
    return [g for f in torch_globals.scan(path) for g in f["globals"]]


def done(name, dangerous, problems=None, extra=None, obj=None, written=True):
    extra = dict(extra or {})
    if dangerous:
        extra["dangerous"] = dangerous
    path = os.path.join(OUT, name)
    with open(path, "rb") as f:
        head = f.read(2)
    extra.setdefault("container", "zip" if head == b"PK" else "legacy")
    plainly, written = written, as_written(path)
    spelt = [w for w in (d if d in written else old_spelling(d) for d in dangerous or []) if w in written]
    for d in dangerous or []:
        assert not plainly or d in written or old_spelling(d) in written, (name, d, written)
    if spelt and spelt != dangerous:
        extra["dangerous_as_written"] = spelt
    common.check(path, problems, extra, obj=state() if obj is None else obj)


def save(name, obj, dangerous, problems=None, plain=None, **how):
    torch.save(obj, os.path.join(OUT, name), **how)
    undo()
    done(name, dangerous, problems, obj=plain)


def folders(name, edit, dangerous, problems):
    """Two checkpoints in one archive, the first with its data.pkl replaced by edit(data.pkl)."""
    b = io.BytesIO()
    torch.save(state(), b)
    with zipfile.ZipFile(b) as z:
        items = [(i.filename.split("/", 1)[1], z.read(i)) for i in z.infolist()]
    with zipfile.ZipFile(os.path.join(OUT, name), "w") as z:
        for n, data in items:
            z.writestr(zipfile.ZipInfo("archive/" + n), edit(data) if n == "data.pkl" else data)
        for n, data in items:
            z.writestr(zipfile.ZipInfo("a/" + n), data)
    done(name, dangerous, problems)


def with_pickle(name, edit, dangerous, problems=None, twice=False, written=True):
    """A checkpoint by torch with its data.pkl replaced by edit(data.pkl)."""
    b = io.BytesIO()
    torch.save(state(), b)
    with zipfile.ZipFile(b) as z:
        items = [(i.filename, z.read(i)) for i in z.infolist()]
    with zipfile.ZipFile(os.path.join(OUT, name), "w") as z:
        for n, data in items:
            if n.endswith("data.pkl"):
                if twice:
                    z.writestr(zipfile.ZipInfo(n), data)
                data = edit(data)
            z.writestr(zipfile.ZipInfo(n), data)
    done(name, dangerous, problems, written=written)


def evil():
    both = lambda payload: {"state_dict": state(), "note": payload}
    plain = both(None)
    save("evil_os_system.pth", both(Call(os.system, "true")), ["posix.system"], plain=plain)
    save("evil_eval.pth", both(Call(builtins.eval, "1+1")), ["builtins.eval"], plain=plain)
    save("evil_eval_p4.pth", both(Call(builtins.eval, "1+1")), ["builtins.eval"], plain=plain, pickle_protocol=4)
    save("evil_exec.pth", both(Call(builtins.exec, "pass")), ["builtins.exec"], plain=plain)
    save("evil_popen.pth", both(Call(subprocess.Popen, ["true"])), ["subprocess.Popen"], plain=plain)
    save("evil_runpy.pth", both(Call(runpy._run_code, "pass", {})), ["runpy._run_code"], plain=plain)
    save("evil_getattr.pth", both(Call(builtins.getattr, Call(builtins.__import__, "os"), "getcwd")),
         ["builtins.__import__", "builtins.getattr"], plain=plain)
    save("evil_first.pth", OD([("aaa", Call(os.system, "true"))] + list(state().items())), ["posix.system"])
    save("evil_two.pth", {"state_dict": state(), "a": Call(os.system, "true"), "b": Call(builtins.eval, "1+1")},
         ["builtins.eval", "posix.system"], plain=plain)
    save("evil_legacy.pth", both(Call(os.system, "true")), ["posix.system"], plain=plain,
         _use_new_zipfile_serialization=False)
    save("evil_pickle_loads.pth", both(Call(pickle.loads, pickle.dumps(Call(os.system, "true")))), ["_pickle.loads"], plain=plain)
    save("evil_build.pth", both(Call(collections.OrderedDict, build={"x": Call(os.system, "true")})), ["posix.system"], plain=plain)
    save("evil_webbrowser.pth", both(Call(by_name("webbrowser", "open"), "about:blank")), ["webbrowser.open"], plain=plain)
    save("evil_torch_load.pth", both(Call(torch.load, "other.pth")), ["torch.serialization.load"], plain=plain)
    save("evil_import_module.pth", both(Call(by_name("importlib", "import_module"), "this_is_not_there")),
         ["importlib.import_module"], plain=plain)
    # as Python 2 on Windows and on a unix would name it
    save("evil_nt_system.pth", both(Call(by_name("nt", "system"), "true")), ["nt.system"], plain=plain)

    # functions that call what they are given
    save("evil_partial.pth", both(functools.partial(os.system, "true")), ["posix.system"], plain=plain)
    save("evil_methodcaller.pth", both(operator.methodcaller("system", "true")), ["operator.methodcaller"], plain=plain)
    # made around something harmless; the state then puts another function there
    with_pickle("evil_partial_state.pth",
                lambda d: d[:2] + b"cfunctools\npartial\nc__builtin__\nint\n\x85R(cposix\nsystem\n(X\x04\x00\x00\x00truetNNtb)R0" + d[2:],
                ["posix.system"])

    # by hand: the result is dropped again, so that the object itself is clean
    call = b"cposix\nsystem\nX\x04\x00\x00\x00true\x85R0"
    with_pickle("evil_popped.pth", lambda d: d[:2] + call + d[2:], ["posix.system"])
    # opcodes of the oldest protocol
    with_pickle("evil_inst.pth", lambda d: d[:2] + b"(S'true'\nios\nsystem\n0" + d[2:], ["os.system"])
    with_pickle("evil_obj.pth", lambda d: d[:2] + b"(cos\nsystem\nS'true'\no0" + d[2:], ["os.system"])
    # module and name out of the memo, glued by STACK_GLOBAL
    with_pickle("evil_memo_global.pth",
                lambda d: b"\x80\x04" + b"\x8c\x05posixr\xe8\x03\x00\x000\x8c\x06systemr\xe9\x03\x00\x000"
                + b"j\xe8\x03\x00\x00j\xe9\x03\x00\x00\x93X\x04\x00\x00\x00true\x85R0" + d[2:], ["posix.system"])
    # a dotted name, which protocol 4 walks
    with_pickle("evil_dotted.pth",
                lambda d: b"\x80\x04\x8c\x02os\x8c\x0epath.os.system\x93X\x04\x00\x00\x00true\x85R0" + d[2:],
                ["os.path.os.system"])
    # the call comes first, then the pickle breaks off: the call would still have run
    path = "evil_truncated.pth"
    b = io.BytesIO()
    torch.save(state(), b)
    with zipfile.ZipFile(b) as z:
        items = [(i.filename, z.read(i)) for i in z.infolist()]
    with zipfile.ZipFile(os.path.join(OUT, path), "w") as z:
        for n, data in items:
            if n.endswith("data.pkl"):
                data = data[:2] + call + data[2:40]
            z.writestr(zipfile.ZipInfo(n), data)
    done(path, ["posix.system"], ["broken-pickle"], obj={})
    # an octal escape in the oldest kind of string
    with_pickle("evil_octal.pth", lambda d: b"\x80\x04S'\\157s'\nS'\\163ystem'\n\x93X\x04\x00\x00\x00true\x85R0" + d[2:],
                ["os.system"], written=False)
    # by way of what a harmless module has imported
    with_pickle("evil_imported.pth",
                lambda d: b"\x80\x04\x8c\x06random\x8c\x0a_os.system\x93X\x04\x00\x00\x00true\x85R0"
                + b"\x8c\x17torch.nn.modules.module\x8c\x0atorch.load\x93X\x04\x00\x00\x00none\x85R0" + d[2:],
                ["random._os.system", "torch.nn.modules.module.torch.load"])
    with_pickle("evil_getattr_module.pth",
                lambda d: d[:2] + b"c__builtin__\ngetattr\nctorch.nn.modules.module\ntorch\nX\x04\x00\x00\x00load\x86R0" + d[2:],
                ["__builtin__.getattr"])
    # in a folder that PyTorch takes because it comes first, beside a clean one with a shorter name
    folders("evil_first_folder.pth", lambda d: d[:2] + call + d[2:], ["posix.system"], ["several-pickles"])
    # a pickle inside the pickle, as storages are written by pickle alone
    inner = pickle.dumps(Call(os.system, "true"), 2)
    with_pickle("evil_nested.pth",
                lambda d: d[:2] + b"ctorch.storage\n_load_from_bytes\nB" + len(inner).to_bytes(4, "little") + inner + b"\x85R0" + d[2:],
                ["posix.system"], ["unknown-global"], written=False)
    # two records of the same name: torch takes one of them, a careless scanner the other
    with_pickle("evil_two_pickles.pth", lambda d: d[:2] + call + d[2:], ["posix.system"], ["duplicate-record"], twice=True)
    # in the header of the old format, before the object
    b = io.BytesIO()
    torch.save(state(), b, _use_new_zipfile_serialization=False)
    data = b.getvalue()
    with open(os.path.join(OUT, "evil_legacy_header.pth"), "wb") as f:
        f.write(data[:2] + call + data[2:])
    done("evil_legacy_header.pth", ["posix.system"])


def odd():
    both = lambda payload: {"state_dict": state(), "note": payload}
    plain = both(None)

    def class_by_name(module, name, base=object):
        return put(module, name, type(name, (base,), {}))

    x = class_by_name("mylab.config", "Config")()
    x.lr, x.layers, x.evaluate = 1e-3, [1, 2], "eval"
    save("odd_config_class.pth", both(x), None, ["unknown-global"], plain=plain)
    d = class_by_name("mylab.util", "AttrDict", dict)()
    d["hidden"] = 4
    d["weights"] = torch.ones(2)
    save("odd_dict_subclass.pth", {"state_dict": state(), "cfg": d}, None, ["unknown-global"],
         plain={"state_dict": state(), "cfg": {"hidden": 4, "weights": torch.ones(2)}})
    save("odd_function.pth", both(by_name("mylab.sched", "cosine")), None, ["unknown-global"], plain=plain)
    save("odd_call.pth", both(Call(by_name("mylab.enums", "Kind"), 3)), None, ["unknown-global"], plain=plain)
    # a dict of tensors inside a call that nobody knows
    c = class_by_name("mylab.model", "StateDict", OD)
    save("odd_state_class.pth", c(state()), None, ["unknown-global"])
    m = class_by_name("mylab.net", "Block", torch.nn.Module)()
    m.fc = torch.nn.Linear(3, 2)
    m.fc.load_state_dict(OD((k[3:], v) for k, v in state().items()))
    save("odd_module_class.pth", m, None, ["unknown-global"])
    # a method of an object and one of a class, which protocol 2 spells with getattr
    x = class_by_name("mylab.net", "Conv", torch.nn.Module)
    x.forward_fuse = lambda self, y: y
    x._anneal = staticmethod(by_name("mylab.net", "anneal"))
    x._anneal.__qualname__ = "Conv._anneal"
    m = x()
    m.fc = torch.nn.Linear(3, 2)
    m.fc.load_state_dict(OD((k[3:], v) for k, v in state().items()))
    m.fuse = types.MethodType(put("mylab.net", "forward_fuse", x.forward_fuse), m)
    m.anneal = x._anneal
    save("odd_methods.pth", m, None, ["unknown-global"])
    # functions that call what they are given: as strange as that
    save("odd_partial.pth", both(functools.partial(by_name("mylab.sched", "cosine"), 3)), None, ["unknown-global"], plain=plain)
    save("odd_partial_known.pth", both(functools.partial(torch.nn.Linear, 3)), None, plain=plain)
    # text that only looks like the real thing
    save("odd_looks_evil.pth", {"state_dict": state(), "posix": "system", "text": "cposix\nsystem\n(X\x04true"}, None, plain=plain)


if __name__ == "__main__":
    evil()
    odd()
