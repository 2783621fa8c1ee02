"""Llama, and the many ways in which its weights are stored."""

import gguf_stored as stored
from family_blocks import LLAMA3, PACKED, SCALED_LLAMA3, WIDE, Family, Repository, Tiny, config
from family_tokenizers import llama3, meta

LONG = dict(
    max_position_embeddings=16384, hidden_size=32, intermediate_size=32, num_hidden_layers=2, head_dim=16, rope_parameters=LLAMA3
)
FAMILY = Family(
    "Llama",
    names={
        "llama": Tiny(
            dict(num_hidden_layers=2, attention_bias=True, rope_parameters=dict(LLAMA3, rope_theta=10000.0, original_max_position_embeddings=32)),
            type="f16",
        ),
        "llama-qkv": Tiny(dict(attention_bias=True), type="f32", options=dict(fuse_qkv=True)),
    },
    to_gguf={
        "llama": Repository(
            LONG, llama3, "llama-bpe", types=["f32", "f16", "bf16", "q8_0"], sampling=dict(do_sample=True, temperature=0.6, top_p=0.9)
        ),
        "llama-sentencepiece": Repository(dict(attention_bias=True), meta, None, dtype="float16", types=["f32", "f16", "auto"]),
        "llama-nvfp4": Repository(WIDE, llama3, "llama-bpe", types=["auto"], steps=[stored.nvfp4]),
        "llama-nvfp4-packed": Repository(WIDE, llama3, "llama-bpe", types=["auto"], steps=[stored.nvfp4_packed]),
        "llama-gptq": Repository(PACKED, llama3, "llama-bpe", dtype="float16", types=["f32", "f16"], steps=[stored.gptq]),
        "llama-int4": Repository(PACKED, llama3, "llama-bpe", types=["f32", "bf16"], steps=[stored.int4_packed]),
        # What the converter does not read; but it reads the first of these.
        "llama-fp8-channel": Repository(PACKED, llama3, "llama-bpe", types=["f32", "bf16"], steps=[stored.fp8_channel]),
        "llama-fp8-tensor": Repository(PACKED, llama3, "llama-bpe", types=[], steps=[stored.fp8_tensor]),
        "llama-awq": Repository(PACKED, llama3, "llama-bpe", dtype="float16", types=[], steps=[stored.awq]),
        "llama-nf4": Repository(PACKED, llama3, "llama-bpe", types=[], steps=[stored.nf4]),
        "llama-int8": Repository(PACKED, llama3, "llama-bpe", dtype="float16", types=[], steps=[stored.int8]),
        "llama-mlx": Repository(PACKED, llama3, "llama-bpe", types=[], steps=[stored.mlx]),
    },
    configs={
        "llama-2": config("LlamaForCausalLM", "llama", 4096, 11008, 32, 32, 32, 32000, 4096, rms_norm_eps=1e-5, rope_scaling=None),
        "llama-1": dict(architectures=["LlamaForCausalLM"], model_type="llama", hidden_size=4096, num_hidden_layers=32),
        "llama-3.2": config(
            "LlamaForCausalLM", "llama", 2048, 8192, 16, 32, 8, 128256, 131072,
            head_dim=64, rms_norm_eps=1e-5, rope_theta=500000.0, rope_scaling=dict(SCALED_LLAMA3, rope_type="llama3"),
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
    },
    generations={
        "llama-2": dict(temperature=0.6, top_p=0.9, xtc_probability=0.5, xtc_threshold=0.1),
    },
    warned={"llama-yarn": ["rope_scaling.beta_fast", "rope_scaling.beta_slow"], "llama-dynamic": ["rope_scaling.rope_type"]},
    beyond={"llama-yarn": ["llama.rope.scaling.attn_factor"]},
)
