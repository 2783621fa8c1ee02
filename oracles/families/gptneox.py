"""GPT-NeoX and Pythia."""

from family_blocks import ABSENT, Family, Repository, change
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level
from settings_rows import NOTHING, TIED, Cases, each, partial, theta

neox = plain_bpe([byte_level(use_regex=True)], "GPTNeoXTokenizer", "<|endoftext|>", "<|endoftext|>", "<|padding|>", normalizer=dict(type="NFC"))


def rotating(converter):
    """The converter asks for `rotary_pct`, which transformers has under another name by now."""
    method = converter.set_gguf_parameters

    def set_gguf_parameters(self):
        self.hparams.setdefault("rotary_pct", self.rope_parameters["partial_rotary_factor"])
        method(self)

    converter.set_gguf_parameters = set_gguf_parameters


def as_published(folder):
    """Rotary parameters by the names that published configs have for them."""

    def edit(said):
        rope = said.pop("rope_parameters")
        return dict(said, rotary_emb_base=10000, rotary_pct=rope["partial_rotary_factor"])

    change(folder, edit)


FAMILY = Family(
    "GPTNeoX",
    to_gguf={
        "gpt_neox": Repository(dict(num_hidden_layers=2, num_key_value_heads=ABSENT), neox, "olmo", types=["f32", "bf16"], mend=rotating),
        "gpt_neox-serial": Repository(
            dict(
                num_key_value_heads=ABSENT, use_parallel_residual=False, layer_norm_eps=1e-4,
                rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=1.0),
            ),
            neox, "olmo", dtype="float16", types=["f16"], mend=rotating, steps=[as_published],
        ),
    },
    settings={
        "gptneox": Cases(
            "gpt_neox",
            dict(num_key_value_heads=ABSENT),
            [
                *each("use_parallel_residual", False), *each("attention_bias", False), *theta(50000.0), *partial(1.0),
                *each("layer_norm_eps", 1e-3), *each("hidden_act", "gelu_new", "relu"), *TIED, *NOTHING,
            ],
        ),
    },
    back="gpt_neox",
)  # fmt: skip
