"""Tokenizers that were written out of GGUF metadata, against what others make of the same texts.

    python oracles/tokenizer_samples.py LLAMA_CPP DIR --whole
    python oracles/check_tokenizers_back.py LLAMA_CPP DIR

LLAMA_CPP is the source tree (`ggml_build.sh DIR` leaves it in DIR/src/vendor/llama.cpp). Its
models/ggml-vocab-*.gguf are put into DIR beside the repositories that tokenizer_samples.py made there.
A test of the library, which is run here, writes a folder NAME.back for each. Then

- every text of a vocabulary's .inp file has to give the ids of its .out file, in transformers and in
  tokenizers alone, and, where there is a tokenizer.model, in sentencepiece;
- where the written tokenizer composes letters first, as Hugging Face's does and llama.cpp does not,
  texts that are not composed are left out and counted;
- a unigram vocabulary has to give what sentencepiece gives with the same pieces and character map;
- texts have to give the ids that a repository's own tokenizer gives, with and without special tokens,
  and with special tokens inside the text; where it has a tokenizer.model, those of sentencepiece.

PREPARED=1 says that the library has written its folders already.
"""

import json
import logging
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as spm
from tokenizers import Tokenizer

os.environ["HF_HUB_OFFLINE"] = "1"
from transformers import AutoTokenizer  # noqa: E402

LLAMA_CPP, OUT = Path(sys.argv[1]), Path(sys.argv[2]).absolute()
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(LLAMA_CPP / "gguf-py"))
import gguf  # noqa: E402

# Families of transformers by architecture: its classes of their own must not be taken.
FAMILIES = {"command-r": "cohere", "refact": None, "nomic-bert-moe": "xlm-roberta", "baichuan": None}


def prepare():
    for path in sorted((LLAMA_CPP / "models").glob("ggml-vocab-*.gguf")):
        link = OUT / path.name
        if not link.exists():
            link.symlink_to(path)
    if os.environ.get("PREPARED") != "1":
        test = "tokenizer::back::tests::files_of_somebody_become_repositories"
        command = ["cargo", "test", "--release", "-p", "weighbridge", "--lib", "--", "--exact", test]
        subprocess.run(command, cwd=ROOT, env=os.environ | dict(TOKENIZERS_BACK=str(OUT)), check=True)


def texts_and_ids(path):
    """Texts of a vocabulary with the ids they give, if the tree has them."""
    inputs, outputs = Path(f"{path.resolve()}.inp"), Path(f"{path.resolve()}.out")
    if not inputs.exists():
        return None
    # In binary, since some texts are line breaks of other kinds.
    texts = inputs.read_bytes().decode().split("\n__ggml_vocab_test__\n")
    lines = outputs.read_text(encoding="utf-8").split("\n")
    return [(text, [int(one) for one in line.split()]) for text, line in zip(texts, lines)]


def load(folder, family):
    (folder / "config.json").write_text(json.dumps(dict(model_type=family) if family else {}))
    return Tokenizer.from_file(str(folder / "tokenizer.json")), AutoTokenizer.from_pretrained(folder)


def encoders(folder, family):
    plain, auto = load(folder, family)
    found = dict(
        tokenizers=lambda text: plain.encode(text, add_special_tokens=False).ids,
        transformers=lambda text: auto.encode(text, add_special_tokens=False),
    )
    if (folder / "tokenizer.model").exists():
        found["sentencepiece"] = sentencepiece.SentencePieceProcessor(str(folder / "tokenizer.model")).encode
    return found, auto, plain


def compare(pairs, found):
    """How many texts agree, by who encoded them; the first that do not are shown."""
    counts = {}
    for who, encode in found.items():
        wrong = [(text, ids, encode(text)) for text, ids in pairs if encode(text) != ids]
        for text, ids, got in wrong[:3]:
            print("   ", who, repr(text)[:60], ids[:12], got[:12])
        counts[who] = f"{len(pairs) - len(wrong)}/{len(pairs)}"
    return " ".join(f"{who} {count}" for who, count in counts.items())


def check_vocabulary(path, other_texts):
    folder = path.with_suffix(".back")
    report = json.loads((folder / "report.json").read_text())
    if "refused" in report:
        return f"refused: {report['refused']}"
    fields = gguf.GGUFReader(path).fields if path.stem.endswith("nomic-bert-moe") else None
    found, auto, plain = encoders(folder, family_of(path))
    pairs, note = texts_and_ids(path), ""
    if pairs is None and fields is None:
        model = found.pop("sentencepiece", None)
        pairs = [(text, model(text)) for text in other_texts] if model else []
    elif pairs is None:
        model = unigram(fields)
        pairs = [(text, model.encode(text)) for text in other_texts]
    if "NFC" in str(plain.normalizer):
        composed = [(text, ids) for text, ids in pairs if unicodedata.is_normalized("NFC", text)]
        note = f", {len(pairs) - len(composed)} not composed" if len(composed) < len(pairs) else ""
        pairs = composed
    return f"{compare(pairs, found)}{note}; {report['seconds']:.2f} s; around: {around(auto)}"


def family_of(path):
    """The model_type of a vocabulary's architecture."""
    data = path.read_bytes()[:4096]
    key = b"general.architecture"
    at = data.index(key) + len(key) + 4
    length = int.from_bytes(data[at : at + 8], "little")
    name = data[at + 8 : at + 8 + length].decode()
    return FAMILIES.get(name, name)


def unigram(fields):
    """SentencePiece's own model of a unigram vocabulary."""
    value = lambda key: fields["tokenizer.ggml." + key].contents()  # noqa: E731
    model = spm.ModelProto()
    model.trainer_spec.model_type, model.trainer_spec.unk_id = spm.TrainerSpec.UNIGRAM, value("unknown_token_id")
    for text, kind, score in zip(value("tokens"), value("token_type"), value("scores")):
        model.pieces.add(piece=text, score=score, type=kind)
    spec = model.normalizer_spec
    spec.precompiled_charsmap = bytes(one & 255 for one in value("precompiled_charsmap"))
    spec.add_dummy_prefix, spec.remove_extra_whitespaces = value("add_space_prefix"), value("remove_extra_whitespaces")
    for key in ["bos", "eos", "padding"]:
        setattr(model.trainer_spec, f"{key[:3]}_id", value(f"{key}_token_id"))
    return sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())


def around(tokenizer):
    """What is added to a text."""
    inner = tokenizer.encode("a", add_special_tokens=False)
    ids = tokenizer.encode("a")
    return [tokenizer.convert_ids_to_tokens(one) if one not in inner else "_" for one in ids]


def check_repository(folder, texts):
    """A repository's own tokenizer against what came back. Special tokens are those of both."""
    back = folder.with_suffix(".back")
    report = json.loads((back / "report.json").read_text())
    if "refused" in report:
        return f"refused: {report['refused']}"
    config = json.loads((folder / "config.json").read_text())
    (back / "config.json").write_text(json.dumps(config))
    ours = AutoTokenizer.from_pretrained(back)
    plain = dict(transformers=lambda text: ours.encode(text, add_special_tokens=False))
    if (folder / "tokenizer.model").exists():
        # transformers 5 itself makes other merges of such a file than sentencepiece does.
        proto = spm.ModelProto.FromString((folder / "tokenizer.model").read_bytes())
        # As the files of Llama and Phi-3 have it; those of the samples do not say.
        proto.normalizer_spec.remove_extra_whitespaces = False
        model = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
        return "against sentencepiece: " + compare([(text, model.encode(text)) for text in texts], plain)
    if folder.name == "llama-hf":
        # Its merges are made up; its pieces are those of this vocabulary.
        return "against llama-spm: " + compare(texts_and_ids(OUT / "ggml-vocab-llama-spm.gguf"), plain)
    theirs = AutoTokenizer.from_pretrained(folder)
    special = [one for one in [ours.bos_token, ours.eos_token, *ours.all_special_tokens] if one]
    texts = [*texts, *(f"Hello{one}world {one} again" for one in special[:6])]
    same = {kind: 0 for kind in ["plain", "with special", "pairs", "decoded"]}
    for text in texts:
        ids = theirs.encode(text)
        same["plain"] += ours.encode(text, add_special_tokens=False) == theirs.encode(text, add_special_tokens=False)
        same["with special"] += ours.encode(text) == ids
        same["pairs"] += ours.encode(text, "b") == theirs.encode(text, "b")
        same["decoded"] += ours.decode(ids) == theirs.decode(ids)
        if ours.encode(text) != ids:
            print("   ", repr(text)[:60], ids[:12], ours.encode(text)[:12])
    return ", ".join(f"{kind} {count}/{len(texts)}" for kind, count in same.items())


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    prepare()
    texts = [text for text, _ in texts_and_ids(OUT / "ggml-vocab-llama-spm.gguf")]
    for path in sorted(OUT.glob("*.gguf")):
        print(path.stem.removeprefix("ggml-vocab-"), check_vocabulary(path, texts), flush=True)
    for path in sorted(OUT.glob("*/expected.json")):
        print(path.parent.name + "/", check_repository(path.parent, texts), flush=True)
