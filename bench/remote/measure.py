"""What models elsewhere cost: requests, bytes, time and memory, beside curl and boto3.

    python3 bench/remote/measure.py target/release/weigh [--rounds 5] [--weed PATH]

Needs curl; for the store also `weed` (SeaweedFS; tests/remote/install-servers.sh) and boto3. Servers run
on the same machine, in Python, and take their share of it.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import re
import resource
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

sys.path.insert(0, str(Path(__file__).parent))
import server  # noqa: E402

MB = 1_000_000
MIB = 1 << 20


def safetensors(tensors: list[tuple[str, str, list[int], int]]) -> bytes:
    """The header of a file; data follows in the same order."""
    header, at = {}, 0
    for name, dtype, shape, size in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def large(path: Path, megabytes: int) -> None:
    """A BF16 model of that size; its numbers are finite."""
    rows = 4096
    size = rows * rows * 2
    count = max(1, megabytes * MB // size)
    block = bytes(b & 0x3F if i & 1 else b for i, b in enumerate(os.urandom(MIB)))
    with path.open("wb") as file:
        file.write(
            safetensors([(f"layers.{i}.weight", "BF16", [rows, rows], size) for i in range(count)])
        )
        for _ in range(count * size // MIB):
            file.write(block)


class Run:
    """A command that has ended: seconds, the most memory it took, what it printed."""

    def __init__(self, command: list[str], thrown_away: bool = False, **environment: str) -> None:
        env = {**os.environ, **environment}
        output = subprocess.DEVNULL if thrown_away else subprocess.PIPE
        begun = time.perf_counter()
        process = subprocess.Popen(
            ["/usr/bin/time", "-f", "%M", *command],
            env=env, stdout=output, stderr=subprocess.PIPE, text=True,
        )
        self.output, errors = process.communicate()
        self.seconds = time.perf_counter() - begun
        lines = errors.strip().splitlines()
        self.peak = int(lines[-1]) * 1024 if lines and lines[-1].isdigit() else 0
        if process.returncode:
            raise SystemExit(f"{' '.join(command)}: {errors}")


def middle(rounds: int, job: Callable[[], Run]) -> tuple[float, float, float, int]:
    """The median, the least and the most of the seconds, and the most memory of several runs."""
    runs = [job() for _ in range(rounds)]
    seconds = sorted(run.seconds for run in runs)
    return statistics.median(seconds), seconds[0], seconds[-1], max(run.peak for run in runs)


def say(*cells: Any) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def mapped(path: Path) -> Any:
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))


def inspecting(weigh: str, folder: Path, model: Path) -> None:
    """Requests and bytes of looking at a model."""
    say("inspect", "requests", "bytes", "header", "seconds")
    say("---", "---", "---", "---", "---")
    data = mapped(model)
    url, line = server.start({"/model.safetensors": data})
    run = Run([weigh, "inspect", f"{url}/model.safetensors"])
    (length,) = struct.unpack("<Q", data[:8])
    say("one safetensors file", line.requests, line.bytes, length + 8,
        f"{run.seconds:.2f}")
    gguf = folder / "model.gguf"
    Run([weigh, "convert", str(model), "-o", str(gguf), "--names", "keep", "--force", "-q"])
    data = mapped(gguf)
    url, line = server.start({"/model.gguf": data})
    run = Run([weigh, "inspect", f"{url}/model.gguf"])
    say("one GGUF file", line.requests, line.bytes, "short", f"{run.seconds:.2f}")
    config = b'{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}'
    files = {"/store/model.safetensors": mapped(model), "/store/config.json": config}
    names = {"model.safetensors": "/store/model.safetensors", "config.json": "/store/config.json"}
    url, line = server.start(files, {"o/n": names})
    run = Run([weigh, "inspect", "hf://o/n"], HF_ENDPOINT=url, HF_HUB_CACHE=str(folder / "none"))
    say("a repository of one file", line.requests, line.bytes, length + 8, f"{run.seconds:.2f}")


def thousand(weigh: str, folder: Path, rounds: int) -> None:
    """A repository of 1,000 shards behind 60 ms."""
    count = 1000
    files: dict[str, Any] = {"/store/config.json": b'{"model_type": "llama"}'}
    names, weights = {"config.json": "/store/config.json"}, {}
    for i in range(count):
        name = f"model-{i + 1:05}-of-{count:05}.safetensors"
        tensors = [(f"layers.{i}.{j}.weight", "BF16", [64, 64], 8192) for j in range(40)]
        files[f"/store/{name}"] = safetensors(tensors) + bytes(40 * 8192)
        names[name] = f"/store/{name}"
        weights.update({tensor[0]: name for tensor in tensors})
    index = json.dumps({"metadata": {}, "weight_map": weights}).encode()
    files["/store/index"] = index
    names["model.safetensors.index.json"] = "/store/index"
    url, line = server.start(files, {"o/n": names}, delay=0.06)

    def job() -> Run:
        line.requests = line.bytes = 0
        return Run([weigh, "inspect", "hf://o/n"], HF_ENDPOINT=url,
                   HF_HUB_CACHE=str(folder / "none"))

    median, least, most, peak = middle(rounds, job)
    say("1,000 shards, 60 ms", line.requests, line.bytes, f"{peak / MIB:.0f} MiB",
        f"{median:.2f} ({least:.2f} to {most:.2f})")


def converting(weigh: str, folder: Path, model: Path, rounds: int) -> None:
    """A conversion over a line of 200 MB/s, beside curl of the same bytes."""
    print()
    say("1 GB of BF16 to f32, 200 MB/s", "curl, s", "weigh, s", "times", "peak")
    say("---", "---", "---", "---", "---")
    data = mapped(model)
    for delay in (0.0, 0.06):
        url, _ = server.start({"/model.safetensors": data}, rate=200 * MB, delay=delay)
        address, out = f"{url}/model.safetensors", str(folder / "out.safetensors")
        curl = middle(rounds, lambda: Run(["curl", "-s", "-o", "/dev/null", address]))
        ways = [
            ("thrown away", "-", []),
            ("to a file", out, []),
            ("to a file, --max-memory 64MiB", out, ["--max-memory", "64MiB"]),
        ]
        for name, target, more in ways:
            command = [weigh, "convert", address, "-o", target, "--dtype", "f32", "--force", "-q"]
            ours = middle(rounds, lambda: Run([*command, *more], thrown_away=target == "-"))
            say(f"{delay * 1000:.0f} ms, {name}",
                f"{curl[0]:.2f} ({curl[1]:.2f} to {curl[2]:.2f})",
                f"{ours[0]:.2f} ({ours[1]:.2f} to {ours[2]:.2f})",
                f"{ours[0] / curl[0]:.2f}", f"{ours[3] / MIB:.0f} MiB")
        os.remove(out)


def quantized(weigh: str, folder: Path, model: Path, rounds: int) -> None:
    """Conversions out of and into schemes, behind 60 ms, beside curl of the same bytes."""
    print()
    say("200 MB/s, 60 ms", "curl, s", "weigh, s", "times", "fetched", "peak")
    say("---", "---", "---", "---", "---", "---")
    original = folder / "original"
    original.mkdir()
    (original / "model.safetensors").symlink_to(model)
    (original / "config.json").write_text('{"model_type": "llama", "torch_dtype": "bfloat16"}')
    across(folder / "awq")
    for scheme in ("fp8-block", "w4a16", "mlx-4bit", "bnb-nf4-nested", "awq"):
        if scheme != "awq":
            Run([weigh, "quantize", str(original), "-o", str(folder / scheme), "--type", scheme, "-q"])
        compare(weigh, folder, folder / scheme, f"{scheme} to plain", ["dequantize"], rounds)
    for scheme in ("fp8-block", "fp8-tensor", "nvfp4"):
        compare(weigh, folder, original, f"BF16 to {scheme}", ["quantize", "--type", scheme], rounds)


def across(folder: Path) -> None:
    """Four weights of AWQ, 122 MB each, whose rows lie all over their stored bytes."""
    rows, words, groups = 28672, 1024, 224
    tensors = []
    for layer in range(4):
        name = f"model.layers.{layer}.mlp.down_proj."
        tensors += [(name + "qweight", "I32", [rows, words], rows * words * 4),
                    (name + "qzeros", "I32", [groups, words], groups * words * 4),
                    (name + "scales", "F16", [groups, words * 8], groups * words * 16)]
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({
        "model_type": "llama", "torch_dtype": "float16", "quantization_config": {
            "quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True,
            "version": "gemm"}}))
    block = bytes(b & 0x3F if i & 1 else b for i, b in enumerate(os.urandom(MIB)))
    with (folder / "model.safetensors").open("wb") as file:
        file.write(safetensors(tensors))
        for _, _, _, size in tensors:
            for at in range(0, size, MIB):
                file.write(block[: min(MIB, size - at)])


def compare(weigh: str, folder: Path, model: Path, name: str, verb: list[str], rounds: int) -> None:
    """One conversion of a repository, beside curl of its largest file."""
    files = {f"/store/{file.name}": mapped(file) for file in model.iterdir() if file.suffix != ".md"
             and not file.name.startswith(".")}
    names = {place.rpartition("/")[2]: place for place in files}
    url, line = server.start(files, {"o/n": names}, rate=200 * MB, delay=0.06)
    total = sum(len(data) for data in files.values())
    address, out = f"{url}/store/model.safetensors", folder / "out"
    curl = middle(rounds, lambda: Run(["curl", "-s", "-o", "/dev/null", address]))

    def job() -> Run:
        shutil.rmtree(out, ignore_errors=True)
        line.bytes = 0
        return Run([weigh, verb[0], "hf://o/n", "-o", str(out), *verb[1:], "-q"],
                   HF_ENDPOINT=url, HF_HUB_CACHE=str(folder / "none"))

    ours = middle(rounds, job)
    say(name, f"{curl[0]:.2f}", f"{ours[0]:.2f} ({ours[1]:.2f} to {ours[2]:.2f})",
        f"{ours[0] / curl[0]:.2f}", f"{line.bytes / total:.2f} times", f"{ours[3] / MIB:.0f} MiB")
    shutil.rmtree(out, ignore_errors=True)


def storing(weigh: str, weed: str, folder: Path, model: Path, rounds: int) -> None:
    """An output into SeaweedFS, beside boto3 that sends the same bytes from memory."""
    import boto3
    from boto3.s3.transfer import TransferConfig

    conf = folder / "s3.json"
    conf.write_text(json.dumps({"identities": [{
        "name": "bench", "credentials": [{"accessKey": "bench", "secretKey": "bench-secret"}],
        "actions": ["Admin", "Read", "Write", "List"]}]}))
    ports = []
    for _ in range(4):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            ports.append(one.getsockname()[1])
    # gRPC ports are 10,000 higher.
    ports = [20000 + port % 20000 for port in ports]
    data = folder / "weed"
    data.mkdir()
    process = subprocess.Popen(
        [weed, "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={data}", "-s3",
         f"-s3.port={ports[0]}", f"-s3.config={conf}", f"-master.port={ports[1]}",
         f"-volume.port={ports[2]}", f"-filer.port={ports[3]}", "-volume.max=100"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    environment = {
        "AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench-secret",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{ports[0]}", "AWS_REGION": "us-east-1",
    }
    os.environ.update(environment)
    client = boto3.client("s3")
    for _ in range(120):
        try:
            client.create_bucket(Bucket="bench")
            break
        except Exception:
            time.sleep(0.5)
    out = folder / "plain.safetensors"
    Run([weigh, "convert", str(model), "-o", str(out), "--dtype", "f32", "--force", "-q"])
    content = out.read_bytes()
    how = TransferConfig(multipart_threshold=16 * MIB, multipart_chunksize=16 * MIB,
                         max_concurrency=8)
    import io

    def boto() -> float:
        begun = time.perf_counter()
        client.upload_fileobj(io.BytesIO(content), "bench", "boto/model.safetensors", Config=how)
        return time.perf_counter() - begun

    print()
    say(f"{len(content) / 1e9:.2f} GB into S3", "boto3 from memory, s", "weigh, s", "times", "peak")
    say("---", "---", "---", "---", "---")
    theirs, ours, peaks = [], [], []
    for _ in range(rounds):
        theirs.append(boto())
        run = Run([weigh, "convert", str(model), "-o", "s3://bench/ours/", "--dtype", "f32",
                   "--force", "-q"])
        ours.append(run.seconds)
        peaks.append(run.peak)
    times = statistics.median(ours) / statistics.median(theirs)
    say("BF16 to f32, decoded while it is sent",
        f"{statistics.median(theirs):.2f} ({min(theirs):.2f} to {max(theirs):.2f})",
        f"{statistics.median(ours):.2f} ({min(ours):.2f} to {max(ours):.2f})",
        f"{times:.2f}", f"{max(peaks) / MIB:.0f} MiB")
    run = Run([weigh, "verify", "s3://bench/ours/", "--against", str(model), "--dtype", "f32"])
    found = re.search(r"verified: .*", run.output)
    print(f"\n{found.group(0) if found else run.output}")
    process.terminate()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("weigh")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--weed")
    arguments.add_argument("--only", choices=["inspect", "convert", "quantized", "store"])
    given = arguments.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as place:
        folder = Path(place)
        model = folder / "model.safetensors"
        large(model, 1000)
        weigh = str(Path(given.weigh).resolve())
        if given.only in (None, "inspect"):
            inspecting(weigh, folder, model)
            thousand(weigh, folder, given.rounds)
        if given.only in (None, "convert"):
            converting(weigh, folder, model, given.rounds)
        if given.only in (None, "quantized"):
            quantized(weigh, folder, model, given.rounds)
        if given.weed and given.only in (None, "store"):
            storing(weigh, given.weed, folder, model, given.rounds)


if __name__ == "__main__":
    main()
