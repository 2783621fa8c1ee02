"""Every keyword of every verb reaches the native side, and a wrong value of it is refused."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import weighbridge as wb
from shared import ROOT, TINY


#: A value for each keyword that makes sense, beside the default.
WRITING: dict[str, Any] = {
    "to": "gguf",
    "cast": {"norm": "f32"},
    "rename": {"nothing": "something"},
    "include": ["."],
    "exclude": ["nothing"],
    "skip_unreadable": True,
    "force": True,
    "resume": True,
    "dry_run": True,
    "verify": True,
    "max_shard_size": "1MB",
    "max_output": "1GB",
    "threads": 2,
    "max_memory": "200MB",
    "progress": lambda done, total: None,
    "dtype": "f32",
    "names": "keep",
    "metadata": {"a.b": 3},
    "modelfile": True,
    "allow_lossy_config": True,
    "pre_tokenizer": "llama-bpe",
    "mtp": False,
    "no_mtp": False,
    "follow_links": True,
}
QUANTIZING: dict[str, Any] = {
    "imatrix": None,
    "pure": True,
    "tensor_type": {"attn_v": "Q8_0"},
    "output_tensor_type": "Q8_0",
    "token_embedding_type": "Q8_0",
    "keep": ["nothing"],
    "effort": "high",
    "target_bpw": 8.0,
    "target_size": "1MB",
    "allow_requantize": True,
    "allow_nonfinite": True,
    "type": "Q8_0",
}
COMPARING: dict[str, Any] = {
    "values": "all",
    "exact": True,
    "fail_over": "cosine<0.999",
    "reencode": True,
    "weights_only": True,
    "map": {"model.norm.weight": "model.norm.weight"},
    "transpose": ["nothing"],
}
#: What cannot be asked for where names are translated.
VERBATIM = {"cast", "rename", "skip_unreadable", "include", "exclude"}
#: Those that need a model of their own: see below.
SPECIAL = {"layout", "group_size", "to_layout", "config", "mmproj"}
KNOWN = WRITING | QUANTIZING | COMPARING


def keywords(verb: Any) -> list[str]:
    parameters = inspect.signature(verb).parameters.values()
    return [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]


def pairs(*verbs: str) -> list[tuple[str, str]]:
    return [
        (verb, key)
        for verb in verbs
        for key in keywords(getattr(wb, verb))
        if key not in SPECIAL and key != "dequantized"
    ]


@pytest.mark.parametrize(("verb", "key"), pairs("convert", "dequantize", "quantize"))
def test_writing(verb: str, key: str, plain: Path, importance: Path, tmp_path: Path) -> None:
    source = TINY if verb == "dequantize" else plain
    # A directory takes a size of shards, a file the rest.
    is_folder = key == "max_shard_size" or verb == "dequantize"
    output = tmp_path / ("out" if is_folder else "out.gguf")
    arguments: dict[str, Any] = {key: importance if key == "imatrix" else KNOWN[key]}
    if key in VERBATIM and verb != "dequantize":
        arguments["names"] = "keep"
    if key == "to" and is_folder:
        arguments["to"] = "safetensors"
    if verb == "quantize" and key not in ("target_bpw", "target_size"):
        arguments["type"] = "Q8_0"
    if verb == "quantize" and key == "max_shard_size":
        arguments["to"] = "gguf"
    called = getattr(wb, verb)(source, output, **arguments)
    assert called["write_bytes"] > 0
    assert output.exists() is not (key == "dry_run")


@pytest.mark.parametrize(("verb", "key"), pairs("verify"))
def test_verifying(verb: str, key: str, plain: Path, importance: Path, tmp_path: Path) -> None:
    value = importance if key == "imatrix" else KNOWN[key]
    made: dict[str, Any] = {key: value}
    if key in VERBATIM:
        made["names"] = "keep"
    output = tmp_path / "out.gguf"
    if key in QUANTIZING:
        made.setdefault("type", "Q8_0")
        if key in ("target_bpw", "target_size"):
            made.pop("type")
        wb.quantize(plain, output, **made)
    else:
        wb.convert(plain, output, **made)
    assert wb.verify(output, plain, **made)["ok"]


@pytest.mark.parametrize(("verb", "key"), pairs("diff"))
def test_comparing(verb: str, key: str) -> None:
    report = wb.diff(TINY, TINY, **{key: KNOWN[key]})
    assert report["schema"] >= 1


#: The options of `stats` and `hash`.
MEASURING: dict[str, Any] = {"values": True, "tensors": True}


@pytest.mark.parametrize(("verb", "key"), pairs("stats", "hash"))
def test_measuring(verb: str, key: str) -> None:
    arguments: dict[str, Any] = {key: (KNOWN | MEASURING)[key]}
    assert getattr(wb, verb)(TINY, **arguments)["schema"] >= 1

    class Nothing:
        pass

    with pytest.raises((TypeError, AttributeError, wb.UsageError)):
        getattr(wb, verb)(TINY, **{key: Nothing()})


def test_layouts(plain: Path, tmp_path: Path) -> None:
    wb.convert(TINY, tmp_path / "moved", to_layout="compressed-tensors")
    assert {weight.scheme for weight in wb.open(tmp_path / "moved").values()} == {"compressed", "plain"}
    assert wb.verify(tmp_path / "moved", TINY, to_layout="compressed-tensors")["ok"]
    for job in (
        lambda: wb.convert(TINY, tmp_path / "out", to_layout="nothing"),
        lambda: wb.quantize(plain, tmp_path / "out", "mlx-4bit", layout="nothing"),
        lambda: wb.quantize(plain, tmp_path / "out.gguf", "Q8_0", group_size=7),
    ):
        with pytest.raises(wb.WeighbridgeError):
            job()


def test_projectors(plain: Path, tmp_path: Path) -> None:
    """The encoder of images becomes a file beside the language model, or alone."""
    model = ROOT / "tests/files/to-mmproj/gemma3/hf"
    wb.convert(model, tmp_path / "gemma.gguf", mmproj="beside")
    assert (tmp_path / "gemma.gguf").exists() and (tmp_path / "mmproj-gemma.gguf").exists()
    wb.convert(model, tmp_path / "vision.gguf", mmproj="only")
    assert wb.verify(tmp_path / "vision.gguf", model, mmproj="only")["ok"]
    wrong: Any = "nothing"
    for job in (
        lambda: wb.convert(plain, tmp_path / "out.gguf", mmproj="only"),
        lambda: wb.convert(model, tmp_path / "out.gguf", mmproj=wrong),
    ):
        with pytest.raises(wb.WeighbridgeError):
            job()


def test_configs(plain: Path, tmp_path: Path) -> None:
    """A file that becomes a repository takes the config of another."""
    gguf = tmp_path / "in.gguf"
    wb.convert(plain, gguf)
    wb.convert(gguf, tmp_path / "out", config=plain)
    assert wb.verify(tmp_path / "out", gguf, config=plain)["ok"]
    assert (tmp_path / "out" / "config.json").exists()
    with pytest.raises(wb.WeighbridgeError):
        wb.quantize(gguf, tmp_path / "small.gguf", "Q8_0", config=plain)


def test_verify_of_what_was_dequantized(tmp_path: Path) -> None:
    wb.dequantize(TINY, tmp_path / "plain")
    assert wb.verify(tmp_path / "plain", TINY, dequantized=True)["ok"]


def test_one_expression_is_not_a_list_of_letters(tmp_path: Path) -> None:
    one = wb.convert(TINY, tmp_path / "a.safetensors", include="mlp", exclude="up_proj")
    many = wb.convert(TINY, tmp_path / "b.safetensors", include=["mlp"], exclude=["up_proj"])
    assert one["write_bytes"] == many["write_bytes"]
    names = list(wb.open(tmp_path / "a.safetensors"))
    assert names and all("mlp" in name and "up_proj" not in name for name in names)


def test_every_keyword_is_covered() -> None:
    for verb in ("convert", "dequantize", "quantize", "verify", "diff", "stats", "hash"):
        known = set(KNOWN) | set(MEASURING)
        missing = set(keywords(getattr(wb, verb))) - known - SPECIAL - {"dequantized"}
        assert not missing, (verb, missing)


@pytest.mark.parametrize(("verb", "key"), pairs("convert", "quantize", "diff"))
def test_wrong_types_are_refused(verb: str, key: str, tmp_path: Path) -> None:
    class Nothing:
        pass

    wrong: Any = Nothing()
    arguments: dict[str, Any] = {"type": "Q8_0"} if verb == "quantize" else {}
    other = TINY if verb == "diff" else tmp_path / "out.gguf"
    with pytest.raises((TypeError, AttributeError, wb.UsageError)):
        getattr(wb, verb)(TINY, other, **(arguments | {key: wrong}))
    assert list(tmp_path.iterdir()) == []
