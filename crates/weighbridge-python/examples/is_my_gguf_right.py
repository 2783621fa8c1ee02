"""Compares a GGUF file with the model it was converted from.

    python is_my_gguf_right.py [MODEL [GGUF]]

Without a GGUF file, converts the model first. Exits with 1 if a weight changed.
"""

import sys
import tempfile
from pathlib import Path

import weighbridge as wb


def compare(source: str, gguf: str) -> bool:
    """Compares values, for any converter and type. Rounding to the type is not a difference."""
    report = wb.diff(source, gguf)
    summary = report["summary"]
    for verdict in ("identical", "equal_after_rounding", "within_precision", "changed"):
        print(f"{verdict.replace('_', ' ')}: {summary[verdict]}")
    for one in report["tensors"]:
        if one["status"] == "changed":
            print(f"  {one['name_a']}: {one['outside']} of {one['elements']} elements changed")
    for name in report["only_a"] + report["only_b"]:
        print(f"  {name}: on one side only")
    return report["ok"]


def convert_and_verify(source: str, gguf: str) -> bool:
    """Converts the model, then recomputes every weight and compares it bit by bit."""
    wb.convert(source, gguf)
    report = wb.verify(gguf, source)
    print(f"verified: {report['checked']} tensors, {report['bytes']} bytes, ok: {report['ok']}")
    return report["ok"]


source = sys.argv[1] if len(sys.argv) > 1 else "samples/tiny-llama-gptq"
if len(sys.argv) > 2:
    right = compare(source, sys.argv[2])
else:
    with tempfile.TemporaryDirectory() as folder:
        made = str(Path(folder) / "made.gguf")
        right = convert_and_verify(source, made) and compare(source, made)
print("right" if right else "WRONG")
sys.exit(not right)
