"""NeoBERT, which transformers does not know."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import bert, by_flag, pooled

CONFIG = dict(
    architectures=["NeoBERTLMHead"], model_type="neobert", classifier_init_range=0.02, decoder_init_range=0.02, dim_head=4, embedding_init_range=0.02,
    hidden_size=16, intermediate_size=36, max_length=64, norm_eps=1e-5, num_attention_heads=4, num_hidden_layers=2, pad_token_id=0, kwargs=dict(a=1),
)  # fmt: skip


def shapes(tokens, prefix="model.", count=2, inner=24, head=("decoder",)):
    found = {f"{prefix}encoder.weight": [tokens, 16], f"{prefix}layer_norm.weight": [16]}
    for layer in range(count):
        parts = {"qkv": [48, 16], "wo": [16, 16], "ffn.w12": [2 * inner, 16], "ffn.w3": [16, inner], "attention_norm": [16], "ffn_norm": [16]}
        found |= layouts.inside(f"{prefix}transformer_encoder.{layer}", parts)
    rows = dict(decoder=tokens, dense=16, classifier=3)
    for name in head:
        found |= {f"{name}.weight": [rows[name], 16], f"{name}.bias": [rows[name]]}
    return found


NAMES = dict(id2label={"0": "a", "1": "b", "2": "c"}, label2id=dict(a=0, b=1, c=2))
FAMILY = Family(
    None,
    to_gguf={
        "neo_bert": Repository({}, pooled(bert, **by_flag("mean_tokens")), "default", types=["f32", "bf16"], laid_out=layouts.laid_out(CONFIG, shapes)),
        "neo_bert-model": Repository(
            {}, bert, "default", types=["auto"],
            laid_out=layouts.laid_out(
                dict(CONFIG, architectures=["NeoBERT"], num_hidden_layers=1, intermediate_size=48),
                lambda tokens: shapes(tokens, "", 1, 32, ()), torch.float32,
            ),
        ),
        "neo_bert-classes": Repository(
            {}, bert, "default",
            laid_out=layouts.laid_out(
                dict(CONFIG, architectures=["NeoBERTForSequenceClassification"], **NAMES), lambda tokens: shapes(tokens, head=("dense", "classifier")),
            ),
        ),
    },
    configs={
        "neobert": dict(
            CONFIG, hidden_size=768, intermediate_size=3072, max_length=4096, num_attention_heads=12, num_hidden_layers=28, dim_head=64, vocab_size=30522,
        ),
    },
    warned={"neobert": ["num_attention_heads"]},
)  # fmt: skip
