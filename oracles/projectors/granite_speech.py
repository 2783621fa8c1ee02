"""Granite Speech and Granite Speech Plus: a conformer, and a Q-Former over windows."""

from projector_blocks import linear, llama_text, norm
from projector_layouts import TEXT_CONFIG, batch_norm, convolution, counted, golden, modules

WIDTH = 8


def layer(prefix):
    found = {
        **modules(f"{prefix}attn.", dict(to_q=(8, WIDTH), to_kv=(16, WIDTH)), bias=False),
        **modules(f"{prefix}attn.", dict(to_out=(WIDTH, 8)), dict(pre_norm=WIDTH)),
        f"{prefix}attn.rel_pos_emb.weight": [9, 4],
        **norm(f"{prefix}conv.norm", WIDTH),
        **convolution(f"{prefix}conv.up_conv", [32, WIDTH, 1]),
        **convolution(f"{prefix}conv.depth_conv.conv", [16, 1, 3], False),
        **batch_norm(f"{prefix}conv.batch_norm", 16),
        **convolution(f"{prefix}conv.down_conv", [WIDTH, 16, 1]),
        **norm(f"{prefix}post_norm", WIDTH),
    }
    for feed in ["ff1", "ff2"]:
        found.update(modules(f"{prefix}{feed}.", dict(up_proj=(16, WIDTH), down_proj=(WIDTH, 16)), dict(pre_norm=WIDTH)))
    return found


def qformer(prefix, layers, width, inner):
    """A Q-Former that sees what is `inner` wide."""
    found = norm(f"{prefix}layernorm", width)
    for number in range(layers):
        own = f"{prefix}encoder.layer.{number}."
        for part, seen in [("attention", width), ("crossattention", inner)]:
            found.update(modules(f"{own}{part}.attention.", dict(query=(width, width), key=(width, seen), value=(width, seen))))
            found.update(modules(f"{own}{part}.output.", dict(dense=(width, width)), dict(LayerNorm=width)))
        found.update(modules(own, {"intermediate_query.dense": (12, width), "output_query.dense": (width, 12)}, {"output_query.LayerNorm": width}))
    return found


def shapes(layers, seen):
    found = {}
    for number in range(layers):
        found.update(layer(f"encoder.layers.{number}."))
    return {
        **found,
        **linear("encoder.input_linear", WIDTH, 6),
        **linear("encoder.out", 5, WIDTH),
        **linear("encoder.out_mid", WIDTH, 5),
        "projector.query": [1, 3, WIDTH],
        **qformer("projector.qformer.", 2, WIDTH, seen),
        **linear("projector.linear", 16, WIDTH),
    }


def config(kind, architecture, seen, encoder=None, **more):
    own = dict(input_dim=6, num_layers=2, hidden_dim=WIDTH, feedforward_mult=2, num_heads=2, dim_head=4, output_dim=5, context_size=8)
    own.update(max_pos_emb=4, conv_kernel_size=3, model_type=f"{kind}_encoder", **(encoder or {}))
    projector = dict(model_type="blip_2_qformer", hidden_size=WIDTH, num_attention_heads=2, num_hidden_layers=2, intermediate_size=12)
    found = dict(architectures=[architecture], model_type=kind, encoder_config=own, projector_config=dict(projector, encoder_hidden_size=seen))
    return dict(found, text_config=dict(TEXT_CONFIG, model_type="granite"), **more)


def text(rows):
    return llama_text(rows, "language_model.model.", "language_model.lm_head.")


def named(kind):
    """A folded norm has the name that llama.cpp loads."""
    own = kind.modify_tensors

    def modify(self, *tensor):
        for name, data in own(self, *tensor):
            yield name.replace(".conv_norm_var.", ".conv_norm."), data

    kind.modify_tensors = modify


SPEECH = ("granite_speech", "GraniteSpeechForConditionalGeneration")
PLUS = ("granite_speech_plus", "GraniteSpeechPlusForConditionalGeneration")

GOLDENS = {
    "granite_speech": golden(config(*SPEECH, 8, window_size=15, downsample_rate=5), shapes(2, 8), text=text, steps=[counted], mend=named),
    "granite_speech_plus": golden(config(*PLUS, 16, dict(cat_hidden_layers=[1])), shapes(2, 16), text=text, types=["bf16"], steps=[counted], mend=named),
}
