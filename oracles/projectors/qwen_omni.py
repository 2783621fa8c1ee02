"""Qwen 2.5 Omni, Qwen 3 Omni and Qwen 3 ASR: images and sound."""

import numpy
import torch
import transformers
from family_tokenizers import qwen2
from gguf_vocabularies import write_json
from projector_blocks import CLIP_COLOURS, TEXT, Golden, config_of, renamed, with_config

TEXT = dict(TEXT, rope_parameters=dict(rope_type="default", rope_theta=1e6, mrope_section=[1, 1, 2]))
EXPERTS = dict(num_experts=2, num_experts_per_tok=1, moe_intermediate_size=16, decoder_sparse_step=1)
VISION = dict(depth=2, hidden_size=8, intermediate_size=12, out_hidden_size=16, num_heads=2, patch_size=4)
AUDIO = dict(d_model=4, encoder_ffn_dim=8, encoder_layers=2, encoder_attention_heads=2, num_mel_bins=8, output_dim=16)
WINDOWS = dict(VISION, fullatt_block_indexes=[0, 1], window_size=16)
STACKED = dict(VISION, hidden_size=4, num_position_embeddings=16, deepstack_visual_indexes=[1])
FRAMES = dict(AUDIO, downsample_hidden_size=4)
ALONE = dict(FRAMES, encoder_layers=4)


def model(kind, text, vision, audio):
    def make(settings):
        text_config = dict(text, **settings)
        thinker = dict(text_config=text_config, vision_config=vision, audio_config=audio)
        config = getattr(transformers, f"{kind}Config")(thinker_config=thinker, enable_audio_output=False)
        return getattr(transformers, f"{kind}ForConditionalGeneration")(config)

    return make


def asr(settings):
    config = transformers.Qwen3ASRConfig(text_config=dict(TEXT, model_type="qwen3", **settings), audio_config=ALONE)
    return transformers.Qwen3ASRForConditionalGeneration(config)


def with_exact_positions(kind):
    """torch rounds sines and cosines in a way that differs from machine to machine: these are rounded once."""

    def extra(self):
        half = self.hparams_audio["hidden_size"] // 2
        step = -torch.tensor(numpy.log(10000) / (half - 1), dtype=torch.float32)
        frequencies = torch.exp((step * torch.arange(half).float()).double()).float()
        angles = (torch.arange(1500)[:, None] * frequencies[None, :]).double()
        yield "audio_tower.embed_positions.weight", torch.cat([angles.sin(), angles.cos()], dim=1).float()

    kind.generate_extra_tensors = extra


def with_layers_of_images(kind):
    """The converter looks for other names of the encoder of images than those that it gives it."""
    with_exact_positions(kind)
    filtered = kind.filter_tensors

    def named(item):
        found = filtered(item)
        return found and (found[0].replace("thinker.visual.", "visual."), found[1])

    kind.filter_tensors = staticmethod(named)


def with_thinker(folder):
    """The published config has all parts in one."""
    config = config_of(folder)
    thinker = {part: config.pop(part) for part in ["audio_config", "text_config"]}
    top = dict(architectures=config["architectures"], model_type=config["model_type"], thinker_config=thinker)
    write_json(folder, "config.json", top, indent=2)


published = renamed(
    ("model.audio_tower.", "thinker.audio_tower."),
    ("model.multi_modal_projector.linear_1.", "thinker.audio_tower.proj1."),
    ("model.multi_modal_projector.linear_2.", "thinker.audio_tower.proj2."),
    ("model.language_model.", "thinker.model."),
    ("lm_head.", "thinker.lm_head."),
)
old = with_config(architectures=["Qwen2_5OmniModel"])
GOLDENS = {
    "qwen2_5_omni": Golden(model("Qwen2_5Omni", TEXT, WINDOWS, AUDIO), qwen2, CLIP_COLOURS, steps=[old], mend=with_exact_positions),
    "qwen3_omni_moe": Golden(model("Qwen3OmniMoe", dict(TEXT, **EXPERTS), STACKED, FRAMES), qwen2, CLIP_COLOURS, mend=with_layers_of_images),
    "qwen3_asr": Golden(asr, qwen2, types=["bf16"], steps=[published, with_thinker], mend=with_exact_positions),
}
