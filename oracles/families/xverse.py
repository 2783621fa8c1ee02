"""XVERSE."""

import family_layouts as layouts
import gguf_vocabularies as vocabularies
import torch
from family_blocks import Family, Repository
from family_tokenizers import META, settings

CONFIG = dict(
    architectures=["XverseForCausalLM"], model_type="xverse", bos_token_id=2, eos_token_id=3, hidden_act="silu", hidden_size=16,
    initializer_range=0.02, intermediate_size=24, max_position_embeddings=64, max_tokenizer_truncation=48, num_attention_heads=4,
    num_hidden_layers=2, pad_token_id=1, rms_norm_eps=1e-6, tie_word_embeddings=False,
)  # fmt: skip
PIECES = [("<unk>", 0.0, 2), ("<pad>", 0.0, 3), ("<|startoftext|>", 0.0, 3), ("<|endoftext|>", 0.0, 3), ("\0", 0.0, 1)]


def xverse(folder):
    found = vocabularies.pieces(PIECES, vocabularies.WORDS[:6])
    said = settings("PreTrainedTokenizerFast", bos_token="<|startoftext|>", eos_token="<|endoftext|>", unk_token="<unk>", pad_token="<pad>")
    vocabularies.byte_fallback_bpe(folder, found, said, first="<|startoftext|>")
    return dict(bos_token_id=2, eos_token_id=3, pad_token_id=1)


def shapes(tokens, count=2, keys=4):
    def of(name, _):
        return layouts.attention(name, 4, keys, 4) | layouts.mlp(f"{name}.mlp", 24) | layouts.norms(name)

    return layouts.trunk(tokens) | layouts.layers(count, of)


FAMILY = Family(
    None,
    # As many rows as there are tokens: the converter asks for the text of each.
    to_gguf={
        "xverse": Repository({}, xverse, None, types=["f32", "bf16"], spare=0, laid_out=layouts.laid_out(CONFIG, shapes)),
        "xverse-grouped": Repository(
            {}, xverse, None, types=["f16"], spare=0,
            laid_out=layouts.laid_out(
                dict(CONFIG, num_hidden_layers=1, num_key_value_heads=2, rope_theta=500000, rope_scaling=dict(type="linear", factor=2.0)),
                lambda tokens: shapes(tokens, 1, 2), torch.float16,
            ),
        ),
    },
    configs={
        "xverse-7b": dict(
            CONFIG, hidden_size=4096, intermediate_size=10944, max_position_embeddings=8192, max_tokenizer_truncation=8192, num_attention_heads=32,
            num_hidden_layers=32, vocab_size=100278,
        ),
    },
)  # fmt: skip
