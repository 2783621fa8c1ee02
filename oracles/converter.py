"""llama.cpp's converter, out of the source tree that is a script's first argument. The second is where files go.

`ggml_build.sh DIR` leaves that tree in DIR/src/vendor/llama.cpp.
"""

import os
import sys
from pathlib import Path

LLAMA_CPP, OUT, *CHOSEN = [os.path.abspath(path) for path in sys.argv[1:3]] + sys.argv[3:]
sys.path[:0] = [LLAMA_CPP, os.path.join(LLAMA_CPP, "gguf-py")]
import gguf  # noqa: E402
from conversion import ModelBase, ModelType, get_model_architecture, get_model_class  # noqa: E402

TYPES = {
    "f32": "ALL_F32",
    "f16": "MOSTLY_F16",
    "bf16": "MOSTLY_BF16",
    "q8_0": "MOSTLY_Q8_0",
    "auto": "GUESSED",
}


def class_for(folder, hparams=None, mend=None):
    """The class that converts a repository: its own in each case, so that changes of it stay with the case."""
    hparams = hparams or ModelBase.load_hparams(Path(folder), False)
    kind = get_model_class(get_model_architecture(hparams, ModelType.TEXT))
    # What a class gathers would stay for the next model.
    gathered = {name: {} for name in ["lerp_weights"] if hasattr(kind, name)}
    kind = type(kind.__name__, (kind,), {"model_arch": kind.model_arch, **gathered})
    if mend:
        mend(kind)
    return kind


def source(mend):
    name, version = "convert_hf_to_gguf.py of llama-cpp-python", "0.3.36"
    return (name, version) if mend is None else (name, f"{version}, mended: {mend.__doc__}")


def converting(kind, folder, type, out, **options):
    return kind(Path(folder), gguf.LlamaFileType[TYPES[type]], Path(out), **options)
