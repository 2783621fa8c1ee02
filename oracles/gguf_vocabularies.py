"""Vocabularies of some 300 tokens with the structure of real ones, for the entries in `families`.

The structure is what a converter looks at: the pre-tokenizer's pattern, the special tokens and where
they stand, merges, bytes, scores. The words are ours. Nothing is trained, so nothing can vary.
"""

import base64
import functools
import json
import os
import tempfile

from sentencepiece import SentencePieceTrainer
from sentencepiece import sentencepiece_model_pb2 as sentencepiece

WORDS = "the in er on re at en or an es is it al ar st to nd ing and ion of as ed le weigh bridge".split()
LETTERS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = CONTRACTIONS + "|" + LETTERS + r"|\p{N}{1,3}" + REST
QWEN2 = CONTRACTIONS + "|" + LETTERS + r"|\p{N}" + REST
QWEN35 = QWEN2.replace(r"\p{L}+", r"[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
FRONT = r"[^\r\n\p{L}\p{N}]?"
GPT_4O = f"{FRONT}{UPPER}*{LOWER}+{CONTRACTIONS}?|{FRONT}{UPPER}+{LOWER}*{CONTRACTIONS}?|" + r"\p{N}{1,3}"
GPT_4O += REST.replace("[\\r\\n]*|", "[\\r\\n/]*|", 1)
DEEPSEEK_V3 = [
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
]
DEEPSEEK_CODER = ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"]
CHAT = "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] }}{% endfor %}"


def byte_letters():
    """The letter that stands for each byte in a byte-level vocabulary, in the order of their ids."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    letters = [chr(byte) for byte in plain] + [chr(256 + i) for i in range(len(others))]
    return letters


def grow(vocabulary, words, start):
    """Adds words letter by letter, and returns the merges that make them."""
    merges = []
    for word in [start + word for word in words] + words:
        for end in range(2, len(word) + 1):
            if word[:end] not in vocabulary:
                merges.append((word[: end - 1], word[end - 1]))
                vocabulary[word[:end]] = len(vocabulary)
    return merges


def added(id, content, special=True, normalized=False):
    flags = dict(single_word=False, lstrip=False, rstrip=False, normalized=normalized, special=special)
    return dict(id=id, content=content, **flags)


def split(pattern):
    return dict(type="Split", pattern=dict(Regex=pattern), behavior="Isolated", invert=False)


def byte_level(add_prefix_space=False, use_regex=False):
    return dict(type="ByteLevel", add_prefix_space=add_prefix_space, trim_offsets=True, use_regex=use_regex)


def template(bos, id):
    """A post-processor that puts a token before every text."""
    first, second = [dict(Sequence=dict(id=name, type_id=kind)) for name, kind in [("A", 0), ("B", 1)]]
    token = [dict(SpecialToken=dict(id=bos, type_id=kind)) for kind in (0, 1)]
    known = {bos: dict(id=bos, ids=[id], tokens=[bos])}
    return dict(
        type="TemplateProcessing",
        single=[token[0], first],
        pair=[token[0], first, token[1], second],
        special_tokens=known,
    )


def write_json(folder, name, content, **options):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(content, file, ensure_ascii=False, **options)
        file.write("\n")


def digits():
    """Digits one by one, then GPT-2's own pattern."""
    return [dict(type="Digits", individual_digits=True), byte_level(use_regex=True)]


def byte_level_bpe(folder, parts, tokens, settings, bos=None, ignore_merges=False, spelled=False, normalizer=None, roberta=False, ends=None):
    """A byte-level tokenizer.json. `tokens` are added after the words; `<tool_call>` alone is not special.

    Returns the ids of the added tokens. `spelled` merges are strings, as older files have them.
    """
    vocabulary = {letter: id for id, letter in enumerate(byte_letters())}
    merges = grow(vocabulary, WORDS[: 8 if len(tokens) > 8 else 12], "\u0120")
    ids = {token: len(vocabulary) + place for place, token in enumerate(tokens)}
    model = dict(
        type="BPE",
        dropout=None,
        unk_token=None,
        continuing_subword_prefix="" if spelled else None,
        end_of_word_suffix="" if spelled else None,
        fuse_unk=False,
        byte_fallback=False,
        ignore_merges=ignore_merges,
        vocab=vocabulary,
        merges=[" ".join(pair) for pair in merges] if spelled else merges,
    )
    processor = byte_level() if bos is None else dict(type="Sequence", processors=[byte_level(), template(bos, ids[bos])])
    if roberta:
        processor = dict(type="RobertaProcessing", sep=["</s>", ids["</s>"]], cls=["<s>", ids["<s>"]], trim_offsets=True, add_prefix_space=False)
    if ends:
        processor = around(*((token, ids[token]) for token in ends))
    tokenizer = dict(
        version="1.0",
        truncation=None,
        padding=None,
        added_tokens=[added(id, token, token != "<tool_call>") for token, id in ids.items()],
        normalizer=normalizer,
        pre_tokenizer=dict(type="Sequence", pretokenizers=parts),
        post_processor=processor,
        decoder=byte_level(),
        model=model,
    )
    write_json(folder, "tokenizer.json", tokenizer)
    decoder = {str(token["id"]): {k: v for k, v in token.items() if k != "id"} for token in tokenizer["added_tokens"]}
    write_json(folder, "tokenizer_config.json", dict(added_tokens_decoder=decoder, **settings), indent=2)
    return ids


def pieces(first, words):
    """Pieces of a sentencepiece vocabulary, with scores and kinds (1 normal, 2 unknown, 3 control, 4 user's, 6 byte)."""
    found = list(first) + [(f"<0x{byte:02X}>", 0.0, 6) for byte in range(256)]
    known = {piece for piece, _, _ in found}
    more = {}
    grow(more, words, "\u2581")
    letters = ["\u2581", *sorted({letter for word in words for letter in word})]
    for rank, piece in enumerate([*more, *letters]):
        if piece not in known:
            found.append((piece, -float(rank), 1))
    return found


def sentencepiece_model(folder, found):
    model = sentencepiece.ModelProto()
    for piece, score, kind in found:
        entry = model.pieces.add(piece=piece, score=score)
        if kind != 1:
            entry.type = kind
    model.trainer_spec.model_type = 2
    model.trainer_spec.vocab_size = len(found)
    model.trainer_spec.byte_fallback = True
    model.normalizer_spec.name = "identity"
    model.normalizer_spec.add_dummy_prefix = True
    model.normalizer_spec.remove_extra_whitespaces = False
    with open(os.path.join(folder, "tokenizer.model"), "wb") as file:
        file.write(model.SerializeToString(deterministic=True))


def byte_fallback_bpe(folder, found, settings, first="<s>"):
    """The same pieces as a tokenizer.json, as repositories without tokenizer.model have them."""
    vocabulary = {piece: id for id, (piece, _, _) in enumerate(found)}
    merges = [(piece[:-1], piece[-1]) for piece, _, kind in found if kind == 1 and len(piece) > 1]
    special = [added(vocabulary[piece], piece) for piece, _, kind in found if kind in (2, 3)]
    replace = dict(type="Replace", pattern=dict(String=" "), content="\u2581")
    decoders = [
        dict(type="Replace", pattern=dict(String="\u2581"), content=" "),
        dict(type="ByteFallback"),
        dict(type="Fuse"),
        dict(type="Strip", content=" ", start=1, stop=0),
    ]
    model = dict(
        type="BPE",
        dropout=None,
        unk_token="<unk>",
        continuing_subword_prefix=None,
        end_of_word_suffix=None,
        fuse_unk=True,
        byte_fallback=True,
        ignore_merges=False,
        vocab=vocabulary,
        merges=merges,
    )
    tokenizer = dict(
        version="1.0",
        truncation=None,
        padding=None,
        added_tokens=special,
        normalizer=dict(type="Sequence", normalizers=[dict(type="Prepend", prepend="\u2581"), replace]),
        pre_tokenizer=None,
        post_processor=template(first, vocabulary[first]),
        decoder=dict(type="Sequence", decoders=decoders),
        model=model,
    )
    write_json(folder, "tokenizer.json", tokenizer)
    write_json(folder, "tokenizer_config.json", settings, indent=2)


ENCODER = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def ending(token):
    """A post-processor that puts a token behind every text."""
    special = lambda kind=0: dict(SpecialToken=dict(id=token[0], type_id=kind))  # noqa: E731
    texts = [dict(Sequence=dict(id=name, type_id=0)) for name in "AB"]
    known = {token[0]: dict(id=token[0], ids=[token[1]], tokens=[token[0]])}
    pair = [texts[0], special(), texts[1], special()]
    return dict(type="TemplateProcessing", single=[texts[0], special()], pair=pair, special_tokens=known)


def around(first, last):
    """A post-processor that puts a token before and behind every text."""
    texts = [dict(Sequence=dict(id=name, type_id=kind)) for name, kind in [("A", 0), ("B", 1)]]
    special = lambda token, kind=0: dict(SpecialToken=dict(id=token[0], type_id=kind))  # noqa: E731
    return dict(
        type="TemplateProcessing",
        single=[special(first), texts[0], special(last)],
        pair=[special(first), texts[0], special(last), texts[1], special(last, 1)],
        special_tokens={text: dict(id=text, ids=[id], tokens=[text]) for text, id in (first, last)},
    )


def word_piece(folder, settings, lowercase=True):
    """BERT's tokenizer.json: words, and what follows inside of words."""
    vocabulary = {token: id for id, token in enumerate(ENCODER)}
    letters = [chr(letter) for letter in range(0x21, 0x7F)]
    for piece in [*letters, *("##" + letter for letter in letters), *WORDS, *("##" + word for word in WORDS)]:
        vocabulary.setdefault(piece, len(vocabulary))
    normal = dict(type="BertNormalizer", clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=lowercase)
    tokenizer = dict(
        version="1.0",
        truncation=None,
        padding=None,
        added_tokens=[added(vocabulary[token], token) for token in ENCODER],
        normalizer=normal,
        pre_tokenizer=dict(type="BertPreTokenizer"),
        post_processor=around(("[CLS]", 2), ("[SEP]", 3)),
        decoder=dict(type="WordPiece", prefix="##", cleanup=True),
        model=dict(type="WordPiece", unk_token="[UNK]", continuing_subword_prefix="##", max_input_chars_per_word=100, vocab=vocabulary),
    )
    write_json(folder, "tokenizer.json", tokenizer)
    write_json(folder, "tokenizer_config.json", settings, indent=2)
    return vocabulary



@functools.cache
def characters():
    """What normalizes texts: a table that SentencePiece compiles, here of two rules."""
    with tempfile.TemporaryDirectory() as work:
        rules, prefix = os.path.join(work, "rules.tsv"), os.path.join(work, "out")
        with open(rules, "w") as file:
            file.write("00C4\t0061\n2460\t0031 002E\n")
        words = iter(WORDS * 9)
        options = dict(normalization_rule_tsv=rules, model_prefix=prefix, vocab_size=40, minloglevel=2, num_threads=1)
        SentencePieceTrainer.train(sentence_iterator=words, hard_vocab_limit=False, **options)
        model = sentencepiece.ModelProto.FromString(open(prefix + ".model", "rb").read())
    return model.normalizer_spec.precompiled_charsmap


def unigram_pieces(words):
    found = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]
    letters = ["\u2581", *(chr(letter) for letter in range(0x61, 0x7B))]
    pieces = dict.fromkeys([*("\u2581" + word for word in words), *words, *letters])
    return found + [(piece, -1.5 - 0.25 * rank, 1) for rank, piece in enumerate(pieces)]


def unigram_model(folder, found, name="sentencepiece.bpe.model", kind=1, **spec):
    """XLM-RoBERTa's file of SentencePiece. `spec` says what is done to a text; without a `kind` the file does not say
    how pieces are chosen."""
    model = sentencepiece.ModelProto()
    for piece, score, kind in found:
        entry = model.pieces.add(piece=piece, score=score)
        if type != 1:
            entry.type = type
    if kind:
        model.trainer_spec.model_type = kind
    model.trainer_spec.vocab_size = len(found)
    model.normalizer_spec.name = "nmt_nfkc"
    for key, value in dict(dict(precompiled_charsmap=characters()), **spec).items():
        setattr(model.normalizer_spec, key, value)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(model.SerializeToString(deterministic=True))


def unigram_json(folder, found, settings):
    """The same pieces as XLM-RoBERTa's tokenizer.json, which has them in another order."""
    first = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    vocabulary = [*first, *((piece, score) for piece, score, _ in found[3:]), ("<mask>", 0.0)]
    mark = dict(replacement="\u2581", prepend_scheme="always", split=True)
    special = [added(id, piece) for id, (piece, _) in enumerate(first)]
    tokenizer = dict(
        version="1.0",
        truncation=None,
        padding=None,
        added_tokens=[*special, dict(added(len(vocabulary) - 1, "<mask>"), lstrip=True)],
        normalizer=dict(type="Precompiled", precompiled_charsmap=base64.b64encode(characters()).decode()),
        pre_tokenizer=dict(type="Sequence", pretokenizers=[dict(type="WhitespaceSplit"), dict(type="Metaspace", **mark)]),
        post_processor=around(("<s>", 0), ("</s>", 2)),
        decoder=dict(type="Metaspace", **mark),
        model=dict(type="Unigram", unk_id=3, vocab=vocabulary, byte_fallback=False),
    )
    write_json(folder, "tokenizer.json", tokenizer)
    write_json(folder, "tokenizer_config.json", settings, indent=2)
    return len(vocabulary)
