#!/usr/bin/env python3
"""Write one GPTQ layer with the older writer, AutoGPTQ 0.7.1.

The library asks for a GPU before it quantizes, so three of its names
are redirected here; the arithmetic then runs on the CPU. The
saved folder is kept as written except that only one layer stays in the file:
act-order, asymmetric, with a bias, and with the quantization settings in
quantize_config.json only, as files of that age have them; the file is called
model.safetensors, as it was published more often than not. Expected values come from
the library's own layer, multiplied by an identity matrix.

Usage: gptq_autogptq.py [project folder]
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch

torch.set_num_threads(1)

import auto_gptq
from auto_gptq import AutoGPTQForCausalLM, BaseQuantizeConfig
from safetensors import safe_open
from safetensors.numpy import save_file
from transformers import Qwen2Config, Qwen2ForCausalLM

# Answered only after the imports, or the libraries would look for GPU kernels.
torch.cuda.is_available = lambda: True
torch.cuda.synchronize = lambda *a, **k: None
auto_gptq.modeling._base.CUDA_0 = torch.device("cpu")

VERSION = "0.7.1"
LAYER = "model.layers.0.self_attn.q_proj"


def sort_metadata(path):
    """The safetensors writer keeps metadata in no fixed order; fix it in place."""
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + size])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":")).encode().ljust(size)
    assert len(text) == size
    path.write_bytes(raw[:8] + text + raw[8 + size:])


def main():
    if auto_gptq.__version__ != VERSION:
        raise SystemExit(f"this generator is pinned to auto-gptq {VERSION}")
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    target = root / "tests" / "files" / "gptq" / "autogptq"
    with tempfile.TemporaryDirectory() as scratch:
        source, saved = Path(scratch) / "source", Path(scratch) / "saved"
        torch.manual_seed(13)
        config = Qwen2Config(vocab_size=264, hidden_size=64, intermediate_size=128, num_hidden_layers=1,
                             num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=256)
        model = Qwen2ForCausalLM(config).half()
        with torch.no_grad():                            # a bias worth storing, uneven inputs for act-order
            for projection in ("q_proj", "k_proj", "v_proj"):
                model.get_submodule(f"model.layers.0.self_attn.{projection}").bias.normal_(0, 0.1)
            model.model.layers[0].input_layernorm.weight.uniform_(0.2, 2.0)
        model.save_pretrained(source)

        settings = BaseQuantizeConfig(bits=4, group_size=32, desc_act=True, sym=False)
        quantized = AutoGPTQForCausalLM.from_pretrained(str(source), settings, torch_dtype=torch.float32)
        generator = torch.Generator().manual_seed(20230915)
        examples = [{"input_ids": torch.randint(3, 259, (1, 128), generator=generator),
                     "attention_mask": torch.ones(1, 128, dtype=torch.long)} for _ in range(16)]
        quantized.quantize(examples, batch_size=1, use_triton=False, cache_examples_on_gpu=False)
        quantized.model.half()
        quantized.save_quantized(str(saved), use_safetensors=True)

        module = quantized.model.get_submodule(LAYER)
        assert module.scales.dtype == torch.float16, module.scales.dtype
        bias, module.bias = module.bias, None
        golden = module(torch.eye(64, dtype=torch.float16)).T.contiguous().numpy()
        module.bias = bias

        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        (file,) = saved.glob("*.safetensors")
        with safe_open(file, "np") as reader:
            kept = {n: reader.get_tensor(n) for n in reader.keys() if n.startswith(LAYER + ".")}
            save_file(kept, target / "model.safetensors", metadata=reader.metadata())
        sort_metadata(target / "model.safetensors")
        (target / "model.safetensors").chmod(0o644)

        zeros = kept[LAYER + ".qzeros"].view(np.uint32)
        highest = max(int((zeros >> s & 15).max()) for s in range(0, 32, 4))
        assert highest < 15, "a zero point of 0 was written; this writer spoils its neighbours"
        assert not np.array_equal(kept[LAYER + ".g_idx"], np.arange(64) // 32)
        save_file({LAYER + ".weight": golden, LAYER + ".bias": kept[LAYER + ".bias"]},
                  target / "expected.safetensors")
        for name in ("quantize_config.json", "config.json"):
            value = json.loads((saved / name).read_text())
            value.pop("quantization_config", None)       # as in files of 2023
            for key in ("_name_or_path", "model_name_or_path"):
                if key in value:
                    value[key] = None
            (target / name).write_text(json.dumps(value, indent=2) + "\n")
    print("written")


if __name__ == "__main__":
    main()
