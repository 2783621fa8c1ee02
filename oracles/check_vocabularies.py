"""Repositories with whole vocabularies, converted by `weigh`, and what llama.cpp makes of texts with them.

    python oracles/check_vocabularies.py LLAMA_CPP WORK WEIGH [NAME ..]

LLAMA_CPP is the source tree with models/ggml-vocab-*.gguf in it. Each vocabulary that
tokenizer_samples.py can rebuild becomes a repository in WORK, with the few weights that a model of one
layer cannot do without; `WEIGH convert` makes a GGUF file of it, and llama.cpp (of the wheel
`xllamacpp`) loads its vocabulary. Every text of the .inp file beside the vocabulary has to become the
ids of the .out file. A row is a vocabulary, the seconds that converting took, and the outcome.
"""

import ctypes
import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy
from safetensors.numpy import save_file

LLAMA_CPP, WORK, WEIGH, *CHOSEN = sys.argv[1:]
sys.argv = [sys.argv[0], LLAMA_CPP, WORK, "--whole"]
import tokenizer_samples as samples  # noqa: E402

# What is converted: a family whose tokenizer is read in that way.
FAMILIES = {
    "llama-like": dict(model_type="llama", architectures=["LlamaForCausalLM"]),
    "qwen-like": dict(model_type="qwen2", architectures=["Qwen2ForCausalLM"]),
    "byte-pairs": dict(model_type="olmo2", architectures=["Olmo2ForCausalLM"]),
    "phi3": dict(model_type="phi3", architectures=["Phi3ForCausalLM"]),
    "bert": dict(model_type="bert", architectures=["BertModel"]),
}
# Repositories of the samples, and the vocabulary that each is made of.
VOCABULARIES = {name: name for name in "qwen2 qwen35 deepseek-llm deepseek-coder falcon starcoder refact".split()}
VOCABULARIES |= {name: name for name in "command-r gpt-2 mpt llama-spm phi-3 bert-bge".split()} | {"llama3": "llama-bpe"}
# Qwen 2's tokens with another pattern: which of the two it is has to be said.
STATED = {"qwen35": "qwen35"}
WIDTH = 8


class Parameters(ctypes.Structure):
    """llama_model_params."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ["devices", "overrides"]),
        *((name, ctypes.c_int32) for name in ["layers", "split_mode", "load_mode", "lazy_mode", "main_gpu"]),
        *((name, ctypes.c_void_p) for name in ["tensor_split", "progress", "user_data", "kv_overrides"]),
        *((name, ctypes.c_bool) for name in ["vocab_only", "check", "extra", "no_host", "no_alloc", "load_mtp"]),
    ]


def library():
    folder = importlib.util.find_spec("xllamacpp").submodule_search_locations[0]
    lib = ctypes.CDLL(str(next(Path(folder).glob("*.so"))))
    quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
    lib.llama_log_set(quiet, None)
    lib.quiet = quiet
    lib.llama_model_default_params.restype = Parameters
    lib.llama_model_load_from_file.restype = ctypes.c_void_p
    lib.llama_model_load_from_file.argtypes = [ctypes.c_char_p, Parameters]
    lib.llama_model_get_vocab.restype = ctypes.c_void_p
    lib.llama_model_get_vocab.argtypes = [ctypes.c_void_p]
    lib.llama_model_free.argtypes = [ctypes.c_void_p]
    numbers = ctypes.POINTER(ctypes.c_int32)
    lib.llama_tokenize.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, numbers, ctypes.c_int32, ctypes.c_bool, ctypes.c_bool]
    return lib


def weights(family, tokens):
    if family["model_type"] == "bert":
        shapes = {"embeddings.word_embeddings.weight": [tokens, WIDTH], "encoder.layer.0.output.dense.weight": [WIDTH, WIDTH]}
    else:
        shapes = {"model.embed_tokens.weight": [tokens, WIDTH], "model.layers.0.self_attn.o_proj.weight": [WIDTH, WIDTH]}
    return {name: numpy.zeros(shape, numpy.float16) for name, shape in shapes.items()}


def make(name, kind, config, files, pre=None, stated=None):
    """A repository in place of the sample, and the check of it."""
    if name not in VOCABULARIES or CHOSEN and name not in CHOSEN:
        return
    folder = os.path.join(WORK, name)
    os.makedirs(folder, exist_ok=True)
    config = {**config, **FAMILIES[kind], "hidden_size": WIDTH, "num_attention_heads": 1, "num_hidden_layers": 1, "intermediate_size": 8}
    samples.write(folder, "config.json", config)
    as_the_vocabulary_has_them(files.get("tokenizer.json") or {}, name)
    for path, data in files.items():
        if data is not None:
            samples.write(folder, path, data)
    save_file(weights(config, config["vocab_size"]), os.path.join(folder, "model.safetensors"))
    check(name, folder)


def as_the_vocabulary_has_them(document, name):
    """Samples have every added token as a special one; here only those are that the vocabulary calls so."""
    _, types, _, _ = samples.read(VOCABULARIES[name])
    for token in document.get("added_tokens", []):
        if types[token["id"]] == 4:
            token.update(special=False, normalized=True)


def check(name, folder):
    out = os.path.join(WORK, name + ".gguf")
    pre = ["--pre", STATED[name]] if name in STATED else []
    started = time.monotonic()
    ran = subprocess.run([WEIGH, "convert", folder, "-o", out, "--names", "gguf", "--force", *pre], capture_output=True, text=True)
    seconds = time.monotonic() - started
    if ran.returncode != 0:
        print(f"{name:16} NOT CONVERTED {ran.stderr.strip()[:200]}")
        WRONG.append(name)
        return
    texts, wrong = list(cases(VOCABULARIES[name])), 0
    parameters = LIB.llama_model_default_params()
    parameters.vocab_only = True
    model = LIB.llama_model_load_from_file(out.encode(), parameters)
    if not model:
        print(f"{name:16} NOT LOADED")
        WRONG.append(name)
        return
    vocabulary = LIB.llama_model_get_vocab(model)
    for text, expected in texts:
        found = tokenize(vocabulary, text)
        if found != expected:
            wrong += 1
            print(f"{name:16} {text!r}: {found} instead of {expected}")
    LIB.llama_model_free(model)
    if wrong:
        WRONG.append(name)
    print(f"{name:16} {seconds:6.2f} s  {len(texts) - wrong} of {len(texts)} texts the same")


def cases(vocabulary):
    path = os.path.join(LLAMA_CPP, "models", f"ggml-vocab-{vocabulary}.gguf")
    texts = Path(path + ".inp").read_bytes().split(b"\n__ggml_vocab_test__\n")
    lines = Path(path + ".out").read_text().split("\n")
    # Nothing follows the last separator.
    for text, line in zip(texts[:-1] if texts[-1] == b"" else texts, lines):
        yield text, [int(one) for one in line.split()]


def tokenize(vocabulary, text):
    ids = (ctypes.c_int32 * (len(text) + 8))()
    count = LIB.llama_tokenize(vocabulary, text, len(text), ids, len(ids), False, False)
    return list(ids[:count])


def phi3():
    """Pieces and, behind them, added tokens."""
    model, tokens = samples.sentencepiece("phi-3", None)
    _, types, _, _ = samples.read("phi-3")
    size = 32000
    added = {str(i): samples.added(i, tokens[i], special=types[i] == 3) for i in range(size, len(tokens)) if types[i] in (3, 4)}
    added = {i: {key: value for key, value in one.items() if key != "id"} for i, one in added.items()}
    del model.pieces[size:]
    model.pieces[0].type = 2
    names = dict(tokenizer_class="LlamaTokenizer", bos_token="<s>", eos_token="</s>", unk_token="<unk>", added_tokens_decoder=added)
    files = {"tokenizer.model": model.SerializeToString(), "tokenizer_config.json": names}
    make("phi-3", "phi3", dict(vocab_size=len(tokens), bos_token_id=1, eos_token_id=2), files)


def main():
    os.makedirs(WORK, exist_ok=True)
    samples.make = make
    samples.byte_samples()
    samples.byte_pairs("mpt", "mpt", "gpt-2", samples.OLMO2, tc=samples.named(eos=0), normalizer=samples.NFC)
    model, tokens = samples.sentencepiece("llama-spm", None)
    names = dict(tokenizer_class="LlamaTokenizer", bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    make("llama-spm", "llama-like", dict(vocab_size=len(tokens)), {"tokenizer.model": model.SerializeToString(), "tokenizer_config.json": names})
    phi3()
    samples.word_piece()
    print(json.dumps(WRONG) if WRONG else "all the same")
    return bool(WRONG)


LIB, WRONG = library(), []
if __name__ == "__main__":
    sys.exit(main())
