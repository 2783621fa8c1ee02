"""What the entries in settings_cases.py are made of: rows that several families share."""

import dataclasses

from family_blocks import ABSENT

# Of every baseline. Positions are more than the tokens that are run.
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
FULL, SLIDING, CHUNKED, LINEAR = "full_attention", "sliding_attention", "chunked_attention", "linear_attention"
KINDS = dict(f=FULL, s=SLIDING, c=CHUNKED, l=LINEAR)
# Fewer tokens than are run, so that it matters.
WINDOW = 8


@dataclasses.dataclass
class Cases:
    # The repository in `families` whose tokenizer and model are taken.
    like: str
    # Of the baseline, beside SIZES.
    settings: dict
    # (key, value as it is printed, settings that differ from the baseline's).
    rows: list
    # What is done to a saved repository, if not what is done to that one.
    steps: list | None = None
    # Whether norms are stored less one.
    less_one: bool = False
    # Whether hidden states are compared, because there are no logits.
    embed: bool = False


def row(key, value, **settings):
    return key, value, settings


def each(key, *values):
    """A row for each value of one setting."""
    return [row(key, str(value), **{key: value}) for value in values]


def layers(*patterns, **more):
    """A row for each order of kinds of layers, a letter for a layer."""
    return [row("layer_types", letters, layer_types=kinds(letters), **more) for letters in patterns]


def kinds(letters):
    return [KINDS[letter] for letter in letters]


def rope(theta=10000.0, kind="default", **more):
    return dict(rope_parameters=dict(rope_type=kind, rope_theta=theta, **more))


def theta(value, **more):
    return [row("rope_theta", f"{value:g}", **rope(value, **more))]


def partial(*factors, **more):
    return [row("partial_rotary_factor", str(factor), **rope(partial_rotary_factor=factor, **more)) for factor in factors]


def factors(half):
    """Factors of longrope for as many frequencies."""
    return dict(short_factor=[1.0 + 0.1 * i for i in range(half)], long_factor=[1.0 + 0.7 * i for i in range(half)])


YARN = dict(factor=4.0, original_max_position_embeddings=128)


def yarn(name, value, base, **more):
    return row(f"rope yarn{name}", value, **rope(kind="yarn", **{**YARN, **base, **more}))


def yarns(base):
    # With 128 positions and these betas each of these changes some frequency, of four as of eight.
    left = {key: value for key, value in {**YARN, **base}.items() if key != "original_max_position_embeddings"}
    return [
        yarn("", "factor 4, original 128", base),
        row("rope yarn", "factor 4, original not stated, positions 64", **rope(kind="yarn", **left), max_position_embeddings=64),
        yarn(" attention_factor", "1.5", base, attention_factor=1.5),
        yarn(" beta_fast, beta_slow", "1, 0.1", base, beta_fast=1.0, beta_slow=0.1),
        yarn(" mscale, mscale_all_dim", "0.707, 0.5", base, mscale=0.707, mscale_all_dim=0.5),
        yarn(" mscale, mscale_all_dim", "1, 1", base, mscale=1.0, mscale_all_dim=1.0),
        yarn(" truncate", "False", base, truncate=False),
    ]


def longropes(half, base):
    # llama.cpp takes the long factors where its context, at least 256, is longer than the original one.
    long = rope(kind="longrope", factor=4.0, original_max_position_embeddings=32, **factors(half), **base)
    short = rope(kind="longrope", factor=4.0, original_max_position_embeddings=256, **factors(half), **base)
    other = dict(rope_parameters=dict(long["rope_parameters"], attention_factor=1.5))
    return [
        row("rope longrope", "original 32: long factors", **long),
        row("rope longrope", "original 256: short factors", **short, max_position_embeddings=1024),
        row("rope longrope attention_factor", "1.5", **other),
    ]


def llama3(base):
    said = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16, **base)
    other = dict(said, low_freq_factor=2.0, high_freq_factor=8.0, original_max_position_embeddings=32)
    return [
        row("rope llama3", "factor 8, low 1, high 4, original 16", **rope(kind="llama3", **said)),
        row("rope llama3", "factor 8, low 2, high 8, original 32", **rope(kind="llama3", **other)),
    ]


def scalings(half=8, **base):
    """Every kind of scaling that transformers knows; `half` is how many frequencies there are."""
    return [
        row("rope linear", "factor 4", **rope(kind="linear", factor=4.0, **base)),
        *yarns(base),
        *llama3(base),
        *longropes(half, base),
        row("rope dynamic", "factor 2, positions 16", **rope(kind="dynamic", factor=2.0, **base), max_position_embeddings=16),
    ]


def by_layer(local, full):
    """Rotary parameters of sliding and of full layers."""
    return dict(rope_parameters={SLIDING: dict(dict(rope_type="default"), **local), FULL: dict(dict(rope_type="default"), **full)})


def full_scalings(local_theta, full_theta):
    """Scalings of full layers, where sliding ones have none. transformers reads no `truncate` there."""
    rows = []
    for key, value, settings in scalings():
        said = dict(settings["rope_parameters"], rope_theta=full_theta)
        if said["rope_type"] != "dynamic" and "truncate" not in said:
            more = {one: other for one, other in settings.items() if one != "rope_parameters"}
            rows.append(row(key, f"{value}, full layers", **by_layer(dict(rope_theta=local_theta), said), **more))
    return rows


def linear_everywhere(local_theta, full_theta):
    said = dict(rope_type="linear", factor=4.0)
    return row("rope linear", "factor 4, all layers", **by_layer(dict(said, rope_theta=local_theta), dict(said, rope_theta=full_theta)))


ROTARY = [*theta(500.0), *partial(0.5), *scalings()]
ACT = each("hidden_act", "gelu", "gelu_pytorch_tanh", "relu", "swish")
GELU = each("hidden_act", "gelu", "gelu_new", "silu", "relu")
TIED, UNTIED = each("tie_word_embeddings", True), each("tie_word_embeddings", False)
HEAD = each("head_dim", 24, 8)
KV = each("num_key_value_heads", 4, 1)
EPS = each("rms_norm_eps", 0.1)
NOTHING = [
    row("attention_dropout, initializer_range, use_cache", "0.5, 1, False", attention_dropout=0.5, initializer_range=1.0, use_cache=False)
]
NOT_CAUSAL = each("is_causal", False)
BIAS, NO_BIAS = each("attention_bias", True), each("attention_bias", False)
MLP_BIAS = each("mlp_bias", True)
USUAL = [*ROTARY, *TIED, *HEAD, *ACT, *EPS, *KV, *NOTHING]
# Every layer's window.
WINDOWED = [*each("sliding_window", WINDOW), row("sliding_window", "256, positions 128", sliding_window=256)]
# The window of the layers that max_window_layers or layer_types names.
USED = dict(use_sliding_window=True, sliding_window=WINDOW)
SOME_WINDOWED = [
    row("use_sliding_window", "True, sliding_window 8, max_window_layers 2", **USED, max_window_layers=2),
    row("max_window_layers", "4 of 4, sliding_window 8", **USED, max_window_layers=4),
    row("sliding_window", "8, not in use", use_sliding_window=False, sliding_window=WINDOW),
    *layers("sfsf", "ssss", **USED),
]
WINDOWS = each("sliding_window", 16, 4096)
MOE = dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24)
EXPERTS = each("num_experts_per_tok", 1, 3)
ROUTER = [row("router_jitter_noise, output_router_logits", "0.1, True", router_jitter_noise=0.1, output_router_logits=True)]
SPARSE = [
    row("mlp_only_layers", "[1]", mlp_only_layers=[1]),
    row("decoder_sparse_step", "2", decoder_sparse_step=2),
    *each("norm_topk_prob", True, False),
    *each("moe_intermediate_size", 40),
    *EXPERTS,
]
# Of DeepSeek and of those who took its experts.
ROUTED = dict(
    first_k_dense_replace=1,
    n_routed_experts=8,
    n_shared_experts=1,
    num_experts_per_tok=2,
    moe_intermediate_size=24,
    n_group=1,
    topk_group=1,
)
ROUTED_ROWS = [
    *each("n_shared_experts", 2),
    *each("routed_scaling_factor", 1.0, 2.5),
    *each("first_k_dense_replace", 0, 2),
    *EXPERTS,
]
LATENT = dict(
    ROUTED,
    num_key_value_heads=4,
    q_lora_rank=24,
    kv_lora_rank=32,
    qk_nope_head_dim=16,
    qk_rope_head_dim=8,
    v_head_dim=16,
    norm_topk_prob=False,
)
LATENT_ROWS = [
    row("q_lora_rank", "None, 4 layers", q_lora_rank=None),
    row("q_lora_rank", "None, 27 layers", q_lora_rank=None, num_hidden_layers=27),
    row("q_lora_rank", "24, 27 layers", num_hidden_layers=27),
    *theta(500.0),
    *scalings(half=4),
    yarn(" mscale, mscale_all_dim", "0.707, 0.707", {}, mscale=0.707, mscale_all_dim=0.707),
    yarn(" mscale_all_dim", "0.5 alone", {}, mscale_all_dim=0.5),
    *each("v_head_dim", 24),
    *each("qk_rope_head_dim", 16),
    *BIAS,
    *TIED,
    *ACT,
    *EPS,
    *NOTHING,
]
ENCODER = dict(num_key_value_heads=ABSENT, type_vocab_size=2, rope_parameters=ABSENT)
ENCODED = [
    *each("hidden_act", "gelu_new", "relu", "silu"),
    *each("layer_norm_eps", 0.1),
    *each("position_embedding_type", "relative_key"),
    *each("is_decoder", True),
]
