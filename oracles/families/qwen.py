"""Qwen, the first, whose vocabulary is a file of byte pairs in the order in which they were learned."""

import base64
import os

import family_layouts as layouts
import gguf_vocabularies as vocabularies
import torch
import transformers
from family_blocks import Family, Repository
from family_tokenizers import settings

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *(f"<|extra_{number}|>" for number in range(205))]
CONFIG = dict(
    architectures=["QWenLMHeadModel"], model_type="qwen", attn_dropout_prob=0.0, bf16=False, emb_dropout_prob=0.0, fp16=False, fp32=False,
    hidden_size=16, initializer_range=0.02, intermediate_size=48, kv_channels=4, layer_norm_epsilon=1e-6, max_position_embeddings=64, no_bias=True,
    num_attention_heads=4, num_hidden_layers=2, onnx_safe=None, rotary_emb_base=10000, rotary_pct=1.0, scale_attn_weights=True, seq_length=32,
    tie_word_embeddings=False, tokenizer_class="QWenTokenizer", use_cache=True, use_dynamic_ntk=True, use_flash_attn="auto", use_logn_attn=True,
)  # fmt: skip


def ranks(folder):
    with open(os.path.join(folder, "qwen.tiktoken")) as file:
        rows = [line.split() for line in file]
    return {base64.b64decode(token): int(rank) for token, rank in rows}


def qwen(folder):
    found = [bytes([byte]) for byte in range(256)]
    for word in [b" " + word.encode() for word in vocabularies.WORDS[:8]] + [word.encode() for word in vocabularies.WORDS[:8]]:
        found += [word[:end] for end in range(2, len(word) + 1) if word[:end] not in found]
    with open(os.path.join(folder, "qwen.tiktoken"), "w") as file:
        for rank, token in enumerate(found):
            file.write(f"{base64.b64encode(token).decode()} {rank}\n")
    vocabularies.write_json(folder, "tokenizer_config.json", settings("QWenTokenizer"), indent=2)
    return {}


class Stored:
    """What the tokenizer's own code, which repositories bring along, makes of its file."""

    def __init__(self, folder):
        self.mergeable_ranks = ranks(folder)
        self.special_tokens = {token: len(self.mergeable_ranks) + at for at, token in enumerate(SPECIAL)}

    def get_vocab(self):
        return self.mergeable_ranks | self.special_tokens


def standing_in(converter):
    """The converter runs the tokenizer's code, for which a reader of its file stands in; and it writes the epsilon of
    other norms, with which llama.cpp does not load the file."""
    vocabulary, parameters = converter.set_vocab, converter.set_gguf_parameters

    def set_vocab(self):
        known = transformers.AutoTokenizer.from_pretrained
        transformers.AutoTokenizer.from_pretrained = lambda folder, **_: Stored(folder)
        try:
            vocabulary(self)
        finally:
            transformers.AutoTokenizer.from_pretrained = known

    def set_gguf_parameters(self):
        parameters(self)
        self.gguf_writer.add_layer_norm_rms_eps(self.hparams["layer_norm_epsilon"])

    converter.set_vocab, converter.set_gguf_parameters = set_vocab, set_gguf_parameters


def shapes(tokens, count=2):
    found = {"transformer.wte.weight": [tokens, 16], "transformer.ln_f.weight": [16], "lm_head.weight": [tokens, 16]}
    each = {
        "ln_1.weight": [16], "attn.c_attn.weight": [48, 16], "attn.c_attn.bias": [48], "attn.c_proj.weight": [16, 16], "ln_2.weight": [16],
        "mlp.w1.weight": [24, 16], "mlp.w2.weight": [24, 16], "mlp.c_proj.weight": [16, 24],
    }  # fmt: skip
    for layer in range(count):
        found |= layouts.inside(f"transformer.h.{layer}", each, "")
    return found


FAMILY = Family(
    None,
    to_gguf={
        "qwen": Repository({}, qwen, "qwen2", types=["f32", "bf16"], mend=standing_in, laid_out=layouts.laid_out(CONFIG, shapes)),
        # Every id has a token, and the config names some.
        "qwen-full": Repository(
            {}, qwen, "qwen2", types=["f16"], mend=standing_in, spare=0,
            laid_out=layouts.laid_out(
                dict(CONFIG, num_hidden_layers=1, bos_token_id=300, eos_token_id=301, rotary_emb_base=1000000.0, use_dynamic_ntk=False),
                lambda tokens: shapes(tokens, 1), torch.float16,
            ),
        ),
    },
    configs={
        "qwen-7b": dict(
            CONFIG, hidden_size=4096, intermediate_size=22016, kv_channels=128, max_position_embeddings=32768, num_attention_heads=32,
            num_hidden_layers=32, seq_length=8192, vocab_size=151936,
        ),
    },
    warned={"qwen-7b": ["use_dynamic_ntk", "use_logn_attn"]},
    beyond={"qwen-7b": ["qwen.attention.layer_norm_rms_epsilon"]},
)  # fmt: skip
