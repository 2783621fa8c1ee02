"""Quantized forms of tiny repositories: codes and scales are put in place of weights, laid out after the
libraries that load them. Which numbers they stand for does not matter, so they are random.
"""

import json
import os

import torch
from gguf_vocabularies import write_json
from safetensors.torch import load_file, save_file

PROJECTIONS = ("q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight")
PROJECTIONS += ("gate_proj.weight", "up_proj.weight", "down_proj.weight")


def bits(shape, generator, dtype=torch.uint8):
    """Any bits at all."""
    size = dtype.itemsize
    many = torch.randint(256, [*shape[:-1], shape[-1] * size], generator=generator, dtype=torch.uint8)
    return many.view(dtype)


def between(low, high, shape, generator):
    return torch.rand(shape, generator=generator) * (high - low) + low


def small_float(low, high, shape, generator):
    """Scales of eight bits, by their bits."""
    return torch.randint(low, high, shape, generator=generator, dtype=torch.uint8).view(torch.float8_e4m3fn)


def replace(folder, make, quantization, ends=PROJECTIONS):
    """Puts what `make` gives for a shape in place of weights, and says so in the config."""
    path = os.path.join(folder, "model.safetensors")
    tensors, generator = load_file(path), torch.Generator().manual_seed(1)
    for name in sorted(name for name in tensors if name.endswith(ends)):
        shape = tensors.pop(name).shape
        for end, tensor in make(shape, generator).items():
            tensors[name.removesuffix(".weight") + end] = tensor.contiguous()
    save_file(tensors, path, {"format": "pt"})
    config = json.load(open(os.path.join(folder, "config.json")))
    write_json(folder, "config.json", dict(config, quantization_config=quantization), indent=2)


def gpt_oss(folder):
    """[experts, outputs, inputs / 32, 16] and [experts, outputs, inputs / 32]."""

    def make(shape, generator):
        experts, inputs, outputs = shape
        shape = [experts, outputs, inputs // 32]
        scales = torch.randint(116, 124, shape, generator=generator, dtype=torch.uint8)
        return {"_blocks": bits([*shape, 16], generator), "_scales": scales}

    kept = ["model.layers.*.self_attn", "model.layers.*.mlp.router"]
    replace(folder, make, dict(quant_method="mxfp4", modules_to_not_convert=kept), ("gate_up_proj", "down_proj"))


def nvfp4(folder):
    """ModelOpt's: a scale for every 16, a factor for all, a scale of the input."""

    def make(shape, generator):
        rows, columns = shape
        return {
            ".weight": bits([rows, columns // 2], generator),
            ".weight_scale": small_float(40, 100, [rows, columns // 16], generator),
            ".weight_scale_2": between(0.01, 0.02, [], generator),
            ".input_scale": between(0.001, 0.002, [], generator),
        }

    said = dict(quant_algo="NVFP4", kv_cache_quant_algo=None, group_size=16, exclude_modules=["lm_head"])
    producer = dict(name="modelopt", version="0.33.0")
    write_json(folder, "hf_quant_config.json", dict(producer=producer, quantization=said), indent=2)
    replace(folder, make, dict(said, quant_method="modelopt", producer=producer))


def nvfp4_packed(folder):
    """The same by compressed-tensors: factors are divided by."""

    def make(shape, generator):
        rows, columns = shape
        return {
            ".weight_packed": bits([rows, columns // 2], generator),
            ".weight_scale": small_float(40, 100, [rows, columns // 16], generator),
            ".weight_global_scale": between(50.0, 100.0, [1], generator),
            ".input_global_scale": between(500.0, 1000.0, [1], generator),
        }

    weights = dict(num_bits=4, type="float", strategy="tensor_group", group_size=16, symmetric=True, dynamic=False)
    inputs = dict(weights, dynamic="local")
    group = dict(weights=weights, input_activations=inputs, output_activations=None, targets=["Linear"])
    form = "nvfp4-pack-quantized"
    said = dict(quant_method="compressed-tensors", format=form, quantization_status="compressed", ignore=["lm_head"])
    replace(folder, make, dict(said, config_groups=dict(group_0=dict(group, format=form))))


def fp8_block(folder):
    """A scale for every 128 x 128."""

    def make(shape, generator):
        cells = [-(-side // 128) for side in shape]
        codes = torch.randint(0, 120, shape, generator=generator, dtype=torch.uint8)
        signs = torch.randint(0, 2, shape, generator=generator, dtype=torch.uint8) << 7
        return {
            ".weight": (codes | signs).view(torch.float8_e4m3fn),
            ".weight_scale_inv": between(0.001, 0.01, cells, generator),
        }

    replace(folder, make, dict(quant_method="fp8", fmt="e4m3", activation_scheme="dynamic", weight_block_size=[128, 128]))


def gptq_mixtral(folder):
    gptq(folder, PROJECTIONS[:4] + ("w1.weight", "w2.weight", "w3.weight"))


def gptq(folder, ends=PROJECTIONS):
    """Four bits, groups of 16 inputs, zero points that are stored less one."""

    def make(shape, generator):
        outputs, inputs = shape
        groups = inputs // 16
        return {
            ".qweight": bits([inputs // 8, outputs], generator, torch.int32),
            ".qzeros": bits([groups, outputs // 8], generator, torch.int32) & 0x77777777,
            ".scales": between(0.01, 0.02, [groups, outputs], generator).half(),
            ".g_idx": (torch.arange(inputs) // 16).int(),
        }

    said = dict(quant_method="gptq", bits=4, group_size=16, desc_act=False, sym=False, checkpoint_format="gptq")
    replace(folder, make, said, ends)


def int4_packed(folder):
    """compressed-tensors' integers of four bits, groups of 16 inputs."""

    def make(shape, generator):
        outputs, inputs = shape
        return {
            ".weight_packed": bits([outputs, inputs // 8], generator, torch.int32),
            ".weight_scale": between(0.01, 0.02, [outputs, inputs // 16], generator).bfloat16(),
            ".weight_shape": torch.tensor([outputs, inputs]),
        }

    weights = dict(num_bits=4, type="int", strategy="group", group_size=16, symmetric=True, dynamic=False)
    group = dict(weights=weights, input_activations=None, output_activations=None, targets=["Linear"])
    said = dict(quant_method="compressed-tensors", format="pack-quantized", quantization_status="compressed")
    replace(folder, make, dict(said, ignore=["lm_head"], config_groups=dict(group_0=group)))


def awq(folder):
    """Four bits, groups of 16 inputs, eight outputs a word."""

    def make(shape, generator):
        outputs, inputs = shape
        return {
            ".qweight": bits([inputs, outputs // 8], generator, torch.int32),
            ".qzeros": bits([inputs // 16, outputs // 8], generator, torch.int32),
            ".scales": between(0.01, 0.02, [inputs // 16, outputs], generator).half(),
        }

    replace(folder, make, dict(quant_method="awq", bits=4, group_size=16, version="gemm", zero_point=True))


NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334]
NF4 += [-0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224]
NF4 += [0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]


def nf4(folder):
    """bitsandbytes' four bits, blocks of 64."""

    def make(shape, generator):
        elements = shape.numel()
        state = dict(quant_type="nf4", blocksize=64, dtype="bfloat16", shape=list(shape))
        return {
            ".weight": bits([elements // 2, 1], generator),
            ".weight.absmax": between(0.1, 0.5, [elements // 64], generator),
            ".weight.quant_map": torch.tensor(NF4),
            ".weight.quant_state.bitsandbytes__nf4": torch.tensor(list(json.dumps(state).encode()), dtype=torch.uint8),
        }

    said = dict(quant_method="bitsandbytes", load_in_4bit=True, load_in_8bit=False, bnb_4bit_quant_type="nf4")
    replace(folder, make, dict(said, bnb_4bit_compute_dtype="bfloat16", bnb_4bit_use_double_quant=False))


def int8(folder):
    """bitsandbytes' eight bits: the largest of each row."""

    def make(shape, generator):
        return {".weight": bits(shape, generator, torch.int8), ".SCB": between(0.1, 0.5, shape[:1], generator)}

    replace(folder, make, dict(quant_method="bitsandbytes", load_in_4bit=False, load_in_8bit=True))


def mlx(folder):
    """MLX's four bits, groups of 32 with scale and offset."""

    def make(shape, generator):
        outputs, inputs = shape
        cells = [outputs, inputs // 32]
        return {
            ".weight": bits([outputs, inputs // 8], generator, torch.uint32),
            ".scales": between(0.01, 0.02, cells, generator).bfloat16(),
            ".biases": between(-0.2, -0.1, cells, generator).bfloat16(),
        }

    replace(folder, make, None)
    config = json.load(open(os.path.join(folder, "config.json")))
    del config["quantization_config"]
    write_json(folder, "config.json", dict(config, quantization=dict(group_size=32, bits=4)), indent=2)


def fp8_channel(folder):
    """compressed-tensors' FP8 with a scale for each row."""

    def make(shape, generator):
        codes = torch.randint(0, 120, shape, generator=generator, dtype=torch.uint8)
        scales = between(0.001, 0.01, [shape[0], 1], generator)
        return {".weight": codes.view(torch.float8_e4m3fn), ".weight_scale": scales.bfloat16()}

    weights = dict(num_bits=8, type="float", strategy="channel", symmetric=True, dynamic=False)
    inputs = dict(weights, strategy="token", dynamic=True)
    group = dict(weights=weights, input_activations=inputs, output_activations=None, targets=["Linear"])
    said = dict(quant_method="compressed-tensors", format="float-quantized", quantization_status="compressed")
    replace(folder, make, dict(said, ignore=["lm_head"], config_groups=dict(group_0=group)))


def fp8_tensor(folder):
    """ModelOpt's FP8 with one scale."""

    def make(shape, generator):
        codes = torch.randint(0, 120, shape, generator=generator, dtype=torch.uint8)
        scales = [between(0.001, 0.01, [], generator) for _ in range(2)]
        return {".weight": codes.view(torch.float8_e4m3fn), ".weight_scale": scales[0], ".input_scale": scales[1]}

    said = dict(quant_algo="FP8", kv_cache_quant_algo=None, exclude_modules=["lm_head"])
    producer = dict(name="modelopt", version="0.33.0")
    write_json(folder, "hf_quant_config.json", dict(producer=producer, quantization=said), indent=2)
    replace(folder, make, dict(said, quant_method="modelopt", producer=producer))
