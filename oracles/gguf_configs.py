"""Configs as published repositories have them, and the metadata that llama.cpp's converter makes of each.

    python oracles/gguf_configs.py LLAMA_CPP tests/files/to-gguf

No weights: each config is converted alone (the tokenizer is left out too). What a config does not say
is filled in from the classes of transformers, and that is what these are for. `configs.json` holds
configs and entries, `names.json` what the converter reads out of a folder's name, `cards.json` out of
a model card.
"""

import json
import logging
import os
import sys
import tempfile
from pathlib import Path

LLAMA_CPP, OUT = (os.path.abspath(path) for path in sys.argv[1:3])
sys.path[:0] = [LLAMA_CPP, os.path.join(LLAMA_CPP, "gguf-py")]
import gguf  # noqa: E402
import torch  # noqa: E402
from conversion import ModelBase, ModelType, get_model_architecture, get_model_class  # noqa: E402


def shape(hidden, inner, layers, heads, kv, vocabulary, context, **more):
    sizes = dict(hidden_size=hidden, intermediate_size=inner, num_hidden_layers=layers, num_attention_heads=heads)
    return dict(sizes, num_key_value_heads=kv, vocab_size=vocabulary, max_position_embeddings=context, **more)


def config(kind, model_type, *args, **more):
    sizes = shape(*args[:7]) if args else {}
    return dict(architectures=[kind], model_type=model_type, **sizes, **more)


YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32768)
LLAMA3 = dict(factor=32.0, high_freq_factor=4.0, low_freq_factor=1.0, original_max_position_embeddings=8192)
SHORT = [1.0 + 0.02 * i for i in range(48)]
LONG = [1.0 + 1.3 * i for i in range(48)]
GEMMA3 = dict(hidden_size=2560, intermediate_size=10240, num_hidden_layers=34, sliding_window=1024, model_type="gemma3_text")
DEEPSEEK = dict(kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128, rms_norm_eps=1e-6, rope_theta=10000)
DEEPSEEK_YARN = dict(beta_fast=32, beta_slow=1, factor=40, original_max_position_embeddings=4096, type="yarn")
# What older files say and newer ones do not, and the other way round; what nobody says.
CONFIGS = {
    "llama-2": config("LlamaForCausalLM", "llama", 4096, 11008, 32, 32, 32, 32000, 4096, rms_norm_eps=1e-5, rope_scaling=None),
    "llama-1": dict(architectures=["LlamaForCausalLM"], model_type="llama", hidden_size=4096, num_hidden_layers=32),
    "llama-3.2": config(
        "LlamaForCausalLM", "llama", 2048, 8192, 16, 32, 8, 128256, 131072,
        head_dim=64, rms_norm_eps=1e-5, rope_theta=500000.0, rope_scaling=dict(LLAMA3, rope_type="llama3"),
    ),
    "llama-linear": config(
        "LlamaForCausalLM", "llama", 4096, 11008, 32, 32, 32, 32000, 16384,
        rms_norm_eps=1e-5, rope_scaling=dict(type="linear", factor=4.0),
    ),
    "llama-yarn": config(
        "LlamaForCausalLM", "llama", 4096, 11008, 32, 32, 32, 32000, 131072,
        rope_scaling=dict(type="yarn", factor=32.0, original_max_position_embeddings=4096, attention_factor=1.2, beta_fast=30, beta_slow=2),
    ),
    "llama-yarn-short": config(
        "LlamaForCausalLM", "llama", 4096, 11008, 32, 32, 32, 32000, 131072, rope_scaling=dict(type="yarn", factor=32.0)
    ),
    "llama-dynamic": config(
        "LlamaForCausalLM", "llama", 4096, 11008, 32, 32, 32, 32000, 8192, rope_scaling=dict(type="dynamic", factor=2.0)
    ),
    "mistral": config(
        "MistralForCausalLM", "mistral", 4096, 14336, 32, 32, 8, 32768, 32768,
        head_dim=None, rms_norm_eps=1e-5, rope_theta=1000000.0, sliding_window=None,
    ),
    "mistral-bare": dict(architectures=["MistralForCausalLM"], model_type="mistral"),
    "mistral-nemo": config(
        "MistralForCausalLM", "mistral", 5120, 14336, 40, 32, 8, 131072, 1024000, head_dim=128, rms_norm_eps=1e-5, rope_theta=1000000
    ),
    "mixtral": config(
        "MixtralForCausalLM", "mixtral", 4096, 14336, 32, 32, 8, 32000, 32768,
        num_experts_per_tok=2, num_local_experts=8, rms_norm_eps=1e-5, rope_theta=1e6, sliding_window=None,
    ),
    "mixtral-bare": dict(architectures=["MixtralForCausalLM"], model_type="mixtral"),
    "qwen2.5": config(
        "Qwen2ForCausalLM", "qwen2", 3584, 18944, 28, 28, 4, 152064, 32768,
        rms_norm_eps=1e-6, rope_theta=1000000.0, sliding_window=131072, use_sliding_window=False,
    ),
    "qwen2.5-yarn": config(
        "Qwen2ForCausalLM", "qwen2", 3584, 18944, 28, 28, 4, 152064, 131072, rope_theta=1e6, rope_scaling=dict(YARN, type="yarn")
    ),
    "qwen2-bare": dict(architectures=["Qwen2ForCausalLM"], model_type="qwen2"),
    "qwen3": config(
        "Qwen3ForCausalLM", "qwen3", 4096, 12288, 36, 32, 8, 151936, 40960, head_dim=128, rms_norm_eps=1e-6, rope_theta=1000000
    ),
    "qwen3-bare": dict(architectures=["Qwen3ForCausalLM"], model_type="qwen3"),
    "qwen3-moe": config(
        "Qwen3MoeForCausalLM", "qwen3_moe", 2048, 6144, 48, 32, 4, 151936, 40960,
        head_dim=128, moe_intermediate_size=768, num_experts=128, num_experts_per_tok=8, rope_theta=1000000.0,
    ),
    "qwen3-moe-bare": dict(architectures=["Qwen3MoeForCausalLM"], model_type="qwen3_moe"),
    "qwen1.5-moe": config(
        "Qwen2MoeForCausalLM", "qwen2_moe", 2048, 5632, 24, 16, 16, 151936, 8192,
        moe_intermediate_size=1408, num_experts=60, num_experts_per_tok=4, shared_expert_intermediate_size=5632, rope_theta=1000000.0,
    ),
    "qwen2-moe-bare": dict(architectures=["Qwen2MoeForCausalLM"], model_type="qwen2_moe"),
    "gemma": config("GemmaForCausalLM", "gemma", 2048, 16384, 18, 8, 1, 256000, 8192, head_dim=256, rope_theta=10000.0),
    "gemma-bare": dict(architectures=["GemmaForCausalLM"], model_type="gemma"),
    "gemma-2": config(
        "Gemma2ForCausalLM", "gemma2", 3584, 14336, 42, 16, 8, 256000, 8192,
        attn_logit_softcapping=50.0, final_logit_softcapping=30.0, head_dim=256, sliding_window=4096, rope_theta=10000.0,
    ),
    "gemma2-bare": dict(architectures=["Gemma2ForCausalLM"], model_type="gemma2"),
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
    "phi-3-mini": config(
        "Phi3ForCausalLM", "phi3", 3072, 8192, 32, 32, 32, 32064, 4096,
        original_max_position_embeddings=4096, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=10000.0, sliding_window=2047,
    ),
    "phi-3.5-mini": config(
        "Phi3ForCausalLM", "phi3", 3072, 8192, 32, 32, 32, 32064, 131072,
        original_max_position_embeddings=4096,
        rope_scaling=dict(long_factor=LONG, short_factor=SHORT, type="longrope"),
        rope_theta=10000.0,
        sliding_window=262144,
    ),
    "phi-4": config(
        "Phi3ForCausalLM", "phi3", 5120, 17920, 40, 40, 10, 100352, 16384,
        original_max_position_embeddings=16384, rope_scaling=None, rope_theta=250000, sliding_window=None,
    ),
    "phi-4-mini": config(
        "Phi3ForCausalLM", "phi3", 3072, 8192, 32, 24, 8, 200064, 131072,
        original_max_position_embeddings=4096,
        partial_rotary_factor=0.75,
        rope_scaling=dict(long_factor=LONG, short_factor=SHORT, type="longrope"),
        rope_theta=10000.0,
        sliding_window=262144,
    ),
    "phi3-bare": dict(architectures=["Phi3ForCausalLM"], model_type="phi3"),
    "granite": config(
        "GraniteForCausalLM", "granite", 2048, 8192, 40, 32, 8, 49152, 131072,
        attention_multiplier=0.015625, embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22, rope_theta=10000000.0,
    ),
    "granite-head": config("GraniteForCausalLM", "granite", 2048, 8192, 40, 32, 8, 49152, 131072, head_dim=96),
    "granite-bare": dict(architectures=["GraniteForCausalLM"], model_type="granite"),
    "smollm3": config("SmolLM3ForCausalLM", "smollm3", 2048, 11008, 36, 16, 4, 128256, 65536, rope_theta=5000000.0),
    "smollm3-bare": dict(architectures=["SmolLM3ForCausalLM"], model_type="smollm3"),
    "olmo-2": config("Olmo2ForCausalLM", "olmo2", 4096, 11008, 32, 32, 32, 100352, 4096, rms_norm_eps=1e-6, rope_theta=500000),
    "olmo2-bare": dict(architectures=["Olmo2ForCausalLM"], model_type="olmo2"),
    "starcoder2": config(
        "Starcoder2ForCausalLM", "starcoder2", 3072, 12288, 30, 24, 2, 49152, 16384,
        norm_epsilon=1e-5, rope_theta=999999.4420358813, sliding_window=4096,
    ),
    "starcoder2-bare": dict(architectures=["Starcoder2ForCausalLM"], model_type="starcoder2"),
    "command-r": config(
        "CohereForCausalLM", "cohere", 8192, 22528, 40, 64, 64, 256000, 8192,
        layer_norm_eps=1e-5, logit_scale=0.0625, model_max_length=131072, rope_theta=8000000.0,
    ),
    "cohere-bare": dict(architectures=["CohereForCausalLM"], model_type="cohere"),
    "command-r7b": config(
        "Cohere2ForCausalLM", "cohere2", 4096, 14336, 32, 32, 8, 256000, 8192,
        head_dim=128, logit_scale=0.25, rope_theta=50000, rotary_pct=1.0, sliding_window=4096, sliding_window_pattern=4,
    ),
    "gpt-oss-20b": config(
        "GptOssForCausalLM", "gpt_oss", 2880, 2880, 24, 64, 8, 201088, 131072,
        head_dim=64, num_local_experts=32, num_experts_per_tok=4, experts_per_token=4, sliding_window=128, initial_context_length=4096,
        rms_norm_eps=1e-5, rope_theta=150000, rope_scaling=dict(
            beta_fast=32.0, beta_slow=1.0, factor=32.0, original_max_position_embeddings=4096, rope_type="yarn", truncate=False
        ),
    ),
    "gpt-oss-bare": dict(architectures=["GptOssForCausalLM"], model_type="gpt_oss"),
    "glm-4": config(
        "Glm4ForCausalLM", "glm4", 4096, 13696, 40, 32, 2, 151552, 32768,
        head_dim=128, partial_rotary_factor=0.5, rms_norm_eps=1e-5, rope_theta=10000.0,
    ),
    "glm4-bare": dict(architectures=["Glm4ForCausalLM"], model_type="glm4"),
    "aya-23": config(
        "CohereForCausalLM", "cohere", 4096, 22528, 32, 32, 8, 256000, 8192, layer_norm_eps=1e-5, logit_scale=0.0625, rope_theta=10000
    ),
    "olmo-3": config(
        "Olmo3ForCausalLM", "olmo3", 4096, 11008, 32, 32, 32, 100278, 65536,
        rms_norm_eps=1e-6,
        rope_scaling=dict(YARN, factor=8.0, original_max_position_embeddings=8192, attention_factor=1.2079441541679836, beta_fast=32, beta_slow=1),
        rope_theta=500000,
        sliding_window=4096,
        layer_types=(["sliding_attention"] * 3 + ["full_attention"]) * 8,
    ),
    "olmo-3-short": config(
        "Olmo3ForCausalLM", "olmo3", 4096, 11008, 6, 32, 32, 100278, 65536, rope_scaling=dict(type="yarn", factor=8.0), rope_theta=20000
    ),
    "olmo3-bare": dict(architectures=["Olmo3ForCausalLM"], model_type="olmo3"),
    "glm-4.5-air": config(
        "Glm4MoeForCausalLM", "glm4_moe", 4096, 10944, 46, 96, 8, 151552, 131072,
        attention_bias=True, head_dim=128, partial_rotary_factor=0.5, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=1000000,
        moe_intermediate_size=1408, norm_topk_prob=True, num_experts_per_tok=8, n_group=1, topk_group=1, n_routed_experts=128,
        n_shared_experts=1, routed_scaling_factor=1.0, first_k_dense_replace=1, num_nextn_predict_layers=1, use_qk_norm=False,
    ),
    "glm4-moe-bare": dict(architectures=["Glm4MoeForCausalLM"], model_type="glm4_moe"),
    "deepseek-v3": config(
        "DeepseekV3ForCausalLM", "deepseek_v3", 7168, 18432, 61, 128, 128, 129280, 163840,
        **DEEPSEEK, first_k_dense_replace=3, moe_intermediate_size=2048, n_group=8, n_routed_experts=256, n_shared_experts=1,
        norm_topk_prob=True, num_experts_per_tok=8, num_nextn_predict_layers=1, q_lora_rank=1536, routed_scaling_factor=2.5,
        scoring_func="sigmoid", topk_group=4, topk_method="noaux_tc", rope_scaling=dict(DEEPSEEK_YARN, mscale=1.0, mscale_all_dim=1.0),
    ),
    "deepseek-v3-bare": dict(architectures=["DeepseekV3ForCausalLM"], model_type="deepseek_v3"),
    "deepseek-v2-lite": config(
        "DeepseekV2ForCausalLM", "deepseek_v2", 2048, 10944, 27, 16, 16, 102400, 163840,
        **DEEPSEEK, first_k_dense_replace=1, moe_intermediate_size=1408, n_group=1, n_routed_experts=64, n_shared_experts=2,
        norm_topk_prob=False, num_experts_per_tok=6, q_lora_rank=None, routed_scaling_factor=1.0,
        scoring_func="softmax", topk_group=1, topk_method="greedy", rope_scaling=dict(DEEPSEEK_YARN, mscale=0.707, mscale_all_dim=0.707),
    ),
    "deepseek-v2-bare": dict(architectures=["DeepseekV2ForCausalLM"], model_type="deepseek_v2"),
    "llama-4-scout": dict(
        architectures=["Llama4ForConditionalGeneration"],
        model_type="llama4",
        text_config=shape(
            5120, 8192, 48, 40, 8, 202048, 10485760,
            attention_chunk_size=8192, head_dim=128, interleave_moe_layer_step=1, intermediate_size_mlp=16384, model_type="llama4_text",
            no_rope_layers=[], num_experts_per_tok=1, num_local_experts=16, rms_norm_eps=1e-5, rope_theta=500000.0,
            rope_scaling=dict(LLAMA3, factor=16.0, high_freq_factor=1.0, rope_type="llama3"),
        ),
    ),
    "llama-4-maverick": dict(
        architectures=["Llama4ForConditionalGeneration"],
        model_type="llama4",
        text_config=shape(5120, 8192, 48, 40, 8, 202048, 1048576, interleave_moe_layer_step=2, num_local_experts=128),
    ),
    "mobile-llm": config(
        "Llama4ForCausalLM", "llama4_text", 1280, 6144, 3, 20, 5, 202048, 32768,
        head_dim=64, intermediate_size_mlp=6144, interleave_moe_layer_step=0, num_local_experts=0, num_experts_per_tok=0,
        layer_types=["full_attention"] * 3, moe_layers=[], no_rope_layers=[1, 1, 1], rope_theta=8000000.0,
    ),
    "llama4-bare": dict(architectures=["Llama4ForCausalLM"], model_type="llama4_text"),
    "qwen3.5-9b": dict(
        architectures=["Qwen3_5ForConditionalGeneration"],
        model_type="qwen3_5",
        text_config=shape(
            4096, 12288, 32, 16, 4, 248320, 262144,
            full_attention_interval=4, head_dim=256, linear_conv_kernel_dim=4, linear_key_head_dim=128, linear_num_key_heads=16,
            linear_num_value_heads=32, linear_value_head_dim=128, model_type="qwen3_5_text", mtp_num_hidden_layers=1, rms_norm_eps=1e-6,
            layer_types=(["linear_attention"] * 3 + ["full_attention"]) * 8,
            rope_parameters=dict(
                mrope_interleaved=True, mrope_section=[11, 11, 10], partial_rotary_factor=0.25, rope_theta=10000000, rope_type="default"
            ),
        ),
    ),
    "qwen3.5-bare": dict(architectures=["Qwen3_5ForCausalLM"], model_type="qwen3_5_text", mtp_num_hidden_layers=1),
    "qwen3.5-interval": dict(
        architectures=["Qwen3_5ForCausalLM"], model_type="qwen3_5_text", mtp_num_hidden_layers=2, num_hidden_layers=5, full_attention_interval=2
    ),
    "qwen3.5-moe-bare": dict(
        architectures=["Qwen3_5MoeForConditionalGeneration"], model_type="qwen3_5_moe", text_config=dict(mtp_num_hidden_layers=1)
    ),
    "bge-small": dict(
        architectures=["BertModel"], model_type="bert", hidden_size=384, intermediate_size=1536, num_hidden_layers=12, num_attention_heads=12,
        id2label={"0": "LABEL_0"}, label2id={"LABEL_0": 0}, layer_norm_eps=1e-12, max_position_embeddings=512, vocab_size=30522,
    ),
    "bert-bare": dict(architectures=["BertForMaskedLM"], model_type="bert"),
    "bert-named": dict(
        architectures=["BertForSequenceClassification"], model_type="bert", id2label={"10": "ten", "9": "nine", "0": "zero"},
    ),
    "bge-m3": dict(
        architectures=["XLMRobertaModel"], model_type="xlm-roberta", hidden_size=1024, intermediate_size=4096, num_hidden_layers=24, num_attention_heads=16,
        layer_norm_eps=1e-5, max_position_embeddings=8194, pad_token_id=1, type_vocab_size=1, vocab_size=250002,
    ),
    "xlm-roberta-bare": dict(architectures=["XLMRobertaModel"], model_type="xlm-roberta"),
    "xlm-roberta-unpadded": dict(architectures=["XLMRobertaModel"], model_type="xlm-roberta", pad_token_id=None),
    "roberta-bare": dict(architectures=["RobertaModel"], model_type="roberta"),
}
GENERATIONS = {
    "qwen2.5": dict(temperature=0.7, top_k=20, top_p=0.8, repetition_penalty=1.05),
    "qwen3": dict(temperature=0.6, top_k=20, top_p=0.95, min_p=0.01, penalty_last_n=64, sequence="kt"),
    "gemma-2": dict(temperature=1, penalty_repeat=1.1, repetition_penalty=1.2, mirostat=2, mirostat_tau=5.0, mirostat_eta=0.1),
    "llama-2": dict(temperature=0.6, top_p=0.9, xtc_probability=0.5, xtc_threshold=0.1),
}
NAMES = """hf model-7b Llama-2-7b-chat-hf Meta-Llama-3.1-8B-Instruct Mistral-7B-Instruct-v0.3 Mixtral-8x7B-Instruct-v0.1
Qwen2.5-7B-Instruct-1M Qwen3-30B-A3B Qwen3-8B gemma-2-9b-it gemma-3-4b-it Phi-3-mini-4k-instruct Phi-3.5-mini-instruct
phi-4 granite-3.3-2b-instruct SmolLM3-3B SmolLM2-135M-Instruct OLMo-2-1124-7B-Instruct starcoder2-3b c4ai-command-r7b-12-2024
GLM-4-9B-0414 bloom-7b1 DeepSeek-R1-Distill-Qwen-1.5B TinyLlama-1.1B-Chat-v1.0 tiny_model v2 7B-model snapshot main
Llama-3.2-1B-Instruct-q4_k_m-GGUF Yi-34B-200K mistral-small-24b-instruct-2501 stablelm-2-1_6b Nous-Hermes-2-Mixtral-8x7B-DPO
a--b-3B- X-Large-model meta-llama/Llama-2-7b-hf ./models/thing-8B ABC-iter2-v1.2 fp16-model-70B-bf16 two\u00a0words-3B \u00fcber-modell-4B""".split("\n")
NAMES = [name for line in NAMES for name in line.split(" ")] + ["A model of mine", "-", "x-13B-13B-16k"]
SIZES = [0, 1_235_814_400, 8_030_261_248]
CARDS = {
    "plain": "---\nlicense: mit\n---\n# Hello\n",
    "none": "# Hello\n\nlicense: mit\n",
    "empty": "",
    "long": "---\nlicense: other\nlicense_name: tiny-license\nlicense_link: LICENSE\nlanguage: en\npipeline_tag: text-generation\n"
    'tags:\n- a\n- "b: c"\n- \'it\'\'s\'\nlibrary_name: transformers\nextra_gated_prompt: >-\n  one\n\n  two: three\nbase_model: org/Base-7B-v0.2\n---\n',
    "named": "---\nname: My Model\nauthor: Somebody\nversion: v1.5\norganization: Org\ndescription: a model, of a kind\nfinetune: chat\n"
    "basename: base\nsize_label: 9B\nurl: https://example.com\nrepo_url: https://example.com/repo\n---\n",
    "creator": "---\nmodel_name: Other Model  # as it is called\nmodel_creator: Someone\nmodel_type: llama\nquantized_by: Nobody\n---\n",
    "lists": "---\nlanguage: [en, de,\n  fr]\nlicense: [mit, apache-2.0]\ntags: []\nbase_model:\n  - a/B-3B\n  - a/B-3B-Instruct\ndatasets:\n  - x/y-set\n  - https://huggingface.co/datasets/z\n---\n",
    "merge": "---\nbase_model:\n- https://example.com/elsewhere\n- lonely\nlanguage:\n- en\n- no\n---\n",
    "nested": "---\nlicense: mit\nmodel-index:\n- name: x\n  results:\n  - task:\n      type: text-generation\n    metrics:\n    - value: 1.5\nwidget:\n- text: 'Hi: there'\ntags:\n- end\n---\n",
}


def entries(folder, without=("general.name",)):
    with torch.inference_mode():
        hparams = ModelBase.load_hparams(Path(folder), False)
        converter = get_model_class(get_model_architecture(hparams, ModelType.TEXT))
        converter.set_vocab = lambda self: None
        one = converter(Path(folder), gguf.LlamaFileType.MOSTLY_BF16, Path(folder, "out.gguf"))
        one.prepare_tensors()
        one.prepare_metadata(vocab_only=False)
        tensors = {
            name: info.tensor.tolist() for part in one.gguf_writer.tensors for name, info in part.items()
        }
        found = []
        for key, entry in one.gguf_writer.kv_data[0].items():
            kind = entry.type.name if entry.sub_type is None else f"{entry.type.name} {entry.sub_type.name}"
            if key not in without:
                found.append([key, kind, entry.value])
        return found, tensors


def fill(folder, name, content):
    Path(folder, name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def write(name, content):
    with open(os.path.join(OUT, name), "w", encoding="utf-8") as file:
        rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in content)
        file.write(f"[\n{rows}\n]\n")


def configs():
    for name, content in CONFIGS.items():
        with tempfile.TemporaryDirectory() as work:
            folder = os.path.join(work, "hf")
            os.makedirs(folder)
            fill(folder, "config.json", content)
            row = dict(name=name, config=content)
            if name in GENERATIONS:
                fill(folder, "generation_config.json", GENERATIONS[name])
                row["generation"] = GENERATIONS[name]
            # No tensors but those that follow from the config, so the size says nothing.
            row["entries"], row["tensors"] = entries(folder, ("general.name", "general.size_label"))
            yield row


def names():
    for name in NAMES:
        for size in SIZES:
            found = gguf.Metadata.get_model_id_components(name, size)
            title = gguf.Metadata.id_to_title(found[0])
            parts = dict(zip(["full", "organization", "basename", "finetune", "version", "size_label"], found))
            yield dict(name=name, parameters=size, title=title, **parts)


def cards():
    base = CONFIGS["qwen2.5"]
    for name, text in CARDS.items():
        with tempfile.TemporaryDirectory() as work:
            folder = os.path.join(work, "Folder-7B-Instruct-v1")
            os.makedirs(folder)
            fill(folder, "config.json", base)
            fill(folder, "README.md", text)
            found, _ = entries(folder, ())
            yield dict(name=name, card=text, entries=[entry for entry in found if entry[0].startswith("general.")])


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    write("configs.json", configs())
    write("names.json", names())
    write("cards.json", cards())
