"""Falcon: one key head for all query heads, for each group of them, and for each of them."""

import json
import os

import torch
from family_blocks import ABSENT, Family, Repository, numbers, say
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level, write_json
from settings_rows import NOTHING, UNTIED, Cases, each, row, theta
from safetensors.torch import load_file, save_file

PARTS = [dict(type="Punctuation", behavior="Contiguous"), byte_level(use_regex=True), dict(type="Digits", individual_digits=False)]
PARTS.append(dict(type="Split", pattern=dict(Regex="[0-9][0-9][0-9]"), behavior="Isolated", invert=False))
falcon = plain_bpe(PARTS, "PreTrainedTokenizerFast", "<|endoftext|>", "<|endoftext|>", ">>TITLE<<", ">>ABSTRACT<<")
SIZES = dict(intermediate_size=ABSENT, num_key_value_heads=ABSENT, head_dim=ABSENT)
NEW = dict(SIZES, new_decoder_architecture=True, num_kv_heads=2)


def sharing(converter):
    """The converter takes the key heads that transformers fills in, of models whose query heads share one."""
    method = converter.__init__

    def init(self, *args, **options):
        method(self, *args, **options)
        if self.hparams.get("multi_query") and not self.hparams.get("new_decoder_architecture"):
            self.hparams["num_kv_heads"] = 1

    converter.__init__ = init


def as_refined_web(folder):
    """The config and the head of the first repositories, whose class is their own."""
    path = os.path.join(folder, "config.json")
    said = json.load(open(path))
    old = dict(
        architectures=["RWForCausalLM"], model_type="RefinedWebModel", alibi=False, apply_residual_connection_post_layernorm=False,
        attention_dropout=0.0, bias=False, bos_token_id=said["bos_token_id"], eos_token_id=said["eos_token_id"], hidden_dropout=0.0,
        hidden_size=said["hidden_size"], initializer_range=0.02, layer_norm_epsilon=1e-5, multi_query=True,
        n_head=said["num_attention_heads"], n_layer=said["num_hidden_layers"], parallel_attn=True, torch_dtype="bfloat16", use_cache=True,
        vocab_size=said["vocab_size"],
    )  # fmt: skip
    write_json(folder, "config.json", old, indent=2)
    path = os.path.join(folder, "model.safetensors")
    tensors = load_file(path)
    tensors["lm_head.weight"] = numbers(tensors["transformer.word_embeddings.weight"].shape, torch.Generator().manual_seed(1)).bfloat16()
    save_file(tensors, path, {"format": "pt"})


def published(kind, width, layers, heads, **more):
    return dict(
        architectures=[kind], model_type="falcon", alibi=False, apply_residual_connection_post_layernorm=False, attention_dropout=0.0, bias=False,
        bos_token_id=11, eos_token_id=11, hidden_dropout=0.0, hidden_size=width, initializer_range=0.02, layer_norm_epsilon=1e-5,
        num_attention_heads=heads, num_hidden_layers=layers, parallel_attn=True, vocab_size=65024, **more,
    )  # fmt: skip


FAMILY = Family(
    "Falcon",
    to_gguf={
        "falcon": Repository(dict(SIZES, num_hidden_layers=2), falcon, "falcon", types=["f32", "bf16"], mend=sharing),
        "falcon-old": Repository(SIZES, falcon, "falcon", steps=[as_refined_web]),
        "falcon-grouped": Repository(NEW, falcon, "falcon", dtype="float16", types=["f16"], steps=[say(rope_theta=10000.0)]),
        "falcon-single": Repository(dict(NEW, num_ln_in_parallel_attn=1, tie_word_embeddings=False), falcon, "falcon"),
        "falcon-apart": Repository(dict(SIZES, multi_query=False, num_attention_heads=2), falcon, "falcon"),
    },
    settings={
        "falcon": Cases(
            "falcon-grouped",
            dict(NEW),
            [
                row("new_decoder_architecture, multi_query", "False, True", new_decoder_architecture=False, multi_query=True),
                row("new_decoder_architecture, multi_query", "False, False", new_decoder_architecture=False, multi_query=False, num_kv_heads=4),
                *each("num_ln_in_parallel_attn", 1), *each("num_kv_heads", 4, 1), *each("alibi", True), *each("bias", True), *theta(50000.0),
                *each("layer_norm_epsilon", 0.1), *each("ffn_hidden_size", 96), *each("activation", "relu"), *UNTIED, *NOTHING,
            ],
            steps=[],
        ),
    },
    configs={
        "falcon-40b": published("FalconForCausalLM", 8192, 60, 128, new_decoder_architecture=True, num_kv_heads=8),
        "falcon-11b": published(
            "FalconForCausalLM", 4096, 60, 32, new_decoder_architecture=True, num_kv_heads=8, num_ln_in_parallel_attn=1, activation="gelu",
            ffn_hidden_size=16384, ff_factor=4, max_position_embeddings=8192, rope_scaling=None, rope_theta=500042.0,
        ),
        "falcon-7b": published("FalconForCausalLM", 4544, 32, 71, multi_query=True, new_decoder_architecture=False),
    },
    beyond={"falcon-11b": ["falcon.rope.freq_base"], "falcon-7b": ["falcon.attention.head_count_kv"]},
    back="falcon",
)  # fmt: skip
