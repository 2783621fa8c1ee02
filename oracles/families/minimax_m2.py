"""MiniMax M2."""

import gguf_vocabularies as vocabularies
from family_blocks import Family, Repository, config, say
from family_tokenizers import plain_bpe
from settings_rows import ACT, EPS, EXPERTS, KV, NOTHING, TIED, Cases, each, theta

minimax_m2 = plain_bpe([vocabularies.split(vocabularies.GPT_4O), vocabularies.byte_level()], "GPT2Tokenizer", "]~!b[", "[e~[", "]!p~[")
SIZES = dict(head_dim=8, num_experts_per_tok=2, num_local_experts=3, rotary_dim=4)
SAID = dict(scoring_func="sigmoid", use_qk_norm=True, qk_norm_type="per_layer", use_routing_bias=True, attn_type_list=[1, 1])

FAMILY = Family(
    "MiniMaxM2",
    to_gguf={
        "minimax_m2": Repository(dict(SIZES, num_hidden_layers=2), minimax_m2, "minimax-m2", steps=[say(**SAID)]),
        "minimax_m2-wide": Repository(
            dict(SIZES, num_local_experts=5, head_dim=4, rotary_dim=2, num_key_value_heads=1), minimax_m2, "minimax-m2", dtype="float16", types=["f32"],
            steps=[say(scoring_func="sigmoid")],
        ),
    },
    configs={
        "minimax-m2": config(
            "MiniMaxM2ForCausalLM", "minimax_m2", 3072, 1536, 62, 48, 8, 200064, 196608,
            attn_type_list=[1] * 62, head_dim=128, hidden_act="silu", layernorm_full_attention_beta=1.0, mtp_transformer_layers=1,
            num_experts_per_tok=8, num_local_experts=256, num_mtp_modules=3, qk_norm_type="per_layer", rms_norm_eps=1e-6, rope_theta=5000000,
            rotary_dim=64, scoring_func="sigmoid", shared_intermediate_size=0, use_mtp=True, use_qk_norm=True, use_routing_bias=True,
        ),
        "minimax-m2-short": dict(architectures=["MiniMaxM2ForCausalLM"], model_type="minimax_m2", rotary_dim=64),
    },
    beyond={"minimax-m2-short": ["minimax-m2.expert_gating_func"]},
    settings={
        "minimax_m2": Cases(
            "minimax_m2",
            dict(head_dim=16, num_experts_per_tok=2, num_local_experts=6, rotary_dim=8, tie_word_embeddings=False),
            [*each("rotary_dim", 16), *EXPERTS, *theta(500.0), *TIED, *each("head_dim", 24), *ACT, *EPS, *KV, *NOTHING],
            steps=[],
        ),
    },
    back="minimax_m2",
)  # fmt: skip
