"""Idefics 3 and SmolVLM: SigLIP, and a projection of several patches at once."""

import transformers
from family_tokenizers import meta_json, plain_bpe
from gguf_vocabularies import digits
from projector_blocks import HALVES, TEXT, Golden

VISION = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, image_size=16, patch_size=4)
smollm = plain_bpe(digits(), "GPT2Tokenizer", "<|im_start|>", "<|im_end|>")


def model(kind, factor, vision):
    def make(settings):
        parts = dict(text_config=dict(TEXT, model_type="llama", **settings), vision_config=dict(VISION, **vision))
        config = getattr(transformers, f"{kind}Config")(scale_factor=factor, image_token_id=5, **parts)
        return getattr(transformers, f"{kind}ForConditionalGeneration")(config)

    return make


GOLDENS = {
    "idefics3": Golden(model("Idefics3", 2, {}), meta_json, dict(HALVES, size=dict(longest_edge=32))),
    "smolvlm": Golden(model("SmolVLM", 4, dict(layer_norm_eps=1e-5, hidden_size=8, intermediate_size=12)), smollm, HALVES, dtype="float32", types=["bf16"]),
}
