"""Mistral 3 and Ministral 3, alone and with vision."""

from family_blocks import Family, Repository, config, shape
from family_tokenizers import meta, plain_bpe
from gguf_vocabularies import FRONT, LOWER, REST, UPPER, byte_level, split
from settings_rows import ACT, EPS, HEAD, KV, NOTHING, TIED, Cases, row

import transformers

TEKKEN = f"{FRONT}{UPPER}*{LOWER}+|{FRONT}{UPPER}+{LOWER}*|" + r"\p{N}" + REST.replace("[\\r\\n]*|", "[\\r\\n/]*|", 1)
tekken = plain_bpe([split(TEKKEN), byte_level()], "PreTrainedTokenizerFast", "<s>", "</s>", "[INST]", bos="<s>", ignore_merges=True)
YARN = dict(
    rope_type="yarn", rope_theta=1000000.0, factor=16.0, original_max_position_embeddings=32, beta_fast=32.0, beta_slow=1.0,
    mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.1,
)  # fmt: skip
VISION = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, head_dim=4, image_size=8, patch_size=4)


def named(kind):
    """the pre-tokenizer's name is answered for the class within, too"""
    for inner in (kind.Ministral3Model, kind.Mistral4Model):
        inner.get_vocab_base_pre = lambda self, tokenizer: "tekken"


def with_vision(kind):
    def model(text):
        said = dict(text, model_type=kind)
        whole = transformers.Mistral3Config(text_config=said, vision_config=dict(VISION, model_type="pixtral"), tie_word_embeddings=False)
        return transformers.Mistral3ForConditionalGeneration(whole)

    return model


FAMILY = Family(
    "Ministral3",
    to_gguf={
        "mistral3": Repository(dict(head_dim=6, num_hidden_layers=2, rope_parameters=YARN), tekken, "tekken", mend=named),
        "mistral3-vision": Repository(
            dict(head_dim=4, rope_parameters=dict(rope_type="default", rope_theta=1000000.0)), meta, None, types=["f32"], model=with_vision("mistral")
        ),
        "mistral3-ministral": Repository(
            dict(head_dim=8, rope_parameters=dict(YARN, llama_4_scaling_beta=0.2, factor=4.0)), tekken, "tekken", types=["auto"],
            model=with_vision("ministral3"), mend=named,
        ),
    },
    configs={
        "mistral-small-3.1": dict(
            architectures=["Mistral3ForConditionalGeneration"], model_type="mistral3",
            text_config=dict(
                shape(5120, 32768, 40, 32, 8, 131072, 131072), model_type="mistral", head_dim=128, hidden_act="silu", rms_norm_eps=1e-5,
                rope_theta=1000000000.0, sliding_window=None, use_cache=True,
            ),
            image_token_index=10, multimodal_projector_bias=False, projector_hidden_act="gelu", spatial_merge_size=2, vision_feature_layer=-1,
        ),
        "ministral-3-8b": dict(
            architectures=["Mistral3ForConditionalGeneration"], model_type="mistral3", tie_word_embeddings=False,
            text_config=dict(
                shape(4096, 14336, 34, 32, 8, 131072, 262144), model_type="ministral3", head_dim=128, hidden_act="silu", rms_norm_eps=1e-5,
                rope_parameters=dict(
                    beta_fast=32.0, beta_slow=1.0, factor=16.0, llama_4_scaling_beta=0.1, mscale=1.0, mscale_all_dim=1.0,
                    original_max_position_embeddings=16384, rope_theta=1000000.0, rope_type="yarn", type="yarn",
                ),
            ),
        ),
        "ministral-bare": config("Ministral3ForCausalLM", "ministral3"),
    },
    settings={
        "mistral3": Cases(
            "mistral3",
            dict(head_dim=16, rope_parameters=YARN),
            [
                row("rope yarn llama_4_scaling_beta", "0.5", rope_parameters=dict(YARN, llama_4_scaling_beta=0.5)),
                *[*TIED, *HEAD, *ACT, *EPS, *KV, *NOTHING],
            ],
        ),
    },
    back="ministral3",
)  # fmt: skip
