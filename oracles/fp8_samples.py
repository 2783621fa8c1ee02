"""Writes those of tests/files/fp8 that no library writes on a CPU: laid out as their loaders read
them, and decoded by an implementation that is not ours. fp8_written.py writes the others.

Each case is a folder with the model in its real layout, `expected.safetensors` (every logical
weight decoded, in the native type) and `expected-f32.safetensors` (the same in f32, in large cases
of the smaller weights only).

    edges         blocks: partial ones on both sides, padded grids, experts, scales of other types
    hf-block-128  the block size that files have, the last blocks partial
    edges-ue8m0   the same with powers of two, both ends of their range among them
    edges-scales  a number for the tensor, each row ([N] and [N, 1]), group, expert, expert's row
    deepseek-v4, mistral, int8-block (Meituan's), fnuz (AMD's), comfy-scaled, comfy-metadata
                  published files have these layouts; the scripts that made them are not public or
                  need a GPU
    plain         no scales

Decoders: SGLang 0.5.23 `block_quant_dequant` and (INT8) `block_dequant`, which take partial blocks;
llama.cpp b21e4de7 `dequant_simple` of its converter for single numbers and rows; transformers
5.22.2 `Fp8Dequantize`; comfy-kitchen 0.2.40. The first two are plain functions in packages that
do not import here, so they are taken out of their source: `SGLANG` and `LLAMA_CPP` in the
environment are folders with an unpacked sglang wheel and with llama.cpp's `conversion`. They end
in f32, or round the product once.
"""

import ast
import json
import os
import shutil
import sys
import types

import torch
from safetensors.torch import save_file

from provenance import record
from transformers.integrations.finegrained_fp8 import Fp8Dequantize, Fp8Quantize

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "../tests/files/fp8")
BF16, F16, F32 = torch.bfloat16, torch.float16, torch.float32


class Case:
    """One folder."""

    def __init__(self, name, dtype=BF16):
        self.folder = os.path.join(OUT, name)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.dtype = dtype
        self.stored, self.native, self.wide = {}, {}, {}
        self.metadata = {"format": "pt"}

    def plain(self, name, tensor):
        self.stored[name] = self.native[name] = self.wide[name] = tensor

    def unused(self, name, tensor):
        self.stored[name] = tensor

    def weight(self, name, codes, scale_name, scale, native, wide):
        self.stored[name], self.stored[scale_name] = codes, scale
        self.native[name], self.wide[name] = native, wide
        if not codes.is_floating_point() or codes.numel() < 32:
            return
        # A wrong type, a forgotten scale or a wrong grid must show.
        assert not torch.equal(native.float(), codes.float()), name

    def json(self, name, document):
        with open(os.path.join(self.folder, name), "w") as out:
            json.dump(document, out, indent=1)
            out.write("\n")

    def config(self, quantization, model_type="llama", **more):
        kind = {BF16: "bfloat16", F16: "float16", F32: "float32"}[self.dtype]
        document = {"model_type": model_type, "torch_dtype": kind, **more}
        document["quantization_config"] = quantization
        self.json("config.json", document)

    def save(self, decoder, writer, file="model.safetensors", shards=None):
        record(self.folder, *decoder, writer)
        if shards is None:
            self.write(file, self.stored)
        else:
            self.save_shards(shards)
        expected = {k: v.clone().contiguous() for k, v in self.native.items()}
        save_file(expected, os.path.join(self.folder, "expected.safetensors"))
        some = [k for k in self.wide if len(self.wide) < 6 or self.wide[k].numel() < 600]
        wide = {k: (v.float() if v.is_floating_point() else v).clone().contiguous() for k, v in self.wide.items() if k in some}
        save_file(wide, os.path.join(self.folder, "expected-f32.safetensors"))

    def write(self, file, tensors):
        tensors = {k: v.clone().contiguous() for k, v in tensors.items()}
        save_file(tensors, os.path.join(self.folder, file), metadata=self.metadata)

    def save_shards(self, second):
        """Two files; `second` says which names go into the other one."""
        files = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
        where = {name: files[second(name)] for name in self.stored}
        for file in files:
            self.write(file, {k: v for k, v in self.stored.items() if where[k] == file})
        size = sum(t.numel() * t.element_size() for t in self.stored.values())
        self.json("model.safetensors.index.json", {"metadata": {"total_size": size}, "weight_map": where})


def randn(*shape, seed=0, spread=True):
    """Numbers whose size differs from row to row and column to column, so that scales do too."""
    generator = torch.Generator().manual_seed(seed + sum(shape) * 7919)
    x = torch.randn(*shape, generator=generator)
    if spread and len(shape) >= 2:
        x = x * torch.exp(0.5 * torch.randn(*shape[:-1], 1, generator=generator))
        x = x * torch.exp(0.5 * torch.randn(shape[-1], generator=generator))
    return x * 0.05


def function_of(path, name, **names):
    """A function out of a source file, without what the file imports."""
    tree = ast.parse(open(path).read())
    found = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name)
    scope = {"torch": torch, "List": list, "Sequence": list, "Tensor": torch.Tensor, **names}
    exec(compile(ast.Module([found], []), path, "exec"), scope)
    return scope[name]


KERNELS = os.path.join(os.environ["SGLANG"], "sglang/srt/layers/quantization")
block_quant_dequant = function_of(os.path.join(KERNELS, "fp8_utils.py"), "block_quant_dequant")
block_dequant = function_of(os.path.join(KERNELS, "int8_utils.py"), "block_dequant")
dequant_simple = function_of(os.path.join(os.environ["LLAMA_CPP"], "conversion/base.py"), "dequant_simple")
SGLANG = ("SGLang block_quant_dequant", "0.5.23")
LLAMA_CPP = ("llama.cpp dequant_simple", "b21e4de7")
FINE = ("transformers Fp8Dequantize", "5.22.2")
KITCHEN = ("comfy-kitchen dequantize_per_tensor_fp8", "0.2.40")
LAID_OUT = "laid out after the loader of {}, no CPU writer"


def hf(block, scale_fmt="float"):
    config = types.SimpleNamespace(weight_block_size=block, scale_fmt=scale_fmt)
    return types.SimpleNamespace(quantization_config=config)


def dequantize(codes, scale, dtype):
    return Fp8Dequantize(hf(None))._dequantize_one(codes, scale, output_dtype=dtype)


def simple(codes, scale, dtype):
    return dequant_simple(codes, scale).to(dtype)


def filled(x, block):
    """Zeros up to whole blocks."""
    rows, columns = x.shape[-2:]
    right, below = -columns % block[1], -rows % block[0]
    return torch.nn.functional.pad(x, (0, right, 0, below))


def hf_blocks(case, name, x, block, scale_name, scale_fmt="float", scale_dtype=None, pad_cells=(0, 0)):
    """Quantized by transformers on whole blocks, then cut to the weight's sides."""
    rows, columns = x.shape[-2:]
    key = "w.weight"
    # More cells than needed: of rows and columns that are then cut away, like those of partial blocks.
    whole = filled(x, block)
    noise = randn(*[s for s in whole.shape[:-2]], whole.shape[-2] + pad_cells[0] * block[0], whole.shape[-1] + pad_cells[1] * block[1], seed=99)
    noise[..., : whole.shape[-2], : whole.shape[-1]] = whole
    made = Fp8Quantize(hf(block, scale_fmt))._quantize_one(key, noise)
    codes, scale = made[key][..., :rows, :columns], made["w.weight_scale_inv"]
    if scale_dtype is not None:
        scale = scale.to(scale_dtype)
    both = [block_quant_dequant(codes, scale.float(), block, t) for t in (case.dtype, F32)]
    case.weight(name, codes, scale_name, scale, *both)


def q_scale(x, codes_dtype=torch.float8_e4m3fn, dim=None):
    """Largest magnitude over the type's largest number."""
    most = torch.finfo(codes_dtype).max
    amax = x.abs().amax() if dim is None else x.abs().amax(dim=dim, keepdim=True)
    return amax / most


def encode(x, scale, dtype=torch.float8_e4m3fn):
    most = torch.finfo(dtype).max
    return (x / scale.float()).clamp(-most, most).to(dtype)


def edges():
    case = Case("edges")
    block = [8, 16]
    layer = "model.layers.0."
    case.plain("model.embed_tokens.weight", randn(8, 16, seed=1).to(BF16))
    hf_blocks(case, layer + "self_attn.q_proj.weight", randn(24, 32, seed=2), block, layer + "self_attn.q_proj.weight_scale_inv")
    # Partial last blocks on both sides.
    hf_blocks(case, layer + "self_attn.kv_a_proj_with_mqa.weight", randn(18, 36, seed=3), block, layer + "self_attn.kv_a_proj_with_mqa.weight_scale_inv")
    # A matrix smaller than a block.
    hf_blocks(case, layer + "self_attn.o_proj.weight", randn(7, 9, seed=4), block, layer + "self_attn.o_proj.weight_scale_inv")
    # A grid with more cells than needed: 3 row blocks stored as 4, 3 column blocks as 4.
    hf_blocks(case, layer + "mlp.down_proj.weight", randn(20, 40, seed=5), block, layer + "mlp.down_proj.weight_scale_inv", pad_cells=(1, 1))
    # Scales in other types.
    hf_blocks(case, layer + "mlp.up_proj.weight", randn(16, 16, seed=6), block, layer + "mlp.up_proj.weight_scale_inv", scale_dtype=BF16)
    hf_blocks(case, layer + "mlp.gate_proj.weight", randn(16, 17, seed=7), block, layer + "mlp.gate_proj.weight_scale_inv", scale_dtype=F16)
    # Experts in one tensor, with partial blocks.
    hf_blocks(case, layer + "mlp.experts.gate_up_proj", randn(3, 12, 20, seed=8), block, layer + "mlp.experts.gate_up_proj_scale_inv")
    case.unused(layer + "self_attn.q_proj.activation_scale", torch.tensor(0.5))
    case.unused(layer + "mlp.down_proj.input_scale", torch.tensor(0.25))
    case.plain(layer + "input_layernorm.weight", randn(16, seed=9).to(BF16))
    case.plain("lm_head.weight", randn(8, 16, seed=10).to(BF16))
    case.config({"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": block, "modules_to_not_convert": ["lm_head"]}, "deepseek_v3")
    # Scales of the attention lie in the other file.
    case.save(SGLANG, LAID_OUT.format("transformers 5.22.2") + " for partial blocks", shards=lambda name: int("self_attn" in name and "scale" in name or "lm_head" in name))


def hf_block_128():
    case = Case("hf-block-128")
    name = "model.layers.0.mlp.down_proj.weight"
    hf_blocks(case, name, randn(129, 9, seed=11), [128, 128], name + "_scale_inv")
    quantization = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
    case.json("config.json", {"model_type": "qwen3_vl", "text_config": {"torch_dtype": "bfloat16", "quantization_config": quantization}})
    case.save(SGLANG, LAID_OUT.format("transformers 5.22.2") + " for partial blocks")


def edges_ue8m0():
    case = Case("edges-ue8m0")
    block = [16, 16]
    for seed, (name, shape) in enumerate({"model.layers.0.mlp.up_proj.weight": (32, 24), "model.layers.0.mlp.down_proj.weight": (17, 20)}.items()):
        hf_blocks(case, name, randn(*shape, seed=20 + seed), block, name + "_scale_inv", "ue8m0")
    # The smallest power of two, which is not zero.
    name = "model.layers.0.mlp.gate_proj.weight"
    codes = encode(randn(16, 32, seed=24), torch.tensor(0.001))
    scale = torch.tensor([[0, 254]], dtype=torch.uint8).view(torch.float8_e8m0fnu)
    case.weight(name, codes, name + "_scale_inv", scale, *[block_quant_dequant(codes, scale.float(), block, t) for t in (BF16, F32)])
    case.config({"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": block, "scale_fmt": "ue8m0"}, "deepseek_v32")
    case.save(SGLANG, LAID_OUT.format("transformers 5.22.2") + " for partial blocks")


def deepseek_v4():
    case = Case("deepseek-v4")
    block = [8, 8]
    name = "layers.0.attn.wq_a.weight"
    hf_blocks(case, name, randn(20, 24, seed=30), block, "layers.0.attn.wq_a.scale", "ue8m0")
    # Base variants keep their experts in FP8.
    name = "layers.0.ffn.experts.0.w1.weight"
    hf_blocks(case, name, randn(12, 16, seed=31), block, "layers.0.ffn.experts.0.w1.scale", "ue8m0")
    case.plain("layers.0.hc_attn_scale", torch.tensor([1.0, 2.0, 3.0]))
    case.config({"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "scale_fmt": "ue8m0", "weight_block_size": block}, "deepseek_v4", expert_dtype="fp8")
    case.save(SGLANG, LAID_OUT.format("transformers 5.22.2, deepseek_v4"))


def edges_scales():
    """Per tensor, per channel and per row group, without a block size."""
    case = Case("edges-scales", F16)
    p = "model.layers.0."
    x = randn(12, 20, seed=40)
    s = q_scale(x)
    codes = encode(x, s)
    case.weight(p + "a.weight", codes, p + "a.weight_scale_inv", s, simple(codes, s, F16), simple(codes, s, F32))
    x = randn(12, 20, seed=41)
    s = q_scale(x).reshape(1)
    codes = encode(x, s)
    case.weight(p + "b.weight", codes, p + "b.weight_scale", s, simple(codes, s, F16), simple(codes, s, F32))
    for index, (dtype, flat) in enumerate([(F32, False), (F32, True), (BF16, False), (F16, True)]):
        name = p + f"channel{index}.weight"
        x = randn(12, 20, seed=42 + index)
        s = q_scale(x, dim=1).to(dtype)
        codes = encode(x, s)
        stored = s.reshape(-1) if flat else s
        case.weight(name, codes, name + "_scale", stored, simple(codes, stored, F16), simple(codes, stored, F32))
    # Square: the scales belong to the outputs.
    name = p + "square.weight"
    x = randn(16, 16, seed=48)
    s = q_scale(x, dim=1)
    codes = encode(x, s)
    case.weight(name, codes, name + "_scale", s.reshape(-1), simple(codes, s.reshape(-1), F16), simple(codes, s.reshape(-1), F32))
    # Groups of 16 along each row.
    name = p + "groups.weight"
    x = randn(6, 64, seed=49)
    s = q_scale(x.reshape(6, 4, 16), dim=2).reshape(6, 4)
    codes = encode(x, s.repeat_interleave(16, dim=1))
    both = [block_quant_dequant(codes, s, [1, 16], t) for t in (F16, F32)]
    case.weight(name, codes, name + "_scale", s, *both)
    # Experts: one scale each, and one for each output.
    name = p + "experts.down_proj"
    x = randn(3, 8, 12, seed=50)
    s = x.abs().amax(dim=(1, 2)) / 448
    codes = encode(x, s[:, None, None])
    case.weight(name, codes, name + "_scale", s, simple(codes, s, F16), simple(codes, s, F32))
    name = p + "experts.gate_up_proj"
    x = randn(3, 8, 12, seed=51)
    s = q_scale(x, dim=2)
    codes = encode(x, s)
    case.weight(name, codes, name + "_scale", s.reshape(3, 8), simple(codes, s.reshape(3, 8), F16), simple(codes, s.reshape(3, 8), F32))
    name = p + "experts.up_proj"
    x = randn(2, 10, 6, seed=54)
    s = q_scale(x, dim=2).to(F16)
    codes = encode(x, s)
    case.weight(name, codes, name + "_scale", s, simple(codes, s, F16), simple(codes, s, F32))
    # A scale of nought is legal.
    name = p + "nought.weight"
    codes = encode(randn(4, 8, seed=52), torch.tensor(0.001))
    s = torch.tensor([[0.0], [1.5], [0.0], [2.5]])
    case.weight(name, codes, name + "_scale", s, simple(codes, s, F16), simple(codes, s, F32))
    for unused in ["a.activation_scale", "b.input_scale", "self_attn.k_proj.k_scale"]:
        case.unused(p + unused, torch.tensor(0.5))
    name = p + "self_attn.k_proj.weight"
    x = randn(6, 10, seed=53)
    s = q_scale(x)
    codes = encode(x, s)
    case.weight(name, codes, name + "_scale", s, simple(codes, s, F16), simple(codes, s, F32))
    case.unused(p + "self_attn.v_scale", torch.tensor(0.5))
    case.config({"quant_method": "fp8", "activation_scheme": "static", "weight_block_size": None})
    case.save(("llama.cpp dequant_simple; groups: SGLang block_quant_dequant", "b21e4de7; 0.5.23"), "laid out by hand in the spellings of published files, no CPU writer")


def mistral():
    case = Case("mistral")
    p = "layers.0.attention."
    for index, name in enumerate(["wq", "wk"]):
        x = randn(12, 16, seed=60 + index)
        s = q_scale(x).to(BF16)
        codes = encode(x, s)
        case.weight(p + name + ".weight", codes, p + name + ".qscale_weight", s, simple(codes, s, BF16), simple(codes, s, F32))
        case.unused(p + name + ".qscale_act", torch.tensor(0.5, dtype=BF16))
    case.unused(p + "kv_fake_quantizer.qscale_act", torch.tensor(0.5, dtype=BF16))
    hf_blocks(case, "layers.0.feed_forward.w1.weight", randn(16, 32, seed=62), [8, 8], "layers.0.feed_forward.w1.qscale_weight", scale_dtype=BF16)
    case.plain("norm.weight", randn(16, seed=63).to(BF16))
    case.json("params.json", {"dim": 16, "n_layers": 1, "quantization": {"qformat_weight": "fp8_e4m3", "qscheme_act": "TENSOR"}})
    case.save(("llama.cpp dequant_simple; blocks: SGLang block_quant_dequant", "b21e4de7; 0.5.23"), LAID_OUT.format("llama.cpp b21e4de7"), "consolidated.safetensors")


def comfy():
    import comfy_kitchen

    def layer(case, name, x, dtype, scale_name):
        s = (x.abs().amax() / torch.finfo(dtype).max).float()
        with comfy_kitchen.use_backend("eager"):
            codes = comfy_kitchen.quantize_per_tensor_fp8(x.to(BF16), s, dtype)
            both = [comfy_kitchen.dequantize_per_tensor_fp8(codes, s, t) for t in (BF16, F32)]
        case.weight(name, codes, scale_name, s, *both)

    p = "model.diffusion_model."
    for folder, dtype in [("comfy-scaled", torch.float8_e4m3fn), ("comfy-scaled-e5m2", torch.float8_e5m2)]:
        case = Case(folder)
        case.metadata = {}
        for index, name in enumerate(["double_blocks.0.img_attn.qkv", "double_blocks.0.img_attn.proj"]):
            layer(case, f"{p}{name}.weight", randn(24, 20, seed=90 + index), dtype, f"{p}{name}.scale_weight")
            case.unused(f"{p}{name}.scale_input", torch.tensor(1.0))
        # A convolution, and a layer that has no scale.
        layer(case, p + "img_in.weight", randn(6, 3, 2, 2, seed=92), dtype, p + "img_in.scale_weight")
        case.plain(p + "time_in.weight", randn(4, 8, seed=93).to(dtype))
        case.plain(p + "time_in.bias", randn(4, seed=94).to(BF16))
        case.unused(p + "scaled_fp8", torch.empty(0, dtype=dtype))
        case.save(KITCHEN, LAID_OUT.format("ComfyUI 0.7.0") + "; quantized by comfy-kitchen 0.2.40", "flux-fp8.safetensors")

    case = Case("comfy-metadata")
    layers = {"blocks.0.q": {"format": "float8_e4m3fn"}}
    case.metadata = {"_quantization_metadata": json.dumps({"format_version": "1.0", "layers": layers})}
    layer(case, "blocks.0.q.weight", randn(16, 12, seed=97), torch.float8_e4m3fn, "blocks.0.q.weight_scale")
    case.save(KITCHEN, LAID_OUT.format("ComfyUI 0.7.0") + "; quantized by comfy-kitchen 0.2.40", "qwen-image-fp8.safetensors")


def fnuz():
    """Files of AMD's accelerators."""
    case = Case("fnuz")
    for index, dtype in enumerate([torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e5m2]):
        name = f"model.layers.{index}.mlp.up_proj.weight"
        # Every code but those that are no finite number.
        codes = torch.arange(256, dtype=torch.uint8).view(dtype).reshape(16, 16)
        finite = torch.isfinite(codes.float())
        codes = torch.where(finite, codes.view(torch.uint8), 0).view(dtype)
        s = (0.01 * torch.exp(randn(16, 1, seed=100 + index, spread=False) * 10))
        case.weight(name, codes, name + "_scale", s, dequantize(codes, s, BF16), dequantize(codes, s, F32))
    case.config({"quant_method": "fp8", "activation_scheme": "dynamic"})
    case.save(FINE, "laid out by hand, codes by torch 2.15.0; no CPU writer")


def plain_fp8():
    """Without any scale the elements are what they are."""
    case = Case("plain")
    case.metadata = {}
    for index, dtype in enumerate([torch.float8_e4m3fn, torch.float8_e5m2]):
        case.plain(f"blocks.{index}.weight", randn(8, 12, seed=110 + index).to(dtype))
    case.save(("torch", "2.15.0"), "torch 2.15.0, a plain cast, safetensors 0.8.0", "wan-fp8-unscaled.safetensors")


def int8_block():
    case = Case("int8-block")
    block = [8, 8]
    for index, shape in enumerate([(16, 24), (10, 20)]):
        name = f"model.layers.{index}.mlp.up_proj.weight"
        x = filled(randn(*shape, seed=120 + index), block)
        rows, columns = x.shape[0] // 8, x.shape[1] // 8
        s = x.reshape(rows, 8, columns, 8).abs().amax(dim=(1, 3)) / 127
        wide_s = s.repeat_interleave(8, 0).repeat_interleave(8, 1)
        codes = (x / wide_s).round().clamp(-128, 127)
        codes[0, 0] = -128
        codes = codes.to(torch.int8)
        codes = codes[: shape[0], : shape[1]]
        both = [block_dequant(codes, s, block).to(t) for t in (BF16, F32)]
        case.weight(name, codes, name + "_scale_inv", s, *both)
    case.config({"quant_method": "blockwise_int8", "activation_scheme": "dynamic", "weight_block_size": block}, "deepseek_v3")
    case.save(("SGLang block_dequant", "0.5.23"), LAID_OUT.format("SGLang 0.5.23, blockwise_int8"))


every = [edges, hf_block_128, edges_ue8m0, deepseek_v4, edges_scales, mistral, comfy, fnuz, plain_fp8, int8_block]
for make in every:
    make()
