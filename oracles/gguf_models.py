"""Tiny repositories of each family, and the GGUF files that llama.cpp's converter makes of them.

    python oracles/gguf_models.py LLAMA_CPP tests/files/to-gguf [FAMILY ..]

LLAMA_CPP is the source tree with convert_hf_to_gguf.py in it (`ggml_build.sh DIR` leaves it in
DIR/src/vendor/llama.cpp). Every parameter is random, norms and biases too. A vocabulary of 300 tokens
has no hash that the converter knows, so that one question is answered for it; everything else it does
itself, tokenizers included.
"""

import importlib.metadata
import json
import logging
import os
import re
import shutil
import sys
from pathlib import Path

import gguf_stored as stored
import gguf_vocabularies as vocabularies
import torch
from gguf_vocabularies import CHAT, DEEPSEEK_CODER, DEEPSEEK_V3, GPT_4O, LLAMA3, QWEN2, QWEN35, byte_level, digits, split
from provenance import record
from safetensors.torch import load_file, save_file

import transformers

LLAMA_CPP, OUT = (os.path.abspath(path) for path in sys.argv[1:3])
sys.path[:0] = [LLAMA_CPP, os.path.join(LLAMA_CPP, "gguf-py")]
import gguf  # noqa: E402
from conversion import ModelBase, ModelType, get_model_architecture, get_model_class  # noqa: E402

TYPES = {
    "f32": "ALL_F32",
    "f16": "MOSTLY_F16",
    "bf16": "MOSTLY_BF16",
    "q8_0": "MOSTLY_Q8_0",
    "auto": "GUESSED",
}
COMMON = dict(
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=1,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
)
ROPE = dict(
    rope_type="llama3",
    rope_theta=500000.0,
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=8192,
)
EXPERTS = dict(num_experts=3, num_experts_per_tok=2, moe_intermediate_size=8)
GPT_OSS = dict(num_local_experts=3, num_experts_per_tok=2, head_dim=4, sliding_window=16)
# Blocks are 32 long.
BLOCKS = dict(hidden_size=64, intermediate_size=32)
WIDE = dict(hidden_size=64, intermediate_size=64, head_dim=16)
PACKED = dict(hidden_size=32, intermediate_size=32, head_dim=8)
LONG = dict(
    rope_type="longrope",
    rope_theta=10000.0,
    long_factor=[1.0, 1.7],
    short_factor=[1.0, 1.05],
    original_max_position_embeddings=32,
)
YARN = dict(
    rope_type="yarn",
    rope_theta=10000.0,
    factor=40.0,
    original_max_position_embeddings=32,
    beta_fast=32.0,
    beta_slow=1.0,
    mscale=0.707,
    mscale_all_dim=0.707,
)
DENSE_FIRST = dict(
    num_hidden_layers=2,
    first_k_dense_replace=1,
    n_routed_experts=3,
    n_shared_experts=1,
    num_experts_per_tok=2,
    moe_intermediate_size=8,
    n_group=1,
    topk_group=1,
)
LATENT = dict(
    DENSE_FIRST,
    num_key_value_heads=4,
    q_lora_rank=12,
    kv_lora_rank=10,
    qk_nope_head_dim=6,
    qk_rope_head_dim=4,
    v_head_dim=8,
)
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


def settings(kind, **tokens):
    return dict(clean_up_tokenization_spaces=False, model_max_length=64, tokenizer_class=kind, **tokens)


def llama3(folder):
    tokens = ["<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|eot_id|>"]
    said = settings("PreTrainedTokenizerFast", bos_token=tokens[0], eos_token=tokens[3], chat_template=CHAT)
    parts = [split(LLAMA3), byte_level()]
    ids = vocabularies.byte_level_bpe(folder, parts, tokens, said, bos=tokens[0], ignore_merges=True)
    return dict(bos_token_id=ids[tokens[0]], eos_token_id=[ids[tokens[1]], ids[tokens[3]]])


def qwen2(folder):
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>"]
    said = settings("Qwen2Tokenizer", bos_token=None, eos_token=tokens[2], pad_token=tokens[0], add_bos_token=False)
    parts = [split(QWEN2), byte_level()]
    ids = vocabularies.byte_level_bpe(
        folder, parts, tokens, dict(said, chat_template=CHAT), spelled=True, normalizer=dict(type="NFC")
    )
    return dict(bos_token_id=ids[tokens[0]], eos_token_id=ids[tokens[2]])


def plain_bpe(parts, kind, first, eos, *more, **options):
    """A byte-level vocabulary that says little more than where texts end."""

    def write(folder):
        said = settings(kind, bos_token=first, eos_token=eos, unk_token=eos)
        tokens = list(dict.fromkeys([first, eos, *more]))
        ids = vocabularies.byte_level_bpe(folder, parts, tokens, said, **options)
        return dict(bos_token_id=ids[first], eos_token_id=ids[eos], pad_token_id=ids[eos])

    return write


granite = plain_bpe(digits(), "GPT2Tokenizer", "<|end_of_text|>", "<|end_of_text|>", "<fim_prefix>", spelled=True)
starcoder = plain_bpe(digits(), "GPT2Tokenizer", "<|endoftext|>", "<|endoftext|>", "<fim_prefix>", spelled=True)
smollm3 = plain_bpe([split(LLAMA3), byte_level()], "PreTrainedTokenizerFast", "<|begin_of_text|>", "<|im_end|>")
olmo2 = plain_bpe([split(LLAMA3), byte_level()], "GPT2Tokenizer", "<|endoftext|>", "<|endoftext|>", "<|pad|>")
glm4 = plain_bpe(
    [split(LLAMA3), byte_level()], "PreTrainedTokenizerFast", "<|endoftext|>", "<|endoftext|>", "[gMASK]", "<|user|>"
)
glm4_moe = plain_bpe(
    [split(LLAMA3), byte_level()],
    "PreTrainedTokenizerFast",
    "<|endoftext|>",
    "<|endoftext|>",
    *["[gMASK]", "<|user|>", "<|observation|>"],
)
deepseek = plain_bpe(
    [*map(split, DEEPSEEK_V3), byte_level()],
    "PreTrainedTokenizerFast",
    "<\uff5cbegin\u2581of\u2581sentence\uff5c>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
    bos="<\uff5cbegin\u2581of\u2581sentence\uff5c>",
)
deepseek_coder = plain_bpe(
    [*map(split, DEEPSEEK_CODER), digits()[0], byte_level()],
    "PreTrainedTokenizerFast",
    "<\uff5cbegin\u2581of\u2581sentence\uff5c>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
    bos="<\uff5cbegin\u2581of\u2581sentence\uff5c>",
)
llama4 = plain_bpe(
    [split(GPT_4O), byte_level()], "PreTrainedTokenizerFast", "<|begin_of_text|>", "<|eot|>", bos="<|begin_of_text|>"
)
qwen35 = plain_bpe([split(QWEN35), byte_level()], "Qwen2Tokenizer", "<|endoftext|>", "<|im_end|>", normalizer=dict(type="NFC"))
cohere = plain_bpe(
    digits(),
    "CohereTokenizer",
    "<BOS_TOKEN>",
    "<|END_OF_TURN_TOKEN|>",
    *["<PAD>", "<UNK>", "<CLS>", "<SEP>", "<MASK_TOKEN>"],
    bos="<BOS_TOKEN>",
    normalizer=dict(type="NFC"),
)

# o200k's, as gpt-oss states it.
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]*[{LOWER}]+{SHORT}|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]+[{LOWER}]*{SHORT}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def gpt_oss(folder):
    tokens = ["<|startoftext|>", "<|endoftext|>", "<|return|>", "<|start|>", "<|message|>"]
    said = settings("PreTrainedTokenizerFast", bos_token=tokens[0], eos_token=tokens[2], pad_token=tokens[1])
    ids = vocabularies.byte_level_bpe(folder, [split(O200K), byte_level()], tokens, dict(said, chat_template=CHAT))
    return dict(bos_token_id=ids[tokens[0]], eos_token_id=ids[tokens[2]], pad_token_id=ids[tokens[1]])


META = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]
GOOGLE = [("<pad>", 0.0, 3), ("<eos>", 0.0, 3), ("<bos>", 0.0, 3), ("<unk>", 0.0, 2), ("<mask>", 0.0, 4)]
GOOGLE += [("<unused0>", 0.0, 5), ("<start_of_turn>", 0.0, 4), ("<end_of_turn>", 0.0, 4)]


def decoder(*tokens):
    entries = [vocabularies.added(*token) for token in tokens]
    return {str(entry.pop("id")): entry for entry in entries}


def meta(folder, words=vocabularies.WORDS[:6]):
    found = vocabularies.pieces(META, words)
    vocabularies.sentencepiece_model(folder, found)
    more = decoder((0, "<unk>"), (1, "<s>"), (2, "</s>"), (len(found), "\u2581\u2581", False))
    said = settings("LlamaTokenizer", bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token=None)
    said.update(add_bos_token=True, add_eos_token=False, legacy=False, added_tokens_decoder=more, chat_template=CHAT)
    vocabularies.write_json(folder, "tokenizer_config.json", said, indent=2)
    return dict(bos_token_id=1, eos_token_id=2)


def phi3(folder):
    ids = meta(folder)
    # Added in a file of their own, and a piece more than there are tokens: some ids belong to nobody.
    vocabularies.write_json(folder, "added_tokens.json", {"<|endoftext|>": 296, "<|assistant|>": 297}, indent=2)
    return ids


def meta_json(folder):
    said = settings("LlamaTokenizerFast", bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    vocabularies.byte_fallback_bpe(folder, vocabularies.pieces(META, vocabularies.WORDS[:6]), dict(said, add_bos_token=True))
    return dict(bos_token_id=1, eos_token_id=2)


def google(folder):
    vocabularies.sentencepiece_model(folder, vocabularies.pieces(GOOGLE, vocabularies.WORDS[:6]))
    more = decoder((0, "<pad>"), (1, "<eos>"), (2, "<bos>"), (3, "<unk>"), (4, "<mask>", False), (7, "<end_of_turn>"))
    said = settings("GemmaTokenizer", bos_token="<bos>", eos_token="<eos>", unk_token="<unk>", pad_token="<pad>")
    said.update(add_bos_token=True, add_eos_token=False, added_tokens_decoder=more, chat_template=CHAT)
    vocabularies.write_json(folder, "tokenizer_config.json", said, indent=2)
    return dict(bos_token_id=2, eos_token_id=1, pad_token_id=0)


def bert(folder):
    tokens = dict(unk_token="[UNK]", sep_token="[SEP]", pad_token="[PAD]", cls_token="[CLS]", mask_token="[MASK]")
    vocabularies.word_piece(folder, dict(settings("BertTokenizer", **tokens), do_lower_case=True, strip_accents=None))
    return dict(pad_token_id=0)


ROBERTA = dict(bos_token="<s>", eos_token="</s>", sep_token="</s>", cls_token="<s>", unk_token="<unk>", pad_token="<pad>", mask_token="<mask>")


def unigram(has_model):
    """XLM-RoBERTa's vocabulary, with or without the file of SentencePiece that it was made from."""

    def write(folder):
        found = vocabularies.unigram_pieces(vocabularies.WORDS)
        vocabularies.unigram_json(folder, found, settings("XLMRobertaTokenizer", **ROBERTA))
        if has_model:
            vocabularies.unigram_model(folder, found)
        return dict(bos_token_id=0, pad_token_id=1, eos_token_id=2)

    return write


def roberta(folder):
    said = settings("RobertaTokenizer", **ROBERTA, add_prefix_space=False)
    ids = vocabularies.byte_level_bpe(
        folder, [byte_level(use_regex=True)], ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], said, spelled=True, roberta=True
    )
    return dict(bos_token_id=ids["<s>"], pad_token_id=1, eos_token_id=ids["</s>"])


def pooled(vocabulary, **kinds):
    """A vocabulary in a repository of sentence-transformers, which says how a text becomes one vector."""

    def write(folder):
        steps = ["Transformer", "Pooling", "Normalize"]
        paths = ["", "1_Pooling", "2_Normalize"]
        modules = [
            dict(idx=i, name=str(i), path=path, type="sentence_transformers.models." + step)
            for i, (step, path) in enumerate(zip(steps, paths))
        ]
        vocabularies.write_json(folder, "modules.json", modules, indent=2)
        os.makedirs(os.path.join(folder, "1_Pooling"))
        vocabularies.write_json(folder, "1_Pooling/config.json", dict(word_embedding_dimension=16, **kinds), indent=2)
        return vocabulary(folder)

    return write


def by_flag(kind):
    kinds = ["cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens"]
    return {"pooling_mode_" + one: one == kind for one in kinds}


ENCODER = dict(type_vocab_size=2, max_position_embeddings=20, num_hidden_layers=2)
LLAMA4 = dict(
    num_hidden_layers=4,
    num_local_experts=3,
    interleave_moe_layer_step=2,
    intermediate_size=8,
    intermediate_size_mlp=12,
    head_dim=4,
    max_position_embeddings=16384,
    rope_parameters=dict(ROPE, factor=16.0),
)
LINEAR = dict(
    num_hidden_layers=2,
    layer_types=["linear_attention", "full_attention"],
    full_attention_interval=2,
    head_dim=8,
    linear_conv_kernel_dim=4,
    linear_key_head_dim=4,
    linear_value_head_dim=4,
    linear_num_key_heads=2,
    linear_num_value_heads=6,
    rope_parameters=dict(rope_type="default", rope_theta=10000000.0, partial_rotary_factor=0.5, mrope_interleaved=True, mrope_section=[1, 1, 0]),
)


def llama4_vision(text):
    vision = dict(
        hidden_size=16,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        image_size=8,
        patch_size=4,
        vision_output_dim=8,
        projector_input_dim=8,
        projector_output_dim=8,
    )
    text = {**COMMON, **LLAMA4, "num_hidden_layers": 1, "interleave_moe_layer_step": 1, "pad_token_id": None, **text}
    return transformers.Llama4ForConditionalGeneration(transformers.Llama4Config(text_config=text, vision_config=vision))


def gemma3_vision(text):
    vision = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4)
    text = {**COMMON, "head_dim": 4, "sliding_window": 16, "query_pre_attn_scalar": 4, **text}
    config = transformers.Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4)
    return transformers.Gemma3ForConditionalGeneration(config)


def qwen3_5_vision(text):
    vision = dict(
        depth=1,
        hidden_size=16,
        intermediate_size=16,
        num_heads=2,
        patch_size=4,
        out_hidden_size=16,
        num_position_embeddings=4,
    )
    same = dict(linear_num_key_heads=2, linear_num_value_heads=2, mtp_num_hidden_layers=0)
    text = {**COMMON, **LINEAR, **same, "pad_token_id": None, **text}
    return transformers.Qwen3_5ForConditionalGeneration(transformers.Qwen3_5Config(text_config=text, vision_config=vision))


LLAMA = dict(max_position_embeddings=16384, hidden_size=32, intermediate_size=32, num_hidden_layers=2, head_dim=16, rope_parameters=ROPE)
# folder: model class, its config, its vocabulary, the pre-tokenizer's name, dtype of the checkpoint, types of the GGUF
MODELS = {
    "llama": ("Llama", LLAMA, llama3, "llama-bpe", "bfloat16", ["f32", "f16", "bf16", "q8_0"]),
    "llama-sentencepiece": ("Llama", dict(attention_bias=True), meta, None, "float16", ["f32", "f16", "auto"]),
    "mistral": ("Mistral", dict(head_dim=6, sliding_window=None), meta, None, "bfloat16", ["auto"]),
    "qwen2": ("Qwen2", dict(tie_word_embeddings=True), qwen2, "qwen2", "bfloat16", ["f16", "bf16"]),
    "qwen3": ("Qwen3", dict(head_dim=6, num_hidden_layers=2), pooled(qwen2, pooling_mode_lasttoken=True), "qwen2", "bfloat16", ["f32", "bf16"]),
    "qwen3_moe": ("Qwen3Moe", dict(EXPERTS, head_dim=4), qwen2, "qwen2", "bfloat16", ["f32", "bf16"]),
    "mixtral": ("Mixtral", dict(num_local_experts=3), meta_json, None, "bfloat16", ["bf16"]),
    "gemma": ("Gemma", dict(head_dim=4), google, None, "bfloat16", ["f16", "bf16"]),
    "gemma2": ("Gemma2", dict(head_dim=4, num_hidden_layers=2, sliding_window=16), google, None, "float16", ["f32", "f16"]),
    "gemma3": ("Gemma3", dict(head_dim=4, sliding_window=16), google, None, "bfloat16", ["bf16"]),
    "gemma3-vision": (gemma3_vision, {}, google, None, "bfloat16", ["bf16"]),
    "phi3": ("Phi3", dict(rope_parameters=LONG, original_max_position_embeddings=32), phi3, None, "bfloat16", ["bf16"]),
    "granite": (
        "Granite",
        dict(embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22, attention_multiplier=0.015625),
        granite,
        "refact",
        "bfloat16",
        ["bf16"],
    ),
    "smollm3": ("SmolLM3", {}, smollm3, "smaug-bpe", "bfloat16", ["bf16"]),
    "olmo2": ("Olmo2", {}, olmo2, "dbrx", "bfloat16", ["bf16"]),
    "starcoder2": ("Starcoder2", {}, starcoder, "starcoder", "float32", ["auto", "f32"]),
    "cohere2": ("Cohere2", dict(sliding_window=16, rotary_pct=1.0), cohere, "command-r", "bfloat16", ["bf16"]),
    "qwen2_moe": ("Qwen2Moe", dict(EXPERTS, shared_expert_intermediate_size=12), qwen2, "qwen2", "bfloat16", ["bf16"]),
    "glm4": ("Glm4", dict(head_dim=4, attention_bias=True), glm4, "glm4", "bfloat16", ["bf16"]),
    "gpt_oss": ("GptOss", dict(GPT_OSS), gpt_oss, "gpt-4o", "bfloat16", ["f32", "bf16"]),
    "gpt_oss-mxfp4": ("GptOss", dict(GPT_OSS, num_hidden_layers=2, **BLOCKS), gpt_oss, "gpt-4o", "bfloat16", ["auto"]),
    "bert": ("BertModel", ENCODER, pooled(bert, **by_flag("cls_token")), "default", "float32", ["f32", "auto"]),
    "bert-masked": ("BertForMaskedLM", ENCODER, pooled(bert, pooling_mode="mean"), "default", "float16", ["f16"]),
    "xlm-roberta": ("XLMRobertaModel", ENCODER, pooled(unigram(True), **by_flag("mean_tokens")), None, "float32", ["f32", "auto"]),
    "xlm-roberta-classes": (
        "XLMRobertaForSequenceClassification", dict(ENCODER, num_labels=1), unigram(False), None, "bfloat16", ["bf16"]
    ),
    "roberta": ("RobertaModel", dict(ENCODER, type_vocab_size=1), roberta, "roberta-bpe", "float32", ["auto"]),
    "bert-classes": ("BertForSequenceClassification", dict(ENCODER, num_labels=3), bert, "default", "bfloat16", ["bf16"]),
    "llama-nvfp4": ("Llama", WIDE, llama3, "llama-bpe", "bfloat16", ["auto"]),
    "llama-nvfp4-packed": ("Llama", WIDE, llama3, "llama-bpe", "bfloat16", ["auto"]),
    "qwen3_moe-nvfp4": ("Qwen3Moe", {**EXPERTS, **WIDE, "moe_intermediate_size": 64}, qwen2, "qwen2", "bfloat16", ["auto"]),
    "qwen3-fp8": ("Qwen3", dict(head_dim=6), qwen2, "qwen2", "bfloat16", ["f32", "bf16"]),
    "llama-gptq": ("Llama", dict(PACKED), llama3, "llama-bpe", "float16", ["f32", "f16"]),
    "llama-int4": ("Llama", dict(PACKED), llama3, "llama-bpe", "bfloat16", ["f32", "bf16"]),
    # What the converter does not read; but it reads the first of these.
    "llama-fp8-channel": ("Llama", dict(PACKED), llama3, "llama-bpe", "bfloat16", ["f32", "bf16"]),
    "llama-fp8-tensor": ("Llama", dict(PACKED), llama3, "llama-bpe", "bfloat16", []),
    "llama-awq": ("Llama", dict(PACKED), llama3, "llama-bpe", "float16", []),
    "llama-nf4": ("Llama", dict(PACKED), llama3, "llama-bpe", "bfloat16", []),
    "llama-int8": ("Llama", dict(PACKED), llama3, "llama-bpe", "float16", []),
    "llama-mlx": ("Llama", dict(PACKED), llama3, "llama-bpe", "bfloat16", []),
    "mixtral-gptq": ("Mixtral", dict(PACKED, num_local_experts=3), llama3, "llama-bpe", "float16", []),
    "cohere": ("Cohere", dict(num_hidden_layers=2), cohere, "command-r", "float16", ["f16", "bf16"]),
    # llama.cpp runs it with 64 layers or more.
    "cohere-plus": ("Cohere", dict(use_qk_norm=True), cohere, "command-r", "bfloat16", ["bf16"]),
    "olmo3": ("Olmo3", dict(sliding_window=16, num_hidden_layers=4, intermediate_size=8), olmo2, "dbrx", "bfloat16", ["bf16"]),
    # The last of their layers predicts one more token; DeepSeek's is left out.
    "glm4_moe": ("Glm4Moe", dict(DENSE_FIRST, head_dim=4, use_qk_norm=True, attention_bias=True), glm4_moe, "glm4", "bfloat16", ["bf16"]),
    "deepseek_v3": ("DeepseekV3", dict(LATENT, rope_parameters=YARN), deepseek, "deepseek-v3", "bfloat16", ["bf16"]),
    "deepseek_v2": ("DeepseekV2", dict(LATENT, rope_parameters=YARN), deepseek_coder, "deepseek-coder", "bfloat16", ["bf16"]),
    # As in the Lite models, queries are made directly.
    "deepseek_v2-lite": ("DeepseekV2", dict(LATENT, q_lora_rank=None), deepseek_coder, "deepseek-coder", "bfloat16", ["f16"]),
    "llama4": ("Llama4", LLAMA4, llama4, "llama4", "bfloat16", ["bf16"]),
    "llama4-vision": (llama4_vision, {}, llama4, "llama4", "bfloat16", ["bf16"]),
    "qwen3_5": ("Qwen3_5", LINEAR, qwen35, "qwen35", "bfloat16", ["f32", "bf16"]),
    "qwen3_5-vision": (qwen3_5_vision, {}, qwen35, "qwen35", "bfloat16", ["bf16"]),
    "qwen3_5_moe": ("Qwen3_5Moe", dict(LINEAR, **EXPERTS, shared_expert_intermediate_size=12, linear_value_head_dim=6), qwen35, "qwen35", "float16", ["f16"]),
}
# What published configs say and transformers does not write.
SAID = {
    "glm4_moe": dict(num_nextn_predict_layers=1),
    "deepseek_v3": dict(num_nextn_predict_layers=1, scoring_func="sigmoid", topk_method="noaux_tc", ep_size=1),
    "deepseek_v2": dict(scoring_func="softmax", aux_loss_alpha=0.001, seq_aux=True),
    "qwen3_5": dict(mtp_num_hidden_layers=1),
}
# Nomic's models have a config and names of their own, which transformers 5 replaces by its own. The
# converter reads published ones as they are where transformers does not know them.
NOMIC = dict(
    architectures=["NomicBertModel"], model_type="nomic_bert", activation_function="swiglu", causal=False, layer_norm_epsilon=1e-12,
    max_trained_positions=2048, mlp_fc1_bias=False, mlp_fc2_bias=False, n_embd=16, n_head=4, n_inner=24, n_layer=2, n_positions=8192,
    pad_vocab_size_multiple=64, parallel_block=False, prenorm=False, qkv_proj_bias=False, rotary_emb_base=1000, rotary_emb_fraction=1.0,
    rotary_emb_interleaved=False, rotary_emb_scale_base=None, tie_word_embeddings=True, type_vocab_size=2,
)  # fmt: skip


def nomic_tensors(tokens, width=16, inner=24, layers=2):
    shapes = {"embeddings.word_embeddings.weight": [tokens, width], "embeddings.token_type_embeddings.weight": [2, width]}
    shapes |= {"emb_ln.weight": [width], "emb_ln.bias": [width]}
    for layer in range(layers):
        inside = {"attn.Wqkv": [3 * width, width], "attn.out_proj": [width, width]}
        inside |= {"mlp.fc11": [inner, width], "mlp.fc12": [inner, width], "mlp.fc2": [width, inner]}
        shapes |= {f"encoder.layers.{layer}.{name}.weight": shape for name, shape in inside.items()}
        for norm in ["norm1", "norm2"]:
            shapes |= {f"encoder.layers.{layer}.{norm}.{end}": [width] for end in ["weight", "bias"]}
    generator = torch.Generator().manual_seed(len(shapes))
    return {name: torch.randn(shape, generator=generator) * 0.4 for name, shape in shapes.items()}


def nomic_bert(name):
    folder = os.path.join(OUT, name)
    shutil.rmtree(folder, ignore_errors=True)
    hf = os.path.join(folder, "hf")
    os.makedirs(hf)
    pooled(bert, **by_flag("mean_tokens"))(hf)
    config = dict(NOMIC, vocab_size=size(hf))
    vocabularies.write_json(hf, "config.json", config, indent=2)
    save_file(nomic_tensors(config["vocab_size"]), os.path.join(hf, "model.safetensors"), {"format": "pt"})
    for written in ["f32", "f16"]:
        convert(hf, os.path.join(folder, f"model-{written}.gguf"), written, "default", dict(config))
    record(folder, "convert_hf_to_gguf.py of llama-cpp-python", "0.3.36", "laid out after a published repository")


# Encoders are saved as one of several classes.
CLASSES = r"(\w+?)(Model|ForMaskedLM|ForSequenceClassification)"
# Repositories of before transformers 5 say so.
OLD = {"mistral", "qwen2", "gemma3"}
# Without a layer that predicts one more token, which the converter has to be told.
WITHOUT_NEXT = {"qwen3_5-vision", "qwen3_5_moe"}
SAMPLING = {
    "llama": dict(do_sample=True, temperature=0.6, top_p=0.9),
    "qwen2": dict(do_sample=True, repetition_penalty=1.05, temperature=0.7, top_k=20, top_p=0.8),
    "gemma3": dict(do_sample=True, top_k=64, top_p=0.95),
}


def size(folder):
    """The number of ids, with two more than there are tokens."""
    path = os.path.join(folder, "tokenizer.json")
    if os.path.exists(path):
        tokenizer = json.load(open(path, encoding="utf-8"))
        known = tokenizer["model"]["vocab"]
        if isinstance(known, list):
            return len(known) + 3
        ids = [*known.values(), *(token["id"] for token in tokenizer["added_tokens"])]
        return max(ids) + 3
    path = os.path.join(folder, "tokenizer.model")
    model = vocabularies.sentencepiece.ModelProto.FromString(open(path, "rb").read())
    return max(len(model.pieces) + 3, 300 if os.path.exists(os.path.join(folder, "added_tokens.json")) else 0)


def model_of(kind, chosen):
    if callable(kind):
        return kind(chosen)
    family, suffix = re.fullmatch(CLASSES, kind).groups() if re.fullmatch(CLASSES, kind) else (kind, "ForCausalLM")
    settings = {**COMMON, "pad_token_id": None, **chosen}
    if suffix != "ForCausalLM":
        del settings["num_key_value_heads"]
    text = "TextConfig" if hasattr(transformers, kind + "TextConfig") else "Config"
    return getattr(transformers, family + suffix)(getattr(transformers, family + text)(**settings))


def build(kind, chosen):
    model = model_of(kind, chosen)
    generator = torch.Generator().manual_seed(len(list(model.parameters())))
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) * 0.4
    # Some weights are kept as buffers.
    kept = model.state_dict()
    for name, buffer in model.named_buffers():
        if name in kept and buffer.is_floating_point():
            buffer.copy_(torch.randn(buffer.shape, generator=generator) * 0.4)
    model.tie_weights()
    return model


def change(folder, edit):
    """Changes the tensors of a saved model."""
    path = os.path.join(folder, "model.safetensors")
    tensors = load_file(path)
    generator = torch.Generator().manual_seed(len(tensors))
    like = next(iter(tensors.values()))
    edit(tensors, lambda *shape: (torch.randn(shape, generator=generator) * 0.4).to(like.dtype))
    save_file(tensors, path, {"format": "pt"})


def next_layer(tensors, random):
    """Adds what published checkpoints have and transformers does not build: a layer like the last one that
    predicts one more token."""
    last = max(int(name.split(".")[2]) for name in tensors if name.startswith("model.layers."))
    for name in [name for name in tensors if name.startswith(f"model.layers.{last}.")]:
        tensors[name.replace(f".{last}.", f".{last + 1}.", 1)] = random(*tensors[name].shape)
    tokens, width = tensors["model.embed_tokens.weight"].shape
    shapes = {"embed_tokens": [tokens, width], "shared_head.head": [tokens, width], "eh_proj": [width, 2 * width]}
    shapes.update({name: [width] for name in ["enorm", "hnorm", "shared_head.norm"]})
    for name, shape in shapes.items():
        tensors[f"model.layers.{last + 1}.{name}.weight"] = random(*shape)


def next_model(tensors, random):
    """The same as Qwen's checkpoints have it: beside the model."""
    for name in [name for name in tensors if name.startswith("model.layers.1.")]:
        tensors[name.replace("model.layers.1.", "mtp.layers.0.")] = random(*tensors[name].shape)
    width = tensors["model.norm.weight"].shape[0]
    tensors["mtp.fc.weight"] = random(width, 2 * width)
    for name in ["norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden"]:
        tensors[f"mtp.{name}.weight"] = random(width)


EDITS = {"glm4_moe": next_layer, "deepseek_v3": next_layer, "qwen3_5": next_model}


def make_old(config):
    """The config as transformers 4 wrote it."""
    rope = config.pop("rope_parameters")
    if "full_attention" in rope:
        config["rope_theta"] = rope["full_attention"]["rope_theta"]
        config["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        del config["layer_types"]
    else:
        config["rope_theta"] = rope["rope_theta"]
    config["rope_scaling"] = None
    config["torch_dtype"] = config.pop("dtype")
    config["transformers_version"] = "4.46.0"
    return config


def older_norms(folder):
    """Norms as they were called when BERT was new."""
    path = os.path.join(folder, "model.safetensors")
    new = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    tensors = {re.sub(r"LayerNorm\.\w+$", lambda found: new[found[0]], name): tensor for name, tensor in load_file(path).items()}
    save_file(tensors, path, {"format": "pt"})


def convert(folder, out, kind, pre, hparams=None, without_next=False):
    with torch.inference_mode():
        given = {} if hparams is None else dict(hparams=dict(hparams))
        hparams = hparams or ModelBase.load_hparams(Path(folder), False)
        converter = get_model_class(get_model_architecture(hparams, ModelType.TEXT))
        if pre is not None:
            converter.get_vocab_base_pre = lambda self, tokenizer: pre
        converter.no_mtp = without_next
        converter(Path(folder), gguf.LlamaFileType[TYPES[kind]], Path(out), **given).write()


def make(name, kind, chosen, vocabulary, pre, dtype, types):
    folder = os.path.join(OUT, name)
    shutil.rmtree(folder, ignore_errors=True)
    hf = os.path.join(folder, "hf")
    os.makedirs(hf)
    ids = vocabulary(hf)
    # Of this kind the converter does not fill up ids that nobody has, and llama.cpp loads no such file.
    rows = size(hf) - 2 if vocabulary is meta_json else size(hf)
    model = build(kind, {**ids, **chosen, "vocab_size": rows})
    model.to(getattr(torch, dtype))
    model.save_pretrained(hf)
    if name in STORED:
        STORED[name](hf)
    if name in EDITS:
        change(hf, EDITS[name])
    if name in SAID:
        path = os.path.join(hf, "config.json")
        vocabularies.write_json(hf, "config.json", dict(json.load(open(path)), **SAID[name]), indent=2)
    if name in OLD:
        path = os.path.join(hf, "config.json")
        vocabularies.write_json(hf, "config.json", make_old(json.load(open(path))), indent=2)
    generation = {**ids, **SAMPLING.get(name, {}), "transformers_version": importlib.metadata.version("transformers")}
    vocabularies.write_json(hf, "generation_config.json", generation, indent=2)
    if name == "bert-masked":
        older_norms(hf)
    if name == "qwen2":
        Path(hf, "README.md").write_text(CARD)
    for written in types:
        convert(hf, os.path.join(folder, f"model-{written}.gguf"), written, pre, without_next=name in WITHOUT_NEXT)
    version = importlib.metadata.version("transformers")
    record(folder, "convert_hf_to_gguf.py of llama-cpp-python", "0.3.36", f"transformers {version}")


# How weights are stored that are not plain.
STORED = {
    "gpt_oss-mxfp4": stored.gpt_oss,
    "llama-nvfp4": stored.nvfp4,
    "llama-nvfp4-packed": stored.nvfp4_packed,
    "qwen3_moe-nvfp4": stored.nvfp4,
    "qwen3-fp8": stored.fp8_block,
    "llama-gptq": stored.gptq,
    "llama-int4": stored.int4_packed,
    "llama-awq": stored.awq,
    "llama-nf4": stored.nf4,
    "llama-int8": stored.int8,
    "llama-mlx": stored.mlx,
    "llama-fp8-channel": stored.fp8_channel,
    "llama-fp8-tensor": stored.fp8_tensor,
    "mixtral-gptq": stored.gptq_mixtral,
}

if __name__ == "__main__":
    logging.disable(logging.INFO)
    chosen = sys.argv[3:] or [*MODELS, "nomic_bert"]
    for name in chosen:
        if name == "nomic_bert":
            nomic_bert(name)
        else:
            make(name, *MODELS[name])
        print(name)
