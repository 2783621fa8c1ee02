"""Adapters of tiny models, and the GGUF files that llama.cpp's converter makes of them.

    python oracles/gguf_adapters.py LLAMA_CPP tests/files

The base models are those that gguf_models.py wrote into `to-gguf`. peft puts a random adapter of rank 3 on every linear
layer it knows and saves it; `convert_lora_to_gguf.py` converts it, in f32 and in f16.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import peft
import torch

import transformers

LLAMA_CPP, OUT = (os.path.abspath(path) for path in sys.argv[1:3])
FAMILIES = {
    "llama": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    "phi3": ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"],
    "gemma3": ["q_proj", "k_proj", "down_proj"],
}
CARD = "---\nlicense: mit\nbase_model: weighbridge/Tiny-1B-v0.1\n---\n"


def write(family, targets):
    torch.manual_seed(17)
    base, home = Path(OUT, "to-gguf", family, "hf"), Path(OUT, "adapters", family, "peft")
    shutil.rmtree(home, ignore_errors=True)
    model = transformers.AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    config = peft.LoraConfig(r=3, lora_alpha=5, target_modules=targets, task_type="CAUSAL_LM")
    model = peft.get_peft_model(model, config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.copy_(torch.randn_like(parameter))
    model.save_pretrained(home)
    settings = json.loads((home / "adapter_config.json").read_text())
    settings["base_model_name_or_path"] = "weighbridge/Tiny-1B-v0.1"
    settings["target_modules"] = sorted(settings["target_modules"])
    (home / "adapter_config.json").write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n")
    (home / "README.md").write_text(CARD)
    for kind in ["f32", "f16"]:
        script = os.path.join(LLAMA_CPP, "convert_lora_to_gguf.py")
        out = Path(OUT, "adapters", family, f"adapter-{kind}.gguf")
        subprocess.run(
            [sys.executable, script, "--base", base, "--outtype", kind, "--outfile", out, home], check=True
        )


torch.set_num_threads(1)
for name, modules in FAMILIES.items():
    write(name, modules)
