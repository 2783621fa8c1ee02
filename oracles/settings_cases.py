"""Which settings check_settings.py varies, family by family.

An entry has the settings of a family's baseline and rows of (key, value as it is printed, settings that differ).
"""

import dataclasses

import family_tokenizers
from family_blocks import ABSENT, say
from families import FAMILIES

SIZES = dict(
    hidden_size=64,
    intermediate_size=48,
    num_hidden_layers=4,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=128,
    pad_token_id=None,
    rope_parameters=dict(rope_type="default", rope_theta=10000.0),
)
FULL, SLIDING = "full_attention", "sliding_attention"
WINDOW = 8


@dataclasses.dataclass
class Cases:
    # A repository of the family whose tokenizer and steps are taken.
    like: str
    settings: dict
    rows: list
    steps: list | None = None
    # Whether norms are stored less one.
    less_one: bool = False
    # Whether hidden states are compared, because there are no logits.
    embed: bool = False


def types(letters):
    return [FULL if letter == "f" else SLIDING for letter in letters]


def rope(theta=10000.0, kind="default", **more):
    return dict(rope_parameters=dict(rope_type=kind, rope_theta=theta, **more))


def one(key, *values, **more):
    return [(key, str(value), {key: value, **more}) for value in values]


def scaled(name, kind, base, theta, **more):
    return (f"rope {kind}", name, rope(theta, kind, **base, **more))


def scalings(theta=10000.0, half=8, dynamic=True, **base):
    """Every kind of scaling that transformers knows; `half` is how many frequencies there are."""
    yarn = dict(factor=4.0, original_max_position_embeddings=128, **base)
    lists = dict(short_factor=[1.0 + 0.1 * i for i in range(half)], long_factor=[1.0 + 0.7 * i for i in range(half)], **base)
    llama3 = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, **base)
    rows = [
        ("rope linear", "factor 4", rope(theta, "linear", factor=4.0, **base)),
        ("rope yarn", "factor 4, original 128", rope(theta, "yarn", **yarn)),
        ("rope yarn", "original left to max_position_embeddings, 64", dict(rope(theta, "yarn", factor=4.0, **base), max_position_embeddings=64)),
        ("rope yarn attention_factor", "1.5", rope(theta, "yarn", attention_factor=1.5, **yarn)),
        ("rope yarn beta_fast, beta_slow", "1, 0.1", rope(theta, "yarn", beta_fast=1.0, beta_slow=0.1, **yarn)),
        ("rope yarn mscale", "0.707, all 0.5", rope(theta, "yarn", mscale=0.707, mscale_all_dim=0.5, **yarn)),
        ("rope yarn mscale", "1, all 1", rope(theta, "yarn", mscale=1.0, mscale_all_dim=1.0, **yarn)),
        ("rope yarn truncate", "False", rope(theta, "yarn", truncate=False, **yarn)),
        ("rope llama3", "original 16", rope(theta, "llama3", original_max_position_embeddings=16, **llama3)),
        ("rope llama3", "low 2, high 8", rope(theta, "llama3", original_max_position_embeddings=32, **dict(llama3, low_freq_factor=2.0, high_freq_factor=8.0))),
        ("rope longrope", "long in use", rope(theta, "longrope", factor=4.0, original_max_position_embeddings=32, **lists)),
        ("rope longrope", "short in use", dict(rope(theta, "longrope", factor=4.0, original_max_position_embeddings=256, **lists), max_position_embeddings=1024)),
        ("rope longrope attention_factor", "1.5", rope(theta, "longrope", factor=4.0, attention_factor=1.5, original_max_position_embeddings=32, **lists)),
    ]
    if dynamic:
        rows.append(("rope dynamic", "factor 2, beyond 16", dict(rope(theta, "dynamic", factor=2.0, **base), max_position_embeddings=16)))
    return rows


def theta(*values, **more):
    return [("rope_theta", f"{value:g}", rope(value, **more)) for value in values]


PARTIAL = [("partial_rotary_factor", "0.5", rope(partial_rotary_factor=0.5))]
ACTS = one("hidden_act", "gelu", "gelu_pytorch_tanh", "relu", "swish")
TIED, UNTIED = one("tie_word_embeddings", True), one("tie_word_embeddings", False)
EPS = [
    *one("rms_norm_eps", 0.1),
    ("attention_dropout, initializer_range, use_cache", "0.5, 1, False", dict(attention_dropout=0.5, initializer_range=1.0, use_cache=False)),
]
NOT_CAUSAL = one("is_causal", False)
KV = one("num_key_value_heads", 4, 1)
HEAD = one("head_dim", 24, 8)
MOE = dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24)
ROTARY = [*theta(500.0), *PARTIAL, *scalings()]

LATENT = dict(
    first_k_dense_replace=1,
    n_routed_experts=8,
    n_shared_experts=1,
    num_experts_per_tok=2,
    moe_intermediate_size=24,
    n_group=1,
    topk_group=1,
    num_key_value_heads=4,
    q_lora_rank=24,
    kv_lora_rank=32,
    qk_nope_head_dim=16,
    qk_rope_head_dim=8,
    v_head_dim=16,
    norm_topk_prob=False,
)
WINDOWED = [
    ("use_sliding_window", "True, sliding_window 8, max_window_layers 2", dict(use_sliding_window=True, sliding_window=WINDOW, max_window_layers=2)),
    ("max_window_layers", "4 of 4, sliding_window 8", dict(use_sliding_window=True, sliding_window=WINDOW, max_window_layers=4)),
    ("sliding_window", "8, not in use", dict(use_sliding_window=False, sliding_window=WINDOW)),
    ("layer_types", "sfsf, window 8", dict(use_sliding_window=True, sliding_window=WINDOW, layer_types=types("sfsf"))),
    ("layer_types", "ssss, window 8", dict(use_sliding_window=True, sliding_window=WINDOW, layer_types=types("ssss"))),
]
SPARSE = [
    ("mlp_only_layers", "[1]", dict(mlp_only_layers=[1])),
    ("decoder_sparse_step", "2", dict(decoder_sparse_step=2)),
    *one("norm_topk_prob", True, False),
    *one("num_experts_per_tok", 1, 3),
    *one("moe_intermediate_size", 40),
]

WIDE = [*one("sliding_window", WINDOW), ("sliding_window", "256, positions 128", dict(sliding_window=256))]
CASES = {
    "llama": Cases("llama", dict(head_dim=16), [
        *ROTARY, *NOT_CAUSAL, *one("attention_bias", True), *one("mlp_bias", True), *TIED, *HEAD, *ACTS, *EPS, *KV, *one("pretraining_tp", 2),
    ]),
    "mistral": Cases("mistral", dict(head_dim=16, sliding_window=None), [
        *WIDE, *NOT_CAUSAL, *ROTARY, *TIED, *HEAD, *ACTS, *EPS, *KV,
    ], steps=[]),
    "mixtral": Cases("mixtral", dict(num_local_experts=4, head_dim=16), [
        *WIDE, *ROTARY, *TIED, *HEAD, *ACTS, *EPS, *KV, *one("num_experts_per_tok", 1, 3), ("router_jitter_noise, output_router_logits", "0.1, True", dict(router_jitter_noise=0.1, output_router_logits=True)),
    ]),
    "qwen2": Cases("qwen2", {}, [*WINDOWED, *NOT_CAUSAL, *ROTARY, *TIED, *HEAD, *ACTS, *EPS, *KV], steps=[]),
    "qwen2_moe": Cases("qwen2_moe", dict(MOE, shared_expert_intermediate_size=40), [
        *WINDOWED, *SPARSE, *one("qkv_bias", False), *one("shared_expert_intermediate_size", 16), *ROTARY, *TIED, *HEAD, *ACTS, *EPS, *KV,
    ]),
    "qwen3": Cases("qwen3", dict(head_dim=16), [*one("attention_bias", True), *WINDOWED, *NOT_CAUSAL, *ROTARY, *TIED, *HEAD, *ACTS, *EPS, *KV]),
    "qwen3_moe": Cases("qwen3_moe", dict(MOE, head_dim=16, norm_topk_prob=True), [
        *one("attention_bias", True), *WINDOWED, *SPARSE, *ROTARY, *TIED, *HEAD, *ACTS, *EPS, *KV,
    ]),
    "gemma": Cases("gemma", dict(head_dim=16), [
        *theta(500.0), *PARTIAL, *scalings(), *one("attention_bias", True), *UNTIED, *HEAD, *EPS, *KV,
        *one("hidden_act", "gelu", "gelu_new", "silu"), *one("use_bidirectional_attention", True),
    ]),
    "gemma2": Cases("gemma2", dict(head_dim=16, sliding_window=WINDOW, query_pre_attn_scalar=16, layer_types=types("sfsf")), [
        *theta(500.0), *PARTIAL, *scalings(), *one("attention_bias", True), *UNTIED, *HEAD, *EPS, *KV,
        *one("hidden_activation", "gelu", "gelu_new", "silu"), *one("query_pre_attn_scalar", 64), *one("sliding_window", 16),
        *one("final_logit_softcapping", None, 5.0), *one("attn_logit_softcapping", None, 2.0),
        ("layer_types", "fsfs", dict(layer_types=types("fsfs"))), ("layer_types", "ssss", dict(layer_types=types("ssss"))),
        ("layer_types", "ffff", dict(layer_types=types("ffff"))), ("layer_types", "sssf", dict(layer_types=types("sssf"))),
        *one("use_bidirectional_attention", True),
        ("query_pre_attn_scalar", "16 = hidden_size / heads, head_dim 24, 46 layers", dict(num_hidden_layers=46, head_dim=24, query_pre_attn_scalar=16, layer_types=types("sf" * 23))),
        ("query_pre_attn_scalar", "24 = head_dim, 46 layers", dict(num_hidden_layers=46, head_dim=24, query_pre_attn_scalar=24, layer_types=types("sf" * 23))),
        ("query_pre_attn_scalar", "24 = head_dim", dict(head_dim=24, query_pre_attn_scalar=24)),
    ], less_one=True),
}
CASES["gemma"].less_one = True

def nested(local=10000.0, full=1e6, kind="default", local_more=None, **more):
    return dict(rope_parameters={
        SLIDING: dict(rope_type="default", rope_theta=local, **(local_more or {})),
        FULL: dict(rope_type=kind, rope_theta=full, **more),
    })


GEMMA3_ROPE = [
    ("rope_theta", "full 500", nested(full=500.0)),
    ("rope_theta", "sliding 500", nested(local=500.0)),
    *[(key, value + ", full", nested(1e4, 1e6, **{("kind" if k == "rope_type" else k): v for k, v in said["rope_parameters"].items() if k != "rope_theta"}))
      for key, value, said in scalings(dynamic=False)],
    ("rope linear", "sliding too", dict(rope_parameters={t: dict(rope_type="linear", rope_theta=1e4 if t == SLIDING else 1e6, factor=4.0) for t in (SLIDING, FULL)})),
]
LAYERS = [(f"layer_types", letters, dict(layer_types=types(letters))) for letters in ("fsfsfs", "ssssss", "ffffff", "ssfssf", "sssfss", "fsssss")]
SIX = dict(num_hidden_layers=6, layer_types=types("sssssf"))
CASES["gemma3"] = Cases("gemma3", dict(SIX, head_dim=16, sliding_window=WINDOW, query_pre_attn_scalar=16, **nested()), [
    *GEMMA3_ROPE, *LAYERS, *one("attention_bias", True), *UNTIED, *HEAD, *EPS, *KV,
    *one("hidden_activation", "gelu", "gelu_new", "silu"), *one("query_pre_attn_scalar", 64), *one("sliding_window", 16, 4096),
    *one("final_logit_softcapping", 5.0), *one("attn_logit_softcapping", 2.0), *one("use_bidirectional_attention", True),
    ("query_pre_attn_scalar", "24 = head_dim", dict(head_dim=24, query_pre_attn_scalar=24)),
    ("query_pre_attn_scalar", "16 = hidden_size / heads, head_dim 24, 62 layers", dict(num_hidden_layers=62, head_dim=24, query_pre_attn_scalar=16, layer_types=types(("sssssf" * 11)[:62]))),
    ("query_pre_attn_scalar", "24 = head_dim, 62 layers", dict(num_hidden_layers=62, head_dim=24, query_pre_attn_scalar=24, layer_types=types(("sssssf" * 11)[:62]))),
], less_one=True)
CASES["gemma3"].steps = []
FOUR = dict(layer_types=types("sssf"))
LAYERS4 = [("layer_types", letters, dict(layer_types=types(letters))) for letters in ("sfsf", "ssss", "ffff", "fsss")]
# llama.cpp takes the long factors where its context, at least 256, is longer than the original one.
def phi3_long(original, root=None, half=8, **more):
    lists = dict(short_factor=[1.0 + 0.1 * i for i in range(half)], long_factor=[1.0 + 0.7 * i for i in range(half)])
    said = rope(kind="longrope", original_max_position_embeddings=original, **lists, **more)
    return dict(said, original_max_position_embeddings=root or original, max_position_embeddings=4 * (root or original))


PHI3 = dict(original_max_position_embeddings=128)
CASES["phi3"] = Cases("phi3", PHI3, [
    *theta(500.0), *PARTIAL, *WIDE,
    ("rope longrope", "long in use", phi3_long(32)), ("rope longrope", "short in use", phi3_long(256)),
    ("rope longrope", "long in use, partial_rotary_factor 0.5", phi3_long(32, half=4, partial_rotary_factor=0.5)),
    ("rope longrope", "original 256, at the root 32", phi3_long(256, root=32)),
    ("rope longrope attention_factor", "1.5", phi3_long(32, attention_factor=1.5)),
    ("rope longrope factor", "2, positions 4 times the original", phi3_long(32, factor=2.0)),
    *TIED, *one("head_dim", 24), *ACTS, *EPS, *KV,
])
CASES["granite"] = Cases("granite", dict(embedding_multiplier=3.0, logits_scaling=2.0, residual_multiplier=0.5, attention_multiplier=0.2), [
    *ROTARY, *one("embedding_multiplier", 1.0, 12.0), *one("logits_scaling", 1.0, 8.0), *one("residual_multiplier", 1.0, 0.22), *one("attention_multiplier", 1.0, 0.25),
    *one("attention_bias", True), *one("mlp_bias", True), *TIED, *HEAD, *ACTS, *EPS, *KV,
])
CASES["smollm3"] = Cases("smollm3", dict(no_rope_layers=[1, 1, 1, 0], tie_word_embeddings=True), [
    ("no_rope_layers", "[1, 1, 1, 1]", dict(no_rope_layers=[1, 1, 1, 1])), ("no_rope_layers", "[1, 0, 1, 0]", dict(no_rope_layers=[1, 0, 1, 0])),
    ("no_rope_layers", "[0, 0, 0, 0]", dict(no_rope_layers=[0, 0, 0, 0])),
    ("no_rope_layer_interval", "2", dict(no_rope_layers=None, no_rope_layer_interval=2)),
    *one("attention_bias", True), *one("mlp_bias", True), *UNTIED, *WINDOWED, *ROTARY, *HEAD, *ACTS, *EPS, *KV,
])
CASES["olmo2"] = Cases("olmo2", {}, [*ROTARY, *one("attention_bias", True), *TIED, *HEAD, *ACTS, *EPS, *KV])
OLMO3 = dict(FOUR, sliding_window=WINDOW)
both = lambda said: dict(rope_parameters={SLIDING: dict(rope_type="default", rope_theta=said["rope_parameters"]["rope_theta"]), FULL: said["rope_parameters"]})
CASES["olmo3"] = Cases("olmo3", dict(OLMO3), [
    *theta(500.0), *LAYERS4, *one("sliding_window", 16, 4096), *[(key, value + ", full", both(said)) for key, value, said in scalings(dynamic=False)],
    ("rope_theta", "sliding 500", nested(local=500.0, full=10000.0)), ("rope_theta", "full 500", nested(local=10000.0, full=500.0)),
    ("rope linear", "both", dict(rope_parameters={t: dict(rope_type="linear", rope_theta=1e4, factor=4.0) for t in (SLIDING, FULL)})),
    *one("attention_bias", True), *TIED, *HEAD, *ACTS, *EPS, *KV,
])
CASES["starcoder2"] = Cases("starcoder2", dict(tie_word_embeddings=True), [
    *one("use_bias", False), *UNTIED, *WIDE, *ROTARY, *HEAD, *one("hidden_act", "gelu", "gelu_new", "silu", "relu"), *one("norm_epsilon", 0.1), *KV,
])
CASES["cohere"] = Cases("cohere", dict(logit_scale=0.5), [
    *one("attention_bias", True), *one("use_qk_norm", True), ("use_qk_norm", "True, 64 layers", dict(use_qk_norm=True, num_hidden_layers=64)), ("use_qk_norm", "False, 64 layers", dict(num_hidden_layers=64)), *one("logit_scale", 1.0, 0.0625), *UNTIED, *ROTARY, *HEAD, *ACTS, *one("layer_norm_eps", 0.1), *KV,
])
ROTARY_PCT = [("rotary_pct", "absent", dict(rotary_pct=ABSENT)), *one("rotary_pct", 0.5)]
CASES["cohere2"] = Cases("cohere2", dict(FOUR, head_dim=16, sliding_window=WINDOW, logit_scale=0.5, rotary_pct=1.0), [
    *LAYERS4, *ROTARY_PCT, *one("sliding_window", 16, 4096), *one("logit_scale", 1.0, 0.0625), *one("attention_bias", True), *UNTIED, *ROTARY, *HEAD, *ACTS, *one("layer_norm_eps", 0.1), *KV,
])
GPT_OSS = dict(num_local_experts=4, num_experts_per_tok=2, sliding_window=WINDOW, head_dim=16, layer_types=types("sfsf"))
CASES["gpt_oss"] = Cases("gpt_oss", dict(GPT_OSS, **rope()), [
    ("layer_types", "fsfs", dict(layer_types=types("fsfs"))), ("layer_types", "ssss", dict(layer_types=types("ssss"))),
    ("layer_types", "ffff", dict(layer_types=types("ffff"))), ("layer_types", "sssf", dict(layer_types=types("sssf"))),
    *one("sliding_window", 16, 4096), *one("attention_bias", False), *one("swiglu_limit", 1.0), *one("swiglu_alpha", 1.0), *one("num_experts_per_tok", 1, 3), *ROTARY, *TIED, *HEAD, *ACTS, *EPS, *KV,
])
CASES["glm4"] = Cases("glm4", dict(head_dim=16, attention_bias=True, **rope(partial_rotary_factor=0.5)), [
    *one("attention_bias", False), *theta(500.0, partial_rotary_factor=0.5), ("partial_rotary_factor", "1.0", rope(partial_rotary_factor=1.0)), ("partial_rotary_factor", "0.25", rope(partial_rotary_factor=0.25)),
    *scalings(partial_rotary_factor=0.5, half=4), *TIED, *HEAD, *ACTS, *EPS, *KV,
])
GLM4_MOE = dict(LATENT, head_dim=16, num_key_value_heads=2, norm_topk_prob=True, num_nextn_predict_layers=0, use_qk_norm=True, attention_bias=True, **rope(partial_rotary_factor=0.5))
GROUPS = [("n_group, topk_group", "4, 2", dict(n_group=4, topk_group=2)), *one("n_shared_experts", 2), *one("routed_scaling_factor", 1.0, 2.5), *one("num_experts_per_tok", 1, 3), *one("first_k_dense_replace", 0, 2)]
CASES["glm4_moe"] = Cases("glm4_moe", GLM4_MOE, [
    *one("attention_bias", False), *one("use_qk_norm", False), *GROUPS, *one("norm_topk_prob", False), *one("num_nextn_predict_layers", 1), *theta(500.0, partial_rotary_factor=0.5), ("partial_rotary_factor", "1.0", rope(partial_rotary_factor=1.0)),
    *scalings(partial_rotary_factor=0.5, half=4), *TIED, *HEAD, *ACTS, *EPS, *KV,
])
CASES["glm4_moe"].steps = []
YARN = dict(factor=4.0, original_max_position_embeddings=128)
YARNS = [
    *scalings(half=4),
    ("rope yarn mscale", "0.707, all 0.707", rope(kind="yarn", mscale=0.707, mscale_all_dim=0.707, **YARN)),
    ("rope yarn mscale_all_dim", "0.5 alone", rope(kind="yarn", mscale_all_dim=0.5, **YARN)),
]
LIMITED = dict(topk_method="group_limited_greedy", n_group=4)
ROUTED2 = [
    ("topk_method", "group_limited_greedy, 1 of 4 groups", dict(LIMITED, topk_group=1)),
    ("topk_method", "group_limited_greedy, 2 of 4 groups", dict(LIMITED, topk_group=2)),
    ("topk_method", "group_limited_greedy, 2 of 2 groups", dict(LIMITED, n_group=2, topk_group=2)),
    ("n_group, topk_group", "4, 2, greedy", dict(n_group=4, topk_group=2)),
    *one("norm_topk_prob", True, False)]
DEEP = dict(LATENT, topk_method="greedy", routed_scaling_factor=1.0)
CASES["deepseek_v2"] = Cases("deepseek_v2", DEEP, [
    *ROUTED2, *GROUPS[1:], ("q_lora_rank", "None, 4 layers", dict(q_lora_rank=None)), ("q_lora_rank", "None, 27 layers", dict(q_lora_rank=None, num_hidden_layers=27)),
    ("q_lora_rank", "None, 26 layers", dict(q_lora_rank=None, num_hidden_layers=26)), ("q_lora_rank", "24, 27 layers", dict(num_hidden_layers=27)),
    *theta(500.0), *YARNS, *one("attention_bias", True), *one("mlp_bias", True), *TIED, *ACTS, *EPS,
    ("scoring_func", "softmax, stated", dict(scoring_func="softmax")), *one("v_head_dim", 24), *one("qk_rope_head_dim", 16),
])
CASES["deepseek_v3"] = Cases("deepseek_v3", dict(LATENT, norm_topk_prob=True, routed_scaling_factor=2.5, n_group=4, topk_group=2, scoring_func="sigmoid"), [
    ("scoring_func", "absent", dict(scoring_func=ABSENT)), ("n_group, topk_group", "1, 1", dict(n_group=1, topk_group=1)), *GROUPS[1:], *one("norm_topk_prob", False),
    ("q_lora_rank", "None, 4 layers", dict(q_lora_rank=None)), ("q_lora_rank", "None, 27 layers", dict(q_lora_rank=None, num_hidden_layers=27)), ("q_lora_rank", "24, 27 layers", dict(num_hidden_layers=27)),
    *one("rope_interleave", False), *one("num_nextn_predict_layers", 1, 0), *theta(500.0), *YARNS, *one("attention_bias", True), *TIED, *ACTS, *EPS, *one("v_head_dim", 24), *one("qk_rope_head_dim", 16),
])
CASES["deepseek_v3"].steps = []
CASES["deepseek_v2"].steps = []
CHUNKED = "chunked_attention"
LLAMA4 = dict(
    num_local_experts=4, num_experts_per_tok=1, intermediate_size=24, intermediate_size_mlp=48, head_dim=16, interleave_moe_layer_step=2,
    no_rope_layers=[1, 1, 1, 0], layer_types=[CHUNKED] * 3 + [FULL], attention_chunk_size=8192, use_qk_norm=True, attn_temperature_tuning=True, max_position_embeddings=128,
)
CASES["llama4"] = Cases("llama4", LLAMA4, [
    ("no_rope_layers", "[1, 1, 1, 1]", dict(no_rope_layers=[1, 1, 1, 1])), ("no_rope_layers", "[1, 0, 1, 0]", dict(no_rope_layers=[1, 0, 1, 0])), ("no_rope_layers", "[0, 0, 0, 0]", dict(no_rope_layers=[0, 0, 0, 0])),
    ("no_rope_layers", "[1, 1, 1, 1], all full", dict(no_rope_layers=[1, 1, 1, 1], layer_types=[FULL] * 4)),
    ("layer_types", "cfcf, chunk 8", dict(layer_types=[CHUNKED, FULL] * 2, attention_chunk_size=8)), ("layer_types", "ffff", dict(layer_types=[FULL] * 4)),
    ("layer_types", "ffff, chunk 8", dict(layer_types=[FULL] * 4, attention_chunk_size=8)),
    *one("attention_chunk_size", 8, 16), ("attention_chunk_size", "16384, positions 128", dict(attention_chunk_size=16384)), *one("use_qk_norm", False), *one("interleave_moe_layer_step", 1), ("moe_layers", "[0]", dict(moe_layers=[0])), ("moe_layers", "[0, 2]", dict(moe_layers=[0, 2])), ("moe_layers", "[]", dict(moe_layers=[])), ("num_local_experts", "128", dict(num_local_experts=128)), ("num_local_experts", "128, use_qk_norm False", dict(num_local_experts=128, use_qk_norm=False)), ("num_local_experts", "0, interleave 0", dict(num_local_experts=0, num_experts_per_tok=0, interleave_moe_layer_step=0, moe_layers=[])),
    *one("floor_scale", 4), *one("attention_bias", True), *one("num_experts_per_tok", 2), *TIED, *theta(500.0), *scalings(), *HEAD, *ACTS, *EPS, *KV,
])
NEMO = dict(head_dim=16, **rope(partial_rotary_factor=0.5))
CASES["nemotron"] = Cases("nemotron", NEMO, [
    *one("attention_bias", True), *one("mlp_bias", True), *TIED, *HEAD, *one("hidden_act", "silu", "gelu", "relu"), *one("norm_eps", 0.1), *KV, *theta(500.0, partial_rotary_factor=0.5), ("partial_rotary_factor", "1.0", rope(partial_rotary_factor=1.0)), *scalings(partial_rotary_factor=0.5, half=4),
])
CASES["stablelm"] = Cases("stablelm", dict(rope(partial_rotary_factor=0.25), hidden_size=128), [
    *one("use_qkv_bias", True), *one("qk_layernorm", True), *one("use_parallel_residual", True), ("qk_layernorm", "True, use_parallel_residual True", dict(qk_layernorm=True, use_parallel_residual=True)),
    *TIED, *ACTS, *one("layer_norm_eps", 0.1), *KV, *theta(500.0, partial_rotary_factor=0.25), ("partial_rotary_factor", "1.0", rope(partial_rotary_factor=1.0)), *scalings(partial_rotary_factor=0.25, half=4),
])
GPT2 = dict(intermediate_size=ABSENT, num_key_value_heads=ABSENT, head_dim=ABSENT, hidden_size=64, max_position_embeddings=64, rope_parameters=ABSENT)
CASES["gpt2"] = Cases("gpt2", GPT2, [
    *one("scale_attn_by_inverse_layer_idx", True), *one("scale_attn_weights", False), *one("reorder_and_upcast_attn", True), *UNTIED, *one("n_inner", 96), *one("activation_function", "gelu", "gelu_pytorch_tanh", "silu", "relu"), *one("layer_norm_epsilon", 0.1), *one("add_cross_attention", True),
])
LINEAR = dict(
    layer_types=["linear_attention"] * 3 + [FULL], head_dim=16, linear_conv_kernel_dim=4, linear_key_head_dim=8, linear_value_head_dim=8, linear_num_key_heads=2, linear_num_value_heads=4,
    rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5, mrope_interleaved=True, mrope_section=[2, 1, 1]),
)
QROPE = dict(partial_rotary_factor=0.5, mrope_interleaved=True, mrope_section=[2, 1, 1])
QWEN35 = [
    ("layer_types", "lflf", dict(layer_types=["linear_attention", FULL] * 2, full_attention_interval=2)), ("layer_types", "lllf, lf stated by list alone", dict(layer_types=["linear_attention", FULL] * 2)),
    ("layer_types", "flll", dict(layer_types=[FULL] + ["linear_attention"] * 3)), ("layer_types", "ffff", dict(layer_types=[FULL] * 4)),
    *one("attention_bias", True), *TIED, *HEAD, *ACTS, *EPS, *KV, *one("linear_conv_kernel_dim", 3), *one("linear_num_value_heads", 2, 6), *one("linear_value_head_dim", 16), *one("linear_key_head_dim", 16),
    *theta(500.0, **QROPE), ("partial_rotary_factor", "1.0", rope(partial_rotary_factor=1.0, mrope_interleaved=True, mrope_section=[3, 3, 2])), ("rope_parameters", "without mrope", rope(partial_rotary_factor=0.5)), *scalings(half=4, **QROPE),
    ("mtp_num_hidden_layers", "1, without the weights", dict(mtp_num_hidden_layers=1)), ("mtp_num_hidden_layers", "0", dict(mtp_num_hidden_layers=0)),
]
CASES["qwen3_5"] = Cases("qwen3_5", LINEAR, QWEN35)
CASES["qwen3_5"].steps = []
CASES["qwen3_5"].less_one = True
CASES["qwen3_5_moe"] = Cases("qwen3_5_moe", dict(LINEAR, **MOE, shared_expert_intermediate_size=24, intermediate_size=ABSENT), [*QWEN35, *one("num_experts_per_tok", 1, 3), *one("shared_expert_intermediate_size", 40), *one("moe_intermediate_size", 40)])
ENCODER = dict(num_key_value_heads=ABSENT, type_vocab_size=2, rope_parameters=ABSENT)
ENCODED = [*one("hidden_act", "gelu_new", "relu", "silu"), *one("layer_norm_eps", 0.1), *one("position_embedding_type", "relative_key"), *one("is_decoder", True)]
CASES["bert"] = Cases("bert", ENCODER, [*ENCODED, *one("type_vocab_size", 1)], embed=True)
PADDED = one("pad_token_id", 0, 3)
CASES["roberta"] = Cases("roberta", dict(ENCODER, type_vocab_size=1), [*ENCODED, *PADDED], embed=True)
CASES["xlm_roberta"] = Cases("xlm-roberta", dict(ENCODER, type_vocab_size=1), [*ENCODED, *PADDED], embed=True)
CASES["qwen3_5_moe"].less_one = CASES["nemotron"].less_one = True
for name in ("mistral", "qwen2"):
    CASES[name].steps = []
SKIPPED = {"nomic_bert": "weigh and the converter read its published form, transformers 5 only its own"}
