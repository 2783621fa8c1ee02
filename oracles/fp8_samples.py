"""Writes tests/files/fp8: small models in 8-bit floats, as the libraries that own them write them.

Each case is a folder with the model in its real layout, `expected.safetensors` (every logical
weight as the canonical library decodes it, in its native type) and `expected-f32.safetensors`
(the same library run with an output type, and scales, of f32).

    hf-*        transformers 5.22.2, Fp8Quantize and Fp8Dequantize
    fbgemm      transformers 5.22.2, FbgemmFp8Quantize for the layout of Llama 4's experts; the
                rows are quantized by a stand-in for its CUDA kernel, and decoded by torch
    mistral     names of Mistral's files, values by Fp8Quantize and Fp8Dequantize
    modelopt-*  nvidia-modelopt 0.47.0, to_quantized_weight, from_quantized_weight, FP8QTensor, MXFP8QTensor
    comfy-*     comfy-kitchen 0.2.40, quantize_per_tensor_fp8 and dequantize_per_tensor_fp8
    fnuz        torch's casts of both FNUZ types, Fp8Dequantize
    int8-block  blockwise_int8: Fp8Dequantize on the codes as f32 (no library decodes it on a CPU)

Partial blocks: Fp8Dequantize refuses them, so the weight is filled up to whole blocks, quantized,
decoded, and both are cut. FP8QTensor does the same by itself.
"""

import json
import os
import shutil
import sys
import types

import torch
from safetensors.torch import save_file

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

    def save(self, file="model.safetensors", shards=None):
        if shards is None:
            self.write(file, self.stored)
        else:
            self.save_shards(shards)
        expected = {k: v.clone().contiguous() for k, v in self.native.items()}
        save_file(expected, os.path.join(self.folder, "expected.safetensors"))
        wide = {k: (v.float() if v.is_floating_point() else v).clone().contiguous() for k, v in self.wide.items()}
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


def hf(block, scale_fmt="float"):
    config = types.SimpleNamespace(weight_block_size=block, scale_fmt=scale_fmt)
    return types.SimpleNamespace(quantization_config=config)


def dequantize(codes, scale, dtype):
    return Fp8Dequantize(hf(None))._dequantize_one(codes, scale, output_dtype=dtype)


def filled(x, block):
    """Zeros up to whole blocks."""
    rows, columns = x.shape[-2:]
    right, below = -columns % block[1], -rows % block[0]
    return torch.nn.functional.pad(x, (0, right, 0, below))


def hf_blocks(case, name, x, block, scale_name, scale_fmt="float", scale_dtype=None, pad_cells=(0, 0)):
    """Fp8Quantize on whole blocks, cut to the weight's sides."""
    rows, columns = x.shape[-2:]
    key = "w.weight"
    # More cells than needed: of rows and columns that are then cut away, like those of partial blocks.
    whole = filled(x, block)
    noise = randn(*[s for s in whole.shape[:-2]], whole.shape[-2] + pad_cells[0] * block[0], whole.shape[-1] + pad_cells[1] * block[1], seed=99)
    noise[..., : whole.shape[-2], : whole.shape[-1]] = whole
    made = Fp8Quantize(hf(block, scale_fmt))._quantize_one(key, noise)
    codes, scale = made[key], made["w.weight_scale_inv"]
    if scale_dtype is not None:
        scale = scale.to(scale_dtype)
    native = dequantize(codes, scale, case.dtype)[..., :rows, :columns]
    wide = dequantize(codes, scale, F32)[..., :rows, :columns]
    case.weight(name, codes[..., :rows, :columns], scale_name, scale, native, wide)


def q_scale(x, codes_dtype=torch.float8_e4m3fn, dim=None):
    """Largest magnitude over the type's largest number."""
    most = torch.finfo(codes_dtype).max
    amax = x.abs().amax() if dim is None else x.abs().amax(dim=dim, keepdim=True)
    return amax / most


def encode(x, scale, dtype=torch.float8_e4m3fn):
    most = torch.finfo(dtype).max
    return (x / scale.float()).clamp(-most, most).to(dtype)


def by_torch(codes, scale, dtype):
    return dequantize(codes, scale, dtype)


def hf_block():
    case = Case("hf-block")
    block = [16, 32]
    layer = "model.layers.0."
    case.plain("model.embed_tokens.weight", randn(8, 16, seed=1).to(BF16))
    hf_blocks(case, layer + "self_attn.q_proj.weight", randn(48, 64, seed=2), block, layer + "self_attn.q_proj.weight_scale_inv")
    # Partial last blocks on both sides.
    hf_blocks(case, layer + "self_attn.kv_a_proj_with_mqa.weight", randn(36, 72, seed=3), block, layer + "self_attn.kv_a_proj_with_mqa.weight_scale_inv")
    # A matrix smaller than a block.
    hf_blocks(case, layer + "self_attn.o_proj.weight", randn(7, 9, seed=4), block, layer + "self_attn.o_proj.weight_scale_inv")
    # A grid with more cells than needed: 3 row blocks stored as 4, 3 column blocks as 4.
    hf_blocks(case, layer + "mlp.down_proj.weight", randn(40, 80, seed=5), block, layer + "mlp.down_proj.weight_scale_inv", pad_cells=(1, 1))
    # Scales in other types.
    hf_blocks(case, layer + "mlp.up_proj.weight", randn(32, 32, seed=6), block, layer + "mlp.up_proj.weight_scale_inv", scale_dtype=BF16)
    hf_blocks(case, layer + "mlp.gate_proj.weight", randn(32, 33, seed=7), block, layer + "mlp.gate_proj.weight_scale_inv", scale_dtype=F16)
    # Experts in one tensor, with partial blocks.
    hf_blocks(case, layer + "mlp.experts.gate_up_proj", randn(3, 24, 40, seed=8), block, layer + "mlp.experts.gate_up_proj_scale_inv")
    case.unused(layer + "self_attn.q_proj.activation_scale", torch.tensor(0.5))
    case.unused(layer + "mlp.down_proj.input_scale", torch.tensor(0.25))
    case.plain(layer + "input_layernorm.weight", randn(16, seed=9).to(BF16))
    case.plain("lm_head.weight", randn(8, 16, seed=10).to(BF16))
    case.config({"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": block, "modules_to_not_convert": ["lm_head"]}, "deepseek_v3")
    # Scales of the attention lie in the other file.
    case.save(shards=lambda name: int("self_attn" in name and "scale" in name or "lm_head" in name))


def hf_block_128():
    case = Case("hf-block-128")
    name = "model.layers.0.mlp.down_proj.weight"
    hf_blocks(case, name, randn(129, 66, seed=11), [128, 128], name + "_scale_inv")
    quantization = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
    case.json("config.json", {"model_type": "qwen3_vl", "text_config": {"torch_dtype": "bfloat16", "quantization_config": quantization}})
    case.save()


def hf_ue8m0():
    case = Case("hf-ue8m0")
    block = [32, 32]
    for seed, (name, shape) in enumerate({"model.layers.0.mlp.up_proj.weight": (64, 96), "model.layers.0.mlp.down_proj.weight": (33, 40)}.items()):
        hf_blocks(case, name, randn(*shape, seed=20 + seed), block, name + "_scale_inv", "ue8m0")
    # The smallest power of two, which is not zero.
    name = "model.layers.0.mlp.gate_proj.weight"
    codes = encode(randn(32, 64, seed=24), torch.tensor(0.001))
    scale = torch.tensor([[0, 254]], dtype=torch.uint8).view(torch.float8_e8m0fnu)
    case.weight(name, codes, name + "_scale_inv", scale, dequantize(codes, scale, BF16), dequantize(codes, scale, F32))
    case.config({"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": block, "scale_fmt": "ue8m0"}, "deepseek_v32")
    case.save()


def deepseek_v4():
    case = Case("deepseek-v4")
    block = [16, 16]
    name = "layers.0.attn.wq_a.weight"
    hf_blocks(case, name, randn(40, 48, seed=30), block, "layers.0.attn.wq_a.scale", "ue8m0")
    # Base variants keep their experts in FP8.
    name = "layers.0.ffn.experts.0.w1.weight"
    hf_blocks(case, name, randn(24, 32, seed=31), block, "layers.0.ffn.experts.0.w1.scale", "ue8m0")
    case.plain("layers.0.hc_attn_scale", torch.tensor([1.0, 2.0, 3.0]))
    case.config({"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "scale_fmt": "ue8m0", "weight_block_size": block}, "deepseek_v4", expert_dtype="fp8")
    case.save()


def hf_tensor():
    """Per tensor, per channel and per row group, without a block size."""
    case = Case("hf-tensor", F16)
    p = "model.layers.0."
    x = randn(12, 20, seed=40)
    s = q_scale(x)
    codes = encode(x, s)
    case.weight(p + "a.weight", codes, p + "a.weight_scale_inv", s, by_torch(codes, s, F16), by_torch(codes, s, F32))
    x = randn(12, 20, seed=41)
    s = q_scale(x).reshape(1)
    codes = encode(x, s)
    case.weight(p + "b.weight", codes, p + "b.weight_scale", s, by_torch(codes, s.reshape(1, 1), F16), by_torch(codes, s.reshape(1, 1), F32))
    for index, (dtype, flat) in enumerate([(F32, False), (F32, True), (BF16, False), (F16, True)]):
        name = p + f"channel{index}.weight"
        x = randn(12, 20, seed=42 + index)
        s = q_scale(x, dim=1).to(dtype)
        codes = encode(x, s)
        stored = s.reshape(-1) if flat else s
        case.weight(name, codes, name + "_scale", stored, by_torch(codes, s, F16), by_torch(codes, s, F32))
    # Square: the scales belong to the outputs.
    name = p + "square.weight"
    x = randn(16, 16, seed=48)
    s = q_scale(x, dim=1)
    codes = encode(x, s)
    case.weight(name, codes, name + "_scale", s.reshape(-1), by_torch(codes, s, F16), by_torch(codes, s, F32))
    # Groups of 16 along each row.
    name = p + "groups.weight"
    x = randn(6, 64, seed=49)
    s = q_scale(x.reshape(6, 4, 16), dim=2).reshape(6, 4)
    codes = encode(x, s.repeat_interleave(16, dim=1))
    case.weight(name, codes, name + "_scale", s, by_torch(codes, s, F16), by_torch(codes, s, F32))
    # Experts: one scale each, and one for each output.
    name = p + "experts.down_proj"
    x = randn(3, 8, 12, seed=50)
    s = x.abs().amax(dim=(1, 2)) / 448
    codes = encode(x, s[:, None, None])
    grid = s[:, None, None]
    case.weight(name, codes, name + "_scale", s, by_torch(codes, grid, F16), by_torch(codes, grid, F32))
    name = p + "experts.gate_up_proj"
    x = randn(3, 8, 12, seed=51)
    s = q_scale(x, dim=2)
    codes = encode(x, s)
    case.weight(name, codes, name + "_scale", s.reshape(3, 8), by_torch(codes, s, F16), by_torch(codes, s, F32))
    # A scale of nought is legal.
    name = p + "nought.weight"
    codes = encode(randn(4, 8, seed=52), torch.tensor(0.001))
    s = torch.tensor([[0.0], [1.5], [0.0], [2.5]])
    case.weight(name, codes, name + "_scale", s, by_torch(codes, s, F16), by_torch(codes, s, F32))
    for unused in ["a.activation_scale", "b.input_scale", "self_attn.k_proj.k_scale"]:
        case.unused(p + unused, torch.tensor(0.5))
    name = p + "self_attn.k_proj.weight"
    x = randn(6, 10, seed=53)
    s = q_scale(x)
    codes = encode(x, s)
    case.weight(name, codes, name + "_scale", s, by_torch(codes, s, F16), by_torch(codes, s, F32))
    case.unused(p + "self_attn.v_scale", torch.tensor(0.5))
    case.config({"quant_method": "fp8", "activation_scheme": "static", "weight_block_size": None})
    case.save()


def mistral():
    case = Case("mistral")
    p = "layers.0.attention."
    for index, name in enumerate(["wq", "wk"]):
        x = randn(12, 16, seed=60 + index)
        s = q_scale(x).to(BF16)
        codes = encode(x, s)
        case.weight(p + name + ".weight", codes, p + name + ".qscale_weight", s, dequantize(codes, s, None), dequantize(codes, s, F32))
        case.unused(p + name + ".qscale_act", torch.tensor(0.5, dtype=BF16))
    case.unused(p + "kv_fake_quantizer.qscale_act", torch.tensor(0.5, dtype=BF16))
    hf_blocks(case, "layers.0.feed_forward.w1.weight", randn(32, 64, seed=62), [16, 16], "layers.0.feed_forward.w1.qscale_weight", scale_dtype=BF16)
    case.plain("norm.weight", randn(16, seed=63).to(BF16))
    case.json("params.json", {"dim": 16, "n_layers": 1, "quantization": {"qformat_weight": "fp8_e4m3", "qscheme_act": "TENSOR"}})
    case.save("consolidated.safetensors")


def fbgemm():
    from transformers.integrations import fbgemm_fp8 as library

    def rows(x, *_):
        """Stand-in for the CUDA kernel: a scale for each row."""
        s = x.float().abs().amax(dim=1) / 448
        return encode(x.float(), s[:, None]), s

    library.quantize_fp8_per_row = rows
    case = Case("fbgemm")
    p = "language_model.model.layers.1.feed_forward."

    class Experts(library.FbgemmFp8Llama4TextExperts):
        def __init__(self):
            torch.nn.Module.__init__(self)
            self.gate_up_proj = self.down_proj = None

    model = torch.nn.Module()
    model.experts = Experts()
    model.linear = torch.nn.Linear(1, 1)
    quantize = library.FbgemmFp8Quantize(None)
    sources = {
        "linear.weight": randn(10, 12, seed=70),
        "experts.gate_up_proj": randn(2, 6, 10, seed=71),
        # As wide as it is high: only the method says which dimension the scales belong to.
        "experts.down_proj": randn(2, 8, 8, seed=72),
    }
    for name, x in sources.items():
        made = quantize.convert({name: [x]}, model=model)
        codes, scale = made[name].data, made[name + "_scale"].data
        # Every output has its scale: rows of a linear layer, columns of an expert's parameter.
        grid = scale if x.dim() == 2 else scale.reshape(x.shape[0], 1, x.shape[2])
        product = codes.float() * grid
        relative = (product - x).abs().max() / x.abs().max()
        assert relative < 0.1, (name, relative)
        case.weight(p + name, codes, p + name + "_scale", scale, product.to(BF16), product)
    case.config({"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0, "modules_to_not_convert": []}, "llama4")
    case.save()


def modelopt():
    from modelopt.torch.export.quant_utils import from_quantized_weight, to_quantized_weight
    from modelopt.torch.quantization.qtensor import FP8QTensor, MXFP8QTensor

    p = "model.layers.0.mlp."
    hub = lambda algorithm, **more: {
        "producer": {"name": "modelopt", "version": "0.47.0"},
        "quantization": {"quant_algo": algorithm, "kv_cache_quant_algo": None, "exclude_modules": ["lm_head"], **more},
    }
    for folder, dtype in [("modelopt-fp8", BF16), ("modelopt-fp8-f16", F16)]:
        case = Case(folder, dtype)
        for index, name in enumerate(["up_proj", "down_proj"]):
            x = randn(16, 24, seed=80 + index).to(dtype)
            s = q_scale(x.float())
            codes = to_quantized_weight(x, s, "fp8")
            both = [from_quantized_weight(codes, s, "fp8", t) for t in (dtype, F32)]
            case.weight(f"{p}{name}.weight", codes, f"{p}{name}.weight_scale", s, *both)
            case.unused(f"{p}{name}.input_scale", torch.tensor(0.5))
        case.plain("lm_head.weight", randn(4, 8, seed=83).to(dtype))
        case.json("config.json", {"model_type": "llama", "torch_dtype": str(dtype).removeprefix("torch.")})
        case.json("hf_quant_config.json", hub("FP8"))
        case.save()

    case = Case("modelopt-channel")
    x = randn(16, 24, seed=84).to(BF16)
    s = q_scale(x.float(), dim=1).reshape(-1)
    codes = to_quantized_weight(x, s, "fp8_pc_pt")
    wrapped = FP8QTensor(codes.shape, BF16, codes)
    both = [wrapped.dequantize(t, scale=s[:, None]) for t in (BF16, F32)]
    case.weight(p + "up_proj.weight", codes, p + "up_proj.weight_scale", s, *both)
    # Experts of one tensor, with ModelOpt's names.
    x = randn(2, 8, 12, seed=85).to(BF16)
    s = q_scale(x.float(), dim=2).reshape(2, 8)
    codes = to_quantized_weight(x, s, "fp8_pc_pt")
    wrapped = FP8QTensor(codes.shape, BF16, codes)
    both = [wrapped.dequantize(t, scale=s[:, :, None]) for t in (BF16, F32)]
    case.weight(p + "experts.gate_up_proj", codes, p + "experts.gate_up_proj_weight_scale", s, *both)
    case.unused(p + "experts.gate_up_proj_input_scale", torch.tensor(0.5))
    case.config({"quant_method": "modelopt", "quant_algo": "FP8_PER_CHANNEL_PER_TOKEN", "producer": {"name": "modelopt", "version": "0.47.0"}})
    case.save()

    case = Case("modelopt-block")
    blocks = {-1: 16, -2: 16}
    for index, (name, shape, squeezed) in enumerate([("up_proj", (32, 48), False), ("down_proj", (40, 24), True)]):
        x = randn(*shape, seed=86 + index).to(BF16)
        made, s = FP8QTensor.quantize(x, block_sizes=blocks)
        s = s.float()
        codes = made._quantized_data
        wrapped = FP8QTensor(codes.shape, BF16, codes)
        both = [wrapped.dequantize(t, scale=s, block_sizes=blocks) for t in (BF16, F32)]
        stored = s if squeezed else s[:, None, :, None]
        case.weight(f"{p}{name}.weight", codes, f"{p}{name}.weight_scale", stored, *both)
    case.json("config.json", {"model_type": "llama", "torch_dtype": "bfloat16"})
    case.json("hf_quant_config.json", hub("FP8_PB_WO", group_size=16))
    case.save()

    case = Case("modelopt-mxfp8")
    for index, (name, shape) in enumerate([("up_proj.weight", (8, 96)), ("experts.down_proj", (2, 4, 64))]):
        x = randn(*shape, seed=88 + index).to(BF16)
        s = MXFP8QTensor.get_weights_scaling_factor(x)
        codes = MXFP8QTensor.quantize_with_scale(x, s)
        wrapped = MXFP8QTensor(x.shape, BF16, codes)
        both = [wrapped.dequantize(t, scale=s) for t in (BF16, F32)]
        ending = "_scale" if name.endswith(".weight") else "_weight_scale"
        case.weight(p + name, codes, p + name + ending, s, *both)
    case.json("config.json", {"model_type": "llama", "torch_dtype": "bfloat16"})
    case.json("hf_quant_config.json", hub("MXFP8", group_size=32))
    case.save()


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
        case.save("flux-fp8.safetensors")

    case = Case("comfy-quant")
    case.metadata = {}
    for index, (name, dtype) in enumerate([("blocks.0.q", torch.float8_e4m3fn), ("blocks.0.k", torch.float8_e5m2)]):
        layer(case, f"{name}.weight", randn(16, 12, seed=95 + index), dtype, f"{name}.weight_scale")
        text = json.dumps({"format": str(dtype).removeprefix("torch.")}).encode()
        case.unused(f"{name}.comfy_quant", torch.tensor(list(text), dtype=torch.uint8))
        case.unused(f"{name}.input_scale", torch.tensor(1.0))
    case.save("wan-fp8.safetensors")

    case = Case("comfy-mxfp8")
    case.metadata = {}
    # More than one tile down, then across, the last one partial; a group of noughts.
    for index, (name, shape) in enumerate([("blocks.0.q", (131, 32)), ("blocks.0.k", (37, 160))]):
        x = randn(*shape, seed=98 + index).to(BF16)
        x[3, :32] = 0
        with comfy_kitchen.use_backend("eager"):
            codes, s = comfy_kitchen.quantize_mxfp8(x)
            both = [comfy_kitchen.dequantize_mxfp8(codes, s, t) for t in (BF16, F32)]
        case.weight(name + ".weight", codes, name + ".weight_scale", s, *both)
        text = json.dumps({"format": "mxfp8"}).encode()
        case.unused(name + ".comfy_quant", torch.tensor(list(text), dtype=torch.uint8))
    case.save("flux-mxfp8.safetensors")

    case = Case("comfy-metadata")
    layers = {"blocks.0.q": {"format": "float8_e4m3fn"}}
    case.metadata = {"_quantization_metadata": json.dumps({"format_version": "1.0", "layers": layers})}
    layer(case, "blocks.0.q.weight", randn(16, 12, seed=97), torch.float8_e4m3fn, "blocks.0.q.weight_scale")
    case.save("qwen-image-fp8.safetensors")


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
    case.save()


def plain_fp8():
    """Without any scale the elements are what they are."""
    case = Case("plain")
    case.metadata = {}
    for index, dtype in enumerate([torch.float8_e4m3fn, torch.float8_e5m2]):
        case.plain(f"blocks.{index}.weight", randn(8, 12, seed=110 + index).to(dtype))
    case.save("wan-fp8-unscaled.safetensors")


def int8_block():
    case = Case("int8-block")
    block = [16, 16]
    for index, shape in enumerate([(32, 48), (20, 40)]):
        name = f"model.layers.{index}.mlp.up_proj.weight"
        x = filled(randn(*shape, seed=120 + index), block)
        rows, columns = x.shape[0] // 16, x.shape[1] // 16
        s = x.reshape(rows, 16, columns, 16).abs().amax(dim=(1, 3)) / 127
        wide_s = s.repeat_interleave(16, 0).repeat_interleave(16, 1)
        codes = (x / wide_s).round().clamp(-128, 127)
        codes[0, 0] = -128
        # As they are stored: whole numbers have no negative nought.
        codes = codes.to(torch.int8).float()
        both = [dequantize(codes, s, t)[: shape[0], : shape[1]] for t in (BF16, F32)]
        case.weight(name, codes[: shape[0], : shape[1]].to(torch.int8), name + "_scale_inv", s, *both)
    case.config({"quant_method": "blockwise_int8", "activation_scheme": "dynamic", "weight_block_size": block}, "deepseek_v3")
    case.save()


every = [hf_block, hf_block_128, hf_ue8m0, deepseek_v4, hf_tensor, mistral, fbgemm, modelopt, comfy, fnuz, plain_fp8, int8_block]
for make in every:
    make()
