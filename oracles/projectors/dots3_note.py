"""dots3 note: an encoder of images with experts in some layers, and one of sound."""

from projector_blocks import HALVES, linear, llama_text, norm
from projector_layouts import TEXT_CONFIG, convolution, golden, layered, modules

ARCHITECTURE = "Dots3NoteForCausalLM"
EXPERTS = dict(fc1=(12, 16), fc2=(16, 12), fc3=(12, 16))


def images(pyramid):
    found = {
        **convolution("vision_encoder.patch_embed.proj", [16, 3, 2, 2]),
        **norm("vision_encoder.patch_embed.norm", 16, False),
        **norm("vision_encoder.post_trunk_norm", 16, False),
        **norm("vision_encoder.adapter.ln_q", 16),
        **modules("vision_encoder.adapter.", {"mlp.0": (24, 64), "mlp.2": (16, 24)}),
    }
    attention = {"attn.qkv": (48, 16), "attn.proj": (16, 16)}
    norms = {"norm_1": 16, "norm_2": 16, "attn.q_norm": 8, "attn.k_norm": 8}
    found.update(layered("vision_encoder.blocks.", len(pyramid), attention, norms, bias=False, norm_bias=False))
    for layer, count in enumerate(pyramid):
        own = f"vision_encoder.blocks.{layer}.mlp."
        if count > 0:
            found.update(layered(f"{own}experts.", count, EXPERTS, bias=False))
            found.update({f"{own}gate_weight": [count, 16], f"{own}router_bias": [count]})
        else:
            found.update(modules(own, EXPERTS, bias=False))
    return found


def sound():
    start = "audio_encoder.dots_encoder.speech_encoder."
    linears = {f"self_attn.{name}_proj": (8, 8) for name in ["q", "k", "v", "out"]}
    linears.update(fc1=(24, 8), fc2=(8, 12))
    found = layered(f"{start}layers.", 2, linears, dict(self_attn_layer_norm=8, final_layer_norm=8), norm_bias=False)
    for number, channels in enumerate([1, 4, 4]):
        found.update(convolution(f"{start}conv2d{number + 1}", [4, channels, 3, 3]))
    found.update(linear(f"{start}conv_out", 8, 8, False))
    found.update(norm(f"{start}layer_norm", 8, False))
    return {**found, **norm("audio_encoder.audio_adapter.proj.0", 8), **modules("audio_encoder.audio_adapter.proj.", {"1": (12, 8), "3": (16, 12)})}


def config(pyramid, **more):
    vision = dict(embed_dim=16, hidden_size=16, intermediate_size=12, num_hidden_layers=len(pyramid), num_attention_heads=2, patch_size=2)
    vision.update(pyramid_num_routed=pyramid, adapter_type="patch_merger", pre_pixel_shuffle=True, router_scoring_func="sigmoid")
    vision.update(router_scale=1.0, capacity_factor=2.0, temporal_patch_size=1, use_bias=False, use_qk_norm=True, rms_norm_eps=1e-5)
    whisper = dict(d_model=8, encoder_ffn_dim=12, encoder_attention_heads=2, encoder_layers=2, num_mel_bins=8, activation_function="swiglu")
    audio = dict(use_conv2d_stem=True, use_rope=True, use_rms_norm=True, use_causal=False, merge_factor=1, chunk_seconds=60)
    audio.update(whisper_config=whisper, rope_parameters=dict(partial_rotary_factor=0.5, rope_theta=10000.0))
    found = dict(TEXT_CONFIG, architectures=[ARCHITECTURE], model_type="dots3_note", audio_config=audio)
    return dict(found, vision_config=dict(vision, spatial_merge_size=2, **more))


PROCESSOR = dict(vision_config=dict(HALVES, min_pixels=3136, max_pixels=1003520))

GOLDENS = {
    "dots3_note": golden(config([-1, 2, 3]), {**images([-1, 2, 3]), **sound()}, PROCESSOR, llama_text),
    "dots3_note-bf16": golden(config([0, 11]), {**images([0, 11]), **sound()}, PROCESSOR, lambda rows: {"model.norm.weight": [16]}, types=["bf16"]),
}
