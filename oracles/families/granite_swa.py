"""Granite with sliding windows."""

from families.granitehybrid import cl100k
from families.granitemoe import SCALES
from family_blocks import Family, Repository, config, say

KINDS = ["full_attention", "sliding_attention"]

FAMILY = Family(
    "GraniteSWA",
    to_gguf={
        "granite_swa": Repository(dict(SCALES, num_hidden_layers=2, sliding_window=16), cl100k, "dbrx"),
        "granite_swa-biased": Repository(
            dict(SCALES, num_hidden_layers=3, layer_types=[KINDS[1], KINDS[0], KINDS[1]], attention_bias=True, tie_word_embeddings=False), cl100k,
            "dbrx", dtype="float32", types=["f32"], steps=[say(no_rope_layers=[1, 0, 1])],
        ),
    },
    configs={
        "granite-swa": config(
            "GraniteSWAForCausalLM", "granite_swa", 2560, 8192, 4, 20, 4, 100352, 8192, **SCALES, layer_types=KINDS * 2, rope_theta=10000.0,
            sliding_window=128, attention_bias=False, mlp_bias=False, tie_word_embeddings=True,
        ),
        "granite-swa-bases": config(
            "GraniteSWAForCausalLM", "granite_swa", 2560, 8192, 2, 20, 4, 100352, 8192, layer_rope_theta=[10000.0, 0.0], rope_theta=10000.0
        ),
        "granite-swa-bare": dict(architectures=["GraniteSWAForCausalLM"], model_type="granite_swa"),
    },
    warned={"granite-swa-bases": ["layer_rope_theta"]},
)  # fmt: skip
