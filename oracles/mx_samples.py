"""Writes tests/files/mx: MXFP4 and MXFP6 as their libraries write and decode them.

gpt-oss          transformers' names; values by its convert_moe_packed_tensors (transposed)
gpt-oss-openai   OpenAI's names; values by gpt-oss's own reader (give its wheel on PYTHONPATH)
deepseek-v4      int8 storage with `.scale`, and fused experts with `_scale_inv`; transformers
modelopt*        quantized, exported and decoded by nvidia-modelopt; stacked experts laid out by hand
quark*           quantized, exported and decoded by amd-quark: MXFP4, its six-bit kinds (quark-e2m3, ..)
                 and, in tests/files/fp8, 8-bit floats with a scale a row (quark-channel, quark-e5m2)
"""

import os
import sys
import types

import torch

from fp4_common import fresh, random, save, write_expected, write_model

ROOT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "tests", "files", "mx")


def random_bytes(*shape, seed):
    return torch.randint(
        0, 256, shape, generator=torch.Generator().manual_seed(seed), dtype=torch.uint8)


def random_scales(*shape, seed):
    """Mostly near 127, with both ends: 0 is 2^-127, 254 is 2^127."""
    scales = 110 + random_bytes(*shape, seed=seed) % 20
    flat = scales.view(-1)
    flat[:4] = torch.tensor([0, 254, 1, 126], dtype=torch.uint8)
    return scales


def gpt_oss():
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    p = "model.layers.0.mlp.experts."
    blocks = {"gate_up_proj": random_bytes(2, 70, 2, 16, seed=1),
              "down_proj": random_bytes(2, 64, 1, 16, seed=2)}
    scales = {"gate_up_proj": random_scales(2, 70, 2, seed=3),
              "down_proj": random_scales(2, 64, 1, seed=4)}
    tensors = {"model.norm.weight": torch.ones(64, dtype=torch.bfloat16)}
    for name in blocks:
        tensors[f"{p}{name}_blocks"] = blocks[name]
        tensors[f"{p}{name}_scales"] = scales[name]
        tensors[f"{p}{name}_bias"] = torch.ones(2, blocks[name].shape[1], dtype=torch.bfloat16)
    directory = fresh(ROOT, "gpt-oss")
    apart = {k: v for k, v in tensors.items() if k.endswith("_scales")}
    rest = {k: v for k, v in tensors.items() if k not in apart}
    write_model(directory, [rest, apart], {
        "architectures": ["GptOssForCausalLM"], "dtype": "bfloat16",
        "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": [
            "model.layers.*.self_attn", "model.layers.*.mlp.router", "lm_head"]}})
    values = lambda dtype: {
        p + n: convert_moe_packed_tensors(blocks[n], scales[n], dtype=dtype) for n in blocks}
    write_expected(directory, values(torch.bfloat16), values(torch.float32),
                   ("transformers convert_moe_packed_tensors", "5.22.2"),
                   "laid out after the loader of transformers 5.22.2: it writes with kernels from a hub only")


def gpt_oss_openai():
    from gpt_oss.torch.weights import Checkpoint

    directory = fresh(ROOT, "gpt-oss-openai")
    p = "block.0.mlp."
    tensors = {f"{p}mlp1_bias": torch.ones(2, 12, dtype=torch.bfloat16)}
    for seed, (name, rows, groups) in enumerate([("mlp1_weight", 12, 2), ("mlp2_weight", 6, 3)]):
        tensors[f"{p}{name}.blocks"] = random_bytes(2, rows, groups, 16, seed=10 + seed)
        tensors[f"{p}{name}.scales"] = random_scales(2, rows, groups, seed=20 + seed)
    write_model(directory, [tensors])
    checkpoint = Checkpoint(directory, torch.device("cpu"))
    values = lambda dtype: {
        p + n: checkpoint._get_mxfp4_tensor(f"{p}{n}.blocks", f"{p}{n}.scales", dtype=dtype)
        for n in ["mlp1_weight", "mlp2_weight"]}
    write_expected(directory, values(torch.bfloat16), values(torch.float32),
                   ("gpt-oss torch/weights.py", "0.0.9"), "laid out after the loader of gpt-oss 0.0.9, no public writer")


def deepseek_v4():
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize

    tensors, values, wide = {}, {}, {}
    dequantize = Fp8Dequantize(None)._dequantize_one
    weights = [("layers.0.ffn.experts.0.w1.weight", "layers.0.ffn.experts.0.w1.scale", (8, 48)),
               ("layers.0.ffn.experts.0.w2.weight", "layers.0.ffn.experts.0.w2.scale", (6, 16)),
               ("layers.1.experts.down_proj", "layers.1.experts.down_proj_scale_inv", (2, 4, 32))]
    for seed, (name, scale_name, shape) in enumerate(weights):
        codes = random_bytes(*shape, seed=30 + seed).view(torch.int8)
        scales = random_scales(*shape[:-1], shape[-1] // 16, seed=40 + seed)
        scales = scales.view(torch.float8_e8m0fnu)
        tensors[name], tensors[scale_name] = codes, scales
        values[name] = dequantize(codes, scales)
        wide[name] = dequantize(codes, scales, output_dtype=torch.float32)
        assert values[name].dtype == torch.bfloat16
    directory = fresh(ROOT, "deepseek-v4")
    write_model(directory, [tensors], {
        "dtype": "bfloat16", "expert_dtype": "fp4", "model_type": "deepseek_v4",
        "quantization_config": {"quant_method": "fp8", "scale_fmt": "ue8m0",
                                "weight_block_size": [128, 128]}})
    write_expected(directory, values, wide, ("transformers Fp8Dequantize", "5.22.2"),
                   "laid out after the loader of transformers 5.22.2, deepseek_v4, no CPU writer")


def modelopt():
    """A tiny Llama, quantized and exported; stacked weights, which no small model has, beside it."""
    import modelopt.torch.quantization as mtq
    from modelopt.torch.export import export_hf_checkpoint
    from modelopt.torch.quantization.qtensor import MXFP4QTensor
    from safetensors.torch import load_file

    directory = fresh(ROOT, "modelopt")
    model = mtq.quantize(tiny_llama(50, intermediate=32), mtq.W4A8_MXFP4_FP8_CFG, lambda m: m(torch.arange(8)[None]))
    export_hf_checkpoint(model, export_dir=directory)
    os.remove(os.path.join(directory, "generation_config.json"))
    tensors = load_file(os.path.join(directory, "model.safetensors"))
    coded = [k for k, v in tensors.items() if v.dtype == torch.uint8 and k.endswith(".weight")]

    def value(name, out):
        codes, scales = tensors[name], tensors[name + "_scale"]
        q = MXFP4QTensor(torch.Size((*codes.shape[:-1], codes.shape[-1] * 2)), torch.bfloat16, codes)
        return q.dequantize(dtype=out, scale=scales, block_sizes={-1: 32})

    write_expected(directory, {k: value(k, torch.bfloat16) for k in coded},
                   {k: value(k, torch.float32) for k in coded if "k_proj" in k},
                   ("ModelOpt MXFP4QTensor", "0.47.0"), "ModelOpt 0.47.0, mtq.quantize, export_hf_checkpoint")

    tensors.clear()
    name = "model.layers.0.experts.down_proj.weight"
    dense = random(3, 4, 64, seed=51)
    dense[..., 1, :32] = 0  # Exact zeros become code 8.
    q, scales = MXFP4QTensor.quantize(dense.to(torch.bfloat16), 32)
    tensors[name], tensors[name + "_scale"] = q._quantized_data, scales.view(3, 4, -1)
    tensors[name + "_scale"].view(-1)[0] = 0
    tensors["model.layers.0.experts.down_proj.input_scale"] = torch.tensor(1.0)
    directory = fresh(ROOT, "modelopt-experts")
    write_model(directory, [tensors], {
        "dtype": "bfloat16",
        "quantization_config": {"quant_method": "modelopt", "quant_algo": "W4A8_MXFP4_FP8",
                                "producer": {"name": "modelopt", "version": "0.47.0"}}})
    write_expected(directory, {name: value(name, torch.bfloat16)}, {name: value(name, torch.float32)},
                   ("ModelOpt MXFP4QTensor", "0.47.0"),
                   "ModelOpt 0.47.0, MXFP4QTensor.quantize; laid out by hand, one scale set to its smallest")


def tiny_llama(seed, dtype=torch.bfloat16, hidden=32, intermediate=64):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=hidden, intermediate_size=intermediate, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, vocab_size=8, dtype=str(dtype).removeprefix("torch."),
        architectures=["LlamaForCausalLM"])
    model = LlamaForCausalLM(config).to(dtype)
    with torch.no_grad():
        for index, (name, weight) in enumerate(model.named_parameters()):
            if "proj" in name:
                weight.copy_(random(*weight.shape, seed=seed + index, spread=0.02))
    return model


def quark(root, case, spec, native, tiny=False, sides=(32, 32)):
    """Quantized, exported and decoded by Quark: its own layer, loaded from the export."""
    from quark.torch import ModelQuantizer, export_safetensors
    from quark.torch.export.nn.modules import realquantizer
    from quark.torch.quantization.config.config import QConfig, QLayerConfig
    from safetensors.torch import load_file
    import quark.torch.kernel as kernel
    from quark.torch.utils.pack import create_pack_method

    directory = fresh(root, case)
    spec = spec.to_quantization_spec()
    settings = QConfig(global_quant_config=QLayerConfig(weight=spec), exclude=["lm_head"])
    quantizer = ModelQuantizer(settings)
    model = tiny_llama(60, native, *sides)
    if tiny:
        with torch.no_grad():
            # Powers of two that f16 lacks, or has only as a subnormal number.
            model.model.layers[0].self_attn.k_proj.weight[:4] *= 2.0 ** -14
    model = quantizer.freeze(quantizer.quantize_model(model, [torch.arange(8)[None]]))
    with torch.no_grad():
        export_safetensors(model, directory)
    os.remove(os.path.join(directory, "generation_config.json"))
    tensors = load_file(os.path.join(directory, "model.safetensors"))
    coded = [k for k, v in tensors.items() if k + "_scale" in tensors]
    kind, scheme = spec.dtype.value, spec.qscheme.value
    pack = create_pack_method(scheme, kind)

    def value(name, out):
        # StaticScaledRealQuantizer.forward, whose type of scales can so be chosen.
        quantizer = types.SimpleNamespace(
            qspec=spec, scale=tensors[name + "_scale"], transpose_scale=False, float_dtype=out,
            pack_method=pack, reorder=False, real_quantized=True)
        of = realquantizer.StaticScaledRealQuantizer
        quantizer.unpack_tensor = lambda x: pack.unpack(x, False)
        quantizer.unpack_params = lambda: of.unpack_params(quantizer)
        return of.forward(quantizer, tensors[name]).to(out)

    write_expected(directory, {k: value(k, native) for k in coded},
                   {k: value(k, torch.float32) for k in coded if "k_proj" in k},
                   ("Quark StaticScaledRealQuantizer", "0.13"), "Quark 0.13, ModelQuantizer, export_safetensors")


def quarks():
    from quark.torch.quantization.config import config as kinds

    BF16, F16 = torch.bfloat16, torch.float16
    fp8 = os.path.join(ROOT, "..", "fp8")
    quark(ROOT, "quark", kinds.OCP_MXFP4Spec(ch_axis=-1, is_dynamic=False), BF16)
    quark(ROOT, "quark-f16", kinds.OCP_MXFP4Spec(ch_axis=-1, is_dynamic=False), F16, True)
    quark(ROOT, "quark-e2m3", kinds.OCP_MXFP6E2M3Spec(ch_axis=-1, is_dynamic=False), BF16)
    quark(ROOT, "quark-e3m2", kinds.OCP_MXFP6E3M2Spec(ch_axis=-1, is_dynamic=False), BF16)
    quark(fp8, "quark-channel", kinds.FP8E4M3PerChannelSpec(is_dynamic=False, ch_axis=0), BF16, sides=(8, 16))
    quark(fp8, "quark-e5m2", kinds.FP8E5M2PerChannelSpec(is_dynamic=False, ch_axis=0), BF16, sides=(8, 16))


if __name__ == "__main__":
    every = [gpt_oss, gpt_oss_openai, deepseek_v4, modelopt, quarks]
    chosen = sys.argv[2:]
    for make in every:
        if not chosen or make.__name__ in chosen:
            make()
