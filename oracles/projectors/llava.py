"""Pixtral as Llava and as Mistral 3, and LightOnOCR."""

import json
import os

import transformers
from conversion.base import MmprojModel
from family_tokenizers import plain_bpe, qwen2
from gguf_vocabularies import LLAMA3, byte_level, split, write_json
from projector_blocks import CLIP_COLOURS, TEXT, Golden, with_config

tokens = ["[INST]", "[IMG]", "[IMG_BREAK]", "[IMG_END]"]
tokenizer = plain_bpe([split(LLAMA3), byte_level()], "PreTrainedTokenizerFast", "<s>", "</s>", *tokens)
VISION = dict(model_type="pixtral", hidden_size=8, intermediate_size=12, num_hidden_layers=3, num_attention_heads=2, image_size=16, patch_size=4)


def model(kind, text, vision, **more):
    def make(settings):
        parts = dict(text_config=dict(TEXT, model_type=text, **settings), vision_config=dict(VISION, **vision))
        config = getattr(transformers, f"{kind}Config")(image_token_index=3, **parts, **more)
        return getattr(transformers, f"{kind}ForConditionalGeneration")(config)

    return make


def with_break(kind):
    """The converter drops every weight of the language model, and with them the embedding that it then looks for."""

    def kept(item):
        return item if item[0].endswith("embed_tokens.weight") else MmprojModel.filter_tensors(item)

    kind.filter_tensors = staticmethod(kept)


def in_tokenizer_only(folder):
    path = os.path.join(folder, "tokenizer_config.json")
    settings = json.load(open(path))
    del settings["added_tokens_decoder"]
    write_json(folder, "tokenizer_config.json", settings, indent=2)


named = with_config(architectures=["LightOnOCRForConditionalGeneration"])

GOLDENS = {
    "llava": Golden(model("Llava", "mistral", dict(hidden_act="silu")), tokenizer, CLIP_COLOURS, mend=with_break),
    "llava-plain": Golden(
        model("Llava", "mistral", dict(hidden_act="gelu", num_attention_heads=1), multimodal_projector_bias=False),
        tokenizer,
        CLIP_COLOURS,
        dtype="float16",
        types=["bf16", "f32"],
        mend=with_break,
    ),
    "mistral3": Golden(
        model("Mistral3", "mistral", dict(hidden_act="gelu"), multimodal_projector_bias=True, spatial_merge_size=3),
        tokenizer,
        CLIP_COLOURS,
        dtype="float32",
        types=["bf16"],
        steps=[in_tokenizer_only],
        mend=with_break,
    ),
    "lighton_ocr": Golden(model("LightOnOcr", "qwen3", dict(hidden_act="silu")), qwen2, CLIP_COLOURS, steps=[named]),
    "lighton_ocr-gelu": Golden(
        model("LightOnOcr", "qwen3", dict(hidden_act="gelu", num_attention_heads=1), spatial_merge_size=1), qwen2, CLIP_COLOURS, types=["bf16"], steps=[named]
    ),
}
