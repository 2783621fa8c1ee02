"""Which settings check_settings.py varies, family by family. Newer families say it in their entry in `families`."""

from families import all_of
from family_blocks import ABSENT
from settings_rows import (
    ACT,
    BIAS,
    ENCODED,
    ENCODER,
    EPS,
    EXPERTS,
    GELU,
    HEAD,
    KV,
    LATENT,
    LATENT_ROWS,
    MLP_BIAS,
    MOE,
    NOTHING,
    NOT_CAUSAL,
    NO_BIAS,
    ROTARY,
    ROUTED,
    ROUTED_ROWS,
    ROUTER,
    SOME_WINDOWED,
    SPARSE,
    TIED,
    UNTIED,
    USUAL,
    WINDOW,
    WINDOWED,
    WINDOWS,
    Cases,
    by_layer,
    each,
    factors,
    full_scalings,
    kinds,
    layers,
    linear_everywhere,
    partial,
    rope,
    row,
    scalings,
    theta,
)

HEADS = dict(head_dim=16)
HALF = dict(partial_rotary_factor=0.5)
SCALAR = "query_pre_attn_scalar"


def scalars(count, pattern):
    """llama.cpp takes hidden_size / heads for the models with this many layers, and head_dim for others."""
    deep = dict(head_dim=24, num_hidden_layers=count, layer_types=kinds((pattern * count)[:count]))
    return [
        *each(SCALAR, 64),
        row(SCALAR, "24 = head_dim", head_dim=24, query_pre_attn_scalar=24),
        row(SCALAR, f"24 = head_dim, {count} layers", query_pre_attn_scalar=24, **deep),
        row(SCALAR, f"16 = hidden_size / heads, head_dim 24, {count} layers", query_pre_attn_scalar=16, **deep),
    ]


def phi3_long(original, root=None, half=8, **more):
    said = rope(kind="longrope", original_max_position_embeddings=original, **factors(half), **more)
    root = root or original
    return dict(said, original_max_position_embeddings=root, max_position_embeddings=4 * root)


GEMMA_ACT = each("hidden_activation", "gelu", "gelu_new", "silu")
GEMMA_ROWS = [*BIAS, *UNTIED, *HEAD, *EPS, *KV, *NOTHING, *each("use_bidirectional_attention", True)]
NO_ROPE = [row("no_rope_layers", str(flags), no_rope_layers=flags) for flags in ([1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0])]
LLAMA4 = dict(
    num_local_experts=4,
    num_experts_per_tok=1,
    intermediate_size=24,
    intermediate_size_mlp=48,
    head_dim=16,
    interleave_moe_layer_step=2,
    no_rope_layers=[1, 1, 1, 0],
    layer_types=kinds("cccf"),
    attention_chunk_size=8192,
    use_qk_norm=True,
    attn_temperature_tuning=True,
)
MROPE = dict(partial_rotary_factor=0.5, mrope_interleaved=True, mrope_section=[2, 1, 1])
DELTA = dict(
    layer_types=kinds("lllf"),
    head_dim=16,
    linear_conv_kernel_dim=4,
    linear_key_head_dim=8,
    linear_value_head_dim=8,
    linear_num_key_heads=2,
    linear_num_value_heads=4,
    **rope(**MROPE),
)
DELTA_ROWS = [
    row("layer_types", "lflf, full_attention_interval 2", layer_types=kinds("lflf"), full_attention_interval=2),
    *layers("lflf", "flll", "ffff"),
    *each("linear_conv_kernel_dim", 3),
    *each("linear_num_value_heads", 2, 6),
    *each("linear_value_head_dim", 16),
    *each("linear_key_head_dim", 16),
    *theta(500.0, **MROPE),
    *partial(1.0, mrope_interleaved=True, mrope_section=[3, 3, 2]),
    row("rope_parameters", "without mrope_section", **rope(partial_rotary_factor=0.5)),
    *scalings(half=4, **MROPE),
    row("mtp_num_hidden_layers", "1, without its weights", mtp_num_hidden_layers=1),
    *each("mtp_num_hidden_layers", 0),
    *[*BIAS, *TIED, *HEAD, *ACT, *EPS, *KV, *NOTHING],
]
LIMITED = dict(topk_method="group_limited_greedy", n_group=4)

CASES = {
    "llama": Cases("llama", HEADS, [*USUAL, *NOT_CAUSAL, *BIAS, *MLP_BIAS, *each("pretraining_tp", 2)]),
    "mistral": Cases("mistral", dict(HEADS, sliding_window=None), [*WINDOWED, *NOT_CAUSAL, *USUAL], steps=[]),
    "mixtral": Cases("mixtral", dict(HEADS, num_local_experts=4), [*WINDOWED, *USUAL, *EXPERTS, *ROUTER]),
    "qwen2": Cases("qwen2", {}, [*SOME_WINDOWED, *NOT_CAUSAL, *USUAL], steps=[]),
    "qwen2_moe": Cases(
        "qwen2_moe",
        dict(MOE, shared_expert_intermediate_size=40),
        [*SOME_WINDOWED, *SPARSE, *each("qkv_bias", False), *each("shared_expert_intermediate_size", 16), *USUAL],
    ),
    "qwen3": Cases("qwen3", HEADS, [*BIAS, *SOME_WINDOWED, *NOT_CAUSAL, *USUAL]),
    "qwen3_moe": Cases("qwen3_moe", dict(HEADS, **MOE, norm_topk_prob=True), [*BIAS, *SOME_WINDOWED, *SPARSE, *USUAL]),
    "gemma": Cases("gemma", HEADS, [*ROTARY, *GEMMA_ROWS, *each("hidden_act", "gelu", "gelu_new", "silu")], less_one=True),
    "gemma2": Cases(
        "gemma2",
        dict(HEADS, sliding_window=WINDOW, query_pre_attn_scalar=16, layer_types=kinds("sfsf")),
        [
            *[*ROTARY, *GEMMA_ROWS, *GEMMA_ACT, *WINDOWS],
            *each("final_logit_softcapping", None, 5.0),
            *each("attn_logit_softcapping", None, 2.0),
            *layers("fsfs", "ssss", "ffff", "sssf"),
            *scalars(46, "sf"),
        ],
        less_one=True,
    ),
    "gemma3": Cases(
        "gemma3",
        dict(
            HEADS,
            num_hidden_layers=6,
            layer_types=kinds("sssssf"),
            sliding_window=WINDOW,
            query_pre_attn_scalar=16,
            **by_layer(dict(rope_theta=10000.0), dict(rope_theta=1000000.0)),
        ),
        [
            row("rope_theta", "500, full layers", **by_layer(dict(rope_theta=10000.0), dict(rope_theta=500.0))),
            row("rope_theta", "500, sliding layers", **by_layer(dict(rope_theta=500.0), dict(rope_theta=1000000.0))),
            *full_scalings(10000.0, 1000000.0),
            linear_everywhere(10000.0, 1000000.0),
            *layers("fsfsfs", "ssssss", "ffffff", "ssfssf", "sssfss", "fsssss"),
            *[*GEMMA_ROWS, *GEMMA_ACT, *WINDOWS],
            *each("final_logit_softcapping", 5.0),
            *each("attn_logit_softcapping", 2.0),
            *scalars(62, "sssssf"),
        ],
        steps=[],
        less_one=True,
    ),
    "phi3": Cases(
        "phi3",
        dict(original_max_position_embeddings=128),
        [
            *[*theta(500.0), *partial(0.5), *WINDOWED],
            row("rope longrope", "original 32: long factors", **phi3_long(32)),
            row("rope longrope", "original 256: short factors", **phi3_long(256)),
            row("rope longrope", "original 32, partial_rotary_factor 0.5", **phi3_long(32, half=4, **HALF)),
            row("rope longrope", "original 256, at the root 32", **phi3_long(256, root=32)),
            row("rope longrope attention_factor", "1.5", **phi3_long(32, attention_factor=1.5)),
            row("rope longrope factor", "2, positions 4 times the original", **phi3_long(32, factor=2.0)),
            *[*TIED, *each("head_dim", 24), *ACT, *EPS, *KV, *NOTHING],
        ],
    ),
    "granite": Cases(
        "granite",
        dict(embedding_multiplier=3.0, logits_scaling=2.0, residual_multiplier=0.5, attention_multiplier=0.2),
        [
            *each("embedding_multiplier", 1.0, 12.0),
            *each("logits_scaling", 1.0, 8.0),
            *each("residual_multiplier", 1.0, 0.22),
            *each("attention_multiplier", 1.0, 0.25),
            *[*BIAS, *MLP_BIAS, *USUAL],
        ],
    ),
    "smollm3": Cases(
        "smollm3",
        dict(no_rope_layers=[1, 1, 1, 0], tie_word_embeddings=True),
        [
            *NO_ROPE,
            row("no_rope_layer_interval", "2", no_rope_layers=None, no_rope_layer_interval=2),
            *[*BIAS, *MLP_BIAS, *UNTIED, *SOME_WINDOWED, *ROTARY, *HEAD, *ACT, *EPS, *KV, *NOTHING],
        ],
    ),
    "olmo2": Cases("olmo2", {}, [*USUAL, *BIAS]),
    "olmo3": Cases(
        "olmo3",
        dict(layer_types=kinds("sssf"), sliding_window=WINDOW, **by_layer(dict(rope_theta=10000.0), dict(rope_theta=10000.0))),
        [
            row("rope_theta", "500, all layers", **by_layer(dict(rope_theta=500.0), dict(rope_theta=500.0))),
            row("rope_theta", "500, full layers", **by_layer(dict(rope_theta=10000.0), dict(rope_theta=500.0))),
            row("rope_theta", "500, sliding layers", **by_layer(dict(rope_theta=500.0), dict(rope_theta=10000.0))),
            *full_scalings(10000.0, 10000.0),
            linear_everywhere(10000.0, 10000.0),
            *layers("sfsf", "ssss", "ffff", "fsss"),
            *[*WINDOWS, *BIAS, *TIED, *HEAD, *ACT, *EPS, *KV, *NOTHING],
        ],
    ),
    "starcoder2": Cases(
        "starcoder2",
        dict(tie_word_embeddings=True),
        [*each("use_bias", False), *UNTIED, *WINDOWED, *ROTARY, *HEAD, *GELU, *each("norm_epsilon", 0.1), *KV, *NOTHING],
    ),
    "cohere": Cases(
        "cohere",
        dict(logit_scale=0.5),
        [
            *each("use_qk_norm", True),
            row("use_qk_norm", "True, 64 layers", use_qk_norm=True, num_hidden_layers=64),
            row("use_qk_norm", "False, 64 layers", num_hidden_layers=64),
            *each("logit_scale", 1.0, 0.0625),
            *[*BIAS, *UNTIED, *ROTARY, *HEAD, *ACT, *each("layer_norm_eps", 0.1), *KV, *NOTHING],
        ],
    ),
    "cohere2": Cases(
        "cohere2",
        dict(HEADS, layer_types=kinds("sssf"), sliding_window=WINDOW, logit_scale=0.5, rotary_pct=1.0),
        [
            row("rotary_pct", "absent", rotary_pct=ABSENT),
            *each("rotary_pct", 0.5),
            *layers("sfsf", "ssss", "ffff", "fsss"),
            *each("logit_scale", 1.0, 0.0625),
            *[*WINDOWS, *BIAS, *UNTIED, *ROTARY, *HEAD, *ACT, *each("layer_norm_eps", 0.1), *KV, *NOTHING],
        ],
    ),
    "gpt_oss": Cases(
        "gpt_oss",
        dict(HEADS, num_local_experts=4, num_experts_per_tok=2, sliding_window=WINDOW, layer_types=kinds("sfsf")),
        [
            *layers("fsfs", "ssss", "ffff", "sssf"),
            *each("swiglu_limit", 1.0),
            *each("swiglu_alpha", 1.0),
            *[*WINDOWS, *NO_BIAS, *EXPERTS, *USUAL],
        ],
    ),
    "glm4": Cases(
        "glm4",
        dict(HEADS, attention_bias=True, **rope(**HALF)),
        [*NO_BIAS, *theta(500.0, **HALF), *partial(1.0, 0.25), *scalings(4, **HALF), *TIED, *HEAD, *ACT, *EPS, *KV, *NOTHING],
    ),
    "glm4_moe": Cases(
        "glm4_moe",
        dict(HEADS, **ROUTED, norm_topk_prob=True, num_nextn_predict_layers=0, use_qk_norm=True, attention_bias=True, **rope(**HALF)),
        [
            row("n_group, topk_group", "4, 2", n_group=4, topk_group=2),
            *each("norm_topk_prob", False),
            *each("use_qk_norm", False),
            row("num_nextn_predict_layers", "1, without its weights", num_nextn_predict_layers=1),
            *[*ROUTED_ROWS, *NO_BIAS, *theta(500.0, **HALF), *partial(1.0), *scalings(4, **HALF), *TIED, *HEAD, *ACT, *EPS, *KV, *NOTHING],
        ],
        steps=[],
    ),
    "deepseek_v2": Cases(
        "deepseek_v2",
        dict(LATENT, topk_method="greedy", routed_scaling_factor=1.0),
        [
            row("topk_method", "group_limited_greedy, 1 of 4 groups", **LIMITED, topk_group=1),
            row("topk_method", "group_limited_greedy, 2 of 4 groups", **LIMITED, topk_group=2),
            row("n_group, topk_group", "4, 2, greedy", n_group=4, topk_group=2),
            *each("norm_topk_prob", True, False),
            row("scoring_func", "softmax", scoring_func="softmax"),
            row("q_lora_rank", "None, 26 layers", q_lora_rank=None, num_hidden_layers=26),
            *[*ROUTED_ROWS, *LATENT_ROWS, *MLP_BIAS],
        ],
        steps=[],
    ),
    "deepseek_v3": Cases(
        "deepseek_v3",
        dict(LATENT, norm_topk_prob=True, routed_scaling_factor=2.5, n_group=4, topk_group=2, scoring_func="sigmoid"),
        [
            # As transformers 5 saves it.
            row("scoring_func", "absent", scoring_func=ABSENT),
            row("n_group, topk_group", "1, 1", n_group=1, topk_group=1),
            *each("norm_topk_prob", False),
            *each("rope_interleave", False),
            row("num_nextn_predict_layers", "1, without its weights", num_nextn_predict_layers=1),
            *each("num_nextn_predict_layers", 0),
            *[*ROUTED_ROWS, *LATENT_ROWS],
        ],
        steps=[],
    ),
    # Other values of attn_temperature_tuning and attn_scale matter only from position floor_scale on, and llama.cpp
    # knows no floor_scale but 8192.
    "llama4": Cases(
        "llama4",
        LLAMA4,
        [
            *NO_ROPE,
            row("no_rope_layers", "[1, 1, 1, 1], all full", no_rope_layers=[1, 1, 1, 1], layer_types=kinds("ffff")),
            *layers("cfcf", "ffff"),
            *layers("cfcf", "ffff", attention_chunk_size=8),
            *each("attention_chunk_size", 8, 16),
            row("attention_chunk_size", "16384, positions 128", attention_chunk_size=16384),
            *each("use_qk_norm", False),
            *each("interleave_moe_layer_step", 1),
            *[row("moe_layers", str(chosen), moe_layers=chosen) for chosen in ([0], [0, 2], [])],
            row("num_local_experts", "128", num_local_experts=128),
            row("num_local_experts", "128, use_qk_norm False", num_local_experts=128, use_qk_norm=False),
            row("num_local_experts", "0", num_local_experts=0, num_experts_per_tok=0, interleave_moe_layer_step=0, moe_layers=[]),
            *each("num_experts_per_tok", 2),
            *each("floor_scale", 4),
            *[*BIAS, *USUAL],
        ],
    ),
    "nemotron": Cases(
        "nemotron",
        dict(HEADS, **rope(**HALF)),
        [
            *each("hidden_act", "silu", "gelu", "relu"),
            *[*BIAS, *MLP_BIAS, *TIED, *HEAD, *each("norm_eps", 0.1), *KV, *NOTHING],
            *[*theta(500.0, **HALF), *partial(1.0), *scalings(4, **HALF)],
        ],
        less_one=True,
    ),
    "arcee": Cases(
        "arcee",
        HEADS,
        [
            *each("hidden_act", "silu", "gelu", "relu"),
            *[*BIAS, *MLP_BIAS, *ROTARY, *TIED, *HEAD, *EPS, *KV, *NOTHING, *NOT_CAUSAL],
        ],
    ),
    "stablelm": Cases(
        "stablelm",
        dict(hidden_size=128, **rope(partial_rotary_factor=0.25)),
        [
            *each("use_qkv_bias", True),
            *each("qk_layernorm", True),
            *each("use_parallel_residual", True),
            row("qk_layernorm, use_parallel_residual", "True, True", qk_layernorm=True, use_parallel_residual=True),
            *[*TIED, *ACT, *each("layer_norm_eps", 0.1), *KV, *NOTHING],
            *[*theta(500.0, partial_rotary_factor=0.25), *partial(1.0), *scalings(4, partial_rotary_factor=0.25)],
        ],
    ),
    "gpt2": Cases(
        "gpt2",
        # Its repository states 64 positions.
        dict(intermediate_size=ABSENT, num_key_value_heads=ABSENT, max_position_embeddings=64, rope_parameters=ABSENT),
        [
            *each("scale_attn_by_inverse_layer_idx", True),
            *each("scale_attn_weights", False),
            *each("reorder_and_upcast_attn", True),
            *each("n_inner", 96),
            *each("activation_function", "gelu", "gelu_pytorch_tanh", "silu", "relu"),
            *each("layer_norm_epsilon", 0.1),
            *each("add_cross_attention", True),
            *UNTIED,
        ],
    ),
    "qwen3_5": Cases("qwen3_5", DELTA, DELTA_ROWS, steps=[], less_one=True),
    "qwen3_5_moe": Cases(
        "qwen3_5_moe",
        dict(DELTA, **MOE, shared_expert_intermediate_size=24, intermediate_size=ABSENT),
        [*DELTA_ROWS, *EXPERTS, *each("shared_expert_intermediate_size", 40), *each("moe_intermediate_size", 40)],
        less_one=True,
    ),
    "qwen3_next": Cases(
        "qwen3_next",
        dict({**DELTA, **rope(**HALF)}, **MOE, shared_expert_intermediate_size=24),
        [*theta(500.0, **HALF), *each("linear_num_value_heads", 2, 6), *TIED, *HEAD, *ACT, *EPS, *KV, *NOTHING],
        steps=[],
        less_one=True,
    ),
    "bert": Cases("bert", ENCODER, [*ENCODED, *each("type_vocab_size", 1)], embed=True),
    "roberta": Cases("roberta", dict(ENCODER, type_vocab_size=1), [*ENCODED, *each("pad_token_id", 0, 3)], embed=True),
    "xlm_roberta": Cases("xlm-roberta", dict(ENCODER, type_vocab_size=1), [*ENCODED, *each("pad_token_id", 0, 3)], embed=True),
}
SKIPPED = {"nomic_bert": "weigh and the converter read its published form, transformers 5 only its own"}
CASES.update(all_of("settings"))
SKIPPED.update(all_of("skipped"))
