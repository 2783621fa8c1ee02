"""llama.cpp's converter on a repository whose vocabulary it does not know.

    python to_gguf.py LLAMA_CPP MODEL OUT

The name of the pre-tokenizer is given to it; everything else is its own work, as its command does it.
"""

import logging
import os
import sys
from pathlib import Path

tree, model, out = sys.argv[1:]
sys.path[:0] = [tree, os.path.join(tree, "gguf-py")]

import gguf  # noqa: E402
import torch  # noqa: E402
from conversion import ModelBase, ModelType, get_model_architecture, get_model_class  # noqa: E402

logging.disable(logging.CRITICAL)
with torch.inference_mode():
    settings = ModelBase.load_hparams(Path(model), False)
    kind = get_model_class(get_model_architecture(settings, ModelType.TEXT))
    kind.get_vocab_base_pre = lambda *_: "qwen2"
    kind(Path(model), gguf.LlamaFileType.MOSTLY_BF16, Path(out)).write()
