"""Jais."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository, edited
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level

jais = plain_bpe([byte_level(use_regex=True)], "PreTrainedTokenizerFast", "<|endoftext|>", "<|endoftext|>", "<|pad|>")
CONFIG = dict(
    architectures=["JAISLMHeadModel"], model_type="jais", activation_function="swiglu", alibi_scaling=None, attn_pdrop=0.0, embd_pdrop=0.0,
    initializer_range=0.02, layer_norm_epsilon=1e-5, mup_embeddings_scale=9.1705785388303, mup_output_alpha=1.09518349815769,
    mup_scale_qk_dot_by_d=True, mup_width_scale=0.16666666666666666, n_embd=16, n_head=4, n_inner=24, n_layer=2, n_positions=64,
    position_embedding_type="alibi", reorder_and_upcast_attn=False, resid_pdrop=0.0, scale_attn_by_inverse_layer_idx=False,
    scale_attn_weights=True, tie_word_embeddings=True,
)  # fmt: skip
OLD = dict(embeddings_scale=14.6, width_scale=0.11100000143051147, scale_qk_dot_by_d=True, n_layer=1)


def shapes(tokens, count=2):
    found = {
        "transformer.wte.weight": [tokens, 16], "transformer.ln_f.weight": [16], "transformer.ln_f.bias": [16], "lm_head.weight": [tokens, 16],
    }  # fmt: skip
    for layer in range(count):
        name = f"transformer.h.{layer}"
        for module in ("ln_1", "ln_2"):
            found |= {f"{name}.{module}.weight": [16], f"{name}.{module}.bias": [16]}
        matrices = {"attn.c_attn": [16, 48], "attn.c_proj": [16, 16], "mlp.c_fc": [16, 24], "mlp.c_fc2": [16, 24], "mlp.c_proj": [24, 16]}
        for module, shape in matrices.items():
            found |= {f"{name}.{module}.weight": shape, f"{name}.{module}.bias": shape[1:]}
    return found


def with_slopes(write, heads, steepest):
    """Adds the slopes as the model computes them: powers of the first."""

    def also(folder, tokens):
        write(folder, tokens)
        first = 2.0 ** (-steepest / heads)
        edited(lambda tensors, _: tensors.update({"transformer.relative_pe.slopes": torch.tensor([first**at for at in range(1, heads + 1)])}))(folder)

    return also


def evaluated(converter):
    """The converter asks for a number of a tensor whose numbers have not been read."""
    method = converter.modify_tensors

    def modify_tensors(self, tensor, name, layer):
        yield from method(self, type(tensor).to_eager(tensor) if name.endswith(".slopes") else tensor, name, layer)

    converter.modify_tensors = modify_tensors


FAMILY = Family(
    None,
    to_gguf={
        "jais": Repository({}, jais, "gpt-2", types=["f32"], laid_out=layouts.laid_out(CONFIG, shapes)),
        "jais-slopes": Repository(
            {}, jais, "gpt-2", types=["f32", "f16"], mend=evaluated,
            laid_out=with_slopes(
                layouts.laid_out(
                    dict({key: value for key, value in CONFIG.items() if not key.startswith("mup_")}, **OLD), lambda tokens: shapes(tokens, 1), torch.float16
                ),
                4, 16,
            ),
        ),
    },
    configs={
        "jais-family-590m": dict(CONFIG, n_embd=1536, n_head=12, n_inner=4096, n_layer=18, n_positions=2048, vocab_size=84992),
        "jais-13b": dict(
            {key: value for key, value in CONFIG.items() if not key.startswith("mup_")}, embeddings_scale=14.6, width_scale=0.11100000143051147,
            scale_qk_dot_by_d=True, n_embd=5120, n_head=40, n_inner=13653, n_layer=40, n_positions=2048, vocab_size=84992,
        ),
    },
)  # fmt: skip
