"""Tiny models of each family, as transformers saves them and as llama.cpp's converter writes them.

    python oracles/names_models.py LLAMA_CPP tests/files/names [MODEL ..]

LLAMA_CPP is the source tree with convert_hf_to_gguf.py in it (`ggml_build.sh DIR` leaves it in
DIR/src/vendor/llama.cpp). Every parameter is random, norms and biases too, so that no change of
order or value goes unseen. The converter refuses tokenizers that it does not know; a vocabulary is
not a weight, so a list of tokens is written in its place.
"""

import importlib.metadata
import json
import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path

import torch
from provenance import record
from safetensors.torch import load_file, save_file

import transformers

LLAMA_CPP, OUT = (os.path.abspath(path) for path in sys.argv[1:3])
sys.path[:0] = [LLAMA_CPP, os.path.join(LLAMA_CPP, "gguf-py")]
import gguf  # noqa: E402
from conversion import ModelBase, ModelType, get_model_architecture, get_model_class  # noqa: E402

TOKENS = 24
COMMON = dict(
    hidden_size=24,
    intermediate_size=20,
    num_hidden_layers=1,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=6,
    vocab_size=TOKENS,
    max_position_embeddings=64,
    bos_token_id=0,
    eos_token_id=1,
    pad_token_id=None,
)
# Scaling of rotary frequencies, for which the converter writes a tensor of its own.
LLAMA3 = dict(
    rope_type="llama3",
    rope_theta=10000.0,
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=32,
)
EXPERTS = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)
# Factors for each rotary frequency, which the converter writes as two tensors.
LONG = dict(
    rope_type="longrope",
    rope_theta=10000.0,
    original_max_position_embeddings=32,
    short_factor=[1.0, 1.25, 1.5],
    long_factor=[1.0, 2.0, 4.0],
)
DENSE_FIRST = dict(
    num_hidden_layers=2,
    first_k_dense_replace=1,
    n_routed_experts=3,
    n_shared_experts=1,
    num_experts_per_tok=2,
    moe_intermediate_size=16,
    n_group=1,
    topk_group=1,
)
GLM4_MOE = dict(DENSE_FIRST, use_qk_norm=True, attention_bias=True)
LATENT = dict(
    DENSE_FIRST,
    num_key_value_heads=4,
    q_lora_rank=12,
    kv_lora_rank=10,
    qk_nope_head_dim=6,
    qk_rope_head_dim=4,
    v_head_dim=8,
)
LLAMA4 = dict(
    num_hidden_layers=2,
    num_local_experts=3,
    interleave_moe_layer_step=2,
    intermediate_size=16,
    intermediate_size_mlp=28,
)
BLOCKS = dict(hidden_size=32, intermediate_size=32)
GPT_OSS = dict(num_local_experts=3, num_experts_per_tok=2, sliding_window=16)
ENCODER = dict(type_vocab_size=2, max_position_embeddings=20, num_key_value_heads=4)
VISION = dict(
    hidden_size=16,
    intermediate_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    image_size=8,
    patch_size=4,
    vision_use_head=False,
)


def gemma3_vision():
    text = dict(COMMON, sliding_window=16)
    return transformers.Gemma3Config(text_config=text, vision_config=VISION, mm_tokens_per_image=4)


# folder: model class, its config, dtype of the checkpoint, type of the GGUF, what else is asked of the converter
MODELS = {
    "llama": ("Llama", dict(num_hidden_layers=2, attention_bias=True, rope_parameters=LLAMA3), "bfloat16", "f16", {}),
    "llama-qkv": ("Llama", dict(attention_bias=True), "bfloat16", "f32", dict(fuse_qkv=True)),
    "mistral": ("Mistral", dict(head_dim=10), "bfloat16", "bf16", {}),
    "mixtral": ("Mixtral", dict(num_local_experts=3), "bfloat16", "bf16", {}),
    "qwen2": ("Qwen2", dict(tie_word_embeddings=True), "bfloat16", "f16", {}),
    "qwen3": ("Qwen3", dict(num_hidden_layers=2), "bfloat16", "bf16", {}),
    # Blocks are 32 long.
    "qwen3-q8": ("Qwen3", dict(tie_word_embeddings=True, hidden_size=32, intermediate_size=32), "float32", "q8_0", {}),
    "qwen3moe": ("Qwen3Moe", EXPERTS, "bfloat16", "bf16", {}),
    "gemma": ("Gemma", {}, "bfloat16", "f16", {}),
    "gemma2": ("Gemma2", dict(num_hidden_layers=2, sliding_window=16), "float16", "f16", {}),
    # More rows than there are tokens: the converter cuts them off.
    "gemma3": ("Gemma3", dict(sliding_window=16, vocab_size=TOKENS + 8), "bfloat16", "bf16", {}),
    "gemma3-vision": (gemma3_vision, {}, "bfloat16", "bf16", {}),
    "qwen2moe": ("Qwen2Moe", dict(EXPERTS, shared_expert_intermediate_size=12), "bfloat16", "bf16", {}),
    "phi3": ("Phi3", dict(rope_parameters=LONG), "bfloat16", "bf16", {}),
    "granite": ("Granite", dict(attention_bias=True), "bfloat16", "f16", {}),
    # The second layer has no rotary embedding; its heads are permuted all the same.
    "smollm3": ("SmolLM3", dict(num_hidden_layers=2, no_rope_layers=[1, 0]), "bfloat16", "bf16", {}),
    "olmo2": ("Olmo2", {}, "bfloat16", "bf16", {}),
    "olmo3": ("Olmo3", dict(sliding_window=16), "bfloat16", "f16", {}),
    "cohere": ("Cohere", dict(use_qk_norm=True), "float16", "f16", {}),
    "cohere2": ("Cohere2", dict(sliding_window=16, rotary_pct=1.0), "bfloat16", "bf16", {}),
    "starcoder2": ("Starcoder2", dict(tie_word_embeddings=True), "bfloat16", "bf16", {}),
    "glm4": ("Glm4", dict(attention_bias=True), "bfloat16", "bf16", {}),
    # The converter keeps the layer that predicts one more token.
    "glm4moe": ("Glm4Moe", GLM4_MOE, "bfloat16", "bf16", dict(next_layer=True)),
    "llama4": ("Llama4", LLAMA4, "bfloat16", "bf16", {}),
    "gpt-oss": ("GptOss", GPT_OSS, "bfloat16", "bf16", {}),
    # Blocks are 32 long.
    "gpt-oss-mxfp4": ("GptOss", dict(GPT_OSS, **BLOCKS), "bfloat16", "bf16", dict(mxfp4=True)),
    # As in the Lite models, queries are made directly.
    "deepseek2": ("DeepseekV2", dict(LATENT, q_lora_rank=None), "bfloat16", "f16", {}),
    # Here it drops that layer.
    "deepseek3": ("DeepseekV3", dict(LATENT, num_hidden_layers=3), "bfloat16", "bf16", dict(next_layer=True)),
    "bert": ("Bert", ENCODER, "float32", "f16", {}),
    # Positions begin behind the padding's.
    "xlm-roberta": ("XLMRoberta", dict(ENCODER, pad_token_id=1, num_labels=1), "bfloat16", "bf16", {}),
}
TYPES = {"f32": "ALL_F32", "f16": "MOSTLY_F16", "bf16": "MOSTLY_BF16", "q8_0": "MOSTLY_Q8_0"}


# Models that are no language models, by the class that is saved.
CLASSES = {"Bert": "BertModel", "XLMRoberta": "XLMRobertaForSequenceClassification"}


def build(kind, settings):
    if callable(kind):
        return transformers.Gemma3ForConditionalGeneration(kind())
    suffix = "TextConfig" if kind in ["Gemma3", "Llama4"] else "Config"
    config = getattr(transformers, kind + suffix)(**{**COMMON, **settings})
    return getattr(transformers, CLASSES.get(kind, kind + "ForCausalLM"))(config)


def randomize(model):
    generator = torch.Generator().manual_seed(len(list(model.parameters())))
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) * 0.4
    # Some weights are kept as buffers.
    kept = model.state_dict()
    for name, buffer in model.named_buffers():
        if name in kept and buffer.is_floating_point():
            buffer.copy_(torch.randn(buffer.shape, generator=generator) * 0.4)


def vocabulary(converter):
    writer = converter.gguf_writer
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([f"t{i}" for i in range(TOKENS)])
    writer.add_token_types([gguf.TokenType.NORMAL] * TOKENS)


def convert(folder, out, kind, options):
    with torch.inference_mode():
        hparams = ModelBase.load_hparams(Path(folder), False)
        converter = get_model_class(get_model_architecture(hparams, ModelType.TEXT))
        converter.set_vocab = vocabulary
        converter(Path(folder), gguf.LlamaFileType[TYPES[kind]], Path(out), model_name="tiny", **options).write()


def change(work, edit, **settings):
    """Changes the tensors and the config of a saved model."""
    path = os.path.join(work, "model.safetensors")
    tensors = load_file(path)
    edit(tensors, torch.Generator().manual_seed(len(tensors)))
    save_file(tensors, path, {"format": "pt"})
    with open(os.path.join(work, "config.json")) as file:
        config = {**json.load(file), **settings}
    with open(os.path.join(work, "config.json"), "w") as file:
        json.dump(config, file, indent=2, sort_keys=True)
        file.write("\n")


def next_layer(tensors, generator):
    """Adds what published checkpoints have and transformers does not build: the last layer becomes one
    that predicts one more token."""
    last = max(int(name.split(".")[2]) for name in tensors if name.startswith("model.layers."))
    width = COMMON["hidden_size"]
    shapes = {
        "embed_tokens": [TOKENS, width],
        "eh_proj": [width, 2 * width],
        "enorm": [width],
        "hnorm": [width],
        "shared_head.head": [TOKENS, width],
        "shared_head.norm": [width],
    }
    for name, shape in shapes.items():
        tensors[f"model.layers.{last}.{name}.weight"] = (torch.randn(shape, generator=generator) * 0.4).bfloat16()


def mxfp4(tensors, generator):
    """Puts blocks of codes and their scales in place of experts, as published checkpoints have them:
    [experts, outputs, inputs / 32, 16] and [experts, outputs, inputs / 32]."""
    for name in [name for name in tensors if name.endswith(("gate_up_proj", "down_proj"))]:
        experts, inputs, outputs = tensors.pop(name).shape
        shape = [experts, outputs, inputs // 32]
        tensors[name + "_blocks"] = torch.randint(256, [*shape, 16], generator=generator, dtype=torch.uint8)
        tensors[name + "_scales"] = torch.randint(120, 128, shape, generator=generator, dtype=torch.uint8)


def make(name, kind, settings, dtype, gguf_type, options):
    options = dict(options)
    folder = os.path.join(OUT, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    model = build(kind, settings)
    randomize(model)
    model.tie_weights()
    model.to(getattr(torch, dtype))
    with tempfile.TemporaryDirectory() as work:
        model.save_pretrained(work)
        laid_out = ""
        if options.pop("next_layer", False):
            laid_out = "; what is special to the last layer laid out after published checkpoints"
            layers = model.config.num_hidden_layers - 1
            change(work, next_layer, num_hidden_layers=layers, num_nextn_predict_layers=1)
        if options.pop("mxfp4", False):
            laid_out = "; blocks laid out after its loader"
            change(work, mxfp4, quantization_config={"quant_method": "mxfp4"})
        tokens = {f"t{i}": i for i in range(TOKENS)}
        with open(os.path.join(work, "tokenizer.json"), "w") as file:
            json.dump({"model": {"vocab": tokens}, "added_tokens": []}, file)
        convert(work, os.path.join(folder, "model.gguf"), gguf_type, options)
        os.makedirs(os.path.join(folder, "hf"))
        for kept in ["config.json", "model.safetensors"]:
            shutil.copyfile(os.path.join(work, kept), os.path.join(folder, "hf", kept))
    if name == "qwen3moe":
        fused(model, folder)
    version = importlib.metadata.version("transformers")
    record(folder, "convert_hf_to_gguf.py of llama-cpp-python", "0.3.36", f"transformers {version}{laid_out}")


def fused(model, folder):
    """The same weights under the names and in the shapes that transformers 5 has in memory."""
    os.makedirs(os.path.join(folder, "fused"))
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    save_file(weights, os.path.join(folder, "fused", "model.safetensors"), {"format": "pt"})
    shutil.copyfile(os.path.join(folder, "hf", "config.json"), os.path.join(folder, "fused", "config.json"))


if __name__ == "__main__":
    logging.disable(logging.INFO)
    for name in sys.argv[3:] or MODELS:
        make(name, *MODELS[name])
        print(name)
