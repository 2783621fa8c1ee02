"""OLMoE."""

from family_blocks import Family, Repository, config
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level
from settings_rows import ACT, EPS, NOTHING, Cases, each

olmoe = plain_bpe([byte_level(use_regex=True)], "GPTNeoXTokenizer", "<|endoftext|>", "<|endoftext|>", "<|padding|>", normalizer=dict(type="NFC"))
SIZES = dict(num_experts=3, num_experts_per_tok=2, intermediate_size=8)

FAMILY = Family(
    "Olmoe",
    to_gguf={
        "olmoe": Repository(dict(SIZES, num_hidden_layers=2, num_key_value_heads=4), olmoe, "olmo"),
        "olmoe-grouped": Repository(
            dict(SIZES, num_experts=5, rope_parameters=dict(rope_type="linear", rope_theta=500000.0, factor=2.0)), olmoe, "olmo", dtype="float16", types=["f32"]
        ),
    },
    configs={
        "olmoe-1b-7b": config(
            "OlmoeForCausalLM", "olmoe", 2048, 1024, 16, 16, 16, 50304, 4096,
            attention_bias=False, attention_dropout=0.0, clip_qkv=None, hidden_act="silu", norm_topk_prob=False, num_experts=64,
            num_experts_per_tok=8, output_router_logits=False, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=10000.0,
            router_aux_loss_coef=0.01, tie_word_embeddings=False,
        ),
        "olmoe-clipped": config("OlmoeForCausalLM", "olmoe", 512, 256, 4, 8, None, 1000, 4096, clip_qkv=8.0, rms_norm_eps=1e-6, norm_topk_prob=True),
        "olmoe-bare": dict(architectures=["OlmoeForCausalLM"], model_type="olmoe"),
    },
    warned={"olmoe-clipped": ["clip_qkv", "norm_topk_prob", "rms_norm_eps"]},
    settings={
        "olmoe": Cases(
            "olmoe",
            dict(num_experts=6, num_experts_per_tok=2, num_key_value_heads=4),
            [*each("norm_topk_prob", True), *each("clip_qkv", 0.01), *ACT, *EPS, *NOTHING],
            steps=[],
        ),
    },
    back="olmoe",
)  # fmt: skip
