//! Llama 4: patches that are shuffled, with a class token behind them.

use super::projector::*;

pub(super) const LLAMA4: Projector = Projector {
    shown: "llama4",
    classes: &["Llama4ForConditionalGeneration"],
    defaults: r#"{"vision_config": {"hidden_size": 768, "intermediate_size": 5632, "num_hidden_layers": 34,
        "num_attention_heads": 16, "image_size": 448, "patch_size": 14, "norm_eps": 1e-5, "hidden_act": "gelu",
        "pixel_shuffle_ratio": 0.5}}"#,
    settle: |facts| match facts.vision.get("hidden_act") {
        Some(act) if act == "gelu" => Ok(()),
        other => Err(odd("hidden_act", other)),
    },
    starts: &[("vision_model.", "vision."), ("multi_modal_projector.", "mm.")],
    rows: &[&[
        ("mm.linear_1.weight", &["mm.model.fc.weight"], Plain),
        ("vision.vision_adapter.mlp.fc1", &["mm.model.mlp.1"], Plain),
        ("vision.vision_adapter.mlp.fc2", &["mm.model.mlp.2"], Plain),
        ("vision.class_embedding", &["v.class_embd"], Plain),
        ("vision.patch_embedding.linear", &["v.patch_embd"], Plain),
        ("vision.positional_embedding_vlm", &["v.position_embd.weight"], Plain),
        ("vision.layernorm_pre", &["v.pre_ln"], Plain),
        ("vision.layernorm_post", &["v.post_ln"], Plain),
        ("vision.model.layers.#.input_layernorm", &["v.blk.#.ln1"], Plain),
        ("vision.model.layers.#.post_attention_layernorm", &["v.blk.#.ln2"], Plain),
        ("vision.model.layers.#.self_attn.q_proj", &["v.blk.#.attn_q"], Plain),
        ("vision.model.layers.#.self_attn.k_proj", &["v.blk.#.attn_k"], Plain),
        ("vision.model.layers.#.self_attn.v_proj", &["v.blk.#.attn_v"], Plain),
        ("vision.model.layers.#.self_attn.o_proj", &["v.blk.#.attn_out"], Plain),
        ("vision.model.layers.#.mlp.fc1", &["v.blk.#.ffn_up"], Plain),
        ("vision.model.layers.#.mlp.fc2", &["v.blk.#.ffn_down"], Plain),
    ]],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("llama4")),
            (EPSILON, Number, Vision(&["norm_eps"])),
            (
                SCALE,
                Count,
                Made(|facts| whole_inverse(&facts.vision, "pixel_shuffle_ratio").map(Some)),
            ),
            GELU,
        ],
    ],
    assumes: &[THETA, ("vision.rope_theta", &["10000", "10000.0"], "turns positions by 10000")],
    needs: &[
        "v.class_embd",
        "v.patch_embd.weight",
        "v.position_embd.weight",
        "v.pre_ln.weight",
        "v.post_ln.weight",
        "mm.model.mlp.1.weight",
        "mm.model.mlp.2.weight",
        "mm.model.fc.weight",
    ],
    has_width: true,
    ..PROJECTOR
};
