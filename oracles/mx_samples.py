"""Writes tests/files/mx: MXFP4 and MXFP6 as their libraries write and decode them.

gpt-oss          transformers' names; values by its convert_moe_packed_tensors (transposed)
gpt-oss-openai   OpenAI's names; values by gpt-oss's own reader (give its wheel on PYTHONPATH)
deepseek-v4      int8 storage with `.scale`, and fused experts with `_scale_inv`; transformers
modelopt         written and decoded by nvidia-modelopt
quark            written and decoded by amd-quark, as are its six-bit kinds (quark-e2m3, ..)
"""

import os
import sys

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
    write_expected(directory, values(torch.bfloat16), values(torch.float32))


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
    write_expected(directory, values(torch.bfloat16), values(torch.float32))


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
    write_expected(directory, values, wide)


def modelopt():
    from modelopt.torch.quantization.qtensor import MXFP4QTensor

    tensors, values, wide = {}, {}, {}
    for seed, (name, shape) in enumerate([("a", (8, 96)), ("b", (3, 4, 64))]):
        dense = random(*shape, seed=50 + seed)
        dense[..., 1, :32] = 0  # Exact zeros become code 8.
        q, scales = MXFP4QTensor.quantize(dense.to(torch.bfloat16), 32)
        scales = scales.view(*shape[:-1], -1)
        scales.view(-1)[0] = 0
        name = f"model.layers.0.{name}.weight"
        tensors[name], tensors[f"{name}_scale"] = q._quantized_data, scales
        kwargs = {"scale": scales, "block_sizes": {-1: 32}}
        values[name] = q.dequantize(dtype=torch.bfloat16, **kwargs)
        wide[name] = q.dequantize(dtype=torch.float32, **kwargs)
    tensors["model.layers.0.a.input_scale"] = torch.tensor(1.0)
    directory = fresh(ROOT, "modelopt")
    write_model(directory, [tensors], {
        "dtype": "bfloat16",
        "quantization_config": {"quant_method": "modelopt", "quant_algo": "W4A8_MXFP4_FP8",
                                "producer": {"name": "modelopt", "version": "0.47.0"}}})
    write_expected(directory, values, wide)


def quark(case, dtype, native):
    import quark.torch.kernel as kernel
    from quark.torch.utils.numerics import to_e8m0_uint8
    from quark.torch.utils.pack import create_pack_method

    dense = random(8, 96, seed=60)
    amax = dense.view(8, 3, 32).abs().amax(-1)
    largest = {"fp4": 4.0, "fp6_e2m3": 4.0, "fp6_e3m2": 16.0}[dtype]
    scales = to_e8m0_uint8(torch.exp2(torch.floor(torch.log2(amax))) / largest)
    pack = create_pack_method("per_group", dtype)
    # Any bytes are codes.
    codes = random_bytes(8, 48 if dtype == "fp4" else 72, seed=61)
    directory = fresh(ROOT, case)
    name = "model.layers.0.mlp.up_proj.weight"
    spec = {"dtype": dtype, "qscheme": "per_group", "group_size": 32, "ch_axis": -1,
            "scale_format": "e8m0"}
    write_model(directory, [{name: codes, f"{name}_scale": scales}], {
        "dtype": {torch.bfloat16: "bfloat16", torch.float16: "float16"}[native],
        "quantization_config": {"quant_method": "quark", "global_quant_config": {"weight": spec},
                                "export": {"weight_format": "real_quantized"}}})
    if native == torch.float16:
        # Powers of two that f16 lacks, or has only as a subnormal number.
        scales[0] = torch.tensor([103, 100, 110], dtype=torch.uint8)
        save(os.path.join(directory, "model.safetensors"), {name: codes, f"{name}_scale": scales},
             {"format": "pt"})

    def values(out):
        # StaticRealQuantizer.unpack_params, then dequantize.
        scale = 2 ** (scales.view(torch.uint8).to(torch.int16) - 127).to(out)
        unpacked = pack.unpack(codes, False)
        return kernel.dequantize(dtype, unpacked, scale, None, -1, 32, "per_group").to(out)

    write_expected(directory, {name: values(native)}, {name: values(torch.float32)})


gpt_oss()
gpt_oss_openai()
deepseek_v4()
modelopt()
quark("quark", "fp4", torch.bfloat16)
quark("quark-f16", "fp4", torch.float16)
quark("quark-e2m3", "fp6_e2m3", torch.bfloat16)
quark("quark-e3m2", "fp6_e3m2", torch.bfloat16)
