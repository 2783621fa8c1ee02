"""Writes tests/files/nvfp4: NVFP4 as ModelOpt and as comfy-kitchen write and decode it.

modelopt            a tiny Llama, quantized and exported by nvidia-modelopt; then put into two
                    shards, scales apart from their weights, with scales of cache and input
modelopt-experts    stacked experts, a second scale for each; every code and odd scales
comfy               comfy-kitchen's layout, described by `comfy_quant` tensors; padded sides
comfy-metadata      the same described by the file's metadata, with scales whose shape is that of
                    ModelOpt's order
modelopt-swizzled   ModelOpt's padding and swizzling of scales for single files
"""

import json
import os
import sys
import tempfile

import torch
from safetensors import safe_open

from fp4_common import fresh, random, save, write_expected, write_json, write_model

ROOT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "tests", "files", "nvfp4")


MODELOPT = ("ModelOpt NVFP4QTensor", "0.47.0")
KITCHEN = ("comfy-kitchen dequantize_nvfp4", "0.2.40")


def read(path):
    with safe_open(path, "pt") as f:
        return {k: f.get_tensor(k) for k in f.keys()}


def modelopt_values(tensors, module, dtype, weight=None, ends=("", "")):
    from modelopt.torch.quantization.qtensor import NVFP4QTensor

    codes = tensors[f"{module}.weight"] if weight is None else tensors[weight]
    stem = f"{module}.weight" if weight is None else weight + ends[0]
    second = tensors[f"{stem}_scale_2"]
    if second.numel() > 1:
        second = second.view(-1, 1, 1)
    shape = torch.Size((*codes.shape[:-1], codes.shape[-1] * 2))
    q = NVFP4QTensor(shape, torch.bfloat16, codes)
    return q.dequantize(
        dtype=dtype, scale=tensors[f"{stem}_scale"], double_scale=second, block_sizes={-1: 16})


def modelopt():
    import modelopt.torch.quantization as mtq
    from modelopt.torch.export import export_hf_checkpoint
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    config = LlamaConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, vocab_size=16, dtype="bfloat16",
        architectures=["LlamaForCausalLM"])
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "proj" in name:
                weight.copy_(random(*weight.shape, seed=len(name), spread=0.02))
        # A group of zeros and one of tiny negative numbers, which become code 8.
        model.model.layers[0].mlp.up_proj.weight[3, 16:32] = 0
        model.model.layers[0].mlp.up_proj.weight[4, 17:32] = -1e-6
    model = mtq.quantize(
        model, mtq.NVFP4_DEFAULT_CFG, lambda m: m(torch.arange(16)[None]))
    with tempfile.TemporaryDirectory() as made:
        export_hf_checkpoint(model, export_dir=made)
        tensors = read(os.path.join(made, "model.safetensors"))
        configs = {n: json.load(open(os.path.join(made, n)))
                   for n in ["config.json", "hf_quant_config.json"]}
    directory = fresh(ROOT, "modelopt")
    for name, value in configs.items():
        write_json(directory, name, value)
    tensors["model.layers.0.self_attn.k_proj.k_scale"] = torch.tensor(1.0)
    tensors["model.layers.0.self_attn.v_proj.v_scale"] = torch.tensor(1.0)
    apart = {k: v for k, v in tensors.items() if k.endswith("_scale") or "norm" in k}
    rest = {k: v for k, v in tensors.items() if k not in apart}
    write_model(directory, [rest, apart])
    modules = [k.removesuffix(".weight") for k, v in tensors.items() if v.dtype == torch.uint8]
    assert any((tensors[f"{m}.weight"] & 15 == 8).any() for m in modules)
    write_expected(
        directory,
        {f"{m}.weight": modelopt_values(tensors, m, torch.bfloat16) for m in modules},
        {f"{m}.weight": modelopt_values(tensors, m, torch.float32) for m in modules},
        MODELOPT, "ModelOpt 0.47.0, mtq.quantize, export_hf_checkpoint; put into two files, cache scales added")


def modelopt_experts():
    from modelopt.torch.quantization.qtensor import NVFP4QTensor

    dense = random(3, 8, 64, seed=5)
    g = torch.Generator().manual_seed(6)
    tensors = {}
    for name, ends in [("experts.down_proj", ("_weight", "")), ("experts.w2.weight", ("", ""))]:
        parts = [NVFP4QTensor.quantize(dense[e], 16, try_tensorrt=False) for e in range(3)]
        codes = torch.stack([p[0]._quantized_data for p in parts])
        scales = torch.stack([p[1] for p in parts])
        # Every code, and the ends of the scales' range (with both zeros of a code below them).
        codes[1, 0] = torch.arange(32, dtype=torch.uint8) * 8 + 7
        codes[1, 1] = torch.randint(0, 256, (32,), generator=g, dtype=torch.uint8)
        odd = torch.tensor([0x00, 0x01, 0x7E, 0x08], dtype=torch.uint8)
        scales[1, 1] = odd.view(torch.float8_e4m3fn)
        second = torch.stack([p[2] for p in parts]).float()
        stem = f"model.layers.0.{name}"
        tensors[stem] = codes
        tensors[f"{stem}{ends[0]}_scale"] = scales
        tensors[f"{stem}{ends[0]}_scale_2"] = second
    tensors["model.layers.0.experts.down_proj_input_scale"] = torch.tensor(0.5)
    directory = fresh(ROOT, "modelopt-experts")
    quantization = {"quant_algo": "NVFP4", "quant_method": "modelopt", "group_size": 16,
                    "producer": {"name": "modelopt", "version": "0.47.0"}}
    # The names of one model under another's text model, in a half precision that is not bf16.
    write_model(directory, [tensors], {
        "text_config": {"dtype": "float16", "quantization_config": quantization}})
    values = lambda dtype: {
        f"model.layers.0.{n}": modelopt_values(tensors, None, dtype, f"model.layers.0.{n}", e)
        for n, e in [("experts.down_proj", ("_weight", "")), ("experts.w2.weight", ("", ""))]}
    write_expected(directory, values(torch.float16), values(torch.float32), MODELOPT,
                   "ModelOpt 0.47.0, NVFP4QTensor.quantize; laid out after its export of fused experts, no CPU model of the kind")


def comfy_quantized(dense):
    from comfy_kitchen.tensor import QuantizedTensor

    parts = QuantizedTensor.from_float(dense.to(torch.bfloat16), "TensorCoreNVFP4Layout").state_dict()
    return parts[""], parts["_scale"], parts["_scale_2"].reshape(())


def comfy_values(tensors, module, dtype, shape):
    import comfy_kitchen

    values = comfy_kitchen.dequantize_nvfp4(
        tensors[f"{module}.weight"], tensors[f"{module}.weight_scale_2"],
        tensors[f"{module}.weight_scale"], dtype)
    return values[: shape[0], : shape[1]].contiguous()


def comfy(case, sides, described):
    directory = fresh(ROOT, case)
    tensors, layers = {}, {}
    for seed, (module, (rows, columns)) in enumerate(sides.items()):
        codes, scales, second = comfy_quantized(random(rows, columns, seed=20 + seed))
        codes[0, :8] = torch.tensor([0x88, 0x80, 0x08, 0x9F, 0x12, 0x34, 0x56, 0x70])
        tensors[f"{module}.weight"] = codes
        tensors[f"{module}.weight_scale"] = scales
        tensors[f"{module}.weight_scale_2"] = second
        tensors[f"{module}.input_scale"] = torch.tensor(0.25)
        if rows % 16:
            tensors[f"{module}.bias"] = torch.ones(rows, dtype=torch.bfloat16)
        note = {"format": "nvfp4"}
        if columns % 16:
            note["orig_shape"] = [rows, columns]
        layers[module] = note
        if described == "tensors":
            text = json.dumps(note).encode()
            tensors[f"{module}.comfy_quant"] = torch.tensor(list(text), dtype=torch.uint8)
    tensors["final_layer.norm.weight"] = torch.ones(8, dtype=torch.bfloat16)
    metadata = {"_quantization_metadata": json.dumps(
        {"format_version": "1.0", "layers": layers})} if described == "metadata" else None
    save(os.path.join(directory, "model.safetensors"), tensors, metadata)
    values = lambda dtype: {f"{m}.weight": comfy_values(tensors, m, dtype, s)
                            for m, s in sides.items()}
    write_expected(directory, values(torch.bfloat16), values(torch.float32), KITCHEN,
                   "comfy-kitchen 0.2.40, state_dict of its QuantizedTensor; a few codes set, description added after ComfyUI's loader")


def modelopt_swizzled():
    from modelopt.torch.export.diffusers_utils import pad_nvfp4_weights, swizzle_nvfp4_scales
    from modelopt.torch.quantization.qtensor import NVFP4QTensor

    directory = fresh(ROOT, "modelopt-swizzled")
    tensors = {}
    for seed, (module, rows, columns) in enumerate([("a", 24, 96), ("b", 144, 32)]):
        q, scale, second = NVFP4QTensor.quantize(
            random(rows, columns, seed=40 + seed), 16, try_tensorrt=False)
        tensors[f"blocks.{module}.weight"] = q._quantized_data
        tensors[f"blocks.{module}.weight_scale"] = scale
        tensors[f"blocks.{module}.weight_scale_2"] = second.float().reshape(())
    tensors = pad_nvfp4_weights(tensors, "row_col")
    modules = ["blocks.a", "blocks.b"]
    linear = dict(tensors)
    for m in modules:
        # ModelOpt pads the columns of scales beyond what the padded codes need.
        groups = linear[f"{m}.weight"].shape[1] // 8
        linear[f"{m}.weight_scale"] = linear[f"{m}.weight_scale"][:, :groups]
    values = lambda dtype: {f"{m}.weight": modelopt_values(linear, m, dtype) for m in modules}
    write_expected(directory, values(torch.bfloat16), values(torch.float32), MODELOPT,
                   "ModelOpt 0.47.0, NVFP4QTensor.quantize and its padding and swizzling for diffusers; laid out after its single-file export")
    tensors = swizzle_nvfp4_scales(tensors)
    config = {"quant_algo": "NVFP4", "quant_method": "modelopt",
              "producer": {"name": "modelopt", "version": "0.47.0"}}
    save(os.path.join(directory, "model.safetensors"), tensors,
         {"quantization_config": json.dumps(config)})


modelopt()
modelopt_experts()
comfy("comfy", {"double_blocks.0.img_mlp": (40, 88), "double_blocks.0.txt_mlp": (136, 48)},
      "tensors")
comfy("comfy-metadata", {"single_blocks.0.linear1": (128, 64)}, "metadata")
modelopt_swizzled()
