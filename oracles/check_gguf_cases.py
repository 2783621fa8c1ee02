"""Repositories whose config, weights and files do not agree, or that llama.cpp may not run: what transformers,
llama.cpp's converter and weigh make of each.

    python oracles/check_gguf_cases.py LLAMA_CPP FOLDER WEIGH [CASE ..]

LLAMA_CPP is the source tree with convert_hf_to_gguf.py in it, FOLDER is where repositories and files go, WEIGH
is the command. For each case one row is printed: how far the log-probabilities of the converter's file and of
weigh's are from transformers', when a prebuilt llama.cpp (`xllamacpp`) runs them, or who refuses. Where
transformers refuses, `runs` says that the file runs nevertheless.
"""

import copy
import json
import os
import shutil
import subprocess
import sys

WEIGH = os.path.abspath(sys.argv.pop(3))

import check_gguf_runs as runs  # noqa: E402
import gguf_models as models  # noqa: E402
import torch  # noqa: E402
from converter import CHOSEN, OUT  # noqa: E402
from families import all_of  # noqa: E402
from families.qwen3_5 import next_model  # noqa: E402
from family_blocks import LLAMA3, change, edited, next_layer, say  # noqa: E402

KNOWN = all_of("to_gguf")
LONG = dict(rope_type="longrope", rope_theta=10000.0, long_factor=[1.0, 2.0], short_factor=[1.0, 1.0], original_max_position_embeddings=32)
# The width that llama.cpp takes for granted, and transformers does not.
GEMMA = dict(query_pre_attn_scalar=4)
WIDE = dict(hidden_size=64, num_attention_heads=16, num_key_value_heads=8)
NEXT, MTP = "num_nextn_predict_layers", "mtp_num_hidden_layers"


def without(*keys):
    return lambda folder: change(folder, lambda config: {key: value for key, value in config.items() if key not in keys})


def rope(**said):
    """The step that has a config say something else about rotary positions; None is nothing."""

    def edit(config):
        found = {**config["rope_parameters"], **said}
        return dict(config, rope_parameters={key: value for key, value in found.items() if value is not None})

    return lambda folder: change(folder, edit)


def widened(tensors, _):
    """Two more rows of queries than the heads have."""
    for name in [name for name in tensors if "q_proj" in name]:
        tensors[name] = torch.cat([tensors[name], tensors[name][:2]])


def template(folder):
    with open(os.path.join(folder, "chat_template.jinja"), "wb") as file:
        file.write(b"{{ 'gr\xfc\xdf' }}")


def tokenizer(edit):
    def step(folder):
        path = os.path.join(folder, "tokenizer.json")
        content = json.load(open(path, encoding="utf-8"))
        edit(content)
        json.dump(content, open(path, "w", encoding="utf-8"))

    return step


def case(base, *steps, keep=True, **settings):
    """A known repository with other settings, and further steps after its own (or instead of them)."""
    one = copy.copy(KNOWN[base])
    one.settings = {**one.settings, **settings}
    one.steps = [*(one.steps if keep else []), *steps]
    return one


CASES = {
    "deepseek_v3": case("deepseek_v3"),
    "deepseek_v3, no scoring_func": case("deepseek_v3", without("scoring_func")),
    "glm4_moe, counts a layer that is missing": case("glm4_moe", say(**{NEXT: 1}), keep=False),
    "glm4_moe, does not count one": case("glm4_moe", edited(next_layer), say(**{NEXT: 0}), keep=False),
    "glm4_moe, counts two of one": case("glm4_moe", edited(next_layer), say(**{NEXT: 2}), keep=False),
    "qwen3_5, counts a layer that is missing": case("qwen3_5", say(**{MTP: 1}), keep=False),
    "qwen3_5, does not count one": case("qwen3_5", edited(next_model), without(MTP), keep=False),
    "qwen3_5_moe, counts a layer that is missing": case("qwen3_5_moe", say(**{MTP: 1}), linear_value_head_dim=4),
    "cohere2, other head_dim": case("cohere2", head_dim=8),
    "llama, rows of queries that are no heads": case("llama", edited(widened)),
    "llama, heads that do not divide": case("llama", say(num_key_value_heads=3)),
    "mixtral, no num_key_value_heads": case("mixtral", without("num_key_value_heads"), **WIDE),
    "mistral, no num_key_value_heads": case("mistral", without("num_key_value_heads"), **WIDE, head_dim=4),
    "mixtral, the class's heads contradict": case("mixtral", without("num_key_value_heads")),
    "phi3": case("phi3", rope_parameters=LONG),
    "phi3, no long_factor": case("phi3", rope(long_factor=None), rope_parameters=LONG),
    "phi3, no short_factor": case("phi3", rope(short_factor=None), rope_parameters=LONG),
    "phi3, three factors": case("phi3", rope(long_factor=[1.0, 2.0, 3.0]), rope_parameters=LONG),
    "yarn without factor": case("llama", rope(rope_type="yarn", factor=None), rope_parameters=LLAMA3),
    "linear without factor": case("llama", rope(rope_type="linear", factor=None), rope_parameters=LLAMA3),
    "llama3 without factor": case("llama", rope(factor=None), rope_parameters=LLAMA3),
    "llama3 without low_freq_factor": case("llama", rope(low_freq_factor=None), rope_parameters=LLAMA3),
    "llama3 without original context": case("llama", rope(original_max_position_embeddings=None), rope_parameters=LLAMA3),
    "gemma3, final softcap": case("gemma3", **GEMMA, final_logit_softcapping=5.0),
    "gemma3, attention softcap": case("gemma3", **GEMMA, attn_logit_softcapping=2.0),
    "gemma3-vision, final softcap": case("gemma3-vision", final_logit_softcapping=5.0),
    "chat template that is not UTF-8": case("llama", template),
    "added token -1": case("llama", tokenizer(lambda all: all["added_tokens"][0].update(id=-1))),
    "merge of unknown parts": case("llama", tokenizer(lambda all: all["model"]["merges"].append(["t", "qqq"]))),
    "merge into nothing known": case("llama", tokenizer(lambda all: all["model"]["merges"].append(["q", "q"]))),
    "byte pairs called WordPiece": case("llama", tokenizer(lambda all: all["model"].update(type="WordPiece"))),
    "byte pairs without merges": case("llama", tokenizer(lambda all: all["model"].pop("merges"))),
    "qwen2_moe, mlp_only_layers": case("qwen2_moe", num_hidden_layers=2, mlp_only_layers=[0]),
    "qwen2_moe, mlp_only_layers beyond": case("qwen2_moe", num_hidden_layers=2, mlp_only_layers=[7]),
    "qwen3_moe, decoder_sparse_step": case("qwen3_moe", num_hidden_layers=2, decoder_sparse_step=2),
    **{f"deepseek_v2 without q_lora, {layers} layers": case("deepseek_v2-lite", num_hidden_layers=layers) for layers in (2, 26, 27, 48)},
    "deepseek_v2 with q_lora, 26 layers": case("deepseek_v2", num_hidden_layers=26),
}


def of_transformers(folder):
    # The tokenizer is part of what has to load.
    runs.transformers.AutoTokenizer.from_pretrained(folder)
    return runs.of_repository(folder)


def tried(make, *args):
    try:
        return make(*args)
    except Exception as error:
        return f"refuses ({type(error).__name__})"


def ran(path):
    try:
        return runs.of_file(path)
    except RuntimeError:
        return "does not load"


def of_converter(folder, one, out):
    models.convert(folder, out, "f32", one.pre, None, one.without_next, one.mend)
    return ran(out)


def of_weigh(folder, one, out):
    command = [WEIGH, "convert", folder, "-o", out, "--names", "gguf", "--dtype", "f32", "--force"]
    done = subprocess.run(command, capture_output=True, text=True)
    return "refuses: " + done.stderr.split(": ", 2)[-1].splitlines()[0] if done.returncode else ran(out)


def shown(found, wanted):
    if isinstance(found, str):
        return found
    return "runs" if isinstance(wanted, str) else f"{runs.difference(wanted, found):.4f}"


if __name__ == "__main__":
    torch.set_num_threads(1)
    runs.transformers.logging.set_verbosity_error()
    for name, one in CASES.items():
        if CHOSEN and name not in CHOSEN:
            continue
        folder = os.path.join(OUT, name.replace(" ", "-").replace(",", ""))
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.join(folder, "hf"))
        hf = os.path.join(folder, "hf")
        ids = one.tokenizer(hf)
        models.save(one, hf, ids, models.tokens(hf) + one.spare)
        wanted = tried(of_transformers, hf)
        theirs = shown(tried(of_converter, hf, one, os.path.join(folder, "converter.gguf")), wanted)
        ours = shown(tried(of_weigh, hf, one, os.path.join(folder, "weigh.gguf")), wanted)
        print(f"| {name} | {wanted if isinstance(wanted, str) else 'loads'} | {theirs} | {ours} |", flush=True)
