"""InternLM 2 and 2.5."""

import os

import family_layouts as layouts
import gguf_vocabularies as vocabularies
import torch
from family_blocks import Family, Repository
from family_tokenizers import META, decoder, settings

UNUSED = [(f"[UNUSED_TOKEN_{number}]", 0.0, 1) for number in range(4)]
TURNS = ["<|im_start|>", "<|im_end|>", "<|plugin|>"]


def internlm2(chat):
    """A file of SentencePiece with tokens that nobody uses; a chat model's config gives some of them texts."""

    def write(folder):
        found = vocabularies.pieces(META, vocabularies.WORDS[:6]) + UNUSED
        vocabularies.sentencepiece_model(folder, found)
        said = settings("InternLM2Tokenizer", bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>")
        if chat:
            first = len(found) - len(UNUSED)
            more = [(first + at, text, text != "<|plugin|>") for at, text in enumerate(TURNS)]
            said.update(added_tokens_decoder=decoder((1, "<s>"), *more), chat_template=vocabularies.CHAT)
        else:
            bare(os.path.join(folder, "tokenizer.model"))
        vocabularies.write_json(folder, "tokenizer_config.json", said, indent=2)
        return dict(bos_token_id=1, eos_token_id=2, pad_token_id=2)

    return write


def bare(path):
    """No space before a text."""
    with open(path, "rb") as file:
        model = vocabularies.sentencepiece.ModelProto.FromString(file.read())
    model.normalizer_spec.add_dummy_prefix = False
    with open(path, "wb") as file:
        file.write(model.SerializeToString(deterministic=True))


CONFIG = dict(
    architectures=["InternLM2ForCausalLM"], model_type="internlm2", attn_implementation="eager", bias=False, bos_token_id=1, eos_token_id=2,
    hidden_act="silu", hidden_size=16, initializer_range=0.02, intermediate_size=24, max_position_embeddings=64, num_attention_heads=4,
    num_hidden_layers=2, num_key_value_heads=2, pad_token_id=2, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=1000000, tie_word_embeddings=False,
)  # fmt: skip


def shapes(tokens, count=2, keys=2):
    found = {"model.tok_embeddings.weight": [tokens, 16], "model.norm.weight": [16], "output.weight": [tokens, 16]}
    each = {
        "attention.wqkv": [16 + 8 * keys, 16], "attention.wo": [16, 16], "attention_norm": [16], "ffn_norm": [16], "feed_forward.w1": [24, 16],
        "feed_forward.w3": [24, 16], "feed_forward.w2": [16, 24],
    }  # fmt: skip
    return found | layouts.layers(count, lambda name, _: layouts.inside(name, each))


FAMILY = Family(
    None,
    # As many rows as there are pieces: the converter asks for the piece of each.
    to_gguf={
        "internlm2": Repository({}, internlm2(True), None, types=["f32", "bf16"], spare=-1, laid_out=layouts.laid_out(CONFIG, shapes)),
        "internlm2-base": Repository(
            {}, internlm2(False), None, types=["f16"], spare=-1,
            laid_out=layouts.laid_out(
                dict(CONFIG, num_hidden_layers=1, num_key_value_heads=4, rope_scaling=dict(type="linear", factor=2.0)),
                lambda tokens: shapes(tokens, 1, 4), torch.float16,
            ),
        ),
        "internlm2-one": Repository(
            {}, internlm2(True), None, spare=-1,
            laid_out=layouts.laid_out(dict(CONFIG, num_hidden_layers=1, num_key_value_heads=1), lambda tokens: shapes(tokens, 1, 1)),
        ),
    },
    configs={
        "internlm2-7b": dict(
            CONFIG, hidden_size=4096, intermediate_size=14336, max_position_embeddings=32768, num_attention_heads=32, num_hidden_layers=32,
            num_key_value_heads=8, vocab_size=92544, rope_scaling=dict(type="dynamic", factor=2.0),
        ),
    },
    warned={"internlm2-7b": ["rope_scaling.rope_type"]},
)  # fmt: skip
