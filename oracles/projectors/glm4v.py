"""GLM-4V, GLM-4.5V and GLM-OCR."""

import transformers
from family_tokenizers import plain_bpe
from gguf_vocabularies import LLAMA3, byte_level, split
from projector_blocks import CLIP_COLOURS, TEXT, Golden

tokenizer = plain_bpe([split(LLAMA3), byte_level()], "PreTrainedTokenizerFast", "[gMASK]", "<|endoftext|>", "<sop>", "<|user|>")
TEXT = dict(TEXT, rope_parameters=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.5, mrope_section=[1, 1, 0]))
EXPERTS = dict(moe_intermediate_size=16, n_routed_experts=2, num_experts_per_tok=1, first_k_dense_replace=0)
VISION = dict(depth=2, hidden_size=8, intermediate_size=16, out_hidden_size=16, num_heads=2, image_size=16, patch_size=4)


def model(kind, text, vision):
    def make(settings):
        settings = {key: value for key, value in settings.items() if key != "bos_token_id"}
        config = getattr(transformers, f"{kind}Config")(text_config=dict(text, **settings), vision_config=vision)
        return getattr(transformers, f"{kind}ForConditionalGeneration")(config)

    return make


GOLDENS = {
    "glm4v": Golden(model("Glm4v", TEXT, VISION), tokenizer, CLIP_COLOURS),
    "glm4v_moe": Golden(model("Glm4vMoe", dict(TEXT, **EXPERTS), dict(VISION, attention_bias=True, rms_norm_eps=1e-6)), tokenizer, CLIP_COLOURS, types=["bf16"]),
    "glm_ocr": Golden(model("GlmOcr", TEXT, dict(VISION, hidden_act="gelu")), tokenizer, CLIP_COLOURS),
}
