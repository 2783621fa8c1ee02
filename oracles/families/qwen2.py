"""Qwen 2 and 2.5."""

from pathlib import Path

from family_blocks import SCALED_YARN, Family, Repository, Tiny, as_old, config
from family_tokenizers import qwen2

CARD = """---
license: apache-2.0
license_link: https://example.com/license
language:
- en
- no
base_model:
- weighbridge/Tiny-1B-v0.1
- https://huggingface.co/weighbridge/Other-Tiny-Chat
pipeline_tag: text-generation
tags: [chat, "two words"]
datasets:
- weighbridge/words
---

# A tiny model
"""


def card(folder):
    Path(folder, "README.md").write_text(CARD)


FAMILY = Family(
    "Qwen2",
    names={
        "qwen2": Tiny(dict(tie_word_embeddings=True), type="f16"),
    },
    to_gguf={
        "qwen2": Repository(
            dict(tie_word_embeddings=True),
            qwen2,
            "qwen2",
            types=["f16", "bf16"],
            steps=[as_old, card],
            sampling=dict(do_sample=True, repetition_penalty=1.05, temperature=0.7, top_k=20, top_p=0.8),
        ),
    },
    configs={
        "qwen2.5": config(
            "Qwen2ForCausalLM", "qwen2", 3584, 18944, 28, 28, 4, 152064, 32768,
            rms_norm_eps=1e-6, rope_theta=1000000.0, sliding_window=131072, use_sliding_window=False,
        ),
        "qwen2.5-yarn": config(
            "Qwen2ForCausalLM", "qwen2", 3584, 18944, 28, 28, 4, 152064, 131072, rope_theta=1e6, rope_scaling=dict(SCALED_YARN, type="yarn")
        ),
        "qwen2-bare": dict(architectures=["Qwen2ForCausalLM"], model_type="qwen2"),
    },
    generations={
        "qwen2.5": dict(temperature=0.7, top_k=20, top_p=0.8, repetition_penalty=1.05),
    },
)
