"""ERNIE 4.5 with experts."""

from families.ernie4_5 import ernie
from family_blocks import Family, Repository, config, edited, numbers, say
from settings_rows import ACT, EPS, KV, NOTHING, TIED, Cases, each

SIZES = dict(
    moe_num_experts=3, moe_k=2, moe_num_shared_experts=2, moe_intermediate_size=8, moe_layer_start_index=1, num_hidden_layers=2, intermediate_size=32
)
SAID = dict(moe_capacity=[64, 64, 64], moe_gate="topk", moe_use_aux_free=True, num_nextn_predict_layers=1)


def next_parts(tensors, generator):
    """What predicts one more token in published checkpoints. The converter leaves it out."""
    for name, shape in {"mtp_emb_norm.0": [16], "mtp_hidden_norm.0": [16], "mtp_linear_proj.0": [16, 32], "mtp_block.0.mlp.up_proj": [8, 16]}.items():
        tensors[f"model.{name}.weight"] = numbers(shape, generator).bfloat16()


FAMILY = Family(
    "Ernie4_5_Moe",
    to_gguf={
        "ernie4_5_moe": Repository(dict(SIZES), ernie(False), None, steps=[say(**SAID), edited(next_parts)]),
        "ernie4_5_moe-alone": Repository(
            dict(SIZES, moe_num_experts=4, moe_num_shared_experts=0, moe_layer_start_index=0, tie_word_embeddings=False, num_key_value_heads=1),
            ernie(None), None, dtype="float32", types=["f32"],
        ),
    },
    configs={
        "ernie-4.5-21b-a3b": config(
            "Ernie4_5_MoeForCausalLM", "ernie4_5_moe", 2560, 12288, 28, 20, 4, 103424, 131072,
            hidden_act="silu", moe_capacity=[64, 64, 64], moe_gate="topk", moe_intermediate_size=1536, moe_k=6, moe_layer_interval=1,
            moe_layer_start_index=1, moe_num_experts=64, moe_num_shared_experts=2, moe_use_aux_free=True, num_nextn_predict_layers=1,
            rms_norm_eps=1e-5, rope_scaling=None, rope_theta=500000.0, tie_word_embeddings=True, use_bias=False,
        ),
        "ernie4-5-moe-heads": config(
            "Ernie4_5_MoeForCausalLM", "ernie4_5_moe", 512, 1024, 4, 8, 2, 1000, 4096, moe_num_shared_experts=1, moe_intermediate_size=256, moe_layer_interval=2
        ),
        "ernie4-5-moe-bare": dict(architectures=["Ernie4_5_MoeForCausalLM"], model_type="ernie4_5_moe"),
    },
    warned={"ernie4-5-moe-heads": ["moe_layer_interval"]},
    beyond={"ernie4-5-moe-heads": ["ernie4_5-moe.expert_shared_feed_forward_length"]},
    settings={
        "ernie4_5_moe": Cases(
            "ernie4_5_moe",
            dict(
                moe_num_experts=6, moe_k=2, moe_num_shared_experts=1, moe_intermediate_size=32, moe_layer_start_index=1, intermediate_size=64,
                num_key_value_heads=2,
            ),
            [
                *each("moe_layer_start_index", 0), *each("moe_num_shared_experts", 0), *each("moe_layer_interval", 2),
                *[*TIED, *ACT, *EPS, *KV, *NOTHING],
            ],
            steps=[],
        ),
    },
    back="ernie4_5_moe",
)  # fmt: skip
