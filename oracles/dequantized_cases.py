"""Tiny models quantized by the libraries that own each scheme, and those libraries' dequantized ones.

A case writes a model directory as it would be published, and later gives the model that its library
makes of that directory when asked to dequantize it. Weights are random and seeded.
"""

import contextlib
import json
import os
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("GPTQMODEL_CPU_WORKERS", "2")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# GPTQModel would have its decoder compiled, which takes minutes.
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")

import torch
import transformers
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

BF16, F16 = torch.bfloat16, torch.float16
DTYPE = "dtype" if int(transformers.__version__.split(".")[0]) >= 5 else "torch_dtype"


def load(folder, **more):
    more.setdefault(DTYPE, "auto")
    return AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", **more)


def tiny(architecture, dtype, tied):
    """Two layers; rows and columns of different size, so that scales differ; biases in Qwen."""
    torch.manual_seed(11)
    config, kind = {"llama": (LlamaConfig, LlamaForCausalLM), "qwen": (Qwen2Config, Qwen2ForCausalLM)}[architecture]
    config = config(
        vocab_size=320, hidden_size=256, intermediate_size=384, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=256, bos_token_id=0, eos_token_id=1, pad_token_id=1,
        tie_word_embeddings=tied, **{DTYPE: str(dtype).removeprefix("torch.")})  # fmt: skip
    model = kind(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 2:
                weight.mul_(torch.exp(0.5 * torch.randn(weight.shape[0], 1)))
                weight.mul_(torch.exp(0.5 * torch.randn(weight.shape[1])))
            else:
                weight.add_(0.1 * torch.randn(weight.shape))
    return model.to(dtype).eval()


def plain_model(folder, state, dtype):
    """A model without quantization, with exactly these weights."""
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(folder)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", **{DTYPE: dtype})
    missing, unexpected = model.load_state_dict(state, strict=False)
    tied = {"lm_head.weight"} if config.tie_word_embeddings else set()
    assert set(missing) <= tied and not unexpected, (missing, unexpected)
    return model


class Case:
    """`build` writes the directory, `canonical` reads it as the library does."""

    def __init__(self, name, needs, requirements, build, canonical):
        self.name, self.needs, self.requirements = name, needs, requirements
        self.build, self.canonical = build, canonical

    def missing(self):
        for module in self.needs:
            try:
                __import__(module)
            except ImportError as error:
                return f"{module} is not here ({error}): {self.requirements}"
        return None


CASES = []


def case(name, needs, requirements, canonical):
    def note(build):
        CASES.append(Case(name, needs, requirements, build, canonical))
        return build

    return note


# ---- plain weights in torch's own files


def save_bin(model, folder, parts=1):
    """As transformers saved models before safetensors: tied weights are two names of one storage."""
    os.makedirs(folder, exist_ok=True)
    state = model.state_dict()
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(folder)
    if parts == 1:
        torch.save(state, f"{folder}/pytorch_model.bin")
        return
    names, where = list(state), {}
    for part in range(parts):
        file = f"pytorch_model-{part + 1:05}-of-{parts:05}.bin"
        mine = names[part * len(names) // parts : (part + 1) * len(names) // parts]
        torch.save({name: state[name] for name in mine}, f"{folder}/{file}")
        where |= {name: file for name in mine}
    size = sum(value.numel() * value.element_size() for value in state.values())
    index = {"metadata": {"total_size": size}, "weight_map": where}
    Path(folder, "pytorch_model.bin.index.json").write_text(json.dumps(index, indent=2))


@case("plain llama, .bin, tied", [], "requirements-dequantized.txt", load)
def plain_bin_tied(folder):
    save_bin(tiny("llama", F16, True), folder)


@case("plain qwen, .bin, 3 shards", [], "requirements-dequantized.txt", load)
def plain_bin_shards(folder):
    save_bin(tiny("qwen", BF16, False), folder, parts=3)


# ---- transformers: fine-grained FP8


@contextlib.contextmanager
def without_gpu_checks():
    """transformers asks for a GPU before it lets anybody quantize; the code needs none."""
    from transformers.quantizers.quantizer_finegrained_fp8 import FineGrainedFP8HfQuantizer as Quantizer

    kept, Quantizer.validate_environment = Quantizer.validate_environment, lambda *_, **__: None
    yield
    Quantizer.validate_environment = kept


def fp8_config(**more):
    from transformers import FineGrainedFP8Config

    return FineGrainedFP8Config(**more)


def save_fp8(model, folder, settings, **options):
    model.save_pretrained(folder + ".plain")
    with without_gpu_checks():
        load(folder + ".plain", quantization_config=fp8_config(**settings)).save_pretrained(folder, **options)


def fp8_dequantized(folder):
    settings = json.loads(Path(folder, "config.json").read_text())["quantization_config"]
    block = settings["weight_block_size"]
    with without_gpu_checks():
        return load(folder, quantization_config=fp8_config(weight_block_size=block and tuple(block), dequantize=True))


FP8 = (["transformers.integrations.finegrained_fp8"], "requirements-dequantized.txt", fp8_dequantized)


@case("fp8 blocks, llama, sharded", *FP8)
def fp8_llama(folder):
    save_fp8(tiny("llama", BF16, False), folder, {"weight_block_size": (128, 128)}, max_shard_size="400KB")


@case("fp8 blocks, qwen, tied", *FP8)
def fp8_qwen(folder):
    save_fp8(tiny("qwen", BF16, True), folder, {"weight_block_size": (64, 128)})


@case("fp8 tensors, llama, f16", *FP8)
def fp8_tensor(folder):
    save_fp8(tiny("llama", F16, False), folder, {"weight_block_size": None, "activation_scheme": "static"})


# ---- bitsandbytes, through transformers


def bnb_config(**settings):
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(**settings)


def bnb_quantized(model, folder, **settings):
    model.save_pretrained(folder + ".plain")
    return load(folder + ".plain", quantization_config=bnb_config(**settings), device_map="cpu")


def bnb_dequantized(folder):
    return load(folder, device_map="cpu").dequantize()


BNB = (["bitsandbytes", "accelerate"], "requirements-dequantized.txt", bnb_dequantized)
NF4 = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}


@case("bnb nf4 nested, llama, f16, sharded", *BNB)
def bnb_nested(folder):
    nested = dict(NF4, bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=F16)
    bnb_quantized(tiny("llama", F16, False), folder, **nested).save_pretrained(folder, max_shard_size="200KB")


@case("bnb nf4, qwen, bf16, tied", *BNB)
def bnb_qwen(folder):
    bnb_quantized(tiny("qwen", BF16, True), folder, **NF4, bnb_4bit_compute_dtype=BF16).save_pretrained(folder)


@case("bnb fp4, llama, bf16", *BNB)
def bnb_fp4(folder):
    settings = dict(NF4, bnb_4bit_quant_type="fp4", bnb_4bit_compute_dtype=BF16)
    bnb_quantized(tiny("llama", BF16, False), folder, **settings).save_pretrained(folder)


@case("bnb int8, qwen, f16", *BNB)
def bnb_int8(folder):
    bnb_quantized(tiny("qwen", F16, False), folder, load_in_8bit=True).save_pretrained(folder)


@case("bnb nf4, llama, .bin, tied", *BNB)
def bnb_bin(folder):
    save_bin(bnb_quantized(tiny("llama", F16, True), folder, **NF4, bnb_4bit_compute_dtype=F16), folder)


# ---- transformers: gpt-oss, whose packed experts nothing writes on a CPU


def mxfp4_dequantized(folder):
    from transformers import Mxfp4Config

    return load(folder, quantization_config=Mxfp4Config(dequantize=True))


@case("mxfp4, gpt-oss", ["transformers.integrations.mxfp4"], "requirements-dequantized.txt", mxfp4_dequantized)
def mxfp4(folder):
    """Random codes in the layout that transformers reads."""
    from safetensors.torch import save_file
    from transformers import GptOssConfig, GptOssForCausalLM

    torch.manual_seed(5)
    config = GptOssConfig(
        vocab_size=320, hidden_size=128, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=32, num_local_experts=4, num_experts_per_tok=2, sliding_window=16,
        layer_types=["sliding_attention", "full_attention"], pad_token_id=1, eos_token_id=1, dtype="bfloat16",
        tie_word_embeddings=False)  # fmt: skip
    model = GptOssForCausalLM(config).to(BF16)
    state = {}
    for name, value in model.state_dict().items():
        if name.endswith(("gate_up_proj", "down_proj")):
            experts, inputs, outputs = value.shape
            state[name + "_blocks"] = torch.randint(0, 256, (experts, outputs, inputs // 32, 16), dtype=torch.uint8)
            state[name + "_scales"] = torch.randint(117, 124, (experts, outputs, inputs // 32), dtype=torch.uint8)
        else:
            state[name] = value.normal_(0, 0.05).clone()
    config.architectures = ["GptOssForCausalLM"]
    settings = config.to_dict() | {"quantization_config": {
        "quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router",
                                                             "model.embed_tokens", "lm_head"]}}  # fmt: skip
    os.makedirs(folder)
    save_file(state, f"{folder}/model.safetensors", metadata={"format": "pt"})
    Path(folder, "config.json").write_text(json.dumps(settings, indent=2))


# ---- llm-compressor and compressed-tensors


def compressed_dequantized(folder):
    """The decompressed weights in a plain model: the library's own would go on to round activations."""
    from transformers import CompressedTensorsConfig

    loaded = load(folder, quantization_config=CompressedTensorsConfig(run_compressed=False))
    parts = ("scale", "zero_point", "weight_shape")
    state = {name: value for name, value in loaded.state_dict().items() if not name.endswith(parts)}
    return plain_model(folder, state, loaded.dtype)


def save_compressed(model, folder, scheme, **options):
    from llmcompressor import oneshot
    from llmcompressor.modifiers.quantization import QuantizationModifier

    model.save_pretrained(folder + ".plain")
    model = load(folder + ".plain")
    oneshot(model=model, recipe=QuantizationModifier(targets="Linear", scheme=scheme, ignore=["lm_head"]))
    model.save_pretrained(folder, save_compressed=True, **options)


COMPRESSED = (["llmcompressor", "compressed_tensors"], "requirements-compressed.txt", compressed_dequantized)


@case("compressed fp8, llama, sharded", *COMPRESSED)
def compressed_fp8(folder):
    save_compressed(tiny("llama", BF16, False), folder, "FP8_DYNAMIC", max_shard_size="400KB")


@case("compressed int4, qwen, tied", *COMPRESSED)
def compressed_int4(folder):
    save_compressed(tiny("qwen", BF16, True), folder, "W4A16")


@case("compressed int4 asymmetric, llama, f16", *COMPRESSED)
def compressed_int4_asym(folder):
    save_compressed(tiny("llama", F16, False), folder, "W4A16_ASYM")


@case("compressed nvfp4, llama", *COMPRESSED)
def compressed_nvfp4(folder):
    save_compressed(tiny("llama", BF16, False), folder, "NVFP4A16")


@case("compressed mxfp4, qwen", *COMPRESSED)
def compressed_mxfp4(folder):
    save_compressed(tiny("qwen", BF16, False), folder, "MXFP4A16")


@case("compressed int8, qwen, tied", *COMPRESSED)
def compressed_int8(folder):
    save_compressed(tiny("qwen", BF16, True), folder, "W8A16")


# ---- GPTQModel


def gptq_dequantized(folder):
    """Each layer by the library's own dequantize_weight; everything else as it loads it."""
    from gptqmodel import BACKEND, GPTQModel
    from gptqmodel.nn_modules.qlinear.torch import TorchLinear

    loaded = GPTQModel.load(folder, device="cpu", backend=BACKEND.TORCH, dtype=F16).model
    return plain_model(folder, decoded_layers(loaded, TorchLinear, lambda m: m.dequantize_weight().T), F16)


def decoded_layers(model, kind, decode):
    layers = {name: module for name, module in model.named_modules() if isinstance(module, kind)}
    state = {f"{name}.weight": decode(module).detach().contiguous() for name, module in layers.items()}
    for name, value in model.state_dict().items():
        layer, _, part = name.rpartition(".")
        if layer not in layers or part == "bias":
            state[name] = value
    return state


def save_gptq(model, folder, **settings):
    from gptqmodel import GPTQModel, QuantizeConfig

    model.save_pretrained(folder + ".plain")
    byte_tokenizer().save_pretrained(folder + ".plain")
    config = QuantizeConfig(bits=4, offload_to_disk=False, **settings)
    loaded = GPTQModel.load(folder + ".plain", config, device="cpu", dtype=model.dtype)
    torch.manual_seed(3)
    texts = [{"input_ids": torch.randint(3, 259, (1, 96)), "attention_mask": torch.ones(1, 96, dtype=torch.long)}
             for _ in range(16)]  # fmt: skip
    loaded.quantize(texts, batch_size=1)
    loaded.save(folder)


def byte_tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {"<s>": 0, "</s>": 1, "<unk>": 2}
    vocabulary |= {c: i + 3 for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    return PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", eos_token="</s>", unk_token="<unk>",
                                   pad_token="</s>", model_max_length=256)  # fmt: skip


GPTQ = (["gptqmodel"], "requirements-gptq.txt", gptq_dequantized)


@case("gptq, llama", *GPTQ)
def gptq_llama(folder):
    save_gptq(tiny("llama", F16, False), folder, group_size=128, sym=True, desc_act=False)


@case("gptq act-order asymmetric, qwen, tied", *GPTQ)
def gptq_qwen(folder):
    save_gptq(tiny("qwen", F16, True), folder, group_size=64, sym=False, desc_act=True, act_group_aware=False)


# ---- AutoAWQ


def awq_dequantized(folder):
    """Each layer by the library's own dequantize_gemm."""
    from awq.utils.packing_utils import dequantize_gemm
    from safetensors.torch import load_file

    stored = {}
    for file in sorted(Path(folder).glob("*.safetensors")):
        stored |= load_file(file)
    size = json.loads(Path(folder, "config.json").read_text())["quantization_config"]["group_size"]
    state = {}
    for name, value in stored.items():
        layer, _, part = name.rpartition(".")
        if part == "qweight":
            zeros, scales = stored[layer + ".qzeros"], stored[layer + ".scales"]
            state[layer + ".weight"] = dequantize_gemm(value, zeros, scales, 4, size).t().contiguous()
        elif part not in ("qzeros", "scales"):
            state[name] = value
    return plain_model(folder, state, F16)


def save_awq(model, folder, group_size, **options):
    """Layers quantized and packed by AutoAWQ, saved by transformers as AutoAWQ saves."""
    from types import SimpleNamespace

    from awq.models._config import AwqConfig
    from awq.modules.linear.gemm import WQLinear_GEMM
    from awq.quantize.quantizer import AwqQuantizer
    from awq.utils.module import set_op_by_name

    settings = SimpleNamespace(w_bit=4, group_size=group_size, zero_point=True)
    for name, linear in list(model.named_modules()):
        if isinstance(linear, torch.nn.Linear) and name != "lm_head":
            weight, scales, zeros = AwqQuantizer.pseudo_quantize_tensor(settings, linear.weight.data.float())
            linear.weight.data = weight.half()
            scales, zeros = scales.t().contiguous(), zeros.t().contiguous()
            packed = WQLinear_GEMM.from_linear(linear, 4, group_size, False, scales, zeros)
            set_op_by_name(model, name, packed)
    config = AwqConfig(quant_method="awq", zero_point=True, q_group_size=group_size, w_bit=4, version="gemm")
    model.config.quantization_config = config.to_transformers_dict()
    model.save_pretrained(folder, **options)


AWQ = (["awq"], "requirements-awq.txt", awq_dequantized)


@case("awq, llama, sharded", *AWQ)
def awq_llama(folder):
    save_awq(tiny("llama", F16, False), folder, 128, max_shard_size="200KB")


@case("awq, qwen, tied", *AWQ)
def awq_qwen(folder):
    save_awq(tiny("qwen", F16, True), folder, 64)
