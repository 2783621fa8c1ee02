"""PLaMo 2."""

import json
import os

import family_layouts as layouts
import gguf_vocabularies as vocabularies
import torch
from family_blocks import Family, Repository

TOKENS = ["<|plamo:unk|>", "<|plamo:bos|>", "<|plamo:eos|>", "<|plamo:pad|>", "<|plamo:op|>", "<|plamo:reserved:0|>"]


def plamo(chat=None):
    """PLaMo's own file: a line for each token."""

    def write(folder):
        lines = [[token, 0.0, kind, None] for token, kind in zip(TOKENS, ["UNKNOWN", *["CONTROL"] * 4, "NORMAL"])]
        lines += [[f"<0x{byte:02X}>", 0.0, "BYTE", None] for byte in range(256)]
        lines += [[word, -1.5 - rank, "NORMAL", None] for rank, word in enumerate([*vocabularies.WORDS[:12], " ", "\u3042"])]
        with open(os.path.join(folder, "tokenizer.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        said = dict(bos_token=TOKENS[1], eos_token=TOKENS[2], pad_token=TOKENS[3], unk_token=TOKENS[0], sep_token=None, add_bos_token=True)
        said |= dict(tokenizer_class="Plamo2Tokenizer", tokenizer_file="tokenizer.jsonl", chat_template=chat)
        vocabularies.write_json(folder, "tokenizer_config.json", said, indent=2)
        return dict(bos_token_id=1, eos_token_id=2)

    return write


CONFIG = dict(
    architectures=["Plamo2ForCausalLM"], model_type="plamo2", attention_window_size=64, bos_token_id=1, eos_token_id=2, full_attention_idx=[],
    hidden_size=16, hidden_size_per_head=8, intermediate_size=24, mamba_d_conv=4, mamba_d_state=4, mamba_enabled=True, mamba_num_heads=4,
    mamba_step=2, max_position_embeddings=64, num_attention_heads=4, num_hidden_layers=3, num_key_value_heads=2, pad_token_id=3, rms_norm_eps=1e-6,
    tie_word_embeddings=True, tokenizer_class="Plamo2Tokenizer", use_cache=True,
)  # fmt: skip


def common(name):
    shapes = dict(pre_mixer_norm=[16], post_mixer_norm=[16], pre_mlp_norm=[16], post_mlp_norm=[16])
    return layouts.inside(name, dict(shapes, **{"mlp.gate_up_proj": [48, 16], "mlp.down_proj": [16, 24]}))


def attention(name, keys, extra):
    return layouts.inside(f"{name}.mixer", {"qkv_proj.weight": [(4 + 2 * keys) * 8, 16], "o_proj.weight": [16, 32]} | extra, "")


def space(name):
    shapes = {"in_proj.weight": [64, 16], "conv1d.weight": [32, 1, 4], "bcdt_proj.weight": [72, 32], "dt_proj.weight": [4, 64], "dt_bias": [4]}
    shapes |= {"dt_norm_weight": [64], "B_norm_weight": [4], "C_norm_weight": [4], "A_log": [4], "D": [4], "out_proj.weight": [16, 32]}
    return layouts.inside(f"{name}.mixer", shapes, "")


def shapes(tokens, attending=(1,), count=3, keys=2):
    found = layouts.trunk(tokens, head=False)
    for layer in range(count):
        name = f"model.layers.layers.{layer}"
        norms = dict(q_weight=[4, 8], k_weight=[keys, 8])
        found |= common(name) | (attention(name, keys, norms) if layer in attending else space(name))
    return found


FAMILY = Family(
    None,
    to_gguf={
        "plamo2": Repository({}, plamo(), None, types=["f32", "bf16"], laid_out=layouts.laid_out(CONFIG, shapes, single=["A_log", "D"])),
        # Fewer layers than half a step: the last one attends.
        "plamo2-few": Repository(
            {}, plamo(), None, types=["f16"], spare=0,
            laid_out=layouts.laid_out(
                dict(CONFIG, architectures=["PLaMo2ForCausalLM"], mamba_step=4, num_hidden_layers=2, num_key_value_heads=1, rope_theta=5000.0),
                lambda tokens: shapes(tokens, (1,), 2, 1), torch.float16,
            ),
        ),
    },
    configs={
        "plamo-2-1b": dict(
            CONFIG, attention_window_size=2048, hidden_size=2048, hidden_size_per_head=128, intermediate_size=8192, mamba_d_state=64,
            mamba_num_heads=32, max_position_embeddings=10485760, num_attention_heads=32, num_hidden_layers=16, num_key_value_heads=4, vocab_size=100000,
        ),
    },
    warned={"plamo-2-1b": ["attention_window_size"]},
)  # fmt: skip
