"""Nemotron and Minitron: Llama with norms that are stored less one, no gates, and heads that are turned in part."""

import gguf_vocabularies as vocabularies
from family_blocks import Family, Repository, Tiny, config
from family_tokenizers import decoder, settings

PIECES = [("<pad>", 0.0, 3), ("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]
BIASED = dict(attention_bias=True, mlp_bias=True)
LINEAR = dict(rope_type="linear", rope_theta=10000.0, factor=2.0, partial_rotary_factor=0.75)


def nemotron(folder):
    vocabularies.sentencepiece_model(folder, vocabularies.pieces(PIECES, vocabularies.WORDS[:6]))
    said = settings("PreTrainedTokenizerFast", bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    said.update(added_tokens_decoder=decoder((1, "<unk>"), (2, "<s>"), (3, "</s>")))
    vocabularies.write_json(folder, "tokenizer_config.json", said, indent=2)
    return dict(bos_token_id=2, eos_token_id=3)


def padded(folder):
    # The converter says another one.
    return dict(nemotron(folder), pad_token_id=3)


FAMILY = Family(
    "Nemotron",
    names={
        "nemotron": Tiny({}, type="f16"),
        "nemotron-biased": Tiny(dict(BIASED, num_hidden_layers=2)),
    },
    to_gguf={
        "nemotron": Repository(dict(num_hidden_layers=2), nemotron, None, types=["f32", "bf16"]),
        # Norms have one added to them in F16.
        "nemotron-biased": Repository(
            dict(BIASED, hidden_size=32, rope_parameters=LINEAR), padded, None, dtype="float16", types=["f32", "f16"]
        ),
    },
    configs={
        "minitron-4b": config(
            "NemotronForCausalLM", "nemotron", 3072, 9216, 32, 24, 8, 256000, 4096,
            attention_bias=False, head_dim=128, hidden_act="relu2", mlp_bias=False, norm_eps=1e-5, partial_rotary_factor=0.5,
            rope_theta=10000, tie_word_embeddings=False,
        ),
        "nemotron-linear": config(
            "NemotronForCausalLM", "nemotron", 6144, 24576, 32, 48, 8, 256000, 8192,
            norm_eps=1e-6, partial_rotary_factor=0.25, rope_scaling=dict(type="linear", factor=4.0), rope_theta=500000.0,
        ),
        "nemotron-bare": dict(architectures=["NemotronForCausalLM"], model_type="nemotron"),
    },
)  # fmt: skip
