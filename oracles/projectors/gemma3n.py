"""Gemma 3n: a MobileNetV5 for images, which is timm's, and a conformer for sound."""

import transformers
from family_tokenizers import google
from projector_blocks import TEXT, Golden, laid_out, llama_text, shapes_of
from transformers.models.gemma3n.modeling_gemma3n import Gemma3nAudioEncoder

AUDIO = dict(hidden_size=8, conf_num_hidden_layers=1, conf_num_attention_heads=2, input_feat_size=8, vocab_size=4, model_type="gemma3n_audio")
AUDIO.update(sscp_conv_channel_size=[4, 2])
VISION = dict(architecture="mobilenetv5_300m_enc", hidden_size=8, vocab_size=4, model_type="gemma3n_vision", label_names=["LABEL_0", "LABEL_1"])


def config(audio):
    text = dict(TEXT, model_type="gemma3n_text")
    top = dict(architectures=["Gemma3nForConditionalGeneration"], model_type="gemma3n", vision_config=VISION, audio_config=audio)
    return lambda rows: dict(top, text_config=dict(text, vocab_size=rows))


def embedder(start, rows):
    found = {f"{start}.embedding.weight": [rows, 8], f"{start}.embedding_projection.weight": [16, 8]}
    return found | {f"{start}.{kind}_embedding_norm.weight": [8] for kind in ["hard", "soft"]}


def residual(start):
    found = {"conv_exp.weight": [16, 8, 3, 3], "bn1.weight": [16], "conv_pwl.weight": [8, 16, 1, 1], "bn2.weight": [8]}
    return {f"{start}.{name}": shape for name, shape in found.items()}


def inverted(start, kernels, scale=True):
    shapes = dict(dw_start=[8, 1, 3, 3], pw_exp=[16, 8, 1, 1], dw_mid=[16, 1, 5, 5], pw_proj=[8, 16, 1, 1])
    found = {f"{start}.layer_scale.gamma": [8]} if scale else {}
    for kernel in kernels:
        found |= {f"{start}.{kernel}.conv.weight": shapes[kernel], f"{start}.{kernel}.bn.weight": shapes[kernel][:1]}
    return found


def attention(start):
    found = {f"{start}.norm.weight": [8], f"{start}.layer_scale.gamma": [8]}
    found |= {f"{start}.attn.query.proj.weight": [8, 8, 1, 1], f"{start}.attn.output.proj.weight": [8, 8, 1, 1]}
    for kind in ["key", "value"]:
        start_of = f"{start}.attn.{kind}"
        found |= {f"{start_of}.proj.weight": [4, 8, 1, 1], f"{start_of}.down_conv.weight": [8, 1, 3, 3], f"{start_of}.norm.weight": [8]}
    return found


def shapes(audio, has_bias):
    def made(rows):
        found = llama_text(rows, "model.language_model.", "lm_head.")
        found |= shapes_of(lambda: Gemma3nAudioEncoder(transformers.Gemma3nAudioConfig(**audio)), "model.audio_tower.")
        found |= embedder("model.embed_audio", 4) | embedder("model.embed_vision", 4)
        tower = "model.vision_tower.timm_model."
        found |= {f"{tower}conv_stem.conv.weight": [8, 3, 3, 3], f"{tower}conv_stem.bn.weight": [8]}
        if has_bias:
            found[f"{tower}conv_stem.conv.bias"] = [8]
        found |= residual(f"{tower}blocks.0.0") | residual(f"{tower}blocks.0.1")
        found |= inverted(f"{tower}blocks.1.0", ["dw_start", "pw_exp", "dw_mid", "pw_proj"]) | inverted(f"{tower}blocks.1.1", ["pw_exp", "pw_proj"], False)
        found |= attention(f"{tower}blocks.2.0") | inverted(f"{tower}blocks.2.1", ["pw_exp", "pw_proj"])
        for name, shape in dict(pw_exp=[16, 16, 1, 1], pw_proj=[8, 16, 1, 1]).items():
            found |= {f"{tower}msfa.ffn.{name}.conv.weight": shape, f"{tower}msfa.ffn.{name}.bn.weight": shape[:1]}
        found[f"{tower}msfa.norm.weight"] = [8]
        return found

    return made


def with_norms(kind):
    """The converter's table of names has no norms behind the first convolutions, for which it has tensors."""
    mapped = kind.map_tensor_name

    def named(self, name, *given):
        for number in "01":
            if name == f"model.audio_tower.subsample_conv_projection.conv_{number}.norm.weight":
                return f"a.conv1d.{number}.norm.weight"
        return mapped(self, name, *given)

    kind.map_tensor_name = named


LONG = dict(AUDIO, conf_num_hidden_layers=2, input_feat_size=12)
SIZES = dict(size=dict(height=512, width=512), image_seq_length=64)
GOLDENS = {
    "gemma3n": Golden(None, google, dict(image_seq_length=256), laid_out=laid_out(config(AUDIO), shapes(AUDIO, True)), mend=with_norms),
    "gemma3n-small": Golden(None, google, SIZES, types=["bf16"], laid_out=laid_out(config(LONG), shapes(LONG, False)), mend=with_norms),
}
