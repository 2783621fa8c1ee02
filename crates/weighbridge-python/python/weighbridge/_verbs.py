"""The verbs of the command. Each returns its JSON report as a typed dictionary."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, cast

from . import _html
from . import _weighbridge as native
from ._address import location
from ._errors import UsageError, VerificationError
from ._model import Model, expressions
from ._open import ModelLike, Rules, StrPath, open, pairs
from ._progress import Progress, shown

if TYPE_CHECKING:
    from ._reports import (
        ConvertReport,
        DiffReport,
        FamiliesReport,
        HashReport,
        InspectReport,
        ShowReport,
        StatsReport,
        VerifyReport,
    )

OutputDType = Literal["auto", "native", "f32", "bf16", "f16", "keep"]
Names = Literal["auto", "keep", "hf", "gguf"]
Mmproj = Literal["beside", "only"]
#: A number of bytes, or text such as "5GB".
Size = int | str
#: A metadata value, or a GGUF type and a value: `("u32", 7)`.
MetadataValue = bool | int | float | str | tuple[str, bool | int | float | str]


class _ShownDiff(dict[str, Any]):
    """A comparison that notebooks display as a table."""

    def _repr_html_(self) -> str:
        return _html.diff(cast("DiffReport", self))


def _threads(threads: int, name: str) -> int:
    if not hasattr(threads, "__index__"):
        raise TypeError(f"{name} must be an integer, not {threads!r}")
    if not threads < 1 << 31:
        raise UsageError(f"{threads} threads are too many")
    if threads < 1:
        raise UsageError(f"threads must be at least 1, not {threads}; omit it to use all cores")
    return threads


def _size(size: Size, name: str) -> Size:
    if not (isinstance(size, str) or hasattr(size, "__index__")):
        raise TypeError(f"{name} must be a number of bytes or text like '5GB', not {size!r}")
    if not (isinstance(size, str) or 0 <= size < 1 << 64):
        raise UsageError(f"{name} must be a number of bytes or text like '5GB', not {size}")
    return size


def _entries(metadata: Mapping[str, MetadataValue], _name: str) -> list[tuple[str, Any]]:
    """Metadata entries, checked to fit GGUF types."""
    entries: list[tuple[str, Any]] = []
    for key, given in metadata.items():
        if not isinstance(key, str):
            raise TypeError(f"a metadata key must be a string, not {key!r}")
        is_typed = isinstance(given, tuple) and len(given) == 2
        kind, value = cast("tuple[Any, Any]", given) if is_typed else (None, given)
        if hasattr(value, "item"):
            # A numpy scalar.
            value = value.item()
        if not isinstance(value, (bool, int, float, str)):
            raise TypeError(f"metadata {key!r}: {value!r} is not a number, string or bool")
        if kind is not None:
            _refuse_unfit(key, kind, value)
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
            raise UsageError(f"{key}: {value} does not fit into 64 bits")
        if kind in ("f32", "f64") and not isinstance(value, (bool, str)):
            value = float(value)
        entries.append((key, value if kind is None else (kind, value)))
    return entries


def _refuse_unfit(key: str, kind: object, value: object) -> None:
    """An error if a metadata value does not fit its type."""
    kinds = [f"{sign}{bits}" for sign in "ui" for bits in (8, 16, 32, 64)]
    if kind not in (*kinds, "f32", "f64", "bool", "str", "string"):
        known = ", ".join(kinds)
        raise UsageError(f"metadata {key!r}: unknown type {kind!r}; use {known}, f32, f64, bool or str")
    if kind not in kinds:
        wanted = {"bool": bool, "str": str, "string": str}.get(str(kind), (int, float))
        fits = isinstance(value, wanted) and (kind == "bool" or not isinstance(value, bool))
    elif isinstance(value, int) and not isinstance(value, bool):
        bits = int(str(kind)[1:])
        low, high = (0, 1 << bits) if str(kind)[0] == "u" else (-(1 << bits - 1), 1 << bits - 1)
        fits = low <= value < high
    else:
        fits = False
    if not fits:
        raise UsageError(f"metadata {key!r}: {value!r} does not fit {kind}")


def _slice(given: slice | str, name: str) -> str:
    """A slice in the syntax of the command."""
    if isinstance(given, str):
        return given
    if not isinstance(given, slice):
        raise TypeError(f"{name} is a slice or text like '0:4', not {given!r}")
    if given.step not in (None, 1):
        raise UsageError(f"{name} takes no step: the values are read in order")
    ends = ["" if end is None else str(operator.index(end)) for end in (given.start, given.stop)]
    return ":".join(ends)


#: Conversions of arguments for the native part. Others are passed unchanged.
_PLAIN: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("cast", "map", "rename", "tensor_type"), pairs),
    **dict.fromkeys(("exclude", "include", "keep", "transpose"), lambda one, _: expressions(one)),
    **dict.fromkeys(("max_memory", "max_output", "max_shard_size", "target_size"), _size),
    **dict.fromkeys(("cols", "rows"), _slice),
    "metadata": _entries,
    "threads": _threads,
}
#: Arguments that are not options.
_OTHERS = ("a", "against", "b", "dequantized", "name", "output", "progress", "source", "stats")


def _asked(arguments: dict[str, Any]) -> dict[str, Any]:
    """The options of a call, by argument name."""
    return {
        name: _PLAIN[name](value, name) if name in _PLAIN else value
        for name, value in arguments.items()
        if name not in _OTHERS and value is not None
    }


@contextmanager
def _opened(source: Model | ModelLike) -> Iterator[Model]:
    """Yields the model, and closes it if it was opened here."""
    if isinstance(source, Model):
        yield source
        return
    with open(source) as model:
        yield model


def inspect(
    source: Model | ModelLike,
    *,
    tensors: bool = False,
    full_metadata: bool = False,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
) -> InspectReport:
    """Describes a model from its headers. Returns the JSON report of `weigh inspect`.

    >>> import weighbridge as wb
    >>> report = wb.inspect("samples/tiny-llama-gptq")
    >>> report["weights"], report["stored_tensors"], report["problems"]
    (21, 63, [])
    """
    with _opened(source) as model:
        return model.report(
            tensors=tensors, full_metadata=full_metadata, include=include, exclude=exclude
        )


def convert(
    source: Model | ModelLike,
    output: StrPath,
    *,
    to: str | None = None,
    dtype: OutputDType = "auto",
    names: Names = "auto",
    config: StrPath | None = None,
    to_layout: str | None = None,
    mmproj: Mmproj | None = None,
    pre_tokenizer: str | None = None,
    mtp: bool = False,
    no_mtp: bool = False,
    cast: Rules | None = None,
    rename: Rules | None = None,
    metadata: Mapping[str, MetadataValue] | None = None,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    skip_unreadable: bool = False,
    force: bool = False,
    resume: bool = False,
    dry_run: bool = False,
    verify: bool = False,
    modelfile: bool = False,
    allow_lossy_config: bool = False,
    max_shard_size: Size | None = None,
    max_output: Size | None = None,
    threads: int | None = None,
    max_memory: Size | None = None,
    progress: Progress = None,
) -> ConvertReport:
    """Converts a model to one file or a directory of shards. The extension of `output` selects
    safetensors, GGUF, NPZ or NPY. The arguments are the flags of `weigh convert`.

    >>> import weighbridge as wb
    >>> report = wb.convert("samples/tiny-llama-gptq", "tiny.gguf", verify=True)
    >>> report["write_bytes"], report["verified"]["ok"]
    (222304, True)

    The output gets its name once it is complete. `verify` reads it back and compares it with the
    source. If it is wrong, it is deleted and `VerificationError` is raised.
    """
    asked = _asked(locals())
    with _opened(source) as model, shown(progress, "converting") as show:
        return _written(native.convert(model._native, os.fsdecode(output), asked, show))


def dequantize(
    source: Model | ModelLike,
    output: StrPath,
    *,
    to: str | None = None,
    dtype: OutputDType = "auto",
    cast: Rules | None = None,
    rename: Rules | None = None,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    skip_unreadable: bool = False,
    force: bool = False,
    resume: bool = False,
    dry_run: bool = False,
    verify: bool = False,
    follow_links: bool = False,
    max_shard_size: Size | None = None,
    max_output: Size | None = None,
    threads: int | None = None,
    max_memory: Size | None = None,
    progress: Progress = None,
) -> ConvertReport:
    """Writes the model with plain weights, in the same format and with all files of its repository.
    `from_pretrained` loads the result without the scheme's library. The arguments are the flags of
    `weigh dequantize`."""
    asked = _asked(locals())
    target = os.fsdecode(output)
    components = _components(source)
    if components is not None:
        with shown(progress, "dequantizing") as show:
            return _written(native.dequantize(components, True, target, asked, show))
    with _opened(source) as model, shown(progress, "dequantizing") as show:
        return _written(native.dequantize([model._native], False, target, asked, show))


def _components(source: Model | ModelLike) -> list[native.Model] | None:
    """The components of a pipeline, or `None`."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    return native.open_pipeline(location(source), {"mmap": False})


def quantize(
    source: Model | ModelLike,
    output: StrPath,
    type: str | None = None,
    *,
    to: str | None = None,
    imatrix: StrPath | None = None,
    pure: bool = False,
    tensor_type: Rules | None = None,
    output_tensor_type: str | None = None,
    token_embedding_type: str | None = None,
    keep: Iterable[str] = (),
    layout: str | None = None,
    group_size: int | None = None,
    effort: Literal["usual", "high"] = "usual",
    target_bpw: float | None = None,
    target_size: Size | None = None,
    allow_requantize: bool = False,
    allow_nonfinite: bool = False,
    names: Names = "auto",
    config: StrPath | None = None,
    mmproj: Mmproj | None = None,
    pre_tokenizer: str | None = None,
    mtp: bool = False,
    no_mtp: bool = False,
    rename: Rules | None = None,
    metadata: Mapping[str, MetadataValue] | None = None,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    force: bool = False,
    resume: bool = False,
    dry_run: bool = False,
    verify: bool = False,
    modelfile: bool = False,
    allow_lossy_config: bool = False,
    max_shard_size: Size | None = None,
    threads: int | None = None,
    max_memory: Size | None = None,
    progress: Progress = None,
) -> ConvertReport:
    """Quantizes a model to `type`, one of `quantizers()`, or to `target_bpw` or `target_size`. The
    arguments are the flags of `weigh quantize`. The report has the error under `quantized`.

    >>> import weighbridge as wb
    >>> report = wb.quantize("samples/tiny-llama-gptq", "small.gguf", "Q8_0", allow_requantize=True)
    >>> round(report["quantized"]["cost"]["snr_db"], 1)
    45.8
    """
    asked = _asked(locals())
    with _opened(source) as model, shown(progress, "quantizing") as show:
        return _written(native.quantize(model._native, os.fsdecode(output), asked, show))


def families(*names: str) -> FamiliesReport:
    """Lists the model families that convert to GGUF and back, or those with these names, and returns
    the JSON report of `weigh families`.

    >>> import weighbridge as wb
    >>> [family["architecture"] for family in wb.families("Qwen3MoeForCausalLM")["families"]]
    ['qwen3moe']
    """
    report: FamiliesReport = json.loads(native.families(list(names)))
    return report


def quantizers() -> dict[str, str]:
    """The types that `quantize` supports, with a description of each."""
    return dict(native.quantizers())


def verify(
    output: Model | ModelLike,
    against: Model | ModelLike,
    *,
    dequantized: bool = False,
    type: str | None = None,
    imatrix: StrPath | None = None,
    pure: bool = False,
    tensor_type: Rules | None = None,
    output_tensor_type: str | None = None,
    token_embedding_type: str | None = None,
    keep: Iterable[str] = (),
    layout: str | None = None,
    group_size: int | None = None,
    effort: Literal["usual", "high"] = "usual",
    target_bpw: float | None = None,
    target_size: Size | None = None,
    allow_requantize: bool = False,
    allow_nonfinite: bool = False,
    to: str | None = None,
    dtype: OutputDType = "auto",
    names: Names = "auto",
    config: StrPath | None = None,
    to_layout: str | None = None,
    mmproj: Mmproj | None = None,
    pre_tokenizer: str | None = None,
    mtp: bool = False,
    no_mtp: bool = False,
    cast: Rules | None = None,
    rename: Rules | None = None,
    metadata: Mapping[str, MetadataValue] | None = None,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    skip_unreadable: bool = False,
    threads: int | None = None,
    max_memory: Size | None = None,
    progress: Progress = None,
) -> VerifyReport:
    """Recomputes `output` from `against` and compares every weight bit for bit. Pass the arguments
    that the output was created with. `ok` is the verdict.

    >>> import weighbridge as wb
    >>> _ = wb.dequantize("samples/tiny-llama-gptq", "plain")
    >>> wb.verify("plain", "samples/tiny-llama-gptq")["ok"]
    True
    """
    asked = _asked(locals())
    parts, of = _components(output), _components(against)
    if parts is not None and of is not None:
        with shown(progress, "verifying") as show:
            return _verified(native.verify(parts, of, True, dequantized, asked, show))
    with _opened(output) as made, _opened(against) as model, shown(progress, "verifying") as show:
        pair = ([made._native], [model._native])
        return _verified(native.verify(*pair, False, dequantized, asked, show))


def diff(
    a: Model | ModelLike,
    b: Model | ModelLike,
    *,
    values: Literal["none", "differing", "all"] = "differing",
    exact: bool = False,
    weights_only: bool = False,
    fail_over: str | None = None,
    reencode: bool = False,
    skip_unreadable: bool = False,
    map: Rules | None = None,
    rename: Rules | None = None,
    transpose: Iterable[str] = (),
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    threads: int | None = None,
    max_memory: Size | None = None,
    progress: Progress = None,
) -> DiffReport:
    """Compares two models across formats and precisions. `ok` is the verdict. Returns the JSON
    report of `weigh diff`, which notebooks display as a table.

    >>> import weighbridge as wb
    >>> sample = "tests/files/names/qwen3-q8"
    >>> report = wb.diff(f"{sample}/hf", f"{sample}/model.gguf")
    >>> report["ok"], report["summary"]["within_precision"]
    (True, 7)
    """
    asked = _asked(locals())
    with _opened(a) as one, _opened(b) as other, shown(progress, "comparing") as show:
        text = native.diff(one._native, other._native, asked, show)
    report = cast("DiffReport", _ShownDiff(json.loads(text)))
    is_chosen = bool(asked["include"] or asked["exclude"])
    if is_chosen and not (report["tensors"] or report["only_a"] or report["only_b"]):
        raise UsageError("include and exclude select no weights")
    return report


def stats(
    source: Model | ModelLike,
    *,
    skip_unreadable: bool = False,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    threads: int | None = None,
    max_memory: Size | None = None,
    progress: Progress = None,
) -> StatsReport:
    """Measures the values of every weight: mean, deviation, extremes, quantiles, and what looks
    wrong. Returns the JSON report of `weigh stats`, with the most suspicious weights first.

    >>> import weighbridge as wb
    >>> report = wb.stats("samples/tiny-llama-gptq")
    >>> report["weights"], report["nan"], report["infinite"]
    (21, 0, 0)
    """
    asked = _asked(locals())
    with _opened(source) as model, shown(progress, "measuring") as show:
        report: StatsReport = json.loads(native.stats(model._native, asked, show))
    return report


def hash(
    source: Model | ModelLike,
    *,
    values: bool = False,
    tensors: bool = False,
    skip_unreadable: bool = False,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    threads: int | None = None,
    max_memory: Size | None = None,
    progress: Progress = None,
) -> HashReport:
    """Hashes a model with BLAKE3 and returns the JSON report of `weigh hash`.

    By default it hashes the stored bytes. `values` hashes the decoded values as f32, so formats can
    be compared. `tensors` lists the hash of every weight.

    >>> import weighbridge as wb
    >>> report = wb.hash("samples/tiny-llama-gptq", tensors=True)
    >>> len(report["hash"]), len(report["tensors"])
    (64, 21)
    """
    asked = _asked(locals())
    with _opened(source) as model, shown(progress, "hashing") as show:
        report: HashReport = json.loads(native.hash(model._native, asked, show))
    return report


def show(
    source: Model | ModelLike,
    name: str,
    *,
    rows: slice | str | None = None,
    cols: slice | str | None = None,
    dtype: Literal["f32", "bf16", "f16"] | None = None,
    stats: bool = False,
) -> ShowReport:
    """Reads some values of one weight and returns the JSON report of `weigh show`.

    `name` is the name of a weight, or a suffix that only one weight has. `rows` selects from the
    first dimension and `cols` from the last: a slice, or text such as `"0:4"`. `stats` adds mean,
    extremes and quantiles of the selected values.

    >>> import weighbridge as wb
    >>> wb.show("samples/tiny-llama-gptq", "model.norm.weight", rows=slice(0, 3), dtype="f32")["shape"]
    [64]
    """
    asked = _asked(locals())
    if not isinstance(name, str):
        raise TypeError(f"name is the name of a weight, not {name!r}")
    with _opened(source) as model:
        report: ShowReport = json.loads(native.show(model._native, name, stats, asked))
    return report


def _verified(text: str) -> VerifyReport:
    """Parses the report of a verification."""
    report: VerifyReport = json.loads(text)
    return report


def _written(text: str) -> ConvertReport:
    """Parses the report of a conversion; raises if verification failed."""
    report: ConvertReport = json.loads(text)
    verified = report.get("verified")
    if verified is not None and not verified["ok"]:
        error = VerificationError("verification failed: the output does not match its source and was deleted")
        error.report = report
        raise error
    return report
