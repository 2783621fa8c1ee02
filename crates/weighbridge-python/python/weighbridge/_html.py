"""Renders models, weights and comparisons as one line, and as HTML tables for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ._model import Weight
    from ._reports import DiffReport, InspectReport

__all__ = [
    "bytes_text",
    "count_text",
    "diff",
    "escape",
    "model",
    "model_line",
    "printable",
    "weight",
    "weight_line",
]

#: Rows of a table in a notebook; a diff may have thousands.
MOST_ROWS = 20


def count_text(count: int) -> str:
    """A parameter count with a unit."""
    for unit, scale in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("K", 10**3)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return str(count)


def bytes_text(count: int) -> str:
    """A size with a unit."""
    for unit, scale in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} B"


def printable(text: str) -> str:
    """Text from a file with control and bidirectional characters escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def model_line(report: InspectReport) -> str:
    """A model in one line."""
    bits = report["bits_per_weight"]
    said = [
        f"{printable(report['path'])}: {report['format']}",
        f"{report['weights']} weights",
        f"{count_text(report['parameters'])} parameters",
        *([] if bits is None else [f"{bits:.2f} bits per weight"]),
        *([f"{len(report['problems'])} problems"] if report["problems"] else []),
    ]
    return f"<Model {', '.join(said)}>"


def weight_line(weight: Weight) -> str:
    """A weight in one line."""
    shape = list(weight.shape)
    stored = weight.scheme if weight.scheme == "plain" else f"{weight.scheme}/{weight.variant}"
    return f"<Weight {printable(weight.name)}: {shape} {weight.dtype}, {stored}>"


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]], caption: str) -> str:
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    lines = ["".join(f"<td>{escape(printable(str(cell)))}</td>" for cell in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f"<table><caption style='text-align: left'>{caption}</caption>"
        f"<thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
    )


def model(report: InspectReport) -> str:
    """A model as a table of its schemes, with a list of problems."""
    line = escape(model_line(report)[len("<Model ") : -1])
    total = sum(scheme["bytes"] for scheme in report["schemes"]) or 1
    rows = [
        (
            scheme["scheme"],
            scheme["variant"],
            scheme["weights"],
            count_text(scheme["parameters"]),
            bytes_text(scheme["bytes"]),
            f"{100 * scheme['bytes'] / total:.1f} %",
        )
        for scheme in report["schemes"]
    ]
    head = ("scheme", "variant", "weights", "parameters", "bytes", "share")
    problems = [
        f"<li><b>{escape(printable(one['kind']))}</b> {escape(printable(one['message']))}</li>"
        for one in report["problems"][:MOST_ROWS]
    ]
    listed = f"<ul>{''.join(problems)}</ul>" if problems else ""
    return _table(head, rows, f"<b>{line}</b>") + listed


def weight(weight: Weight) -> str:
    """A weight as a table of its parts."""
    line = escape(weight_line(weight)[len("<Weight ") : -1])
    if weight.undecodable is not None:
        line += f"<br>cannot be decoded: {escape(printable(weight.undecodable))}"
    if weight.model.closed:
        return f"<b>{line}</b>"
    bits = 8 * weight.nbytes / weight.size if weight.size else 0.0
    rows = [
        (one.role, one.name, one.dtype, list(one.shape), bytes_text(one.nbytes))
        for one in weight.parts
    ]
    caption = f"<b>{line}</b>, {bits:.2f} bits per weight"
    return _table(("part", "stored as", "type", "shape", "bytes"), rows, caption)


def _figure(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def diff(report: DiffReport) -> str:
    """A comparison as a table, largest differences first."""
    summary: Any = report["summary"]
    verdict = "same model" if report["ok"] else "changed"
    counts = ", ".join(
        f"{summary[key]} {key.replace('_', ' ')}"
        for key in (
            "identical",
            "equal_after_rounding",
            "within_precision",
            "changed",
            "shape_mismatch",
            "undecoded",
        )
        if summary.get(key)
    )
    tensors: list[Any] = list(report["tensors"])
    order = {"changed": 0, "shape": 0, "undecoded": 1, "within-precision": 2}
    tensors.sort(key=lambda one: (order.get(one["status"], 3), -(one.get("relative") or 0.0)))
    rows = [
        (
            one["name_a"],
            one.get("scheme_a"),
            one.get("scheme_b"),
            _figure(one.get("snr_db"), ".1f"),
            _figure(one.get("cosine"), ".6f"),
            _figure(one.get("max_abs"), ".3g"),
            one["status"],
        )
        for one in tensors[:MOST_ROWS]
    ]
    head = ("weight", "A", "B", "SNR dB", "cosine", "max diff", "status")
    more = len(tensors) - MOST_ROWS
    one_sided = len(report["only_a"]) + len(report["only_b"])
    tail = f"<p>and {more} more</p>" if more > 0 else ""
    tail += f"<p>{one_sided} names on one side only</p>" if one_sided else ""
    return _table(head, rows, f"<b>{verdict}: {escape(counts)}</b>") + tail
