"""Small repositories with a tokenizer, and the metadata that llama.cpp's converter writes for them.

    python oracles/tokenizer_samples.py LLAMA_CPP tests/files/tokenizers
    python oracles/tokenizer_samples.py LLAMA_CPP DIR --whole

`byte_samples`, `piece_samples`, `word_piece`, `in_parts` (which needs transformers) or `tekken` behind that makes only those.

LLAMA_CPP is the source tree with convert_hf_to_gguf.py in it (`ggml_build.sh DIR` leaves it in
DIR/src/vendor/llama.cpp). Vocabularies are those of its models/ggml-vocab-*.gguf, cut to a few
hundred tokens and the merges among them. The converter knows a pre-tokenizer by a hash of what it
makes of a text, which a cut vocabulary cannot have: that lookup alone is replaced. With `--whole`
the vocabularies are not cut, and the lookup is the converter's own.
"""

import base64
import functools
import json
import logging
import os
import shutil
import struct
import sys
import tempfile
from pathlib import Path

from provenance import record
from sentencepiece import sentencepiece_model_pb2 as spm

LLAMA_CPP, OUT = (os.path.abspath(path) for path in sys.argv[1:3])
WHOLE = "--whole" in sys.argv
os.environ["HF_HUB_OFFLINE"] = "1"
sys.path[:0] = [LLAMA_CPP, os.path.join(LLAMA_CPP, "gguf-py")]
import gguf  # noqa: E402
from conversion import ModelBase, ModelType, get_model_architecture, get_model_class  # noqa: E402

CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + REST
QWEN2 = CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|" + REST
QWEN35 = CONTRACTION + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
CASE_REST = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def by_case(ending, digits):
    front = r"[^\r\n\p{L}\p{N}]?"
    words = [front + UPPER + "*" + LOWER + "+" + ending, front + UPPER + "+" + LOWER + "*" + ending]
    return "|".join([*words, digits, CASE_REST])


GPT_4O, TEKKEN = by_case(CONTRACTION + "?", r"\p{N}{1,3}"), by_case("", r"\p{N}")
CJK = "[一-龥ࠀ-一가-\ud7ff]+"
DEEPSEEK_V3 = [
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
]


def split(regex, behavior="Isolated"):
    return dict(type="Split", pattern=dict(Regex=regex), behavior=behavior, invert=behavior == "Removed")


def byte_level(use_regex=False):
    return dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=use_regex)


def digits(individual=True):
    return dict(type="Digits", individual_digits=individual)


def sequence(*steps):
    return dict(type="Sequence", pretokenizers=list(steps))


def deepseek_llm():
    source = Path(LLAMA_CPP, "src/llama-vocab.cpp").read_text()
    letters = source[source.index('"\\\\s?[A-Za-zµ') + 1 :]
    letters = letters[: letters.index('"')].replace("\\\\", "\\")
    marks = "\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+"
    return sequence(*map(split, ["[\r\n]", letters, marks, "\\s+$", CJK]), digits(), byte_level())


PRE = {
    "llama3": sequence(split(LLAMA3), byte_level()),
    "llama3-removed": sequence(split(LLAMA3, "Removed"), byte_level()),
    "qwen2": sequence(split(QWEN2), byte_level()),
    "qwen35": sequence(split(QWEN35), byte_level()),
    "gpt-4o": sequence(split(GPT_4O), byte_level()),
    "tekken": sequence(split(TEKKEN), byte_level()),
    "deepseek-v3": sequence(*map(split, DEEPSEEK_V3), byte_level()),
    "deepseek-llm": deepseek_llm(),
    "deepseek-coder": sequence(*map(split, ["[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", CJK]), digits(), byte_level()),
    "falcon": sequence(
        dict(type="Punctuation", behavior="Contiguous"), byte_level(True), digits(False), split("[0-9][0-9][0-9]")
    ),
    "digits": sequence(digits(), byte_level(True)),
    "gpt-2": byte_level(True),
}
NFC = dict(type="NFC")


def token(text):
    return dict(SpecialToken=dict(id=text, type_id=0))


def text(name):
    return dict(Sequence=dict(id=name, type_id=0))


def template(single, pair, ids):
    tokens = {one: dict(id=one, ids=[ids[one]], tokens=[one]) for one in ids}
    parts = [[text(one) if one in "AB" else token(one) for one in side] for side in (single, pair)]
    return dict(type="TemplateProcessing", single=parts[0], pair=parts[1], special_tokens=tokens)


@functools.cache
def read(name):
    """Tokens, types, merges and scores of a vocabulary. gguf's own reader takes minutes for these."""
    data, at = Path(LLAMA_CPP, "models", f"ggml-vocab-{name}.gguf").read_bytes(), 24
    formats = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

    def value(kind):
        nonlocal at
        if kind == 9:
            inner, count = struct.unpack_from("<IQ", data, at)
            at += 12
            return [value(inner) for _ in range(count)]
        if kind == 8:
            (length,) = struct.unpack_from("<Q", data, at)
            at += 8 + length
            return data[at - length : at].decode()
        (number,) = struct.unpack_from("<" + formats[kind], data, at)
        at += struct.calcsize("<" + formats[kind])
        return number

    found = {}
    for _ in range(struct.unpack_from("<Q", data, 16)[0]):
        key = value(8)
        found[key] = value(value(4))
    return [found.get(f"tokenizer.ggml.{key}") for key in ["tokens", "token_type", "merges", "scores"]]


def pairs(name, count=330):
    """Vocabulary, merges and special tokens of a byte-level tokenizer, cut to `count` merges."""
    tokens, types, merges, _ = read(name)
    extra = [t for t, kind in zip(tokens, types) if kind != 1 and not t.startswith("[PAD")]
    if WHOLE:
        base = [t for t, kind in zip(tokens, types) if kind == 1]
        at = {t: i for i, t in enumerate(tokens)}
        return {t: at[t] for t in base}, merges, {t: at[t] for t in extra}, tokens
    merges = merges[:count]
    parts = [part for merge in merges for part in merge.split(" ")]
    alphabet = [t for t, kind in zip(tokens, types) if kind == 1 and len(t) == 1]
    base = list(dict.fromkeys([*alphabet, *parts, *(m.replace(" ", "") for m in merges)]))
    extra = extra[:6]
    vocab = {t: i for i, t in enumerate(base)}
    return vocab, merges, {t: len(base) + i for i, t in enumerate(extra)}, None


def added(ident, content, special=True, normalized=False, **flags):
    flags = dict(single_word=False, lstrip=False, rstrip=False) | flags
    return dict(id=ident, content=content, **flags, normalized=normalized, special=special)


def write(folder, name, data):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if isinstance(data, bytes):
        Path(path).write_bytes(data)
    elif isinstance(data, str):
        Path(path).write_text(data, newline="")
    else:
        Path(path).write_text(json.dumps(data, ensure_ascii=False, indent=None if WHOLE else 0) + "\n")


def values(writer):
    """What the converter has set, in its order, with types as files have them."""
    names = {"UINT32": "u32", "BOOL": "bool", "STRING": "string", "INT32": "i32", "FLOAT32": "f32"}
    plain = lambda one: one.decode() if isinstance(one, bytes) else one  # noqa: E731
    for key, value in writer.kv_data[0].items():
        if not key.startswith("tokenizer."):
            continue
        kind, data = value.type.name, value.value
        if kind == "ARRAY":
            kind = f"array[{names[gguf.GGUFValueType.get_type(data[0]).name]}]"
            data = [int(one) if kind == "array[i32]" else plain(one) for one in data]
        yield dict(key=key, type=names.get(kind, kind), value=plain(data))


def convert(folder, pre):
    hparams = ModelBase.load_hparams(Path(folder), False)
    architecture = get_model_architecture(hparams, ModelType.TEXT)
    model = get_model_class(architecture)
    converter = model.__new__(model)
    converter.dir_model, converter.is_mistral_format = Path(folder), False
    converter.hparams = {**hparams, **hparams.get("text_config", {})}
    converter.hf_arch = converter.origin_hf_arch = architecture
    converter.gguf_writer = gguf.GGUFWriter(None, "llama")
    if pre is not None and not WHOLE:
        converter.get_vocab_base_pre = lambda tokenizer: pre
    converter.set_vocab()
    return list(values(converter.gguf_writer))


# Samples in which vocabulary and pre-tokenizer belong together.
# (Not so `qwen35`: its tokens are Qwen 2's, whose name the converter takes, though its pattern is another.)
GENUINE = ["llama3", "llama3-no-bos", "qwen2", "deepseek-llm", "deepseek-coder", "falcon", "starcoder"]
GENUINE += ["refact", "command-r", "gpt-2", "gpt-neox", "llama-spm", "phi3", "llama-hf", "bert-bge"]


def make(name, kind, config, files, pre=None, stated=None, saved=None):
    if WHOLE and name not in GENUINE:
        return
    folder = os.path.join(OUT, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    small = dict(hidden_size=8, num_attention_heads=1, num_hidden_layers=1, intermediate_size=8)
    write(folder, "config.json", {**small, **config})
    for path, data in files.items():
        if data is not None:
            write(folder, path, data)
    try:
        expected = dict(kind=kind, stated=stated, entries=convert(saved(folder) if saved else folder, pre))
    except (NotImplementedError, AssertionError) as error:
        print(name, "REFUSED", repr(error)[:100])
        shutil.rmtree(folder)
        return
    write(folder, "expected.json", expected)
    record(folder, "convert_hf_to_gguf.py of llama-cpp-python", "0.3.36", "after files of Hugging Face repositories")
    found = {one["key"]: one["value"] for one in expected["entries"]}
    print(name, found.get("tokenizer.ggml.pre"), len(found["tokenizer.ggml.tokens"]))


def tokenizer_json(vocab, merges, tokens, pre, processor=None, normalizer=None, decoder=None, **model):
    model = dict(type="BPE", dropout=None, unk_token=None, fuse_unk=False, byte_fallback=False) | model
    return dict(
        version="1.0",
        truncation=None,
        padding=None,
        added_tokens=tokens,
        normalizer=normalizer,
        pre_tokenizer=pre,
        post_processor=processor,
        decoder=decoder or dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
        model=model | dict(vocab=vocab, merges=merges),
    )


LLAMA = dict(model_type="llama", architectures=["LlamaForCausalLM"])
OLMO2 = dict(model_type="olmo2", architectures=["Olmo2ForCausalLM"])
QWEN = dict(model_type="qwen2", architectures=["Qwen2ForCausalLM"])
FAST = "PreTrainedTokenizerFast"
CHAT = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def sized(config, tokens, vocab, room=7):
    size = max([*vocab.values(), *(t["id"] for t in tokens)]) + 1 + (0 if WHOLE else room)
    return dict(config, vocab_size=size)


def byte_pairs(name, source, pre, config, kind="byte-pairs", expect=None, tc=None, bos=None, **more):
    """A sample of byte pairs: all special tokens of the source are added tokens."""
    vocab, merges, extra, _ = pairs(source)
    tokens = [added(i, t) for t, i in extra.items()]
    processor = more.pop("processor", None)
    if bos is not None:
        start = list(extra)[bos]
        processor = template([start, "A"], [start, "A", start, "B"], {start: extra[start]})
    if more.pop("in_vocab", False) or WHOLE:
        vocab = vocab | extra
    change = more.pop("change", None)
    files = {k: more.pop(k) for k in list(more) if "." in k}
    document = tokenizer_json(vocab, merges, tokens, PRE[pre], processor, **more)
    if change and not WHOLE:
        change(document, extra)
    config = sized(config, document["added_tokens"], vocab)
    names = dict(tokenizer_class=FAST) | (tc(extra) if callable(tc) else tc or {})
    make(name, kind, config, {"tokenizer.json": document, "tokenizer_config.json": names, **files}, expect)


def named(**kinds):
    return lambda extra: {f"{k}_token": list(extra)[v] if isinstance(v, int) else v for k, v in kinds.items()}


def every_kind(document, extra):
    """Added tokens of every kind behind those of the source."""
    at = max(extra.values()) + 1
    kinds = [
        ("<|looks special|>", dict(special=False)),
        ("<unused7>", dict(special=False)),
        ("▁plain▁", dict(special=False, normalized=True)),
        ("Ġbytes", dict(special=False)),
        ("<é>", dict(special=True)),
        ("   ", dict(special=False, normalized=True)),
        ("<｜x｜>", dict(special=False)),
        ("<mask>", dict(special=False, lstrip=True)),
    ]
    document["added_tokens"] += [added(at + i, text, **flags) for i, (text, flags) in enumerate(kinds)]


def as_pairs(document, extra):
    document["model"]["merges"] = [merge.split(" ") for merge in document["model"]["merges"]]


def gaps(document, extra):
    """Ids that nobody has, in the middle."""
    vocab = document["model"]["vocab"]
    for one in [t for t in vocab if len(t) > 2][:3]:
        del vocab[one]
        document["model"]["merges"] = [m for m in document["model"]["merges"] if one not in (m.replace(" ", ""), *m.split(" "))]


def byte_samples():
    ignore = dict(ignore_merges=True)
    roles = [dict(name="default", template=CHAT), dict(name="tool use", template="t"), dict(name="", template="x")]
    byte_pairs("llama3", "llama-bpe", "llama3", LLAMA, "llama-like", "llama-bpe", named(bos=0, eos=1), bos=0, **ignore)
    byte_pairs("llama3-no-bos", "llama-bpe", "llama3", LLAMA, "llama-like", "smaug-bpe", named(eos=1), **ignore)
    byte_pairs("dbrx", "llama-bpe", "llama3-removed", OLMO2, "byte-pairs", "dbrx", named(eos=0, pad=0))
    byte_pairs(
        "qwen2", "qwen2", "qwen2", dict(QWEN, bos_token_id=5, eos_token_id=[5, 6]), "qwen-like", "qwen2",
        lambda e: named(eos=1, pad=0)(e) | dict(bos_token=None, add_prefix_space=False, chat_template=CHAT),
        processor=byte_level(), normalizer=NFC, change=every_kind,
    )  # fmt: skip
    byte_pairs("qwen35", "qwen35", "qwen35", OLMO2, "byte-pairs", "qwen35", named(eos=1), normalizer=NFC, change=as_pairs)
    jinja = {"chat_template.jinja": "line\r\nline\n"}
    byte_pairs("gpt-4o", "qwen2", "gpt-4o", QWEN, "qwen-like", "gpt-4o", named(eos=0), **jinja)
    more = {"additional_chat_templates/tool use.jinja": "tools\n", "additional_chat_templates/notes.txt": "no template"}
    byte_pairs("templates", "qwen2", "qwen2", QWEN, "qwen-like", "qwen2", named(eos=0), **jinja, **more)
    byte_pairs("llama4", "qwen2", "gpt-4o", QWEN, "qwen-like", "llama4", named(bos=0, eos=1), bos=0)
    byte_pairs("tekken", "qwen2", "tekken", QWEN, "qwen-like", "tekken", dict(chat_template=roles), bos=0)
    v3 = {"chat_template.json": dict(chat_template=CHAT)}
    byte_pairs("deepseek-v3", "deepseek-llm", "deepseek-v3", OLMO2, "byte-pairs", "deepseek-v3", named(bos=0, eos=1), bos=0, **v3)
    byte_pairs("deepseek-llm", "deepseek-llm", "deepseek-llm", LLAMA, "llama-like", "deepseek-llm", named(bos=0, eos=1, pad=1), bos=0)
    byte_pairs(
        "deepseek-coder", "deepseek-coder", "deepseek-coder", LLAMA, "llama-like", "deepseek-coder",
        lambda e: dict(bos_token=dict(added(0, list(e)[0]), __type="AddedToken"), add_bos_token=True, add_eos_token=False, add_prefix_space=False),
    )  # fmt: skip
    falcon = dict(model_type="falcon", architectures=["FalconForCausalLM"], bos_token_id=1, eos_token_id=1)
    byte_pairs("falcon", "falcon", "falcon", falcon, expect="falcon")
    starcoder = dict(model_type="starcoder2", architectures=["Starcoder2ForCausalLM"])
    byte_pairs("starcoder", "starcoder", "digits", starcoder, expect="starcoder", tc=named(bos=0, eos=0, unk=0), in_vocab=True)
    granite = dict(model_type="granite", architectures=["GraniteForCausalLM"])
    byte_pairs("refact", "refact", "digits", granite, "llama-like", "refact", named(bos=0, eos=0, unk=0, pad=2), in_vocab=True)
    cohere = dict(model_type="cohere", architectures=["CohereForCausalLM"])
    byte_pairs("command-r", "command-r", "digits", cohere, expect="command-r", tc=named(bos=1, eos=2), bos=1, normalizer=NFC)
    gpt2 = dict(model_type="gpt2", architectures=["GPT2LMHeadModel"])
    byte_pairs("gpt-2", "gpt-2", "gpt-2", gpt2, expect="gpt-2", tc=named(bos=0, eos=0), processor=byte_level(True), change=gaps, in_vocab=True)
    neox = dict(model_type="gpt_neox", architectures=["GPTNeoXForCausalLM"])
    byte_pairs("gpt-neox", "gpt-neox", "gpt-2", neox, expect="olmo", tc=named(eos=0), normalizer=NFC)
    roberta(gpt2)


def roberta(config):
    vocab, merges, extra, _ = pairs("gpt-2")
    if WHOLE:
        return
    names = ["<s>", "</s>", "<pad>"]
    ids = {t: len(vocab) + i for i, t in enumerate(names)}
    tokens = [added(i, t) for t, i in ids.items()]
    processor = dict(type="RobertaProcessing", sep=["</s>", ids["</s>"]], cls=["<s>", ids["<s>"]], trim_offsets=True, add_prefix_space=False)
    document = tokenizer_json(vocab, merges, tokens, PRE["gpt-2"], processor, dict(type="Lowercase"))
    names = dict(tokenizer_class=FAST, bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    files = {"tokenizer.json": document, "tokenizer_config.json": names}
    make("roberta", "byte-pairs", sized(config, tokens, vocab), files, "roberta-bpe", "roberta-bpe")
    ends = template(["<s>", "A", "</s>"], ["<s>", "A", "</s>", "</s>", "B", "</s>"], {t: ids[t] for t in ["<s>", "</s>"]})
    document = tokenizer_json(vocab, merges, tokens, PRE["gpt-2"], ends)
    names = dict(tokenizer_class=FAST, bos_token="<s>", eos_token="<pad>")
    files = {"tokenizer.json": document, "tokenizer_config.json": names}
    make("template-ends", "byte-pairs", sized(config, tokens, vocab), files, "gpt-2")
    make("no-config", "byte-pairs", sized(OLMO2, tokens, vocab), {"tokenizer.json": document}, "gpt-2")


def sentencepiece(name, count):
    """The protobuf of a vocabulary, and its tokens."""
    tokens, types, _, scores = read(name)
    if not WHOLE:
        tokens, types, scores = tokens[:count], types[:count], scores[:count]
    model = spm.ModelProto()
    model.trainer_spec.model_type, model.trainer_spec.byte_fallback = spm.TrainerSpec.BPE, True
    for text, kind, score in zip(tokens, types, scores):
        piece = model.pieces.add()
        piece.piece, piece.score = text, score
        if kind != 1:
            piece.type = kind
    return model, tokens


def piece_samples():
    count = 420
    model, tokens = sentencepiece("llama-spm", count)
    size = len(tokens)
    decoder = {
        "0": added(0, "<unk>"), "1": added(1, "<s>"), "2": added(2, "</s>"),
        str(size): added(size, "▁not▁special", special=False),
        str(size + 1): added(size + 1, "<|looks|>", special=False),
        str(size + 99): added(size + 99, "<far>"),
    }  # fmt: skip
    for one in decoder.values():
        del one["id"]
    names = dict(tokenizer_class="LlamaTokenizer", bos_token="<s>", eos_token=dict(added(0, "</s>"), __type="AddedToken"), unk_token="<unk>")
    names |= dict(add_bos_token=True, add_eos_token=False, add_prefix_space=None, added_tokens_decoder=decoder, chat_template=CHAT)
    extra = {"<extra>": size + 2, "<beyond>": size + 50}
    config = dict(LLAMA, vocab_size=size + 6, bos_token_id=1, eos_token_id=2, pad_token_id=size + 7)
    data = model.SerializeToString()
    files = {"tokenizer.model": data, "tokenizer_config.json": names, "added_tokens.json": extra}
    make("llama-spm", "llama-like", config, files)
    make("llama-spm-short", "llama-like", dict(LLAMA, vocab_size=size - 40), {"tokenizer.model": data})
    make("qwen-spm", "qwen-like", dict(QWEN, vocab_size=size + 6), files)
    if not WHOLE:
        odd = spm.ModelProto.FromString(data)
        odd.pieces[count - 1].type, odd.pieces[count - 2].type = spm.ModelProto.SentencePiece.USER_DEFINED, 5
        gemma = dict(vocab_size=size + 6, bos_token_id=2, eos_token_id=1, head_dim=8)
        for kind, cls in [("gemma", "Gemma"), ("gemma2", "Gemma2"), ("gemma3", "Gemma3")]:
            family = dict(model_type=kind + ("_text" if kind == "gemma3" else ""), architectures=[cls + "ForCausalLM"])
            files = {"tokenizer.model": odd.SerializeToString(), "tokenizer_config.json": names | dict(add_prefix_space=False)}
            make(kind, kind, gemma | family, files)
        make("llama-spm-prefix", "llama-like", dict(LLAMA, vocab_size=size), files)
    phi(data, size, names)
    without_model(tokens)


def phi(data, size, names):
    document = dict(added_tokens=[added(size + 3, "<|end|>"), added(size + 4, "▁y", special=False)], model=dict(type="BPE"))
    phi3 = dict(model_type="phi3", architectures=["Phi3ForCausalLM"], vocab_size=size + 100, pad_token_id=0, eos_token_id=2, bos_token_id=1)
    files = {"tokenizer.model": data, "tokenizer_config.json": names, "tokenizer.json": document}
    make("phi3", "phi3", phi3, files)


def without_model(tokens):
    """Byte pairs with a fallback to bytes, without the file of SentencePiece."""
    vocab = {t: i for i, t in enumerate(tokens)}
    merges = [f"{t[:1]} {t[1:]}" for t in tokens[259:] if len(t) > 1 and t[:1] in vocab and t[1:] in vocab]
    extra = [added(0, "<unk>"), added(1, "<s>"), added(2, "</s>")]
    extra += [added(len(tokens) + i, t, special=i == 0) for i, t in enumerate(["<|im_start|>", "<sep>"])]
    steps = [
        dict(type="Replace", pattern=dict(String="▁"), content=" "),
        dict(type="ByteFallback"),
        dict(type="Fuse"),
        dict(type="Strip", content=" ", start=1, stop=0),
    ]
    spaces = dict(type="Sequence", normalizers=[dict(type="Prepend", prepend="▁"), dict(type="Replace", pattern=dict(String=" "), content="▁")])
    document = tokenizer_json(
        vocab, merges, extra, None, template(["<s>", "A"], ["<s>", "A", "<s>", "B"], {"<s>": 1}), spaces,
        dict(type="Sequence", decoders=steps), byte_fallback=True, unk_token="<unk>", fuse_unk=True,
    )  # fmt: skip
    names = dict(tokenizer_class=FAST, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<sep>")
    config = dict(LLAMA, vocab_size=len(tokens) + 9)
    make("llama-hf", "llama-like", config, {"tokenizer.json": document, "tokenizer_config.json": names})


def word_piece():
    """BERT's vocabulary: what begins a word is marked in GGUF, what continues one in tokenizer.json."""
    tokens, types, _, _ = read("bert-bge")
    if not WHOLE:
        short = [i for i, text in enumerate(tokens) if types[i] != 1 or len(text) < 3]
        chosen = [i for i in short if not tokens[i].startswith("[unused")][:300]
        tokens, types = [tokens[i] for i in chosen], [types[i] for i in chosen]
    plain = lambda text: text[1:] if text.startswith("\u2581") else "##" + text  # noqa: E731
    texts = [plain(text) if kind == 1 else text for text, kind in zip(tokens, types)]
    vocab = {text: i for i, text in enumerate(texts)}
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    more = [] if WHOLE else [added(len(texts), "[new]", special=False), added(len(texts) + 1, "##in", special=False, normalized=True)]
    document = dict(
        version="1.0",
        truncation=None,
        padding=None,
        added_tokens=[added(vocab[text], text) for text in special] + more,
        normalizer=dict(type="BertNormalizer", clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True),
        pre_tokenizer=dict(type="BertPreTokenizer"),
        post_processor=template(["[CLS]", "A", "[SEP]"], ["[CLS]", "A", "[SEP]", "B", "[SEP]"], {t: vocab[t] for t in ["[CLS]", "[SEP]"]}),
        decoder=dict(type="WordPiece", prefix="##", cleanup=True),
        model=dict(type="WordPiece", unk_token="[UNK]", continuing_subword_prefix="##", max_input_chars_per_word=100, vocab=vocab),
    )
    names = dict(tokenizer_class="BertTokenizer", do_lower_case=True, model_max_length=512)
    names |= {f"{kind}_token": text for kind, text in zip(["pad", "unk", "cls", "sep", "mask"], special)}
    config = dict(model_type="bert", architectures=["BertModel"], pad_token_id=0, vocab_size=len(texts) + len(more) + (0 if WHOLE else 3))
    make("bert-bge", "bert", config, {"tokenizer.json": document, "tokenizer_config.json": names}, "default")


def saved_by_transformers(folder):
    """Another folder with the `tokenizer.json` that transformers makes of a tokenizer in several files."""
    from transformers import AutoTokenizer

    out = tempfile.mkdtemp()
    AutoTokenizer.from_pretrained(folder).save_pretrained(out)
    shutil.copy(os.path.join(folder, "config.json"), out)
    return out


def in_parts():
    """Tokens in `vocab.txt`, or in `vocab.json` with `merges.txt`, as older repositories have them. With and without
    files that name special tokens."""
    vocab, merges, extra, _ = pairs("gpt-2")
    end = "<|endoftext|>"
    vocab = {text: id for text, id in vocab.items() if text not in extra}
    files = {"vocab.json": vocab, "merges.txt": "#version: 0.2\n" + "".join(f"{merge}\n" for merge in merges)}
    with_end = {**files, "vocab.json": {**vocab, end: len(vocab)}}
    gpt2 = dict(model_type="gpt2", architectures=["GPT2LMHeadModel"], vocab_size=len(vocab) + 1)
    make("gpt-2-parts", "byte-pairs", gpt2, with_end, "gpt-2", "gpt-2", saved_by_transformers)
    names = {"tokenizer_config.json": dict(tokenizer_class="GPT2Tokenizer"), "special_tokens_map.json": dict(bos_token="<s>", eos_token=end, unk_token=end)}
    more = dict(gpt2, vocab_size=len(vocab) + 4)
    make("gpt-2-parts-named", "byte-pairs", more, {**with_end, **names}, "gpt-2", "gpt-2", saved_by_transformers)
    start, stop = "<|im_start|>", "<|im_end|>"
    decoder = {str(len(vocab) + i): added(0, text, special=i < 3) for i, text in enumerate([end, start, stop, "<tool_call>"])}
    for one in decoder.values():
        del one["id"]
    names = dict(tokenizer_class="Qwen2Tokenizer", eos_token=stop, pad_token=end, bos_token=None, added_tokens_decoder=decoder, chat_template=CHAT)
    qwen = dict(QWEN, vocab_size=len(vocab) + 9)
    make("qwen2-parts", "qwen-like", qwen, {**files, "tokenizer_config.json": names}, "qwen2", None, saved_by_transformers)
    roberta = dict(model_type="roberta", architectures=["RobertaModel"], vocab_size=len(vocab) + 5, pad_token_id=1)
    make("roberta-parts", "roberta", roberta, files, "roberta-bpe", "roberta-bpe", saved_by_transformers)
    word_pieces_in_parts()


def word_pieces_in_parts():
    tokens, types, _, _ = read("bert-bge")
    plain = lambda text: text[1:] if text.startswith("\u2581") else "##" + text  # noqa: E731
    short = [i for i, text in enumerate(tokens) if types[i] != 1 or len(text) < 3]
    chosen = [i for i in short if not tokens[i].startswith("[unused")][:300]
    lines = "".join((plain(tokens[i]) if types[i] == 1 else tokens[i]) + "\n" for i in chosen)
    bert = dict(model_type="bert", architectures=["BertModel"], pad_token_id=0, vocab_size=len(chosen))
    make("bert-parts", "bert", bert, {"vocab.txt": lines}, "default", None, saved_by_transformers)
    names = dict(do_lower_case=False, strip_accents=True, tokenizer_class="BertTokenizer")
    make("bert-parts-cased", "bert", dict(bert, vocab_size=len(chosen) + 2), {"vocab.txt": lines, "tokenizer_config.json": names}, "default", None, saved_by_transformers)


def tekken():
    """Mistral's own file, which the converter reads with mistral-common."""
    try:
        import mistral_common  # noqa: F401
    except ImportError:
        print("tekken-file: mistral-common is not installed")
        return
    words = ["the", " the", "in", " in", "\u00e9", " \u00e9t\u00e9", "  ", "\n\n", "weigh"]
    ranks = [bytes([byte]) for byte in range(256)]
    for word in words:
        data = word.encode()
        ranks += [data[:end] for end in range(2, len(data) + 1) if data[:end] not in ranks]
    vocab = [dict(rank=i, token_bytes=base64.b64encode(one).decode(), token_str=one.decode(errors="replace")) for i, one in enumerate(ranks)]
    pairs = ["INST", "AVAILABLE_TOOLS", "TOOL_RESULTS", "SYSTEM_PROMPT"]
    special = ["<unk>", "<s>", "</s>", "<pad>", *(f"[{slash}{one}]" for one in pairs for slash in ["", "/"])]
    special += [f"[{one}]" for one in "TOOL_CALLS IMG IMG_BREAK IMG_END PREFIX MIDDLE SUFFIX TOOL_CONTENT ARGS".split()]
    listed = [dict(rank=i, token_str=text, is_control=True) for i, text in enumerate(special)]
    settings = dict(pattern=TEKKEN, num_vocab_tokens=len(vocab), default_num_special_tokens=24, version="v3")
    mistral = dict(model_type="mistral", architectures=["MistralForCausalLM"])
    for name, version, extra, more in [("tekken-file", "v3", 0, {}), ("tekken-listed", "v7", 3, dict(special_tokens=listed))]:
        size = len(vocab) + 24 - extra
        document = dict(config=dict(settings, version=version, default_vocab_size=size), vocab=vocab, **more)
        make(name, "llama-like", dict(mistral, vocab_size=size), {"tekken.json": document})


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    os.makedirs(OUT, exist_ok=True)
    chosen = [one for one in sys.argv[3:] if one != "--whole"]
    for kind in [byte_samples, piece_samples, word_piece, in_parts, tekken]:
        if not chosen or kind.__name__ in chosen:
            kind()
