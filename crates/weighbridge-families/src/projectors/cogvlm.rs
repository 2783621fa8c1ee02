//! `CogVLM`: an encoder whose output goes through a gated layer.

use super::projector::*;

pub(super) const COGVLM: Projector = Projector {
    shown: "cogvlm",
    classes: &["CogVLMForCausalLM"],
    starts: &[("model.vision.", "vision.")],
    rows: &[&[
        ("vision.patch_embedding.cls_embedding", &["v.class_embd"], Plain),
        ("vision.patch_embedding.proj", &["v.patch_embd"], Plain),
        ("vision.patch_embedding.position_embedding", &["v.position_embd"], Plain),
        ("vision.transformer.layers.#.input_layernorm", &["v.blk.#.ln1"], Plain),
        ("vision.transformer.layers.#.post_attention_layernorm", &["v.blk.#.ln2"], Plain),
        ("vision.transformer.layers.#.attention.query_key_value", &["v.blk.#.attn_qkv"], Plain),
        ("vision.transformer.layers.#.attention.dense", &["v.blk.#.attn_out"], Plain),
        ("vision.transformer.layers.#.mlp.fc1", &["v.blk.#.ffn_up"], Plain),
        ("vision.transformer.layers.#.mlp.fc2", &["v.blk.#.ffn_down"], Plain),
        ("vision.linear_proj.linear_proj", &["mm.model.fc"], Plain),
        ("vision.linear_proj.norm1", &["mm.post_fc_norm"], Plain),
        ("vision.linear_proj.dense_h_to_4h", &["mm.up"], Plain),
        ("vision.linear_proj.gate_proj", &["mm.gate"], Plain),
        ("vision.linear_proj.dense_4h_to_h", &["mm.down"], Plain),
        ("vision.boi", &["v.boi"], Plain),
        ("vision.eoi", &["v.eoi"], Plain),
    ]],
    keys: &[
        VISION,
        &[
            (EPSILON, Number, VisionOr(&["layer_norm_eps"], 1e-6)),
            ("projector_type", Text, Says("cogvlm")),
        ],
    ],
    assumes: &[("vision.hidden_act", &["gelu"], "computes `gelu`")],
    needs: &[
        "mm.down.weight",
        "mm.gate.weight",
        "mm.model.fc.weight",
        "mm.up.weight",
        "v.boi",
        "v.class_embd",
        "v.eoi",
        "v.patch_embd.weight",
        "v.position_embd.weight",
    ],
    ..PROJECTOR
};
