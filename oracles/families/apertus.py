"""Apertus: parameters of its activation are weights in a repository, and metadata in a GGUF file."""

from family_blocks import LLAMA3, SCALED_LLAMA3, Family, Repository, config
from family_tokenizers import plain_bpe
from gguf_vocabularies import FRONT, LOWER, REST, UPPER, byte_level, split
from settings_rows import BIAS, EPS, KV, NOTHING, ROTARY, TIED, Cases, each

TEKKEN = f"{FRONT}{UPPER}*{LOWER}+|{FRONT}{UPPER}+{LOWER}*|" + r"\p{N}" + REST.replace("[\\r\\n]*|", "[\\r\\n/]*|", 1)
tekken = plain_bpe([split(TEKKEN), byte_level()], "PreTrainedTokenizerFast", "<s>", "</s>", "<unk>", bos="<s>", ignore_merges=True)

FAMILY = Family(
    "Apertus",
    to_gguf={
        "apertus": Repository(dict(num_hidden_layers=3, rope_parameters=LLAMA3), tekken, "tekken", types=["bf16"]),
        "apertus-biased": Repository(
            dict(attention_bias=True, head_dim=8, rope_parameters=dict(rope_type="default", rope_theta=500000.0)),
            tekken, "tekken", types=["bf16"],
        ),
    },
    configs={
        "apertus-8b": config(
            "ApertusForCausalLM", "apertus", 4096, 21504, 32, 32, 8, 131072, 65536,
            attention_bias=False, attention_dropout=0.0, hidden_act="xielu", hidden_dropout=0.0, mlp_bias=False, post_norm=False, qk_norm=True,
            rms_norm_eps=1e-5, rope_scaling=dict(SCALED_LLAMA3, factor=8.0, rope_type="llama3", type="llama3"), rope_theta=12000000,
            tie_word_embeddings=False,
        ),
        "apertus-unscaled": config("ApertusForCausalLM", "apertus", 1024, 2048, 4, 8, 2, 131072, 4096, rope_theta=500000.0),
        "apertus-bare": dict(architectures=["ApertusForCausalLM"], model_type="apertus"),
    },
    settings={
        "apertus": Cases("apertus", {}, [*BIAS, *ROTARY, *TIED, *each("head_dim", 24), *each("hidden_act", "silu"), *EPS, *KV, *NOTHING]),
    },
)  # fmt: skip
