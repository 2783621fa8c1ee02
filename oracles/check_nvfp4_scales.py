"""For which families llama.cpp applies the scale beside an NVFP4 weight.

    python check_nvfp4_scales.py WEIGH WORK [FAMILY ..]

The scale is a tensor of its own (`P.scale`), which the graph of each architecture has to multiply with.
Tiny models of every family are quantized to NVFP4. llama.cpp runs the file, and the file that
`weigh dequantize` makes of it. Printed is the largest difference of log-probabilities, next to that
of Q8_0, for which the arithmetic is alike. Last comes the difference for blocks that `weigh convert`
moves from a repository of NVFP4: a sample, whose config is changed to that of a family without scales.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from check_gguf_runs import difference, of_file
from families import all_of
from tiny_models import build

SIZES = dict(
    hidden_size=256,
    intermediate_size=256,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=256,
    pad_token_id=None,
    vocab_size=320,
)
SAMPLE = Path(__file__).parent.parent / "tests/files/to-gguf/llama-nvfp4/hf"
GRANITE = dict(
    model_type="granite",
    architectures=["GraniteForCausalLM"],
    attention_multiplier=0.25,
    embedding_multiplier=12.0,
    logits_scaling=8.0,
    residual_multiplier=0.22,
)
# Sizes of these are for models of 16 columns.
TOO_SMALL = {"head_dim", "hidden_size", "intermediate_size", "moe_intermediate_size", "kv_channels"}


def ran(weigh, *command):
    done = subprocess.run([weigh, *map(str, command)], capture_output=True, text=True)
    if done.returncode:
        raise ValueError(done.stderr.strip().splitlines()[0])


def model(one, folder):
    folder.mkdir(parents=True)
    ids = one.tokenizer(str(folder))
    settings = {key: value for key, value in one.settings.items() if key not in TOO_SMALL}
    if "moe_intermediate_size" in one.settings:
        settings["moe_intermediate_size"] = 128
    made = build(one.model, {**SIZES, **ids, **settings, "vocab_size": 320}, "bfloat16")
    # A gain of about one, as trained models have it.
    for parameter in made.parameters():
        if parameter.ndim > 1:
            parameter.data = parameter.data / 0.4 * parameter.shape[-1] ** -0.5
    made.save_pretrained(folder)


def differences(weigh, folder):
    for type in ("NVFP4", "Q8_0"):
        quantized, decoded = folder / f"{type}.gguf", folder / f"{type}-f32.gguf"
        ran(weigh, "quantize", folder / "hf", "-o", quantized, "--type", type, "--force")
        ran(weigh, "dequantize", quantized, "-o", decoded, "--dtype", "f32", "--to", "gguf", "--force")
        yield difference(of_file(str(quantized)), of_file(str(decoded)))


def moved(weigh, folder):
    """The difference between the blocks that are moved, and the same weights decoded."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SAMPLE, folder / "hf")
    config = json.loads((folder / "hf/config.json").read_text())
    (folder / "hf/config.json").write_text(json.dumps({**config, **GRANITE}))
    files = [folder / f"{dtype}.gguf" for dtype in ("auto", "f32")]
    for file in files:
        ran(weigh, "convert", folder / "hf", "-o", file, "--dtype", file.stem)
    return difference(*(of_file(str(file)) for file in files))


if __name__ == "__main__":
    weigh, work, *chosen = sys.argv[1:]
    for name, one in all_of("to_gguf").items():
        if one.laid_out or chosen and name not in chosen or "-" in name:
            continue
        folder = Path(work).absolute() / name
        try:
            if not folder.exists():
                model(one, folder / "hf")
            print(name, *(f"{value:.2e}" for value in differences(weigh, folder)), flush=True)
        except Exception as error:
            print(name, "not run:", " ".join(str(error).split())[:150], flush=True)
    print("moved", f"{moved(weigh, Path(work).absolute() / 'moved'):.2e}", flush=True)
