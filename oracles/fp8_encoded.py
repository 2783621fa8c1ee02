#!/usr/bin/env python3
"""Write small models and what transformers makes of them in 8-bit floats.

tests/files/encoded-fp8/source-TYPE   one layer of a Llama (`encoded_weights.py`) whose sides are no
                                      multiples of 128
tests/files/encoded-fp8/block-TYPE    128 x 128 blocks by transformers' `Fp8Quantize`. It leaves weights
                                      alone whose sides are no whole blocks, so it is given them with
                                      zeros to the next multiple, and these are cut off again. The
                                      section of the config is that of a model that transformers
                                      quantizes and saves, with the check for a GPU switched off.
tests/files/encoded-fp8/tensor-TYPE   the same with one block for all. The scale has the name that
                                      vLLM loads, and the config the keys that AutoFP8 wrote: no
                                      library writes this on a CPU.

Usage: fp8_encoded.py [project folder]
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, FineGrainedFP8Config, LlamaConfig, LlamaForCausalLM
from transformers.integrations.finegrained_fp8 import Fp8Quantize
from transformers.quantizers.quantizer_finegrained_fp8 import FineGrainedFP8HfQuantizer

from encoded_weights import fill

torch.set_num_threads(1)
ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
OUT = ROOT / "tests/files/encoded-fp8"
SIDES = {
    "bf16": dict(hidden_size=136, intermediate_size=16, num_attention_heads=17),
    "f16": dict(hidden_size=132, intermediate_size=16, num_attention_heads=2),
    "f32": dict(hidden_size=132, intermediate_size=12, num_attention_heads=1),
}
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
SKIPPED = ["lm_head"]


def llama(dtype, **sides):
    config = LlamaConfig(
        num_hidden_layers=1, num_key_value_heads=1, head_dim=8, vocab_size=8,
        max_position_embeddings=32, dtype=str(dtype).removeprefix("torch."),
        architectures=["LlamaForCausalLM"], **sides)
    return LlamaForCausalLM(config).to(dtype)


def section():
    """What transformers writes into a config."""
    FineGrainedFP8HfQuantizer.validate_environment = lambda *_, **__: None
    settings = FineGrainedFP8Config(modules_to_not_convert=SKIPPED)
    sides = dict(hidden_size=128, intermediate_size=128, num_attention_heads=16)
    with tempfile.TemporaryDirectory() as plain, tempfile.TemporaryDirectory() as written:
        llama(torch.bfloat16, **sides).save_pretrained(plain)
        loaded = AutoModelForCausalLM.from_pretrained(
            plain, quantization_config=settings, dtype=torch.bfloat16)
        loaded.save_pretrained(written)
        return json.load(open(Path(written) / "config.json"))["quantization_config"]


class Settings:
    """All that the operation asks of its quantizer."""

    def __init__(self, block):
        self.quantization_config = FineGrainedFP8Config(weight_block_size=block)


def blocks(tensors):
    operation, done = Fp8Quantize(Settings((128, 128))), {}
    for name, weight in tensors.items():
        rows, columns = weight.shape
        padded = torch.nn.functional.pad(weight, (0, -columns % 128, 0, -rows % 128))
        for key, value in operation.convert({name: padded}).items():
            done[key] = value[:rows, :columns].contiguous() if key == name else value
    return done


def whole(tensors):
    operation, done = Fp8Quantize(Settings(None)), {}
    for name, weight in tensors.items():
        made = operation.convert({name: weight})
        done[name] = made[name]
        done[name + "_scale"] = made[name + "_scale_inv"].reshape(())
    return done


def write(case, source, tensors, section):
    folder = OUT / case
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    config = json.load(open(source / "config.json"))
    config["quantization_config"] = section
    text = json.dumps(config, indent=2, sort_keys=True) + "\n"
    (folder / "config.json").write_text(text)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


AUTO = {"activation_scheme": "dynamic", "ignored_layers": SKIPPED, "quant_method": "fp8"}

for name, dtype in TYPES.items():
    source = OUT / f"source-{name}"
    shutil.rmtree(source, ignore_errors=True)
    fill(llama(dtype, **SIDES[name]), seed=len(name)).save_pretrained(source)
    os.remove(source / "generation_config.json")
    tensors = load_file(source / "model.safetensors")
    linear = {k: v for k, v in tensors.items() if "_proj" in k}
    rest = {k: v for k, v in tensors.items() if k not in linear}
    write(f"block-{name}", source, {**rest, **blocks(linear)}, section())
    write(f"tensor-{name}", source, {**rest, **whole(linear)}, AUTO)
