"""The examples of the documentation strings, run as they are written."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import weighbridge
from shared import ROOT

#: Modules that begin to work when they are imported.
LEFT_OUT = {"weighbridge.__main__", "weighbridge._weighbridge"}


def test_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("samples", "tests"):
        (tmp_path / name).symlink_to(ROOT / name, target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    modules = {"weighbridge"}
    modules |= {one.name for one in pkgutil.iter_modules(weighbridge.__path__, "weighbridge.")}
    tried = 0
    for name in sorted(modules - LEFT_OUT):
        failed, count = doctest.testmod(importlib.import_module(name))
        assert failed == 0, name
        tried += count
    assert tried >= 15
