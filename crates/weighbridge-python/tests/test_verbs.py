"""The verbs write the files of the command, byte for byte, and report what it reports."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import weighbridge as wb
from shared import FILES, TINY, tree, weigh, without_measures
from slow import many_weights

#: Stand for what the tests make first.
PLAIN, IMPORTANCE = Path("plain"), Path("importance")
Q8 = FILES / "names" / "qwen3-q8" / "model.gguf"
BF16 = FILES / "gguf" / "bf16.gguf"


class Case(NamedTuple):
    """The same wish twice: as arguments, and as flags."""

    name: str
    source: Path
    output: str
    arguments: dict[str, Any]
    flags: list[object]


def case(name: str, source: Path, output: str, flags: list[object], **arguments: Any) -> Any:
    return pytest.param(Case(name, source, output, arguments, flags), id=f"{name} {output} {flags}")


CONVERTED = [
    case("convert", TINY, "out.safetensors", []),
    case("convert", TINY, "out.gguf", []),
    case("convert", TINY, "out.npz", ["--dtype", "f16"], dtype="f16"),
    case("convert", TINY, "folder", []),
    case("convert", TINY, "out.safetensors", ["--dtype", "f32"], dtype="f32"),
    case("convert", TINY, "out.safetensors", ["--dtype", "bf16"], dtype="bf16"),
    case("convert", TINY, "out.safetensors", ["--dtype", "f16"], dtype="f16"),
    case("convert", TINY, "out.safetensors", ["--dtype", "native"], dtype="native"),
    case("convert", BF16, "out.safetensors", ["--dtype", "keep"], dtype="keep"),
    case("convert", TINY, "folder", ["--to", "safetensors"], to="safetensors"),
    case("convert", TINY, "out.gguf", ["--names", "keep"], names="keep"),
    case(
        "convert",
        TINY,
        "out.safetensors",
        ["--include", "mlp", "--include", "norm", "--exclude", "up"],
        include=["mlp", "norm"],
        exclude=["up"],
    ),
    case("convert", TINY, "out.safetensors", ["--cast", "mlp=f32"], cast={"mlp": "f32"}),
    case(
        "convert",
        TINY,
        "out.safetensors",
        ["--cast", "up=f32", "--cast", "mlp=f16"],
        cast=[("up", "f32"), ("mlp", "f16")],
    ),
    case(
        "convert",
        TINY,
        "out.safetensors",
        ["--rename", r"^model\.=x."],
        rename={r"^model\.": "x."},
    ),
    case(
        "convert",
        TINY,
        "out.gguf",
        ["--kv", "a.b=u8:7", "--kv", "c=str:text", "--kv", "d=bool:true", "--kv", "e=i64:-3"],
        metadata={"a.b": ("u8", 7), "c": "text", "d": True, "e": ("i64", -3)},
    ),
    case(
        "convert",
        TINY,
        "out.gguf",
        ["--kv", "a=u32:7", "--kv", "b=i32:-7", "--kv", "c=f32:0.5", "--kv", "d=f64:0.1"],
        metadata={"a": 7, "b": -7, "c": 0.5, "d": ("f64", 0.1)},
    ),
    case("convert", TINY, "folder", ["--max-shard-size", "50KB"], max_shard_size="50KB"),
    case("convert", TINY, "folder", ["--max-shard-size", "51200"], max_shard_size=51200),
    case("convert", TINY, "out.gguf", ["--modelfile"], modelfile=True),
    case("convert", TINY, "out.gguf", ["--verify", "-j", "1"], verify=True, threads=1),
    case("convert", TINY, "out.gguf", ["--dry-run"], dry_run=True),
    case("dequantize", TINY, "plain", []),
    case("dequantize", TINY, "plain", ["--dtype", "f32"], dtype="f32"),
    case("dequantize", TINY, "plain", ["--dry-run"], dry_run=True),
    case("dequantize", Q8, "plain.gguf", []),
    case("quantize", PLAIN, "out.gguf", ["--type", "Q8_0"], type="Q8_0"),
    case("quantize", PLAIN, "out.gguf", ["--type", "Q4_K_M"], type="Q4_K_M"),
    case(
        "quantize",
        PLAIN,
        "out.gguf",
        ["--type", "Q4_K_S", "--imatrix", IMPORTANCE],
        type="Q4_K_S",
        imatrix=IMPORTANCE,
    ),
    case(
        "quantize",
        PLAIN,
        "out.gguf",
        ["--type", "Q4_0", "--pure", "--tensor-type", "attn_v=Q8_0", "--keep", "norm"],
        type="Q4_0",
        pure=True,
        tensor_type={"attn_v": "Q8_0"},
        keep=["norm"],
    ),
    case("quantize", PLAIN, "out.gguf", ["--target-bpw", "6"], target_bpw=6.0),
    case(
        "quantize",
        TINY,
        "out.gguf",
        ["--type", "Q8_0", "--allow-requantize"],
        type="Q8_0",
        allow_requantize=True,
    ),
]


@pytest.mark.parametrize("wish", CONVERTED)
def test_files_and_reports(
    wish: Case,
    plain: Path,
    importance: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = {PLAIN: plain, IMPORTANCE: importance}
    flags = [made.get(one, one) for one in wish.flags]  # type: ignore[call-overload]
    arguments = {
        key: made[IMPORTANCE] if value is IMPORTANCE else value
        for key, value in wish.arguments.items()
    }
    source = made.get(wish.source, wish.source)
    by_command, by_library = tmp_path / "command", tmp_path / "library"
    by_command.mkdir()
    by_library.mkdir()
    words = [wish.name, source, "-o", wish.output, "--json", *flags]
    done = weigh(*words, cwd=by_command)
    assert done.returncode == 0, done.stderr
    monkeypatch.chdir(by_library)
    verb: Callable[..., Any] = getattr(wb, wish.name)
    report = verb(source, wish.output, **arguments)
    assert without_measures(report) == without_measures(json.loads(done.stdout))
    assert tree(by_library) == tree(by_command)
    assert bool(tree(by_library)) is not wish.arguments.get("dry_run", False)


def test_models_that_are_open_and_bytes(tmp_path: Path) -> None:
    wb.convert(TINY, tmp_path / "path.gguf", names="keep")
    with wb.open(TINY) as model:
        wb.convert(model, tmp_path / "model.gguf", names="keep")
        assert not model.closed
    assert tree(tmp_path / "path.gguf") == tree(tmp_path / "model.gguf")
    data = BF16.read_bytes()
    wb.convert(BF16, tmp_path / "path.safetensors")
    with BF16.open("rb") as file:
        for number, source in enumerate((data, bytearray(data), file)):
            wb.convert(source, tmp_path / f"{number}.safetensors")
            assert tree(tmp_path / f"{number}.safetensors") == tree(tmp_path / "path.safetensors")


def test_force(tmp_path: Path) -> None:
    output = tmp_path / "out.safetensors"
    output.write_bytes(b"mine")
    for verb, arguments in ((wb.convert, {}), (wb.dequantize, {})):
        with pytest.raises((FileExistsError, wb.UsageError)):
            verb(BF16, output, **arguments)  # type: ignore[operator]
        assert output.read_bytes() == b"mine"
    wb.convert(BF16, output, force=True)
    assert list(wb.open(output)) == ["special"]


class Stop(Exception):
    pass


def stopped(source: Path, output: Path) -> bool:
    """Whether a conversion was stopped before it was done, as short ones are not."""

    def stop(done: int, total: int) -> None:
        raise Stop

    with pytest.raises(Stop):
        wb.convert(source, output, max_shard_size=1024, threads=1, progress=stop)
    return not output.exists()


def test_resume(tmp_path: Path) -> None:
    """What was stopped is completed from the files that are kept beside its name."""
    place, output = tmp_path / "place", tmp_path / "place" / "out"
    for count in (100, 400, 1600):
        place.mkdir()
        source = many_weights(tmp_path / f"{count}.safetensors", count)
        if stopped(source, output):
            break
        shutil.rmtree(place)
    kept = [path for path in place.rglob("*.safetensors")]
    assert 0 < len(kept) < count
    with pytest.raises((FileExistsError, wb.WeighbridgeError)):
        wb.convert(source, output, max_shard_size=1024)
    wb.convert(source, output, max_shard_size=1024, resume=True)
    assert [path.name for path in place.iterdir()] == ["out"]
    wb.convert(source, tmp_path / "whole", max_shard_size=1024)
    assert tree(output) == tree(tmp_path / "whole")


def test_pipelines(tmp_path: Path) -> None:
    """A directory of components, as diffusers has them."""
    pipeline = tmp_path / "pipeline"
    for part in ("transformer", "text_encoder"):
        shutil.copytree(FILES / "fp8" / "hf-block-128", pipeline / part)
        for beside in ("expected.safetensors", "expected-f32.safetensors", "findings.json"):
            (pipeline / part / beside).unlink(missing_ok=True)
    index = {name: ["diffusers", "Model"] for name in ("transformer", "text_encoder")}
    (pipeline / "model_index.json").write_text(json.dumps({"_class_name": "Pipeline"} | index))
    assert len(wb.open_all(pipeline)) == 2
    wb.dequantize(pipeline, tmp_path / "library")
    done = weigh("dequantize", pipeline, "-o", tmp_path / "command", "-q")
    assert done.returncode == 0, done.stderr
    assert tree(tmp_path / "library") == tree(tmp_path / "command")
    assert wb.verify(tmp_path / "library", pipeline)["ok"]


def test_quantizers() -> None:
    known = wb.quantizers()
    assert {"Q4_K_M", "Q8_0", "Q4_0"} <= set(known)
    assert all(isinstance(text, str) and text for text in known.values())


def test_what_fails_its_verification_is_an_exception() -> None:
    from weighbridge import _verbs

    text = json.dumps({"verified": {"ok": False, "mismatched": []}})
    with pytest.raises(wb.VerificationError) as raised:
        _verbs._written(text)
    assert raised.value.kind == "verification" and raised.value.report == json.loads(text)
