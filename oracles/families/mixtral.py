"""Mixtral."""

import gguf_stored as stored
from family_blocks import PACKED, Family, Repository, Tiny, config
from family_tokenizers import llama3, meta_json

FAMILY = Family(
    "Mixtral",
    names={
        "mixtral": Tiny(dict(num_local_experts=3)),
    },
    to_gguf={
        # Of a tokenizer.json of this kind the converter does not fill up ids that nobody has, and llama.cpp loads
        # no such file.
        "mixtral": Repository(dict(num_local_experts=3), meta_json, None, spare=0),
        "mixtral-gptq": Repository(
            dict(PACKED, num_local_experts=3), llama3, "llama-bpe", dtype="float16", types=[], steps=[stored.gptq_mixtral]
        ),
    },
    configs={
        "mixtral": config(
            "MixtralForCausalLM", "mixtral", 4096, 14336, 32, 32, 8, 32000, 32768,
            num_experts_per_tok=2, num_local_experts=8, rms_norm_eps=1e-5, rope_theta=1e6, sliding_window=None,
        ),
        "mixtral-bare": dict(architectures=["MixtralForCausalLM"], model_type="mixtral"),
    },
)
