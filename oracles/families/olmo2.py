"""OLMo 2."""

from family_blocks import Family, Repository, Tiny, config
from family_tokenizers import olmo2

FAMILY = Family(
    "Olmo2",
    names={
        "olmo2": Tiny({}),
    },
    to_gguf={
        "olmo2": Repository({}, olmo2, "dbrx"),
    },
    configs={
        "olmo-2": config("Olmo2ForCausalLM", "olmo2", 4096, 11008, 32, 32, 32, 100352, 4096, rms_norm_eps=1e-6, rope_theta=500000),
        "olmo2-bare": dict(architectures=["Olmo2ForCausalLM"], model_type="olmo2"),
    },
)
