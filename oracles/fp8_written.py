"""Writes those of tests/files/fp8 that a library writes by itself on a CPU, and decodes there.

hf-*         transformers: FineGrainedFP8Config while loading, `save_pretrained`; decoded by loading
             the saved folder with `dequantize=True` in the model's type and in f32
fbgemm       transformers: FbgemmFp8Config while loading, `save_pretrained`. Its CUDA operator
             `quantize_fp8_per_row` is replaced by fbgemm-gpu-genai's function for the same work,
             which falls back to torch on a CPU. Decoded by the library's own layers: what their forward
             pass hands to the product of rows, by torch's product of scaled 8-bit floats with the
             unit matrix
modelopt-*   ModelOpt: `mtq.quantize`, `export_hf_checkpoint`; decoded by `from_quantized_weight`,
             `FP8QTensor` and `MXFP8QTensor`
comfy-quant, comfy-mxfp8
             ComfyUI's layer for e4m3, comfy-kitchen's tensors otherwise; decoded by comfy-kitchen

What is patched: the checks for a GPU in transformers, and the type that its class for Llama 4's
experts is made with under FbgemmFp8Config (it casts weights to 8-bit floats first, so that nothing
can quantize them). ModelOpt needs nothing. `FBGEMM` and
`COMFYUI` in the environment are folders with an unpacked fbgemm-gpu-genai 1.9.0 wheel and with
ComfyUI 0.7.0 (acbf08cd). Block sizes are small ones, so that small weights have several blocks.
"""

import contextlib
import copy
import glob
import json
import os
import shutil
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file

from provenance import record

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "../tests/files/fp8")
BF16, F16, F32 = torch.bfloat16, torch.float16, torch.float32
TRANSFORMERS, MODELOPT, KITCHEN = "5.22.2", "0.47.0", "0.2.40"


def fresh(case):
    folder = os.path.join(OUT, case)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def tensors_of(folder):
    tensors = {}
    for file in sorted(glob.glob(os.path.join(folder, "*.safetensors"))):
        tensors.update(load_file(file))
    return tensors


def expect(folder, native, wide, every=False):
    """The decoded values; in f32 those of some layers suffice, where `every` does not ask for all."""
    some = ("k_proj", "experts.")
    wide = {k: v for k, v in wide.items() if every or any(part in k for part in some)}
    for file, values in [("expected", native), ("expected-f32", wide)]:
        values = {k: v.detach().clone().contiguous() for k, v in values.items()}
        save_file(values, os.path.join(folder, file + ".safetensors"))
    for name in os.listdir(folder):
        os.chmod(os.path.join(folder, name), 0o644)


def spread(model, seed):
    """Numbers whose size differs from row to row and column to column, so that scales do too."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() < 2:
                continue
            x = torch.randn(weight.shape, generator=generator)
            x = x * torch.exp(0.7 * torch.randn(*weight.shape[:-1], 1, generator=generator))
            x = x * torch.exp(0.7 * torch.randn(weight.shape[-1], generator=generator))
            weight.copy_(x * 0.05)
    return model


SIDES = {"num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 8}


def llama(dtype=BF16, hidden=16, intermediate=16, seed=1, **more):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=hidden, intermediate_size=intermediate, **SIDES,
        dtype=str(dtype).removeprefix("torch."), architectures=["LlamaForCausalLM"], **more)
    return spread(LlamaForCausalLM(config).to(dtype), seed)


def llama4(seed=2):
    from transformers import Llama4ForCausalLM, Llama4TextConfig

    config = Llama4TextConfig(
        hidden_size=16, intermediate_size=8, intermediate_size_mlp=16, head_dim=8, **SIDES,
        num_local_experts=2, num_experts_per_tok=1, interleave_moe_layer_step=1, dtype="bfloat16")
    return spread(Llama4ForCausalLM(config).to(BF16), seed)


def quantized_by_transformers(model, config, dtype, case, **options):
    """Quantized while a plain model is loaded, then saved."""
    from transformers import AutoModelForCausalLM

    with tempfile.TemporaryDirectory() as plain:
        model.save_pretrained(plain)
        loaded = AutoModelForCausalLM.from_pretrained(
            plain, quantization_config=config, dtype=dtype)
    folder = fresh(case)
    loaded.save_pretrained(folder, **options)
    os.remove(os.path.join(folder, "generation_config.json"))
    return folder, loaded


def finegrained():
    from transformers import AutoModelForCausalLM, FineGrainedFP8Config
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize
    from transformers.quantizers.quantizer_finegrained_fp8 import FineGrainedFP8HfQuantizer

    FineGrainedFP8HfQuantizer.validate_environment = lambda *_, **__: None
    cases = {
        "hf-block": (llama(), BF16, {"weight_block_size": (8, 16)}, {"max_shard_size": "1KB"}),
        "hf-tensor": (llama(F16, 8, 16, seed=4), F16, {"weight_block_size": None, "activation_scheme": "static"}, {}),
        "hf-ue8m0": (llama(seed=5), BF16, {"weight_block_size": (8, 16), "scale_fmt": "ue8m0"}, {}),
        "hf-experts": (llama4(), BF16, {"weight_block_size": (8, 8)}, {}),
    }
    for case, (model, dtype, settings, options) in cases.items():
        config = FineGrainedFP8Config(**settings)
        folder, _ = quantized_by_transformers(model, config, dtype, case, **options)
        stored = tensors_of(folder)
        coded = [k for k, v in stored.items() if v.dtype == torch.float8_e4m3fn]

        def values(out):
            back = AutoModelForCausalLM.from_pretrained(
                folder, quantization_config=FineGrainedFP8Config(**settings, dequantize=True),
                dtype=out)
            found = back.state_dict()
            # The loader leaves stacked experts without their scales: they are decoded one by one.
            experts = {k: Fp8Dequantize(None)._dequantize_one(stored[k], stored[k + "_scale_inv"], out)
                       for k in coded if stored[k].dim() == 3}
            return {k: experts.get(k, found[k]) for k in coded}

        native = values(dtype)
        assert coded and all(v.dtype == dtype for v in native.values()), case
        expect(folder, native, values(F32))
        name = f"transformers {TRANSFORMERS}, from_pretrained with FineGrainedFP8Config, save_pretrained"
        record(folder, "transformers from_pretrained(dequantize=True), Fp8Dequantize", TRANSFORMERS, name)


def fbgemm():
    from transformers import FbgemmFp8Config
    from transformers.integrations import fbgemm_fp8 as library
    from transformers.quantizers.quantizer_fbgemm_fp8 import FbgemmFp8HfQuantizer

    sys.path.insert(0, os.environ["FBGEMM"])
    from fbgemm_gpu.experimental.gemm.triton_gemm.fp8_gemm import quantize_fp8_row

    FbgemmFp8HfQuantizer.validate_environment = lambda *_, **__: None
    library.get_quantize_fp8_per_row = lambda: lambda x, *_: quantize_fp8_row(x)
    made = library.FbgemmFp8Llama4TextExperts.__init__

    def unquantized(self, config, **options):
        """As its linear layers do: parameters are not 8-bit floats before they are quantized."""
        made(self, config, **options)
        for name in ["gate_up_proj", "down_proj"]:
            setattr(self, name, torch.nn.Parameter(getattr(self, name).to(BF16)))

    library.FbgemmFp8Llama4TextExperts.__init__ = unquantized
    folder, model = quantized_by_transformers(llama4(6), FbgemmFp8Config(), BF16, "fbgemm")

    # What a layer multiplies by: its own forward pass, whose product of rows (an operator of fbgemm
    # for CUDA) is torch's, applied to the unit matrix.
    library.quantize_fp8_per_row = lambda x, *_, **__: (x.to(torch.float8_e4m3fn), torch.ones(x.shape[0]))
    met, wanted = [], [BF16]

    def product(x, weight, x_scale, weight_scale, **_):
        rows, columns = weight.shape
        unit = torch.eye(columns).to(torch.float8_e4m3fn)
        met.append(torch._scaled_mm(
            unit, weight.t(), scale_a=torch.ones(columns, 1), scale_b=weight_scale.t(), out_dtype=wanted[0]))
        return torch.zeros(x.shape[0], rows, dtype=BF16)

    torch.library.define("fbgemm::f8f8bf16_rowwise", "(Tensor a, Tensor b, Tensor c, Tensor d, *, bool use_fast_accum) -> Tensor")
    torch.library.impl("fbgemm::f8f8bf16_rowwise", "CPU", product)
    modules = dict(model.named_modules())

    def rows(module):
        met.clear()
        module(torch.zeros(1, module.in_features, dtype=BF16))
        return met[0].t()

    def experts(module):
        met.clear()
        module(torch.zeros(module.num_experts, module.hidden_size, dtype=BF16))
        gate, up, down = met[0::3], met[1::3], met[2::3]
        both = [torch.cat(pair, dim=1) for pair in zip(gate, up)]
        return {"gate_up_proj": torch.stack(both), "down_proj": torch.stack(down)}

    def values(out):
        decoded, wanted[0] = {}, out
        for name, module in modules.items():
            if isinstance(module, library.FbgemmFp8Linear):
                decoded[name + ".weight"] = rows(module)
            elif isinstance(module, library.FbgemmFp8Llama4TextExperts):
                decoded.update({f"{name}.{k}": v for k, v in experts(module).items()})
        return decoded

    with torch.no_grad():
        expect(folder, values(BF16), values(F32))
    record(folder, "transformers FbgemmFp8Linear and FbgemmFp8Llama4TextExperts on the unit matrix, torch's scaled product",
           f"{TRANSFORMERS}, 2.15.0",
           f"transformers {TRANSFORMERS}, from_pretrained with FbgemmFp8Config, save_pretrained; rows quantized by fbgemm-gpu-genai 1.9.0 quantize_fp8_row")


def modelopt():
    import modelopt.torch.quantization as mtq
    from modelopt.torch.export import export_hf_checkpoint
    from modelopt.torch.export.quant_utils import from_quantized_weight
    from modelopt.torch.quantization.qtensor import FP8QTensor, MXFP8QTensor

    def small_blocks(settings, side):
        settings = copy.deepcopy(settings)
        for entry in settings["quant_cfg"]:
            sizes = (entry.get("cfg") or {}).get("block_sizes")
            if sizes:
                sizes.update({-1: side, -2: side})
        return settings

    def by_tensor(codes, scale, out):
        return from_quantized_weight(codes, scale, "fp8", out)

    def by_row(codes, scale, out):
        # from_quantized_weight lacks this kind.
        return FP8QTensor(codes.shape, BF16, codes).dequantize(out, scale=scale[:, None])

    def by_block(side):
        def decode(codes, scale, out):
            wrapped = FP8QTensor(codes.shape, BF16, codes)
            return wrapped.dequantize(out, scale=scale[:, 0, :, 0], block_sizes={-1: side, -2: side})
        return decode

    def by_32(codes, scale, out):
        return MXFP8QTensor(codes.shape, BF16, codes).dequantize(out, scale=scale)

    blocks = mtq.FP8_2D_BLOCKWISE_WEIGHT_ONLY_CFG
    cases = {
        "modelopt-fp8": (mtq.FP8_DEFAULT_CFG, BF16, 8, 16, by_tensor, "from_quantized_weight"),
        "modelopt-fp8-f16": (mtq.FP8_DEFAULT_CFG, F16, 8, 16, by_tensor, "from_quantized_weight"),
        "modelopt-channel": (mtq.FP8_PER_CHANNEL_PER_TOKEN_CFG, BF16, 8, 16, by_row, "FP8QTensor"),
        "modelopt-block": (small_blocks(blocks, 8), BF16, 16, 24, by_block(8), "FP8QTensor"),
        "modelopt-mxfp8": (mtq.MXFP8_DEFAULT_CFG, BF16, 32, 32, by_32, "MXFP8QTensor"),
    }
    for seed, (case, (settings, dtype, hidden, intermediate, decode, source)) in enumerate(cases.items()):
        model = llama(dtype, hidden, intermediate, seed=10 + seed)
        model = mtq.quantize(model, settings, lambda m: m(torch.arange(8)[None]))
        folder = fresh(case)
        export_hf_checkpoint(model, export_dir=folder)
        os.remove(os.path.join(folder, "generation_config.json"))
        stored = tensors_of(folder)
        coded = [k for k, v in stored.items() if v.dtype == torch.float8_e4m3fn]
        values = lambda out: {k: decode(stored[k], stored[k + "_scale"], out) for k in coded}
        expect(folder, values(dtype), values(F32))
        record(folder, f"ModelOpt {source}", MODELOPT, f"ModelOpt {MODELOPT}, mtq.quantize, export_hf_checkpoint")


def comfy():
    import comfy_kitchen
    from comfy_kitchen.tensor import QuantizedTensor

    generator = torch.Generator().manual_seed(20)

    def dense(rows, columns):
        x = torch.randn(rows, columns, generator=generator)
        return (x * torch.exp(torch.randn(rows, 1, generator=generator)) * 0.05).to(BF16)

    sys.path.insert(0, os.environ["COMFYUI"])
    import comfy.cli_args
    comfy.cli_args.args.cpu = True
    from comfy import ops, quant_ops

    # ComfyUI's own layer, filled with a tensor that it quantized, saves itself.
    folder = fresh("comfy-quant")
    layers = ops.mixed_precision_ops(compute_dtype=BF16)
    stored = {}
    for name, rows, columns in [("blocks.0.q", 16, 12), ("blocks.0.k", 9, 33)]:
        layer = layers.Linear(columns, rows, bias=False, dtype=BF16)
        layer.quant_format, layer.layout_type = "float8_e4m3fn", "TensorCoreFP8Layout"
        made = quant_ops.QuantizedTensor.from_float(dense(rows, columns), layer.layout_type, scale="recalculate")
        layer.weight = torch.nn.Parameter(made, requires_grad=False)
        layer.register_parameter("input_scale", torch.nn.Parameter(torch.tensor(1.0), requires_grad=False))
        for key, value in layer.state_dict(prefix=name + ".").items():
            stored[key] = value._qdata if isinstance(value, quant_ops.QuantizedTensor) else value
    save_file({k: v.contiguous() for k, v in stored.items()}, os.path.join(folder, "wan-fp8.safetensors"))
    coded = [k for k, v in stored.items() if v.dtype == torch.float8_e4m3fn]

    def values(out):
        with comfy_kitchen.use_backend("eager"):
            return {k: comfy_kitchen.dequantize_per_tensor_fp8(stored[k], stored[k + "_scale"], out) for k in coded}

    expect(folder, values(BF16), values(F32), True)
    record(folder, "comfy-kitchen dequantize_per_tensor_fp8", KITCHEN, "ComfyUI 0.7.0, state_dict of its Linear, quantized by its QuantizedTensor")

    # More than one tile down, then across, the last one partial; a group of noughts.
    folder = fresh("comfy-mxfp8")
    stored, both = {}, ({}, {})
    for name, rows, columns in [("blocks.0.q", 129, 32), ("blocks.0.k", 12, 130), ("blocks.0.v", 5, 32)]:
        x = dense(rows, columns)
        x[3, :32] = 0
        with comfy_kitchen.use_backend("eager"):
            made = QuantizedTensor.from_float(x, "TensorCoreMXFP8Layout")
            tensors = made.state_dict(name + ".weight")
            for out, values in zip((BF16, F32), both):
                # Rows and columns are filled up to 32; the description does not say to what.
                values[name + ".weight"] = comfy_kitchen.dequantize_mxfp8(
                    tensors[name + ".weight"], tensors[name + ".weight_scale"], out)
        stored.update(tensors)
        text = json.dumps({"format": "mxfp8"}).encode()
        stored[name + ".comfy_quant"] = torch.tensor(list(text), dtype=torch.uint8)
    save_file({k: v.contiguous() for k, v in stored.items()}, os.path.join(folder, "flux-mxfp8.safetensors"))
    wide = {k: v for k, v in both[1].items() if k == "blocks.0.v.weight"}
    expect(folder, both[0], wide, True)
    record(folder, "comfy-kitchen dequantize_mxfp8", KITCHEN,
           f"comfy-kitchen {KITCHEN}, state_dict of its QuantizedTensor; `comfy_quant` added after ComfyUI's loader")


if __name__ == "__main__":
    every = [finegrained, fbgemm, modelopt, comfy]
    chosen = sys.argv[2:]
    for make in every:
        if not chosen or make.__name__ in chosen:
            make()
