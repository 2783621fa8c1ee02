"""DeepSeek-OCR, its second version, and Unlimited-OCR: SAM before CLIP, or before Qwen 2's layers."""

from projector_blocks import HALVES, linear, llama_text, norm
from projector_layouts import TEXT_CONFIG, convolution, golden, layered, modules

SAM = dict(downsample_channels=[8, 8], global_attn_indexes=[1], heads=2, layers=2, width=8)


def sam():
    linears = {"attn.qkv": (24, 8), "attn.proj": (8, 8), "mlp.lin1": (16, 8), "mlp.lin2": (8, 16)}
    found = {
        "model.sam_model.pos_embed": [1, 4, 4, 8],
        **convolution("model.sam_model.patch_embed.proj", [8, 3, 2, 2]),
        **layered("model.sam_model.blocks.", 2, linears, dict(norm1=8, norm2=8)),
    }
    for layer in range(2):
        for side in "hw":
            found[f"model.sam_model.blocks.{layer}.attn.rel_pos_{side}"] = [7, 4]
    for name, shape in {"neck.0": [8, 8, 1, 1], "neck.2": [8, 8, 3, 3], "net_2": [8, 8, 3, 3], "net_3": [8, 8, 3, 3]}.items():
        found.update(convolution(f"model.sam_model.{name}", shape, False))
    return {**found, **norm("model.sam_model.neck.1", 8), **norm("model.sam_model.neck.3", 8)}


def clip():
    linears = {"self_attn.qkv_proj": (48, 16), "self_attn.out_proj": (16, 16), "mlp.fc1": (24, 16), "mlp.fc2": (16, 24)}
    return {
        "model.vision_model.embeddings.class_embedding": [16],
        **convolution("model.vision_model.embeddings.patch_embedding", [16, 3, 2, 2], False),
        "model.vision_model.embeddings.position_embedding.weight": [17, 16],
        **norm("model.vision_model.pre_layrnorm", 16),
        **layered("model.vision_model.transformer.layers.", 4, linears, dict(layer_norm1=16, layer_norm2=16)),
        "model.image_newline": [16],
    }


def qwen2():
    linears = {"self_attn.q_proj": (16, 16), "self_attn.k_proj": (8, 16), "self_attn.v_proj": (8, 16)}
    plain = {"self_attn.o_proj": (16, 16), "mlp.gate_proj": (24, 16), "mlp.up_proj": (24, 16), "mlp.down_proj": (16, 24)}
    start = "model.qwen2_model.model.model."
    return {
        **layered(f"{start}layers.", 4, linears),
        **layered(f"{start}layers.", 4, plain, dict(input_layernorm=16, post_attention_layernorm=16), bias=False, norm_bias=False),
        **norm(f"{start}norm", 16, False),
        "model.qwen2_model.query_768.weight": [4, 16],
        "model.qwen2_model.query_1024.weight": [9, 16],
    }


def config(architecture, width, **more):
    vision = dict(image_size=1024, mlp_ratio=3.7362, model_type="vision", width=dict(width, sam_vit_b=SAM), **more)
    found = dict(TEXT_CONFIG, architectures=[architecture], model_type="deepseek_vl_v2", vision_config=vision)
    return dict(found, language_config=TEXT_CONFIG)


CLIP = {"clip-l-14-224": dict(heads=2, image_size=224, layers=4, patch_size=14, width=16)}
QWEN2 = {"qwen2-0-5b": dict(dim=16)}
LAST = {"model.view_seperator": [16], **linear("model.projector.layers", 16, 24)}
ONE = {**sam(), **clip(), **LAST}
TWO = {**sam(), **qwen2(), **LAST}

GOLDENS = {
    "deepseek_ocr": golden(config("DeepseekOCRForCausalLM", CLIP), ONE, HALVES, llama_text),
    "deepseek_ocr2": golden(config("DeepseekOCR2ForCausalLM", QWEN2, layers=4), TWO, HALVES, llama_text),
    "deepseek_ocr2-bf16": golden(
        config("DeepseekOCR2ForCausalLM", QWEN2, layers=4, patch_size=32, layer_norm_eps=1e-5, window_size=7),
        TWO,
        dict(HALVES, image_seq_length=64),
        llama_text,
        types=["bf16"],
    ),
    "unlimited_ocr": golden(config("UnlimitedOCRForCausalLM", CLIP), ONE, HALVES, llama_text, types=["bf16"]),
}
