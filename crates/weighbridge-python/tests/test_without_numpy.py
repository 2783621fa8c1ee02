"""Without numpy: most of the package needs nothing, and the rest says what is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import weighbridge as wb
from shared import FILES, GPTQ, TINY, environment, python, weigh

#: Refuses numpy and ml_dtypes, as if they were not installed.
HOOK = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numpy", "ml_dtypes"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
"""


def test_what_works(tmp_path: Path) -> None:
    code = HOOK + """
import json
import weighbridge as wb

tiny, name, place, block = sys.argv[1:]
report = wb.inspect(tiny, tensors=True)
with wb.open(tiny) as model:
    weight = model[name]
    tensor = weight.tensor("f32")
    out = bytearray(tensor.nbytes)
    assert weight.read(out=out, dtype="f32") is out
    assert bytes(tensor) == out and tensor.shape == (128, 64)
    half = bytearray(2 * 64 * 2)
    weight.read(out=half, rows=slice(0, 2))
    assert half == bytes(weight.tensor(rows=slice(0, 2)))
    bytes(weight.tensor("bf16")), weight.stored_bytes(), weight.parts, repr(weight), repr(model)
    model._repr_html_(), weight._repr_html_()
    weight.__dlpack__()
wb.convert(tiny, place + "/out.gguf", verify=True)
wb.dequantize(tiny, place + "/plain")
wb.quantize(tiny, place + "/small.gguf", "Q8_0", allow_requantize=True)
assert wb.verify(place + "/plain", tiny)["ok"]
wb.diff(place + "/plain", tiny)
with wb.safe_open(tiny, framework="np") as file:
    assert file.get_slice(name).get_shape() == [128, 64]
print(json.dumps([report, out.hex()]))
assert "numpy" not in sys.modules
"""
    done = python(code, TINY, GPTQ, tmp_path, FILES / "gguf" / "bf16.gguf")
    report, numbers = json.loads(done.stdout)
    assert report == wb.inspect(TINY, tensors=True)
    with wb.open(TINY) as model:
        assert bytes.fromhex(numbers) == model[GPTQ].numpy("f32").tobytes()


def test_what_says_that_numpy_is_missing() -> None:
    code = HOOK + """
import weighbridge as wb, weighbridge.numpy
model = wb.open(sys.argv[1])
weight = model[sys.argv[2]]
jobs = [
    weight.numpy,
    lambda: weight.numpy("f32"),
    lambda: weight[0],
    lambda: weight[1:3],
    lambda: weight.read(),
    lambda: weighbridge.numpy.load_file(model),
    lambda: wb.safe_open(sys.argv[1], framework="np").get_tensor(sys.argv[2]),
]
for job in jobs:
    try:
        job()
    except ImportError as error:
        assert error.name == "numpy", error
        assert "pip install 'weighbridge[numpy]'" in "".join(error.__notes__), error.__notes__
    else:
        raise AssertionError("there was no error")
"""
    python(code, TINY, GPTQ)


def test_ml_dtypes_is_only_for_its_types() -> None:
    code = HOOK.replace('("numpy", "ml_dtypes")', '("ml_dtypes",)') + """
import weighbridge as wb
weight = wb.open(sys.argv[1])["special"]
assert weight.dtype == "BF16"
weight.numpy("f32"), weight.numpy("f16"), bytes(weight.tensor())
try:
    weight.numpy()
except ImportError as error:
    assert "ml_dtypes" in "".join(error.__notes__)
else:
    raise AssertionError("there was no error")
"""
    python(code, FILES / "gguf" / "bf16.gguf")


def test_the_command(tmp_path: Path) -> None:
    code = HOOK + """
from weighbridge.__main__ import main
sys.argv = ["weigh", *sys.argv[1:]]
main()
"""
    words = [sys.executable, "-c", code, "inspect", "--json", str(TINY)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment())
    assert done.returncode == 0 and done.stdout == weigh("inspect", "--json", TINY).stdout


def test_importing_is_quiet_and_light() -> None:
    words = [sys.executable, "-W", "error", "-c", "import weighbridge"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    code = """
import sys
import weighbridge
heavy = {"numpy", "ml_dtypes", "torch", "tqdm", "weighbridge.numpy", "weighbridge.torch"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
weighbridge.numpy.load_file
assert "numpy" not in sys.modules
assert set(weighbridge.__all__) <= set(dir(weighbridge)) | {
    "numpy", "torch", "ConvertReport", "DiffReport", "InspectReport", "VerifyReport"
}
for name in weighbridge.__all__:
    getattr(weighbridge, name)
try:
    weighbridge.nothing
except AttributeError:
    pass
"""
    python(code)


def test_exit_codes_of_the_command(tmp_path: Path) -> None:
    assert weigh("--version").stdout.split() == ["weigh", wb.__version__]
    assert weigh("inspect", tmp_path / "nothing").returncode == 2
    assert weigh("nonsense", "--nonsense").returncode == 2
    assert weigh("inspect", FILES / "pth" / "odd_keys.pth").returncode == 1
