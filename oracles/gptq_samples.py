#!/usr/bin/env python3
"""Write the GPTQ samples and their expected values.

GPTQModel quantizes tiny, randomly initialised Llama models on the CPU, saves
them in its own on-disk layout, loads them again and decodes every quantized
layer. Nothing here packs or unpacks weights for the files or the goldens; a
separate numpy decoder only checks that both sides of the layout are understood.

Written, relative to the project folder:

  samples/tiny-llama-gptq/              a two-shard model directory
  tests/files/gptq/<layer>.weight.f16.bin, golden.json
  tests/files/gptq/tiny-llama-gptq.expect.json
  tests/files/gptq/<variant>/           one quantized layer each, some of them in `dynamic`;
                                        gptq_decode.py adds to their expected values

Usage: gptq_samples.py [project folder [variant ..]]
"""

import hashlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

# Both have to be set before the library is imported: no GPU, and enough pool
# workers for its loader on machines with one or two cores.
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["GPTQMODEL_CPU_WORKERS"] = "2"
os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch

torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)

from safetensors.numpy import save_file
from safetensors.torch import load_file as load_torch, save_file as save_torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import gptqmodel
from gptqmodel import BACKEND, GPTQModel, QuantizeConfig
from gptqmodel.nn_modules.qlinear.torch import TorchLinear

LIBRARY = "gptqmodel"
VERSION = "7.7.0"

# The demo is cut here, so that the layer has g_idx and scales in shard 1 and
# qweight and qzeros in shard 2.
SPLIT_LAYER = "model.layers.0.mlp.gate_proj"

VARIANTS = {
    # name: (keyword arguments of QuantizeConfig, how the source weights are shaped)
    "desc-act": (dict(bits=4, group_size=32, desc_act=True, act_group_aware=False, sym=True), "plain"),
    "asym-v1": (dict(bits=4, group_size=32, desc_act=False, sym=False), "plain"),
    "asym-v1-zero": (dict(bits=4, group_size=32, desc_act=False, sym=False), "one-sided"),
    "group-all": (dict(bits=4, group_size=-1, desc_act=False, act_group_aware=False, sym=True), "plain"),
    "v2": (dict(bits=4, group_size=32, desc_act=False, sym=False, format="gptq_v2"), "one-sided"),
    "bits2": (dict(bits=2, group_size=32, desc_act=False, sym=False), "plain"),
    "bits3": (dict(bits=3, group_size=32, desc_act=False, sym=False), "plain"),
    "bits8": (dict(bits=8, group_size=32, desc_act=False, sym=False), "plain"),
    "bits3-v2": (dict(bits=3, group_size=-1, desc_act=False, act_group_aware=False, sym=False, format="gptq_v2"),
                 "one-sided"),
    "dynamic": (dict(bits=4, group_size=32, desc_act=False, sym=True,
                     dynamic={r"-:.*\.o_proj": {}, r"+:.*\.up_proj": dict(bits=8, group_size=64),
                              r".*(gate|up)_proj": dict(bits=2)}), "plain"),
}
VARIANT_LAYER = "model.layers.0.mlp.down_proj"
DYNAMIC_LAYERS = ("model.layers.0.mlp.", "model.layers.0.self_attn.o_proj.")


# ---------------------------------------------------------------- safetensors

def read_safetensors(path):
    """Return (metadata, [(name, dtype, shape, bytes)]) in the order of the data."""
    raw = Path(path).read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + size])
    metadata = header.pop("__metadata__", None)
    data = raw[8 + size:]
    rows = sorted(header.items(), key=lambda kv: kv[1]["data_offsets"])
    return metadata, [(n, h["dtype"], h["shape"], data[h["data_offsets"][0]:h["data_offsets"][1]])
                      for n, h in rows]


def as_array(dtype, shape, data):
    return np.frombuffer(data, {"I32": "<i4", "F16": "<f2", "BF16": "<u2"}[dtype]).reshape(shape)


# -------------------------------------------------------------- source models

def tokenizer():
    """One token for every byte: enough for a directory that looks complete."""
    vocab = {"<s>": 0, "</s>": 1, "<unk>": 2}
    for symbol in sorted(pre_tokenizers.ByteLevel.alphabet()):
        vocab[symbol] = len(vocab)
    inner = Tokenizer(models.BPE(vocab=vocab, merges=[], unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", eos_token="</s>",
                                   unk_token="<unk>", pad_token="</s>", model_max_length=256)


def write_source(folder, layers, seed, shape):
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=264, hidden_size=64, intermediate_size=128, num_hidden_layers=layers,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256,
        bos_token_id=0, eos_token_id=1, pad_token_id=1, tie_word_embeddings=False)
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "norm" in name:
                value.add_(torch.randn_like(value) * 0.1)
        if shape == "one-sided":
            # Rows of one sign drive asymmetric zero points to both ends: rows
            # 1 mod 4 become positive (zero 0), rows 3 mod 8 negative (zero 15).
            weight = model.get_submodule(VARIANT_LAYER).weight
            weight[1::4] = weight[1::4].abs()
            weight[3::8] = -weight[3::8].abs()
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer().save_pretrained(folder)


def quantize(source, target, options, **save_options):
    # dtype is fixed so that the parameters left alone keep the same type.
    config = QuantizeConfig(offload_to_disk=False, **options)
    model = GPTQModel.load(str(source), config, device="cpu", dtype=torch.bfloat16)
    generator = torch.Generator().manual_seed(20240229)
    calibration = [{"input_ids": torch.randint(3, 259, (1, 128), generator=generator),
                    "attention_mask": torch.ones(1, 128, dtype=torch.long)} for _ in range(16)]
    model.quantize(calibration, batch_size=1)
    model.save(str(target), **save_options)


def decode(folder):
    """{layer: f16 array [out, in]} as the library decodes the saved directory."""
    model = GPTQModel.load(str(folder), device="cpu", backend=BACKEND.TORCH, dtype=torch.float16)
    result = {}
    for name, module in model.model.named_modules():
        if isinstance(module, TorchLinear):
            assert module.scales.dtype == torch.float16, (name, module.scales.dtype)
            weight = module.dequantize_weight()
            assert weight.dtype == torch.float16, (name, weight.dtype)
            result[name] = weight.T.contiguous().cpu().numpy()
    return result


# -------------------------------------------------------- the layout, checked

def fields(words, bits):
    """Split rows of int32 words into codes, reading each row as one bit string."""
    raw = np.ascontiguousarray(words.astype("<i4")).view(np.uint8).reshape(words.shape[0], -1)
    stream = np.unpackbits(raw, axis=1, bitorder="little").reshape(words.shape[0], -1, bits)
    return (stream.astype(np.int64) << np.arange(bits)).sum(axis=2)


def own_decode(tensors, bits, checkpoint_format):
    qweight, qzeros, scales, g_idx = (tensors[k] for k in ("qweight", "qzeros", "scales", "g_idx"))
    if checkpoint_format == "gptq" and bits != 3:
        # One addition on the whole word, carries included: this is how the
        # library undoes the equally whole-word subtraction of its writer.
        one = sum(1 << s for s in range(0, 32, bits))
        qzeros = (qzeros.astype(np.int64) + one).astype(np.uint32).view(np.int32)
    zeros = fields(qzeros, bits)
    if checkpoint_format == "gptq" and bits == 3:
        zeros = (zeros + 1) & 7
    codes = fields(qweight.T, bits)                      # [out, in]
    groups = g_idx.astype(np.int64)
    exact = scales.astype(np.float64)[groups] * (codes.T - zeros[groups])
    return np.ascontiguousarray(exact.T).astype("<f2")


def check(name, golden, tensors, options):
    mine = own_decode(tensors, options["bits"], options.get("format", "gptq"))
    if mine.shape != golden.shape or not np.array_equal(mine, golden):
        raise SystemExit(f"{name}: the library and the plain formula disagree")


# ---------------------------------------------------------------------- output

def write_json(path, value):
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def golden_bytes(array):
    return np.ascontiguousarray(array).astype("<f2").tobytes()


def fresh(path):
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def shard_limit(folder):
    """Largest first shard that ends right before the qweight of SPLIT_LAYER."""
    total = 0
    for name, _, _, data in read_safetensors(folder / "model.safetensors")[1]:
        if name == SPLIT_LAYER + ".qweight":
            return total
        total += len(data)
    raise SystemExit("the layer to split was not written")


def demo(root, scratch):
    options = dict(bits=4, group_size=32, desc_act=False, sym=True)
    source, whole, saved = scratch / "demo-source", scratch / "demo-whole", scratch / "demo"
    write_source(source, layers=2, seed=7, shape="plain")
    quantize(source, whole, options)
    quantize(source, saved, options, max_shard_size=shard_limit(whole))

    target = fresh(root / "samples" / "tiny-llama-gptq")
    for item in sorted(saved.iterdir()):
        if item.name != "quant_log.csv":                 # timings of the run
            shutil.copyfile(item, target / item.name)

    index = json.loads((target / "model.safetensors.index.json").read_text())["weight_map"]
    shards = sorted(target.glob("*.safetensors"))
    assert [s.name for s in shards] == ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    assert index[SPLIT_LAYER + ".scales"] != index[SPLIT_LAYER + ".qweight"]

    stored, listing = {}, []
    for shard in shards:
        for name, dtype, shape, data in read_safetensors(shard)[1]:
            assert index[name] == shard.name
            stored[name] = as_array(dtype, shape, data)
            listing.append({"name": name, "shape": shape, "dtype": dtype,
                            "sha256": hashlib.sha256(data).hexdigest()})
    assert set(stored) == set(index)

    tests = root / "tests" / "files" / "gptq"
    tests.mkdir(parents=True, exist_ok=True)
    for old in tests.glob("*.f16.bin"):
        old.unlink()
    write_json(tests / "tiny-llama-gptq.expect.json", {"format": "safetensors", "tensors": listing})

    goldens = []
    for layer, array in decode(target).items():
        check(layer, array, {k: stored[f"{layer}.{k}"] for k in ("qweight", "qzeros", "scales", "g_idx")}, options)
        file = f"{layer}.weight.f16.bin"
        (tests / file).write_bytes(golden_bytes(array))
        goldens.append({"name": f"{layer}.weight", "shape": list(array.shape), "file": file,
                        "library": LIBRARY, "version": VERSION})
    assert len(goldens) == 14
    write_json(tests / "golden.json", goldens)


def variant(root, scratch, name, options, shape):
    source, saved = scratch / f"{name}-source", scratch / name
    write_source(source, layers=1, seed=11, shape=shape)
    quantize(source, saved, options)

    metadata, tensors = read_safetensors(saved / "model.safetensors")
    prefixes = DYNAMIC_LAYERS if name == "dynamic" else (VARIANT_LAYER + ".",)
    kept = {n: as_array(d, s, b) for n, d, s, b in tensors if n.startswith(prefixes)}
    arrays = {n: a for n, a in decode(saved).items() if (n + ".").startswith(prefixes)}
    short = {n.rsplit(".", 1)[1]: v for n, v in kept.items() if n.startswith(VARIANT_LAYER + ".")}
    check(name, arrays[VARIANT_LAYER], short, options)
    if name == "desc-act":
        assert not np.array_equal(short["g_idx"], np.arange(128) // 32)
    if name == "asym-v1-zero":
        # The case is only worth keeping when whole-word and per-field repair differ.
        per_field = (fields(short["qzeros"], 4) + 1) & 15
        word = (short["qzeros"].astype(np.int64) + 0x11111111).astype(np.uint32).view(np.int32)
        assert not np.array_equal(per_field, fields(word, 4))
    if name == "dynamic":
        assert len(arrays) == 3 and "model.layers.0.self_attn.o_proj.weight" in kept

    target = fresh(root / "tests" / "files" / "gptq" / name)
    stored = load_torch(saved / "model.safetensors")
    save_torch({n: stored[n] for n in kept}, target / "model.safetensors", metadata=metadata)
    (target / "model.safetensors").chmod(0o644)
    shutil.copyfile(saved / "config.json", target / "config.json")
    save_file({f"{n}.weight": a for n, a in arrays.items()}, target / "expected.safetensors")


def main():
    if gptqmodel.__version__ != VERSION:
        raise SystemExit(f"this generator is pinned to {LIBRARY} {VERSION}")
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        wanted = sys.argv[2:]
        if not wanted:
            demo(root, scratch)
        for name, (options, shape) in VARIANTS.items():
            if not wanted or name in wanted:
                variant(root, scratch, name, options, shape)
    print("written")


if __name__ == "__main__":
    main()
