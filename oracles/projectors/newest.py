"""Qwen 3.8 and GLM-5.3: encoders as before them, beside language models that are not written here as they are."""

from family_tokenizers import qwen35
from projector_blocks import CLIP_COLOURS, HALVES, TEXT, Golden, laid_out, llama_text, shapes_of
from transformers.models.glm5_next.configuration_glm5_next import Glm5NextVisionConfig
from transformers.models.glm5_next.modeling_glm5_next import Glm5NextVisionModel
from transformers.models.qwen4_exp.configuration_qwen4_exp import Qwen4ExpVisionConfig
from transformers.models.qwen4_exp.modeling_qwen4_exp import Qwen4ExpVisionModel

QWEN = dict(depth=3, hidden_size=8, intermediate_size=12, out_hidden_size=16, num_heads=2, patch_size=4, num_position_embeddings=16)
GLM = dict(depth=2, hidden_size=8, intermediate_size=16, out_hidden_size=16, num_heads=2, image_size=16, patch_size=4)
GLM.update(projection_intermediate_size=24)
PIXELS = dict(CLIP_COLOURS, patch_size=4, merge_size=2, min_image_tokens=4, max_image_tokens=64)


def golden(kind, type, encoder, vision, tokenizer, processor, **options):
    made, settings = encoder

    def config(rows):
        text = dict(TEXT, num_key_value_heads=2, model_type=f"{type}_text", vocab_size=rows)
        return dict(architectures=[kind], model_type=type, text_config=text, vision_config=dict(vision, model_type=f"{type}_vision"))

    def shapes(rows):
        found = llama_text(rows, "model.language_model.", "lm_head.")
        return found | shapes_of(lambda: made(settings(**vision)), "model.visual.")

    return Golden(None, tokenizer, processor, laid_out=laid_out(config, shapes), **options)


glm = (Glm5NextVisionModel, Glm5NextVisionConfig)
qwen = (Qwen4ExpVisionModel, Qwen4ExpVisionConfig)
GLM_CLASS = "Glm5NextForConditionalGeneration"
GOLDENS = {
    "qwen4_exp": golden("Qwen4ExpForConditionalGeneration", "qwen4_exp", qwen, QWEN, qwen35, HALVES),
    "glm5_next": golden(GLM_CLASS, "glm5_next", glm, GLM, qwen35, PIXELS),
    "glm5_next-free": golden(GLM_CLASS, "glm5_next", glm, dict(GLM, swiglu_limit=7.0, hidden_act="gelu"), qwen35, CLIP_COLOURS, types=["bf16"]),
}
