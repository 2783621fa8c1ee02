"""RoBERTa."""

import gguf_vocabularies as vocabularies
from family_blocks import ENCODER, Family, Repository
from family_tokenizers import ROBERTA, settings
from gguf_vocabularies import byte_level


def roberta(folder):
    said = settings("RobertaTokenizer", **ROBERTA, add_prefix_space=False)
    ids = vocabularies.byte_level_bpe(
        folder, [byte_level(use_regex=True)], ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], said, spelled=True, roberta=True
    )
    return dict(bos_token_id=ids["<s>"], pad_token_id=1, eos_token_id=ids["</s>"])


FAMILY = Family(
    "RobertaModel",
    to_gguf={
        "roberta": Repository(dict(ENCODER, type_vocab_size=1), roberta, "roberta-bpe", dtype="float32", types=["auto"]),
    },
    configs={
        "roberta-bare": dict(architectures=["RobertaModel"], model_type="roberta"),
    },
)
