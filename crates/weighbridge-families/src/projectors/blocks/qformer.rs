//! Q-Formers: layers whose queries see what an encoder says.

/// Rows of its layers: how their names begin, and what GGUF has in place of that.
macro_rules! qformer_rows {
    ($own:literal, $gguf:literal) => {
        &[
            qformer_rows!($own, $gguf, "attention.attention.query", "self_attn_q"),
            qformer_rows!($own, $gguf, "attention.attention.key", "self_attn_k"),
            qformer_rows!($own, $gguf, "attention.attention.value", "self_attn_v"),
            qformer_rows!($own, $gguf, "attention.output.dense", "self_attn_out"),
            qformer_rows!($own, $gguf, "attention.output.LayerNorm", "self_attn_norm"),
            qformer_rows!($own, $gguf, "crossattention.attention.query", "cross_attn_q"),
            qformer_rows!($own, $gguf, "crossattention.attention.key", "cross_attn_k"),
            qformer_rows!($own, $gguf, "crossattention.attention.value", "cross_attn_v"),
            qformer_rows!($own, $gguf, "crossattention.output.dense", "cross_attn_out"),
            qformer_rows!($own, $gguf, "crossattention.output.LayerNorm", "cross_attn_norm"),
            qformer_rows!($own, $gguf, "intermediate_query.dense", "ffn_up"),
            qformer_rows!($own, $gguf, "output_query.dense", "ffn_down"),
            qformer_rows!($own, $gguf, "output_query.LayerNorm", "ffn_norm"),
        ]
    };
    ($own:literal, $gguf:literal, $module:literal, $tensor:literal) => {
        (
            concat!($own, "qformer.encoder.layer.#.", $module),
            &[concat!($gguf, ".proj_blk.#.", $tensor)],
            Plain,
        )
    };
}
pub(crate) use qformer_rows;
