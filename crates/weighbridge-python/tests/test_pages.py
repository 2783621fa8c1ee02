"""What the pages and the examples show is so."""

from __future__ import annotations

import doctest
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from elsewhere import Hub, Storage, running
from shared import ROOT, TINY

PAGES = ["README.md", "docs/python.md", "crates/weighbridge-python/README.md"]
EXAMPLES = sorted((ROOT / "crates/weighbridge-python/examples").glob("*.py"))
#: Libraries that an example is about, and that may be absent.
NEEDS = {"jax_arrays": "jax", "torch_module": "torch"}


@pytest.fixture
def beside_the_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to write to, from which the repository's files have the names that pages use."""
    for name in ("samples", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The Hub, with the repositories that pages name."""
    storage = Storage()
    server = Hub(storage)
    server.add("owner/tiny-llama-gptq", TINY)
    monkeypatch.setenv("HF_ENDPOINT", server.url())
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_PROXY", "localhost")
    with running(server, storage):
        yield


@pytest.mark.parametrize("page", PAGES)
def test_pages_show_what_happens(page: str, beside_the_samples: Path, hub: None) -> None:
    result = doctest.testfile(str(ROOT / page), module_relative=False, encoding="utf-8")
    assert result.attempted > 3
    assert result.failed == 0


def test_every_example_is_run() -> None:
    assert len(EXAMPLES) == 5


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example: Path, beside_the_samples: Path) -> None:
    if example.stem in NEEDS:
        pytest.importorskip(NEEDS[example.stem])
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout
