"""Work that lasts, without large files: a file object that takes its time."""

from __future__ import annotations

import io
import time
from pathlib import Path


class SlowFile(io.BytesIO):
    """Reads slowly once it is told to. It is no plain file, so every read goes through here."""

    pause = 0.0

    def read(self, size: int | None = -1, /) -> bytes:
        time.sleep(self.pause)
        return super().read(size)


def many_weights(path: Path, count: int = 40) -> Path:
    """A safetensors file of small weights."""
    from shared import written_file

    tensors = {f"w{at:03}": ("F32", [64, 4], bytes([at % 251]) * 1024) for at in range(count)}
    return written_file(path, tensors)
