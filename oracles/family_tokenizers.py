"""Tokenizers of families: what gguf_vocabularies.py is told for each.

Each writes its files into a folder, and returns the ids that configs name.
"""

import os

import gguf_vocabularies as vocabularies
from gguf_vocabularies import CHAT, LLAMA3, QWEN2, QWEN35, byte_level, digits, split


def settings(kind, **tokens):
    return dict(clean_up_tokenization_spaces=False, model_max_length=64, tokenizer_class=kind, **tokens)


def llama3(folder):
    tokens = ["<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|eot_id|>"]
    said = settings("PreTrainedTokenizerFast", bos_token=tokens[0], eos_token=tokens[3], chat_template=CHAT)
    parts = [split(LLAMA3), byte_level()]
    ids = vocabularies.byte_level_bpe(folder, parts, tokens, said, bos=tokens[0], ignore_merges=True)
    return dict(bos_token_id=ids[tokens[0]], eos_token_id=[ids[tokens[1]], ids[tokens[3]]])


def qwen2(folder):
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>"]
    said = settings("Qwen2Tokenizer", bos_token=None, eos_token=tokens[2], pad_token=tokens[0], add_bos_token=False)
    parts = [split(QWEN2), byte_level()]
    ids = vocabularies.byte_level_bpe(
        folder, parts, tokens, dict(said, chat_template=CHAT), spelled=True, normalizer=dict(type="NFC")
    )
    return dict(bos_token_id=ids[tokens[0]], eos_token_id=ids[tokens[2]])


def plain_bpe(parts, kind, first, eos, *more, **options):
    """A byte-level vocabulary that says little more than where texts end."""

    def write(folder):
        said = settings(kind, bos_token=first, eos_token=eos, unk_token=eos)
        tokens = list(dict.fromkeys([first, eos, *more]))
        ids = vocabularies.byte_level_bpe(folder, parts, tokens, said, **options)
        return dict(bos_token_id=ids[first], eos_token_id=ids[eos], pad_token_id=ids[eos])

    return write


def deepseek(parts):
    first, eos = "<\uff5cbegin\u2581of\u2581sentence\uff5c>", "<\uff5cend\u2581of\u2581sentence\uff5c>"
    return plain_bpe([*parts, byte_level()], "PreTrainedTokenizerFast", first, eos, bos=first)


olmo2 = plain_bpe([split(LLAMA3), byte_level()], "GPT2Tokenizer", "<|endoftext|>", "<|endoftext|>", "<|pad|>")
qwen35 = plain_bpe([split(QWEN35), byte_level()], "Qwen2Tokenizer", "<|endoftext|>", "<|im_end|>", normalizer=dict(type="NFC"))
cohere = plain_bpe(
    digits(),
    "CohereTokenizer",
    "<BOS_TOKEN>",
    "<|END_OF_TURN_TOKEN|>",
    *["<PAD>", "<UNK>", "<CLS>", "<SEP>", "<MASK_TOKEN>"],
    bos="<BOS_TOKEN>",
    normalizer=dict(type="NFC"),
)

META = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]
GOOGLE = [("<pad>", 0.0, 3), ("<eos>", 0.0, 3), ("<bos>", 0.0, 3), ("<unk>", 0.0, 2), ("<mask>", 0.0, 4)]
GOOGLE += [("<unused0>", 0.0, 5), ("<start_of_turn>", 0.0, 4), ("<end_of_turn>", 0.0, 4)]


def decoder(*tokens):
    entries = [vocabularies.added(*token) for token in tokens]
    return {str(entry.pop("id")): entry for entry in entries}


def meta(folder, words=vocabularies.WORDS[:6]):
    found = vocabularies.pieces(META, words)
    vocabularies.sentencepiece_model(folder, found)
    more = decoder((0, "<unk>"), (1, "<s>"), (2, "</s>"), (len(found), "\u2581\u2581", False))
    said = settings("LlamaTokenizer", bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token=None)
    said.update(add_bos_token=True, add_eos_token=False, legacy=False, added_tokens_decoder=more, chat_template=CHAT)
    vocabularies.write_json(folder, "tokenizer_config.json", said, indent=2)
    return dict(bos_token_id=1, eos_token_id=2)


def meta_json(folder):
    said = settings("LlamaTokenizerFast", bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    vocabularies.byte_fallback_bpe(folder, vocabularies.pieces(META, vocabularies.WORDS[:6]), dict(said, add_bos_token=True))
    return dict(bos_token_id=1, eos_token_id=2)


def google(folder):
    vocabularies.sentencepiece_model(folder, vocabularies.pieces(GOOGLE, vocabularies.WORDS[:6]))
    more = decoder((0, "<pad>"), (1, "<eos>"), (2, "<bos>"), (3, "<unk>"), (4, "<mask>", False), (7, "<end_of_turn>"))
    said = settings("GemmaTokenizer", bos_token="<bos>", eos_token="<eos>", unk_token="<unk>", pad_token="<pad>")
    said.update(add_bos_token=True, add_eos_token=False, added_tokens_decoder=more, chat_template=CHAT)
    vocabularies.write_json(folder, "tokenizer_config.json", said, indent=2)
    return dict(bos_token_id=2, eos_token_id=1, pad_token_id=0)


def bert(folder):
    tokens = dict(unk_token="[UNK]", sep_token="[SEP]", pad_token="[PAD]", cls_token="[CLS]", mask_token="[MASK]")
    vocabularies.word_piece(folder, dict(settings("BertTokenizer", **tokens), do_lower_case=True, strip_accents=None))
    return dict(pad_token_id=0)


WORD_ENDS = dict(unk_token="[UNK]", sep_token="[SEP]", pad_token="[PAD]", cls_token="[CLS]", mask_token="[MASK]")


def modern(ends=("[CLS]", "[SEP]"), **more):
    """ModernBERT's: byte pairs with BERT's special tokens."""

    def write(folder):
        said = settings("PreTrainedTokenizerFast", **WORD_ENDS, **more)
        tokens = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
        ids = vocabularies.byte_level_bpe(folder, [byte_level(use_regex=True)], tokens, said, normalizer=dict(type="NFC"), ends=ends)
        first, last = ids["[CLS]"], ids["[SEP]"]
        return dict(bos_token_id=first, cls_token_id=first, eos_token_id=last, sep_token_id=last, pad_token_id=ids["[PAD]"])

    return write


ROBERTA = dict(bos_token="<s>", eos_token="</s>", sep_token="</s>", cls_token="<s>", unk_token="<unk>", pad_token="<pad>", mask_token="<mask>")


def unigram(has_model):
    """XLM-RoBERTa's vocabulary, with or without the file of SentencePiece that it was made from."""

    def write(folder):
        found = vocabularies.unigram_pieces(vocabularies.WORDS)
        vocabularies.unigram_json(folder, found, settings("XLMRobertaTokenizer", **ROBERTA))
        if has_model:
            vocabularies.unigram_model(folder, found)
        return dict(bos_token_id=0, pad_token_id=1, eos_token_id=2)

    return write


def pooled(tokenizer, **kinds):
    """A tokenizer in a repository of sentence-transformers, which says how a text becomes one vector."""

    def write(folder):
        steps = ["Transformer", "Pooling", "Normalize"]
        paths = ["", "1_Pooling", "2_Normalize"]
        modules = [
            dict(idx=i, name=str(i), path=path, type="sentence_transformers.models." + step)
            for i, (step, path) in enumerate(zip(steps, paths))
        ]
        vocabularies.write_json(folder, "modules.json", modules, indent=2)
        os.makedirs(os.path.join(folder, "1_Pooling"))
        vocabularies.write_json(folder, "1_Pooling/config.json", dict(word_embedding_dimension=16, **kinds), indent=2)
        return tokenizer(folder)

    return write


def by_flag(kind):
    kinds = ["cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens"]
    return {"pooling_mode_" + one: one == kind for one in kinds}


def t5_pieces(kinds=()):
    """T5's vocabulary. `kinds` are further pieces with their types."""
    found = vocabularies.unigram_pieces(vocabularies.WORDS)[3:]
    return [("<pad>", 0.0, 3), ("</s>", 0.0, 3), ("<unk>", 0.0, 2), *kinds, *found]


def t5(model="spiece.model", kinds=(), json=True, more=0, kind=1, **spec):
    """SentencePiece's file with scores, under either of its names, and with or without tokenizer.json. `more` tokens are
    added by added_tokens.json."""

    def write(folder):
        found = t5_pieces(kinds)
        if json:
            vocabularies.unigram_json(folder, found, {})
            with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
                tokenizer = vocabularies.json.load(file)
            special = [vocabularies.added(id, piece) for id, (piece, _, _) in enumerate(found[:3])]
            tokenizer["added_tokens"] = [*special, *(vocabularies.added(len(found) + i, f"<extra_id_{1 - i}>") for i in range(2))]
            tokenizer["model"] = dict(type="Unigram", unk_id=2, vocab=[[piece, score] for piece, score, _ in found], byte_fallback=False)
            tokenizer["post_processor"] = vocabularies.ending(("</s>", 1))
            vocabularies.write_json(folder, "tokenizer.json", tokenizer)
        vocabularies.unigram_model(folder, found, model, kind, **spec)
        if more:
            added = {f"<extra_id_{i}>": len(found) + i for i in range(more)}
            vocabularies.write_json(folder, "added_tokens.json", added)
        said = settings("T5Tokenizer", eos_token="</s>", pad_token="<pad>", unk_token="<unk>", extra_ids=2)
        vocabularies.write_json(folder, "tokenizer_config.json", said, indent=2)
        return dict(pad_token_id=0, eos_token_id=1)

    return write


def nothing(folder):
    """No tokenizer at all."""
    return {}


# Tokens of RWKV's vocabulary as its file spells them: texts, and bytes that are none.
RWKV_TOKENS = [
    *(repr(chr(code)) if code < 128 else repr(bytes([code])) for code in [*range(0, 14), *range(32, 127), *range(128, 256)]),
    *(repr(text) for text in ["\n\n", " the", " in", "er", "don't", '"it\'s"', "na\u00efve", "\u4f60\u597d", "\u0085", "\U0001f600", "tab\t", "back\\slash"]),
    *(repr(text) for text in [b"\xe4\xbd", b"'\xff", b"\"\xf0", b"\\\x80"]),
    r"'\x7f\u00e9\U0001f600'", '"\\"q\'"', r"b'\x41\n'",
]  # fmt: skip


def rwkv(template=None, config=True):
    """RWKV's vocabulary, which is a file of its own."""

    def write(folder):
        with open(os.path.join(folder, "rwkv_vocab_v20230424.txt"), "w", encoding="utf-8") as file:
            for id, spelled in enumerate(RWKV_TOKENS, 1):
                text = eval(spelled)
                size = len(text if isinstance(text, bytes) else text.encode())
                file.write(f"{id} {spelled} {size}\n")
        if config:
            said = settings("RwkvTokenizer", bos_token="<s>", eos_token="<s>")
            vocabularies.write_json(folder, "tokenizer_config.json", dict(said, **({"chat_template": template} if template else {})), indent=2)
        return {}

    return write
