"""What the pickles of PyTorch files are made of, without running any of them.

    python oracles/torch_globals.py [-v] FILE...

Prints every global, every opcode and every shape of persistent id met in the
files, with how many files have it. Needs no torch.
"""

import collections
import io
import pickletools
import sys
import tarfile
import zipfile


def pickles(path):
    """(name, bytes) of each pickle stream in the file."""
    with open(path, "rb") as f:
        head = f.read(4)
        f.seek(0)
        data = f.read()
    if head[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            for info in z.infolist():
                if info.filename.endswith((".pkl", ".debug_pkl")):
                    with z.open(info) as f:
                        f._expected_crc = None  # torch does not look at it either
                        yield info.filename, f.read()
    elif data[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(data)) as t:
            for name in ("sys_info", "pickle", "tensors", "storages"):
                yield name, t.extractfile(name).read()
    else:
        yield "legacy", data


def walk(data):
    """(globals, opcodes, persistent ids) of one stream of pickles. Strings and
    tuples are followed only as far as STACK_GLOBAL and BINPERSID need."""
    found, ops, pids = [], [], []
    f = io.BytesIO(data)
    streams = 0
    while f.tell() < len(data):
        stack, memo = [], {}

        def mark():
            items = []
            while stack and stack[-1] != "MARK":
                items.append(stack.pop())
            if stack:
                stack.pop()
            return items[::-1]

        try:
            for op, arg, _ in pickletools.genops(f):
                n = op.name
                ops.append(n)
                if n == "MARK":
                    stack.append("MARK")
                elif n == "GLOBAL":
                    found.append(arg.replace(" ", ".", 1))
                    stack.append(("global", found[-1]))
                elif n == "INST":
                    found.append(arg.replace(" ", ".", 1))
                    mark()
                    stack.append("?")
                elif n == "STACK_GLOBAL":
                    name, module = stack.pop(), stack.pop()
                    found.append("%s.%s" % (module, name))
                    stack.append(("global", found[-1]))
                elif n in ("PUT", "BINPUT", "LONG_BINPUT"):
                    memo[arg] = stack[-1]
                elif n == "MEMOIZE":
                    memo[len(memo)] = stack[-1]
                elif n in ("GET", "BINGET", "LONG_BINGET"):
                    stack.append(memo.get(arg, "?"))
                elif n in ("BINPERSID", "PERSID"):
                    pids.append(shape(stack.pop() if n == "BINPERSID" else arg))
                    stack.append("?")
                elif n == "TUPLE":
                    stack.append(tuple(mark()))
                elif n in ("TUPLE1", "TUPLE2", "TUPLE3"):
                    k = int(n[-1])
                    items = tuple(stack[-k:])
                    del stack[-k:]
                    stack.append(items)
                elif n == "EMPTY_TUPLE":
                    stack.append(())
                elif n in ("REDUCE", "NEWOBJ", "APPEND", "BUILD", "POP"):
                    stack.pop()
                    if n in ("REDUCE", "NEWOBJ"):
                        stack[-1] = "?"
                elif n == "NEWOBJ_EX":
                    del stack[-2:]
                    stack[-1] = "?"
                elif n == "SETITEM":
                    del stack[-2:]
                elif n in ("SETITEMS", "APPENDS", "ADDITEMS", "POP_MARK"):
                    mark()
                elif n in ("LIST", "DICT", "FROZENSET", "OBJ"):
                    mark()
                    stack.append("?")
                elif n == "DUP":
                    stack.append(stack[-1])
                elif n in ("PROTO", "FRAME", "STOP"):
                    pass
                else:
                    stack.append(arg)
            streams += 1
        except Exception:
            break
        if streams == 5 and ops.count("STOP") >= 5 and len(data) > f.tell():
            break  # the old format: raw values follow the fifth pickle
    return found, ops, pids


def shape(pid):
    if not isinstance(pid, tuple):
        return type(pid).__name__
    out = []
    for i, x in enumerate(pid):
        if i == 0:
            out.append(repr(x))
        elif isinstance(x, tuple) and x and x[0] == "global":
            out.append("class")
        elif isinstance(x, tuple):
            out.append("(" + ", ".join(type(y).__name__ for y in x) + ")")
        else:
            out.append("None" if x is None else type(x).__name__)
    return "(" + ", ".join(out) + ")"


def scan(path):
    for name, data in pickles(path):
        g, o, p = walk(data)
        yield {"file": path, "pickle": name, "globals": g, "ops": o, "pids": p}


def main():
    args = [a for a in sys.argv[1:] if a != "-v"]
    count = {k: collections.Counter() for k in ("globals", "ops", "pids")}
    for path in args:
        seen = {k: set() for k in count}
        for f in scan(path):
            for k in count:
                seen[k].update(f[k])
        if "-v" in sys.argv:
            print(path, sorted(seen["globals"]))
        for k in count:
            count[k].update(seen[k])
    for k, c in count.items():
        print("#", k)
        for x, n in sorted(c.items()):
            print("%5d %s" % (n, x))


if __name__ == "__main__":
    main()
