//! DeepSeek-OCR 2: SAM before layers of Qwen 2.

use super::deepseek_ocr::{DEEPSEEK_OCR, SAM, SAM_KEYS, SAM_WIDTHS, sam, tiles};
use super::projector::*;

pub(super) const DEEPSEEK_OCR2: Projector = Projector {
    shown: "deepseek_ocr2",
    classes: &["DeepseekOCR2ForCausalLM"],
    settle: |facts| {
        sam(facts)?;
        let width = needed(&facts.vision["width"]["qwen2-0-5b"], "dim")?;
        set(&mut facts.vision, "hidden_size", width);
        for (key, value) in FIXED {
            set_default(&mut facts.vision, key, value);
        }
        Ok(())
    },
    starts: &[
        ("model.sam_model.", "sam."),
        ("model.qwen2_model.model.model.", "vision."),
        ("model.qwen2_model.", "query."),
        ("model.projector.", "projector."),
        ("model.image_newline", "image_newline"),
        ("model.view_seperator", "view_seperator"),
    ],
    rows: &[
        SAM,
        &[
            ("vision.layers.#.input_layernorm", &["v.blk.#.ln1"], Plain),
            ("vision.layers.#.post_attention_layernorm", &["v.blk.#.ln2"], Plain),
            ("vision.layers.#.self_attn.q_proj", &["v.blk.#.attn_q"], Plain),
            ("vision.layers.#.self_attn.k_proj", &["v.blk.#.attn_k"], Plain),
            ("vision.layers.#.self_attn.v_proj", &["v.blk.#.attn_v"], Plain),
            ("vision.layers.#.self_attn.o_proj", &["v.blk.#.attn_out"], Plain),
            ("vision.layers.#.mlp.gate_proj", &["v.blk.#.ffn_gate"], Plain),
            ("vision.layers.#.mlp.up_proj", &["v.blk.#.ffn_up"], Plain),
            ("vision.layers.#.mlp.down_proj", &["v.blk.#.ffn_down"], Plain),
            ("vision.norm", &["v.post_ln"], Plain),
            ("query.query_768", &["v.resample_query_768"], Plain),
            ("query.query_1024", &["v.resample_query_1024"], Plain),
        ],
    ],
    keys: &[
        VISION,
        &[("projector_type", Text, Says("deepseekocr2"))],
        SAM_KEYS,
        &[tiles(6.0)],
        SAM_WIDTHS,
        &[("vision.attention.head_count_kv", Count, Is(2.0))],
    ],
    needs: &[
        "mm.model.fc.weight",
        "v.post_ln.weight",
        "v.sam.neck.0.weight",
        "v.sam.neck.1.weight",
        "v.sam.neck.2.weight",
        "v.sam.neck.3.weight",
        "v.sam.net_2.weight",
        "v.sam.net_3.weight",
        "v.sam.patch_embd.weight",
        "v.sam.pos_embd.weight",
        "v.view_seperator",
    ],
    ..DEEPSEEK_OCR
};

/// What the model's own code has for its layers, which its config does not say.
const FIXED: [(&str, u64); 4] =
    [("layers", 24), ("patch_size", 16), ("intermediate_size", 4864), ("num_attention_heads", 14)];
