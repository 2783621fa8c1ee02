"""The text model of Kimi K2.5: DeepSeek V3's, below `language_model.`."""

from families.kimi_linear import kimi
from family_blocks import DEEPSEEK, DEEPSEEK_YARN, LATENT, YARN, Family, Repository, change, config, edited, say

import transformers

SAID = dict(scoring_func="sigmoid", topk_method="noaux_tc", num_nextn_predict_layers=0)


def text(settings):
    return transformers.DeepseekV3ForCausalLM(transformers.DeepseekV3Config(**settings))


def below(tensors, generator):
    for name in list(tensors):
        tensors["language_model." + name] = tensors.pop(name)


def whole(said):
    """A config of the whole; transformers saves the text model's alone."""
    return dict(
        architectures=["KimiK25ForConditionalGeneration"], model_type="kimi_k25", dtype=said["dtype"], ignore_index=-100,
        media_placeholder_token_id=299, text_config=dict(said, model_type="kimi_k2"), use_unified_vision_chunk=True,
        vision_config=dict(patch_size=14, vt_hidden_size=16, vt_num_hidden_layers=1),
    )  # fmt: skip


def text_config(*sizes, **more):
    said = config("", "kimi_k2", *sizes, **more)
    del said["architectures"]
    return said


def unnamed(said):
    """The same without the class of the text model."""
    text = {key: value for key, value in said["text_config"].items() if key != "architectures"}
    return dict(said, text_config=text)


STEPS = [edited(below), say(**SAID), lambda folder: change(folder, whole)]
FAMILY = Family(
    text,
    to_gguf={
        "kimi_k25": Repository(dict(LATENT, rope_parameters=YARN), kimi, "dbrx", steps=STEPS),
        "kimi_k25-groups": Repository(
            dict(LATENT, n_routed_experts=4, n_group=2, num_hidden_layers=3, first_k_dense_replace=2), kimi, "dbrx", dtype="float16", types=["f16"],
            steps=[*STEPS, lambda folder: change(folder, unnamed)],
        ),
    },
    configs={
        "kimi-k2.5": dict(
            architectures=["KimiK25ForConditionalGeneration"], model_type="kimi_k25", ignore_index=-100, media_placeholder_token_id=163605,
            pad_token_id=163839, tie_word_embeddings=False, use_unified_vision_chunk=True, video_placeholder="<|kimi_k25_video_placeholder|>",
            text_config=text_config(
                7168, 18432, 61, 64, 64, 163840, 262144,
                **dict(DEEPSEEK, rms_norm_eps=1e-5, rope_theta=50000.0), first_k_dense_replace=1, moe_intermediate_size=2048, moe_layer_freq=1, n_group=1,
                n_routed_experts=384, n_shared_experts=1, norm_topk_prob=True, num_experts_per_tok=8, num_nextn_predict_layers=0, q_lora_rank=1536,
                routed_scaling_factor=2.827, scoring_func="sigmoid", topk_group=1, topk_method="noaux_tc",
                rope_scaling=dict(DEEPSEEK_YARN, factor=64.0, mscale=1.0, mscale_all_dim=1.0),
            ),
        ),
    },
    warned={"kimi-k2.5": ["rms_norm_eps"]},
)  # fmt: skip
