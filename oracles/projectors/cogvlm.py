"""CogVLM: an encoder whose output goes through a gated layer."""

from projector_blocks import CLIP_COLOURS, llama_text, norm
from projector_layouts import TEXT_CONFIG, convolution, golden, layered, modules

VISION = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_heads=2, image_size=8, patch_size=2, layer_norm_eps=1e-6)


def shapes(layers):
    linears = {"attention.query_key_value": (48, 16), "attention.dense": (16, 16), "mlp.fc1": (24, 16), "mlp.fc2": (16, 24)}
    mlp = dict(linear_proj=(16, 16), dense_h_to_4h=(24, 16), gate_proj=(24, 16), dense_4h_to_h=(16, 24))
    return {
        "model.vision.patch_embedding.cls_embedding": [1, 16],
        "model.vision.patch_embedding.position_embedding.weight": [17, 16],
        **convolution("model.vision.patch_embedding.proj", [16, 3, 2, 2]),
        **layered("model.vision.transformer.layers.", layers, linears, dict(input_layernorm=16, post_attention_layernorm=16)),
        **modules("model.vision.linear_proj.", mlp, bias=False),
        **norm("model.vision.linear_proj.norm1", 16),
        "model.vision.boi": [1, 1, 16],
        "model.vision.eoi": [1, 1, 16],
    }


def config(**more):
    return dict(TEXT_CONFIG, architectures=["CogVLMForCausalLM"], vision_config=dict(VISION, **more))


GOLDENS = {
    "cogvlm": golden(config(), shapes(2), CLIP_COLOURS, llama_text),
    "cogvlm-plain": golden(config(num_hidden_layers=1, layer_norm_eps=1e-5), shapes(1), CLIP_COLOURS, llama_text, dtype="float32", types=["bf16"]),
}
