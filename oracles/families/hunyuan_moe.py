"""Hunyuan with experts. Its vocabulary is a file of ranks, which a program beside it reads."""

import base64
import os

import gguf_vocabularies as vocabularies
from family_blocks import Family, Repository, config, say
from family_tokenizers import settings
from gguf_vocabularies import CHAT, WORDS
from settings_rows import ACT, EPS, KV, NOTHING, TIED, Cases, each

# A program of ours: what the converter asks of the published one.
PROGRAM = '''import base64

from transformers import PreTrainedTokenizer

SPECIAL = ["<|endoftext|>", "<|startoftext|>", "<|bos|>", "<|eos|>", "<|pad|>"]


class HYTokenizer(PreTrainedTokenizer):
    vocab_files_names = {"vocab_file": "hy.tiktoken"}

    def __init__(self, vocab_file, **more):
        lines = open(vocab_file, "rb").read().splitlines()
        self.mergeable_ranks = {base64.b64decode(line.split()[0]): int(line.split()[1]) for line in lines}
        first = len(self.mergeable_ranks)
        self.special_tokens = {token: first + place for place, token in enumerate(SPECIAL + [f"<|extra_{i}|>" for i in range(EXTRA)])}
        super().__init__(**more)

    @property
    def vocab_size(self):
        return len(self.mergeable_ranks) + len(self.special_tokens)

    def get_vocab(self):
        return dict(self.special_tokens)

    def _tokenize(self, text, **more):
        return []

    def _convert_token_to_id(self, token):
        return self.special_tokens.get(token, 0)

    def _convert_id_to_token(self, id):
        return "<|endoftext|>"
'''
EXTRA = 3


TOKENS = [bytes([byte]) for byte in range(256)]
for word in [b" " + word.encode() for word in WORDS[:10]] + [word.encode() for word in WORDS[:10]]:
    TOKENS += [word[:end] for end in range(2, len(word) + 1) if word[:end] not in TOKENS]
# Not made of two that are there.
TOKENS.append(b"xyz")
# A row for each, for five special tokens, and for further ones.
ROWS = len(TOKENS) + 5 + EXTRA


def ranks(folder):
    with open(os.path.join(folder, "hy.tiktoken"), "wb") as file:
        file.write(b"".join(base64.b64encode(token) + f" {rank}\n".encode() for rank, token in enumerate(TOKENS)))
    with open(os.path.join(folder, "tokenization_hy.py"), "w") as file:
        file.write(PROGRAM.replace("EXTRA", str(EXTRA)))
    first = len(TOKENS)
    said = settings("HYTokenizer", eos_token="<|eos|>", pad_token="<|pad|>", chat_template=CHAT)
    vocabularies.write_json(folder, "tokenizer_config.json", dict(said, auto_map=dict(AutoTokenizer=["tokenization_hy.HYTokenizer", None])), indent=2)
    return dict(bos_token_id=1, eos_token_id=first + 3, pad_token_id=first + 4, eod_token_id=first)


SIZES = dict(num_experts=3, moe_topk=2, head_dim=4, intermediate_size=8, num_hidden_layers=2)
LISTS = dict(moe_topk=[2, 2], moe_intermediate_size=[8, 8], num_shared_expert=[1, 1])
SAID = dict(use_qk_norm=True, use_cla=False, use_mixed_mlp_moe=True, norm_topk_prob=True, moe_drop_tokens=False, moe_layer_num_skipped=0)

FAMILY = Family(
    "HunYuanMoEV1",
    to_gguf={
        "hunyuan_moe": Repository(dict(SIZES), ranks, "hunyuan", steps=[say(**SAID, **LISTS)], spare=ROWS),
        "hunyuan_moe-tied": Repository(
            dict(SIZES, num_experts=4, head_dim=8, tie_word_embeddings=True), ranks, "hunyuan", dtype="float16", types=["f32"],
            steps=[say(**LISTS)], spare=ROWS,
        ),
    },
    configs={
        "hunyuan-a13b-instruct": config(
            "HunYuanMoEV1ForCausalLM", "hunyuan_v1_moe", 4096, 3072, 32, 32, 8, 128167, 32768,
            attention_bias=False, attention_head_dim=128, cla_share_factor=2, eod_token_id=127967, head_dim=128, hidden_act="silu", mlp_bias=False,
            moe_drop_tokens=False, moe_intermediate_size=[3072] * 32, moe_layer_num_skipped=0, moe_random_routing_dropped_token=False, moe_topk=[8] * 32,
            norm_type="rms", num_experts=64, num_shared_expert=[1] * 32, rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=True,
            rope_scaling=dict(alpha=1000.0, beta_fast=32, beta_slow=1, factor=1.0, mscale=1.0, mscale_all_dim=1.0, type="dynamic"),
            use_cla=False, use_mixed_mlp_moe=True, use_qk_norm=True, use_rotary_pos_emb=True,
        ),
    },
    settings={
        "hunyuan_moe": Cases(
            "hunyuan_moe",
            dict(num_experts=6, moe_topk=2, head_dim=16, intermediate_size=32, num_key_value_heads=2, vocab_size=ROWS),
            [*each("attention_bias", True), *TIED, *ACT, *EPS, *KV, *NOTHING],
            steps=[say(moe_topk=[2] * 4, moe_intermediate_size=[32] * 4, num_shared_expert=[1] * 4)],
        ),
    },
)  # fmt: skip
