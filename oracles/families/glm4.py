"""GLM 4."""

import gguf_vocabularies as vocabularies
from family_blocks import Family, Repository, Tiny, config
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level, split

glm4 = plain_bpe([split(vocabularies.LLAMA3), byte_level()], "PreTrainedTokenizerFast", "<|endoftext|>", "<|endoftext|>", "[gMASK]", "<|user|>")
FAMILY = Family(
    "Glm4",
    names={
        "glm4": Tiny(dict(attention_bias=True)),
    },
    to_gguf={
        "glm4": Repository(dict(head_dim=4, attention_bias=True), glm4, "glm4"),
    },
    configs={
        "glm-4": config(
            "Glm4ForCausalLM", "glm4", 4096, 13696, 40, 32, 2, 151552, 32768,
            head_dim=128, partial_rotary_factor=0.5, rms_norm_eps=1e-5, rope_theta=10000.0,
        ),
        "glm4-bare": dict(architectures=["Glm4ForCausalLM"], model_type="glm4"),
    },
)
