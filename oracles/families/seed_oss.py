"""Seed-OSS."""

from family_blocks import Family, Repository, config
from family_tokenizers import plain_bpe
from gguf_vocabularies import CONTRACTIONS, LETTERS, byte_level, split
from settings_rows import ACT, EPS, HEAD, KV, MLP_BIAS, NOTHING, ROTARY, TIED, Cases, each

# A class of its own for line breaks.
SEED = CONTRACTIONS + "|" + LETTERS + r"|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"
seed = plain_bpe([split(SEED), byte_level()], "PreTrainedTokenizerFast", "<seed:bos>", "<seed:eos>", "<seed:pad>", bos="<seed:bos>")

FAMILY = Family(
    "SeedOss",
    to_gguf={
        "seed_oss": Repository(dict(head_dim=8, num_hidden_layers=2, attention_bias=True), seed, "seed-coder", types=["bf16"]),
        "seed_oss-share": Repository(
            dict(head_dim=None, attention_bias=False, tie_word_embeddings=True), seed, "seed-coder", dtype="float32", types=["f32"]
        ),
    },
    configs={
        "seed-oss-36b": config(
            "SeedOssForCausalLM", "seed_oss", 5120, 27648, 64, 80, 8, 155136, 524288,
            attention_bias=True, attention_dropout=0.1, attention_out_bias=False, head_dim=128, hidden_act="silu", mlp_bias=False,
            pretraining_tp=1, residual_dropout=0.1, rms_norm_eps=1e-6, rope_scaling=dict(rope_type="default"), rope_theta=10000000.0,
            tie_word_embeddings=False,
        ),
        "seed-oss-null": config("SeedOssForCausalLM", "seed_oss", 512, 1024, 4, 8, None, 1000, 4096, head_dim=None),
        "seed-oss-bare": dict(architectures=["SeedOssForCausalLM"], model_type="seed_oss"),
    },
    settings={
        "seed_oss": Cases(
            "seed_oss",
            dict(head_dim=16, attention_bias=True),
            [*each("attention_bias", False), *each("attention_out_bias", True), *MLP_BIAS, *ROTARY, *TIED, *HEAD, *ACT, *EPS, *KV, *NOTHING],
        ),
    },
    back="seed_oss",
)  # fmt: skip
