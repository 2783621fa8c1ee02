"""Command R, the first generation."""

from family_blocks import Family, Repository, Tiny, config
from family_tokenizers import cohere

FAMILY = Family(
    "Cohere",
    names={
        "cohere": Tiny(dict(use_qk_norm=True), dtype="float16", type="f16"),
    },
    to_gguf={
        "cohere": Repository(dict(num_hidden_layers=2), cohere, "command-r", dtype="float16", types=["f16", "bf16"]),
        # llama.cpp runs it with 64 layers or more.
        "cohere-plus": Repository(dict(use_qk_norm=True), cohere, "command-r"),
    },
    configs={
        "command-r": config(
            "CohereForCausalLM", "cohere", 8192, 22528, 40, 64, 64, 256000, 8192,
            layer_norm_eps=1e-5, logit_scale=0.0625, model_max_length=131072, rope_theta=8000000.0,
        ),
        "cohere-bare": dict(architectures=["CohereForCausalLM"], model_type="cohere"),
        "aya-23": config(
            "CohereForCausalLM", "cohere", 4096, 22528, 32, 32, 8, 256000, 8192, layer_norm_eps=1e-5, logit_scale=0.0625, rope_theta=10000
        ),
    },
)
