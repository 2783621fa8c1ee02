"""The model files that package.py measures with: made once, of numbers that anybody gets again."""
import json
import os
from pathlib import Path

import numpy as np

HIDDEN, INNER, TOKENS = 2048, 5632, 32000
Q4_K = 144  # bytes of a block of 256 numbers
SEED = 20


def shapes(layers, tokens=TOKENS):
    """The weights of a Llama, with the names that transformers gives them."""
    yield "model.embed_tokens.weight", (tokens, HIDDEN)
    for layer in range(layers):
        at = f"model.layers.{layer}."
        yield at + "input_layernorm.weight", (HIDDEN,)
        for name, rows in (("q", HIDDEN), ("k", HIDDEN // 4), ("v", HIDDEN // 4), ("o", HIDDEN)):
            yield f"{at}self_attn.{name}_proj.weight", (rows, HIDDEN)
        yield at + "post_attention_layernorm.weight", (HIDDEN,)
        yield at + "mlp.gate_proj.weight", (INNER, HIDDEN)
        yield at + "mlp.up_proj.weight", (INNER, HIDDEN)
        yield at + "mlp.down_proj.weight", (HIDDEN, INNER)
    yield "model.norm.weight", (HIDDEN,)
    yield "lm_head.weight", (tokens, HIDDEN)


def header(tensors):
    """The header of a safetensors file: name, type, shape and bytes of each tensor."""
    entries, at = {}, 0
    for name, dtype, shape, size in tensors:
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def numbers(generator, shape):
    """Normal numbers of the size that weights have."""
    return generator.standard_normal(shape, np.float32) * np.float32(0.02)


def bf16(path, layers, tokens=TOKENS):
    """A safetensors file in BF16; gives the number of parameters."""
    import ml_dtypes

    generator = np.random.default_rng(SEED)
    tensors = [(name, "BF16", shape, 2 * int(np.prod(shape))) for name, shape in shapes(layers, tokens)]
    with open(path, "wb") as file:
        file.write(header(tensors))
        for _, _, shape, _ in tensors:
            numbers(generator, shape).astype(ml_dtypes.bfloat16).tofile(file)
    return sum(size // 2 for *_, size in tensors)


def q4_k(path, tensors):
    """A GGUF file of random blocks; their scales are small numbers, so that nothing is NaN."""
    from gguf import GGMLQuantizationType, GGUFWriter

    generator = np.random.default_rng(SEED)
    writer = GGUFWriter(path, "llama")
    for index in range(tensors):
        blocks = generator.integers(0, 256, (INNER, HIDDEN // 256, Q4_K), np.uint8)
        scales = generator.uniform(1e-4, 1e-2, (INNER, HIDDEN // 256, 2)).astype(np.float16)
        blocks[..., :4] = scales.view(np.uint8)
        rows = blocks.reshape(INNER, HIDDEN // 256 * Q4_K)
        writer.add_tensor(f"blk.{index}.ffn_up.weight", rows, raw_dtype=GGMLQuantizationType.Q4_K)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tensors * INNER * HIDDEN


def schemes(folder, layers):
    """Directories in NF4 and FP8 by blocks, made by our own quantizers."""
    import weighbridge as wb

    plain = Path(folder, "plain")
    plain.mkdir()
    # Nearly all of it is in linear layers: an embedding would stay as it is.
    bf16(plain / "model.safetensors", layers, tokens=256)
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16"}
    (plain / "config.json").write_text(json.dumps(config))
    for name, kind in (("nf4", "bnb-nf4"), ("fp8", "fp8-block")):
        wb.quantize(plain, Path(folder, name), type=kind)


def gptq(folder, weights, group=128):
    """A directory of four-bit weights whose groups lie in order, of random codes."""
    generator = np.random.default_rng(SEED)
    folder = Path(folder, "gptq")
    folder.mkdir()
    held = []
    for index in range(weights):
        base = f"model.layers.{index}.mlp.up_proj."
        groups = HIDDEN // group
        held += [
            (base + "qweight", "I32", generator.integers(-2**31, 2**31, (HIDDEN // 8, INNER), np.int32)),
            (base + "qzeros", "I32", np.full((groups, INNER // 8), 0x77777777, np.int32)),
            (base + "scales", "F16", generator.uniform(1e-3, 1e-2, (groups, INNER)).astype(np.float16)),
            (base + "g_idx", "I32", np.arange(HIDDEN, dtype=np.int32) // group),
        ]
    with open(folder / "model.safetensors", "wb") as file:
        file.write(header((name, dtype, array.shape, array.nbytes) for name, dtype, array in held))
        for _, _, array in held:
            array.tofile(file)
    quantization = {"quant_method": "gptq", "bits": 4, "group_size": group, "desc_act": False, "sym": True}
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", "quantization_config": quantization}))


def hollow(path, weights=320, rows=4096, columns=4096):
    """A safetensors file of 10 GB of which only the header is on the disk."""
    size = 2 * rows * columns
    text = header((f"model.layers.{i}.weight", "BF16", (rows, columns), size) for i in range(weights))
    with open(path, "wb") as file:
        file.write(text)
    os.truncate(path, len(text) + weights * size)
    return len(text), size


def small(path):
    """One weight of 64 numbers, among a hundred."""
    tensors = [(f"w{i}", "F32", (64,), 256) for i in range(100)]
    with open(path, "wb") as file:
        file.write(header(tensors))
        numbers(np.random.default_rng(SEED), (100, 64)).tofile(file)
