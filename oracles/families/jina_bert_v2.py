"""Jina's second BERT, with slopes in place of positions. Its config is BERT's, so that transformers reads it; its weights
are laid out after published ones."""

import re

from family_blocks import ENCODER, Family, Repository, edited, numbers, say
from family_tokenizers import bert, by_flag, pooled
from families.roberta import roberta

# What published configs say beside BERT's keys.
SAID = dict(attn_implementation="torch", emb_pooler="mean", feed_forward_type="geglu", position_embedding_type="alibi", max_position_embeddings=64)
FIRST = ("mlp.gated_layers", "mlp.wo", "mlp.layernorm")
CODE = ("mlp.up_gated_layer", "mlp.down_layer", "layer_norm_2")


def laid_out(names, norms=False):
    up, down, norm = names

    def edit(tensors, generator):
        made = lambda *shape: numbers(shape, generator).to(kind)  # noqa: E731
        kind = next(iter(tensors.values())).dtype
        layers = sorted({re.match(r".*encoder\.layer\.\d+", name)[0] for name in tensors if "encoder.layer." in name})
        for name in [name for name in tensors if re.search(r"\.(intermediate|output)\.(dense|LayerNorm)\.", name) and ".attention." not in name]:
            del tensors[name]
        for name in [name for name in tensors if "position_embeddings" in name]:
            del tensors[name]
        for layer in layers:
            tensors |= {f"{layer}.{up}.weight": made(48, 16), f"{layer}.{down}.weight": made(16, 24), f"{layer}.{down}.bias": made(16)}
            both = [norm] + (["layer_norm_1", "attention.self.layer_norm_q", "attention.self.layer_norm_k"] if norms else [])
            tensors |= {f"{layer}.{one}.{end}": made(16) for one in both for end in ("weight", "bias")}

    return edited(edit)


def named(kind, **more):
    return say(architectures=[kind], **SAID, **more)


FAMILY = Family(
    "BertModel",
    to_gguf={
        "jina_bert_v2": Repository(
            ENCODER, pooled(bert, **by_flag("mean_tokens")), "default", dtype="float32", types=["f32", "auto"], steps=[laid_out(FIRST), named("JinaBertModel")]
        ),
        "jina_bert_v2-masked": Repository(
            dict(ENCODER, num_hidden_layers=1), bert, "default", model="BertForMaskedLM", steps=[laid_out(FIRST), named("JinaBertForMaskedLM")]
        ),
        # Norms of queries and keys, as the model for code has them, and RoBERTa's tokenizer.
        "jina_bert_v2-code": Repository(
            ENCODER, pooled(roberta, pooling_mode="mean"), "jina-v2-code", dtype="float16", types=["f16"],
            steps=[laid_out(CODE, norms=True), named("JinaBertModel", use_qk_norm=True)],
        ),
    },
    configs={
        "jina-embeddings-v2-base-en": dict(
            architectures=["JinaBertForMaskedLM"], model_type="bert", attention_probs_dropout_prob=0.0, attn_implementation=None, classifier_dropout=None,
            emb_pooler="mean", feed_forward_type="geglu", gradient_checkpointing=False, hidden_act="gelu", hidden_dropout_prob=0.1, hidden_size=768,
            initializer_range=0.02, intermediate_size=3072, layer_norm_eps=1e-12, max_position_embeddings=8192, model_max_length=8192,
            num_attention_heads=12, num_hidden_layers=12, pad_token_id=0, position_embedding_type="alibi", type_vocab_size=2, use_cache=True, vocab_size=30528,
        ),
    },
)  # fmt: skip
