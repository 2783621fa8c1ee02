"""What the pages and the examples show is so."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from elsewhere import Hub, Storage, running
from shared import ROOT, TINY, environment

import weighbridge as wb

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


NOTEBOOKS = sorted((ROOT / "crates/weighbridge-python/examples").glob("*.ipynb"))


def outputs(notebook: Any) -> list[str]:
    """What the cells print and return, as text."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            found.append(output.get("text") or output.get("data", {}).get("text/plain", ""))
    return found


def test_there_is_a_notebook() -> None:
    assert [path.name for path in NOTEBOOKS] == ["tour.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(
    path: Path, beside_the_samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook runs from top to bottom and gives the outputs that are stored in it. `BLESS=1`
    stores new ones."""
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    stored = nbformat.read(path, as_version=4)
    fresh = nbformat.from_dict(stored)
    nbclient.NotebookClient(fresh, timeout=120, kernel_name="python3").execute()
    if os.environ.get("BLESS"):
        fresh.metadata = stored.metadata
        for cell in fresh.cells:
            cell.metadata = {}
        nbformat.write(fresh, path)
    assert outputs(fresh) == outputs(nbformat.read(path, as_version=4))


def test_data_frames(beside_the_samples: Path) -> None:
    """The lines under that heading, as they are on the page."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("polars", reason="polars is not installed")
    page = (ROOT / "docs/python.md").read_text()
    found = re.search(r"## Data frames\n.*?```python\n(.*?)```", page, re.DOTALL)
    assert found is not None
    names: dict[str, Any] = {"wb": wb}
    exec(found[1], names)
    table = names["table"]
    assert isinstance(table, pandas.DataFrame) and len(table) == 21
    *_, by_scheme, measured = found[1].strip().split("\n")
    assert dict(eval(by_scheme, names)) == {"gptq": 46720, "plain": 68224}
    assert eval(measured, names).shape == (21, 3)
