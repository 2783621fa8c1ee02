"""How models, weights and comparisons show themselves, with names that would do harm."""

from __future__ import annotations

import html.parser
from pathlib import Path

import weighbridge as wb
from shared import FILES, GPTQ, TINY, written_file

#: Markup, an attribute's end, a cursor that moves, a reading direction that turns, a bell.
NAMES = [
    "<script>alert(1)</script>",
    "a\"onmouseover='x'",
    "&lt;b&gt;",
    "red\x1b[31m\x07",
    "line\nbreak\r\t",
    "\u202egpj.exe",
    "nul\0zero\u200b",
    "日本語 😀",
]


class Tags(html.parser.HTMLParser):
    """Checks that tags are closed, and collects tags and text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert {key for key, _ in attrs} <= {"style"}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def check(text: str) -> Tags:
    tags = Tags(text)
    usual = {"table", "caption", "thead", "tbody", "tr", "th", "td", "b", "br", "ul", "li", "p"}
    assert tags.seen <= usual, tags.seen
    assert all(c.isprintable() for c in text), "something moves the cursor"
    return tags


def hostile(place: Path) -> Path:
    numbers = bytes(range(8)) * 4
    return written_file(
        place / "<b>evil<i>.safetensors", {name: ("F32", [2, 4], numbers) for name in NAMES}
    )


def test_a_model(tmp_path: Path) -> None:
    with wb.open(hostile(tmp_path)) as model:
        assert list(model) == NAMES
        text = check(model._repr_html_()).text
        assert "<b>evil<i>" in text and "plain" in text and "8 weights" in text
        assert repr(model).isprintable()
    assert check(model._repr_html_()).text.endswith("closed>")


def test_weights(tmp_path: Path) -> None:
    with wb.open(hostile(tmp_path)) as model:
        for name, weight in model.items():
            assert weight.name == name
            text = check(weight._repr_html_()).text
            assert repr(weight).isprintable() and "[2, 4] F32" in text
            if name.isprintable():
                assert name in text and name in repr(weight)
            else:
                assert name not in text and name not in repr(weight)
    assert "[2, 4]" in check(weight._repr_html_()).text


def test_a_quantized_weight(tiny: wb.Model) -> None:
    text = check(tiny[GPTQ]._repr_html_()).text
    for word in ("gptq/4bit-g32", "qweight", "scales", "bits per weight"):
        assert word in text
    assert "40.6 %" in check(tiny._repr_html_()).text


def test_problems_and_what_cannot_be_decoded() -> None:
    with wb.open(FILES / "pth" / "odd_keys.pth") as model:
        assert "duplicate-name" in check(model._repr_html_()).text
        assert "1 problems" in repr(model)
    with wb.open(FILES / "pth" / "numpy.pth") as model:
        assert "cannot be decoded" in check(model["text"]._repr_html_()).text


def test_every_sample_is_shown() -> None:
    for path in sorted((FILES / "gguf").glob("*.gguf")):
        with wb.open(path) as model:
            check(model._repr_html_())
            for weight in model.values():
                check(weight._repr_html_())


def test_a_comparison(tmp_path: Path) -> None:
    one = hostile(tmp_path)
    other = written_file(
        tmp_path / "other.safetensors",
        {name: ("F32", [2, 4], bytes(32)) for name in [*NAMES[1:], "<i>new</i>"]},
    )
    report = wb.diff(one, other)
    assert not report["ok"]
    text = check(report._repr_html_()).text  # type: ignore[attr-defined]
    assert "changed" in text and "names on one side only" in text
    same = wb.diff(TINY, TINY)
    assert same["ok"] and "same model" in check(same._repr_html_()).text  # type: ignore[attr-defined]
    many = written_file(
        tmp_path / "many.safetensors", {f"w{at}": ("F32", [1], bytes(4)) for at in range(50)}
    )
    report = wb.diff(many, many, values="all")
    if len(report["tensors"]) > 20:
        assert "more" in check(report._repr_html_()).text  # type: ignore[attr-defined]


def test_names_are_completed() -> None:
    with wb.open(TINY) as model:
        assert model._ipython_key_completions_() == list(model)
    assert model._ipython_key_completions_() == []
