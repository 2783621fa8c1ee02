"""BERT: encoders of words."""

import os
import re

from family_blocks import ENCODER, SMALL_ENCODER, Family, Repository, Tiny
from family_tokenizers import bert, by_flag, pooled
from safetensors.torch import load_file, save_file


def older_norms(folder):
    """Norms as they were called when BERT was new."""
    path = os.path.join(folder, "model.safetensors")
    new = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    tensors = {re.sub(r"LayerNorm\.\w+$", lambda found: new[found[0]], name): tensor for name, tensor in load_file(path).items()}
    save_file(tensors, path, {"format": "pt"})


FAMILY = Family(
    "BertModel",
    names={
        "bert": Tiny(SMALL_ENCODER, dtype="float32", type="f16"),
    },
    to_gguf={
        "bert": Repository(ENCODER, pooled(bert, **by_flag("cls_token")), "default", dtype="float32", types=["f32", "auto"]),
        "bert-masked": Repository(
            ENCODER,
            pooled(bert, pooling_mode="mean"),
            "default",
            dtype="float16",
            types=["f16"],
            model="BertForMaskedLM",
            steps=[older_norms],
        ),
        "bert-classes": Repository(dict(ENCODER, num_labels=3), bert, "default", model="BertForSequenceClassification"),
    },
    configs={
        "bge-small": dict(
            architectures=["BertModel"], model_type="bert", hidden_size=384, intermediate_size=1536, num_hidden_layers=12, num_attention_heads=12,
            id2label={"0": "LABEL_0"}, label2id={"LABEL_0": 0}, layer_norm_eps=1e-12, max_position_embeddings=512, vocab_size=30522,
        ),
        "bert-bare": dict(architectures=["BertForMaskedLM"], model_type="bert"),
        "bert-named": dict(
            architectures=["BertForSequenceClassification"], model_type="bert", id2label={"10": "ten", "9": "nine", "0": "zero"},
        ),
    },
    back="bert",
)
