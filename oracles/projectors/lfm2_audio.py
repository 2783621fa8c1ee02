"""LFM2-Audio: a conformer, and an adapter. What makes sound is left out."""

from projector_blocks import linear, norm
from projector_layouts import TEXT_CONFIG, batch_norm, convolution, counted, golden, layered, modules

WIDTH = 8


def layer(prefix):
    attention = {f"self_attn.linear_{part}": (WIDTH, WIDTH) for part in ["q", "k", "v", "out"]}
    feed = {}
    for number in [1, 2]:
        feed.update({f"feed_forward{number}.linear1": (12, WIDTH), f"feed_forward{number}.linear2": (WIDTH, 12)})
    norms = ["norm_feed_forward1", "norm_feed_forward2", "norm_self_att", "norm_conv", "norm_out"]
    return {
        **modules(prefix, {**attention, **feed}, dict.fromkeys(norms, WIDTH)),
        **linear(f"{prefix}self_attn.linear_pos", WIDTH, WIDTH, False),
        f"{prefix}self_attn.pos_bias_u": [2, 4],
        f"{prefix}self_attn.pos_bias_v": [2, 4],
        **convolution(f"{prefix}conv.pointwise_conv1", [2 * WIDTH, WIDTH, 1]),
        **convolution(f"{prefix}conv.depthwise_conv", [WIDTH, 1, 9]),
        **convolution(f"{prefix}conv.pointwise_conv2", [WIDTH, WIDTH, 1]),
        **batch_norm(f"{prefix}conv.batch_norm", WIDTH),
    }


def shapes(layers):
    found = {}
    for number in range(layers):
        found.update(layer(f"conformer.layers.{number}."))
    for number, shape in {0: [4, 1, 3, 3], 2: [4, 1, 3, 3], 3: [4, 4, 1, 1], 5: [4, 1, 3, 3], 6: [4, 4, 1, 1]}.items():
        found.update(convolution(f"conformer.pre_encode.conv.{number}", shape))
    return {
        **found,
        **linear("conformer.pre_encode.out", WIDTH, 16),
        **norm("audio_adapter.model.0", WIDTH),
        **modules("audio_adapter.model.", {"1": (24, WIDTH), "3": (16, 24)}),
        "audio_embedding.embedding.weight": [20, 16],
        "audio_embedding.embedding_norm.weight": [16],
        "audio_embedding.to_logits.weight": [20, 16],
        "codebook_offsets": [4],
        "audio_loss_weights": [4],
        **layered("depth_embeddings.", 2, dict(to_logits=(8, 8)), bias=False),
        **linear("depth_linear", 32, 16),
        "depthformer.layers.0.operator.out_proj.weight": [8, 8],
    }


def config():
    encoder = dict(feat_in=32, feat_out=-1, n_layers=7, d_model=WIDTH, n_heads=2, subsampling_factor=8, conv_kernel_size=9)
    found = dict(architectures=["Lfm2AudioForConditionalGeneration"], codebooks=8, encoder=encoder)
    return dict(found, lfm=TEXT_CONFIG)


def text(rows):
    return {"lfm.embed_tokens.weight": [rows, 2], "lfm.norm.weight": [16]}


GOLDENS = {"lfm2_audio": golden(config(), shapes(7), text=text, steps=[counted])}
