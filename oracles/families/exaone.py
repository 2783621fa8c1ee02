"""EXAONE 3.5: Llama under other names, of which transformers has no class."""

from family_blocks import SCALED_LLAMA3, Family, Repository, change, edited
from family_tokenizers import plain_bpe
from gguf_vocabularies import digits

exaone = plain_bpe(digits(), "GPT2Tokenizer", "[BOS]", "[|endofturn|]", "[PAD]")
NAMES = {
    "model.embed_tokens": "transformer.wte",
    "model.norm": "transformer.ln_f",
    "model.layers.": "transformer.h.",
    "self_attn.o_proj": "attn.attention.out_proj",
    "self_attn.": "attn.attention.",
    "input_layernorm": "ln_1",
    "post_attention_layernorm": "ln_2",
    "mlp.gate_proj": "mlp.c_fc_0",
    "mlp.up_proj": "mlp.c_fc_1",
    "mlp.down_proj": "mlp.c_proj",
}


def renamed(tensors, generator):
    for name in list(tensors):
        new = name
        for old, other in NAMES.items():
            new = new.replace(old, other)
        tensors[new] = tensors.pop(name)


def published(layers, heads, hidden, **more):
    said = dict(architectures=["ExaoneForCausalLM"], model_type="exaone", activation_function="silu", attention_dropout=0.0, embed_dropout=0.0)
    sizes = dict(hidden_size=hidden, num_layers=layers, num_attention_heads=heads, num_key_value_heads=8, vocab_size=102400)
    return dict(said, layer_norm_epsilon=1e-5, bos_token_id=1, eos_token_id=361, pad_token_id=0, **sizes, **more)


def as_published(folder):
    def edit(said):
        sizes = "hidden_size intermediate_size num_attention_heads num_key_value_heads max_position_embeddings vocab_size head_dim tie_word_embeddings"
        rope = said["rope_parameters"]
        more = {key: said[key] for key in (*sizes.split(), "bos_token_id", "eos_token_id", "pad_token_id")}
        theta = rope.pop("rope_theta")
        scaling = rope if rope["rope_type"] != "default" else None
        return {**published(said["num_hidden_layers"], 0, 0), **more, "rope_theta": theta, "rope_scaling": scaling}

    change(folder, edit)


def epsilon(converter):
    """The converter writes the epsilon of other norms, with which llama.cpp does not load the file."""
    method = converter.set_gguf_parameters

    def set_gguf_parameters(self):
        method(self)
        self.gguf_writer.add_layer_norm_rms_eps(self.hparams["layer_norm_epsilon"])

    converter.set_gguf_parameters = set_gguf_parameters


STEPS = [edited(renamed), as_published]
RMS = ["exaone.attention.layer_norm_rms_epsilon"]
FAMILY = Family(
    "Llama",
    to_gguf={
        "exaone": Repository(dict(num_hidden_layers=2, rope_parameters=dict(rope_type="linear", rope_theta=500000.0, factor=2.0), head_dim=4), exaone, "exaone", types=["bf16"], steps=STEPS, mend=epsilon),
        "exaone-tied": Repository(
            dict(tie_word_embeddings=True, head_dim=4), exaone, "exaone", dtype="float32", types=["f32"], steps=STEPS, mend=epsilon
        ),
    },
    configs={
        "exaone-3.5-2.4b": published(
            30, 32, 2560, head_dim=80, intermediate_size=7168, max_position_embeddings=32768, rope_theta=1000000.0, tie_word_embeddings=True,
            rope_scaling=dict(SCALED_LLAMA3, factor=8.0, rope_type="llama3"), initializer_range=0.02,
        ),
        "exaone-3.0-7.8b": published(32, 32, 4096, intermediate_size=14336, max_position_embeddings=4096, rope_scaling=None, rope_theta=500000.0),
    },
    beyond={"exaone-3.5-2.4b": RMS, "exaone-3.0-7.8b": RMS},
    skipped={"exaone": "transformers has no such class"},
)  # fmt: skip
