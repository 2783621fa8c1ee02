"""Is a GGUF file what it should be? Compared with the model that it was made from.

    python is_my_gguf_right.py [MODEL [GGUF]]

Without a GGUF file one is made of the model. Ends with 1 if a weight changed.
"""

import sys
import tempfile
from pathlib import Path

import weighbridge as wb


def compare(source: str, gguf: str) -> bool:
    """By value: any converter, any type. What a type cannot hold is no difference."""
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


def made_and_verified(source: str, gguf: str) -> bool:
    """Bit by bit: of a file that this package made, every weight is computed once more."""
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
        right = made_and_verified(source, made) and compare(source, made)
print("right" if right else "WRONG")
sys.exit(not right)
