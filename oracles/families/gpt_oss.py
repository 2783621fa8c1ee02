"""gpt-oss, whose experts are published in MXFP4."""

import gguf_stored as stored
import gguf_vocabularies as vocabularies
import torch
from family_blocks import Family, Repository, Tiny, config, edited, say
from family_tokenizers import settings
from gguf_vocabularies import CHAT, byte_level, split

SETTINGS = dict(num_local_experts=3, num_experts_per_tok=2, sliding_window=16)
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


def mxfp4(tensors, generator):
    """Puts blocks of codes and their scales in place of experts, as published checkpoints have them:
    [experts, outputs, inputs / 32, 16] and [experts, outputs, inputs / 32]."""
    for name in [name for name in tensors if name.endswith(("gate_up_proj", "down_proj"))]:
        experts, inputs, outputs = tensors.pop(name).shape
        shape = [experts, outputs, inputs // 32]
        tensors[name + "_blocks"] = torch.randint(256, [*shape, 16], generator=generator, dtype=torch.uint8)
        tensors[name + "_scales"] = torch.randint(120, 128, shape, generator=generator, dtype=torch.uint8)


FAMILY = Family(
    "GptOss",
    names={
        "gpt-oss": Tiny(SETTINGS),
        # Blocks are 32 long.
        "gpt-oss-mxfp4": Tiny(
            dict(SETTINGS, hidden_size=32, intermediate_size=32),
            steps=[edited(mxfp4), say(quantization_config={"quant_method": "mxfp4"})],
            laid_out="blocks laid out after its loader",
        ),
    },
    to_gguf={
        "gpt_oss": Repository(dict(SETTINGS, head_dim=4), gpt_oss, "gpt-4o", types=["f32", "bf16"]),
        "gpt_oss-mxfp4": Repository(
            dict(SETTINGS, head_dim=4, num_hidden_layers=2, hidden_size=64, intermediate_size=32),
            gpt_oss,
            "gpt-4o",
            types=["auto"],
            steps=[stored.gpt_oss],
        ),
    },
    configs={
        "gpt-oss-20b": config(
            "GptOssForCausalLM", "gpt_oss", 2880, 2880, 24, 64, 8, 201088, 131072,
            head_dim=64, num_local_experts=32, num_experts_per_tok=4, experts_per_token=4, sliding_window=128, initial_context_length=4096,
            rms_norm_eps=1e-5, rope_theta=150000, rope_scaling=dict(
                beta_fast=32.0, beta_slow=1.0, factor=32.0, original_max_position_embeddings=4096, rope_type="yarn", truncate=False
            ),
        ),
        "gpt-oss-bare": dict(architectures=["GptOssForCausalLM"], model_type="gpt_oss"),
    },
    warned={"gpt-oss-20b": ["rope_scaling.truncate"]},
)
