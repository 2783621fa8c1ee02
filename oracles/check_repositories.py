"""Whether transformers loads the repositories that `weigh convert X.gguf -o DIR --names hf` makes, and
computes with them what it computes with the models that the GGUF files were made from.

    python oracles/check_repositories.py WEIGH tests/files/to-gguf [FAMILY ..]

Every FAMILY/model-*.gguf is converted in the type of FAMILY/hf, and both are loaded in float32: the
largest difference of their logits over a stretch of tokens is printed, with the largest logit beside it,
and whether their tokenizers give the same ids. F16 files of F32 models and Q8_0 files are not the same
numbers, so theirs is the error of the type. Some things no GGUF file tells; llama.cpp takes them for
granted, and the source is computed with the same: they are printed behind the figures. Ids differ where the
file itself says something else than the source: the converter makes a space of `▁` in added tokens, and has
no word for a tokenizer of SentencePiece's that puts no space before a text.
"""

import json
import os
import subprocess
import sys
import tempfile
import warnings

import torch

import transformers

torch.set_num_threads(1)
warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()

# What llama.cpp takes for granted, so that no file has it.
UNTOLD = ["norm_topk_prob", "query_pre_attn_scalar"]
TEXTS = ["Hello world", "the  quick brown fox, 12345 jumps!", "a\n\nb\tc", "\u00e9\u4e2d\U0001f642 it's"]
TYPES = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}


def logits(folder, **changed):
    config = transformers.AutoConfig.from_pretrained(folder)
    for key, value in changed.items():
        setattr(config, key, value)
    loaded, report = transformers.AutoModelForCausalLM.from_pretrained(
        folder, config=config, dtype=torch.float32, output_loading_info=True
    )
    # Layers that predict further tokens are in repositories, and the classes leave them out.
    missing = [*report["missing_keys"], *report["mismatched_keys"]]
    missing += [key for key in report["unexpected_keys"] if f".layers.{config.num_hidden_layers}." not in key]
    assert not missing, f"{folder}: {missing}"
    tokens = torch.arange(5, 37)[None] % config.vocab_size
    with torch.no_grad():
        return loaded.eval()(tokens).logits


def ids(folder):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return [tokenizer(text)["input_ids"] for text in TEXTS]


def tokenizers(made, source):
    try:
        expected = ids(source)
    except Exception as error:  # Some of the small vocabularies are only read by llama.cpp's converter.
        try:
            ids(made)
            return f"tokenizer loads (that of the source does not: {type(error).__name__})"
        except Exception as error:
            return f"TOKENIZER DOES NOT LOAD: {error}"
    return "same ids" if ids(made) == expected else "OTHER IDS"


def check(weigh, gguf, source):
    config = json.load(open(os.path.join(source, "config.json")))
    stored = config.get("dtype", config.get("torch_dtype"))
    with tempfile.TemporaryDirectory() as place:
        made = os.path.join(place, "made")
        command = [weigh, "convert", gguf, "-o", made, "--names", "hf", "--dtype", TYPES[stored], "--verify", "-q"]
        subprocess.run(command, check=True)
        own = json.load(open(os.path.join(made, "config.json")))
        changed = {key: own[key] for key in UNTOLD if key in own and own[key] != config.get(key)}
        a, b = logits(made), logits(source, **changed)
        difference, largest = (a - b).abs().max().item(), b.abs().max().item()
        return f"{difference:9.2e} of {largest:9.2e}, {tokenizers(made, source)}", changed


def main():
    weigh, folder, *chosen = sys.argv[1:]
    for family in chosen or sorted(os.listdir(folder)):
        home = os.path.join(folder, family)
        source = os.path.join(home, "hf")
        for name in sorted(os.listdir(home)) if os.path.isdir(source) else []:
            if name.endswith(".gguf"):
                try:
                    figures, changed = check(weigh, os.path.join(home, name), source)
                    print(f"{family:20} {name:16} {figures}", *(f"{k}={v}" for k, v in changed.items()), flush=True)
                except Exception as error:
                    print(f"{family:20} {name:16} FAILED {type(error).__name__}: {error}", flush=True)


main()
