#!/usr/bin/env python3
"""Write the compressed-tensors samples and their expected values.

llm-compressor quantizes tiny, randomly initialised Llama models on the CPU and saves them with
compressed-tensors; transformers loads them again with `run_compressed=False`, which lets
compressed-tensors decode every layer. At f32 the same decompressors run over widened scales.

Written, for each case: tests/files/compressed/CASE/ with the model, `expected.safetensors` and
`expected-f32.safetensors`.

Usage: compressed_samples.py [project folder] [case ...]
"""

import json
import os
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.compressors.mx_utils import decompress_mx_scale
from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
from compressed_tensors.quantization import QuantizationArgs, QuantizationConfig, QuantizationScheme
from compressed_tensors.quantization.lifecycle.forward import dequantize
from compressed_tensors.quantization.utils import calculate_qparams
from compressed_tensors.utils.match import match_name
from datasets import Dataset
from llmcompressor import oneshot
from llmcompressor.modifiers.quantization import QuantizationModifier
from safetensors import safe_open
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    CompressedTensorsConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from provenance import record

CT, LLMC = version("compressed-tensors"), version("llmcompressor")

torch.set_num_threads(1)
ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
ONLY = sys.argv[2:]
FEW = "re:.*(k_proj|o_proj|down_proj)$"
FUSED = "re:.*(q_proj|k_proj|v_proj|down_proj)$"


def weights(bits, strategy, kind="int", symmetric=True, **more):
    return {"num_bits": bits, "type": kind, "strategy": strategy, "symmetric": symmetric, **more}


def group(targets, weights, **more):
    targets = [targets] if isinstance(targets, str) else targets
    return {"targets": targets, "weights": weights, **more}


def activations(bits, kind, **more):
    return {"num_bits": bits, "type": kind, "symmetric": True, **more}


FP8_INPUT = activations(8, "float", strategy="tensor", dynamic=False)
TOKENS = activations(8, "int", strategy="token", dynamic=True)
NVFP4 = weights(4, "tensor_group", "float", group_size=16, scale_dtype="torch.float8_e4m3fn")
MXFP4 = weights(4, "group", "float", group_size=32, scale_dtype="torch.uint8")
MXFP8 = weights(8, "group", "float", group_size=32, scale_dtype="torch.uint8")

# Each case: groups of the recipe, and what is not as usual about the model.
CASES = {
    "int4-g16-asym": dict(groups=[group(FEW, weights(4, "group", group_size=16, symmetric=False))]),
    "int4-g32-f16": dict(
        groups=[group("Linear", weights(4, "group", group_size=32))],
        dtype=torch.float16,
        shards="5KB",
    ),
    "int8-channel-asym-f32": dict(
        groups=[group(FEW, weights(8, "channel", symmetric=False))], dtype=torch.float32
    ),
    # Forty columns of three bits take four words either way: only the version tells.
    "int3-channel-asym-odd": dict(
        groups=[group(FEW, weights(3, "channel", symmetric=False))], hidden=40, inner=24
    ),
    "widths": dict(
        groups=[
            group("re:.*q_proj$", weights(1, "group", group_size=16)),
            group("re:.*k_proj$", weights(2, "group", group_size=16, symmetric=False)),
            group("re:.*v_proj$", weights(3, "group", group_size=32, symmetric=False)),
            group("re:.*o_proj$", weights(5, "tensor")),
            group("re:.*gate_proj$", weights(6, "channel", symmetric=False)),
            group("re:.*up_proj$", weights(7, "group", group_size=32, symmetric=False)),
        ]
    ),
    "w8a8": dict(
        groups=[
            group("re:.*(k_proj|o_proj)$", weights(8, "channel"), input_activations=TOKENS),
            group(
                "re:.*down_proj$",
                weights(8, "channel", symmetric=False),
                input_activations=TOKENS,
            ),
        ]
    ),
    "naive-int8": dict(groups=[group(FEW, weights(8, "tensor"))], format="naive-quantized"),
    "fp8-static": dict(
        groups=[group(FEW, weights(8, "tensor", "float"), input_activations=FP8_INPUT)],
        calibrate=True,
        cache=True,
    ),
    "fp8-dynamic": dict(
        groups=[
            group(
                FEW,
                weights(8, "channel", "float"),
                input_activations=activations(8, "float", strategy="token", dynamic=True),
            )
        ]
    ),
    "fp8-block": dict(
        groups=[group(FEW, weights(8, "block", "float", block_structure=[16, 16]))],
        hidden=40,
        inner=24,
    ),
    "nvfp4": dict(
        groups=[
            # Layers that are fused later share their global scale, so all of them are quantized.
            group(
                FUSED,
                NVFP4,
                input_activations=activations(
                    4, "float", strategy="tensor_group", group_size=16, dynamic="local"
                ),
            )
        ],
        calibrate=True,
    ),
    "mxfp4": dict(groups=[group(FEW, MXFP4)]),
    "mxfp8": dict(groups=[group(FEW, MXFP8)]),
    "mixed": dict(
        groups=[
            group(
                "re:.*self_attn.(q|k|v)_proj$",
                weights(8, "channel", "float"),
                input_activations=activations(8, "float", strategy="token", dynamic=True),
            ),
            group("re:.*(gate|up)_proj$", NVFP4),
            group("Linear", weights(4, "group", group_size=16)),
        ],
        shards="5KB",
    ),
}


def tokenizer():
    words = Tokenizer(models.WordLevel({c: i for i, c in enumerate("abcdefgh")}, unk_token="a"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=words, unk_token="a", pad_token="b")


def fresh_model(case, folder):
    """A random model, loaded from a folder as llm-compressor wants it."""
    torch.manual_seed(7)
    hidden = case.get("hidden", 32)
    config = LlamaConfig(
        vocab_size=8,
        hidden_size=hidden,
        intermediate_size=case.get("inner", 32),
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=hidden // 2,
        max_position_embeddings=32,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 2:
                # Rows of different size, one of them zero, one shifted off zero.
                rows = torch.linspace(-4, 4, weight.shape[0]).exp().unsqueeze(1)
                weight.mul_(rows)
                weight[1] = 0.0
                weight[2] += weight[2].abs().max() * 1.5
    model = model.to(case.get("dtype", torch.bfloat16))
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return AutoModelForCausalLM.from_pretrained(folder, dtype="auto")


def write(case, out):
    with tempfile.TemporaryDirectory() as scratch:
        model = fresh_model(case, f"{scratch}/dense")
        cache = activations(8, "float", strategy="tensor", dynamic=False)
        recipe = QuantizationModifier(
            config_groups={f"group_{i}": g for i, g in enumerate(case["groups"])},
            ignore=["lm_head"],
            **({"kv_cache_scheme": cache} if case.get("cache") else {}),
        )
        data = {}
        if case.get("calibrate"):
            rows = torch.randint(0, 8, (4, 16)).tolist()
            data = dict(
                dataset=Dataset.from_dict({"input_ids": rows, "attention_mask": [[1] * 16] * 4}),
                num_calibration_samples=4,
                max_seq_length=16,
            )
        oneshot(model=model, tokenizer=tokenizer(), recipe=recipe, **data)
        more = {"max_shard_size": case["shards"]} if "shards" in case else {}
        if "format" in case:
            more["quantization_format"] = case["format"]
        model.save_pretrained(f"{scratch}/saved", save_compressed=True, **more)
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        for file in sorted(Path(f"{scratch}/saved").iterdir()):
            if file.suffix == ".safetensors" or file.name in ("config.json", "model.safetensors.index.json"):
                shutil.copy(file, out)


def stored(folder):
    tensors = {}
    for file in sorted(folder.glob("model*.safetensors")):
        with safe_open(file, "pt") as f:
            tensors.update({name: f.get_tensor(name) for name in f.keys()})
    return tensors


def quantized(tensors):
    """The modules that are stored quantized."""
    names = [n.removesuffix(".weight_scale") for n in tensors if n.endswith(".weight_scale")]
    return sorted(names)


def scheme_of(config, module):
    """The group of a module: by name or pattern first, by class otherwise."""
    groups = list(config.config_groups.values())
    named = [g for g in groups if any(match_name(module, target) for target in g.targets)]
    return (named or [g for g in groups if "Linear" in g.targets])[0]


def widened(tensors, module, scheme):
    """One module by the library's own functions, with scales widened to f32 first."""
    prefix = module + "."
    state = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    form = getattr(scheme.format, "value", scheme.format)
    if form in ("nvfp4-pack-quantized", "mxfp4-pack-quantized"):
        packed, scale = state["weight_packed"], state["weight_scale"]
        codes = unpack_fp4_from_uint8(packed, packed.shape[0], packed.shape[1] * 2, torch.float32)
        scale = scale.float() if form.startswith("nv") else decompress_mx_scale(scale).float()
        return dequantize(
            codes, scale, args=scheme.weights, dtype=torch.float32, global_scale=state.get("weight_global_scale")
        )
    if form == "mxfp8-quantized":
        form, scale = "naive-quantized", decompress_mx_scale(state["weight_scale"])
        state["weight_scale"] = scale
    state["weight_scale"] = state["weight_scale"].float()
    return BaseCompressor.get_value_from_registry(form).decompress(state, scheme)["weight"]


def expect(case, out):
    tensors = stored(out)
    names = quantized(tensors)
    model = AutoModelForCausalLM.from_pretrained(
        out, dtype="auto", quantization_config=CompressedTensorsConfig(run_compressed=False)
    )
    decoded = model.state_dict()
    expected = {f"{n}.weight": decoded[f"{n}.weight"].contiguous() for n in names}
    record(out, "compressed-tensors", CT, f"llm-compressor {LLMC}, oneshot, save_pretrained")
    save_file(expected, out / "expected.safetensors")
    config = json.loads((out / "config.json").read_text())["quantization_config"]
    config = QuantizationConfig.model_validate(config)
    wide = {}
    for name in names if len(case["groups"]) > 1 else names[:1]:
        scheme = scheme_of(config, name)
        wide[f"{name}.weight"] = widened(tensors, name, scheme).contiguous()
        assert wide[f"{name}.weight"].dtype == torch.float32
    save_file(wide, out / "expected-f32.safetensors")


def experts(out):
    """Stacked experts: no module class holds them, so the compressor is called itself."""
    torch.manual_seed(9)
    args = QuantizationArgs(num_bits=4, group_size=16, strategy="group", symmetric=False)
    scheme = QuantizationScheme(targets=["re:.*experts.*"], weights=args, format="pack-quantized")
    compressor = BaseCompressor.get_value_from_registry("pack-quantized")
    stored, expected, wide = {}, {}, {}
    for name, rows in [("model.layers.0.mlp.experts.gate_up_proj", 20), ("model.layers.0.mlp.experts.down_proj", 12)]:
        weight = torch.randn(3, rows, 32, dtype=torch.bfloat16) + torch.arange(3).reshape(3, 1, 1)
        groups = weight.unflatten(-1, (2, 16))
        scale, zero = calculate_qparams(groups.amin(-1), groups.amax(-1), args)
        state = {"weight": weight, "weight_scale": scale, "weight_zero_point": zero.to(torch.int8)}
        state = compressor.compress(state, scheme)
        stored.update({f"{name}.{k}": v.contiguous() for k, v in state.items()})
        expected[f"{name}.weight"] = compressor.decompress(state, scheme)["weight"].contiguous()
        state["weight_scale"] = scale.float()
        wide[f"{name}.weight"] = compressor.decompress(state, scheme)["weight"].contiguous()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    save_file(stored, out / "model.safetensors", metadata={"format": "pt"})
    record(out, "compressed-tensors", CT, f"compressed-tensors {CT}, its compressor; laid out after its loader")
    save_file(expected, out / "expected.safetensors")
    save_file(wide, out / "expected-f32.safetensors")
    config = QuantizationConfig(config_groups={"group_0": scheme}, format="pack-quantized", quantization_status="compressed")
    config = json.loads(config.model_dump_json()) | {"version": "0.19.0", "quant_method": "compressed-tensors"}
    (out / "config.json").write_text(json.dumps({"model_type": "moe", "dtype": "bfloat16", "quantization_config": config}, indent=2))


if __name__ == "__main__":
    for name, case in CASES.items():
        out = ROOT / "tests/files/compressed" / name
        if ONLY and name not in ONLY:
            continue
        print(name)
        write(case, out)
        expect(case, out)
    if not ONLY or "experts" in ONLY:
        experts(ROOT / "tests/files/compressed/experts")
