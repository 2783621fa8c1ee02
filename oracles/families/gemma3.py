"""Gemma 3, with and without vision."""

from family_blocks import TOKENS, Family, Repository, Tiny, as_old, config
from family_tokenizers import google

import transformers

GEMMA3 = dict(hidden_size=2560, intermediate_size=10240, num_hidden_layers=34, sliding_window=1024, model_type="gemma3_text")
VISION = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4)


def with_vision(**more):
    def model(text):
        config = transformers.Gemma3Config(text_config=text, vision_config=dict(VISION, **more), mm_tokens_per_image=4)
        return transformers.Gemma3ForConditionalGeneration(config)

    return model


FAMILY = Family(
    "Gemma3",
    names={
        # More rows than there are tokens: the converter cuts them off.
        "gemma3": Tiny(dict(sliding_window=16, vocab_size=TOKENS + 8)),
        "gemma3-vision": Tiny(dict(sliding_window=16), model=with_vision(vision_use_head=False)),
    },
    to_gguf={
        "gemma3": Repository(
            dict(head_dim=4, sliding_window=16), google, None, steps=[as_old], sampling=dict(do_sample=True, top_k=64, top_p=0.95)
        ),
        "gemma3-vision": Repository(dict(head_dim=4, sliding_window=16, query_pre_attn_scalar=4), google, None, model=with_vision()),
    },
    configs={
        "gemma-3-1b": config(
            "Gemma3ForCausalLM", "gemma3_text", 1152, 6912, 26, 4, 1, 262144, 32768,
            head_dim=256, rope_local_base_freq=10000, rope_theta=1000000, sliding_window=512, sliding_window_pattern=6, rope_scaling=None,
        ),
        "gemma-3-4b": dict(
            architectures=["Gemma3ForConditionalGeneration"],
            model_type="gemma3",
            text_config=dict(GEMMA3, rope_scaling=dict(factor=8.0, rope_type="linear")),
        ),
        "gemma3-bare": dict(architectures=["Gemma3ForCausalLM"], model_type="gemma3_text"),
    },
)
