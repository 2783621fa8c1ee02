//! Which weights llama-quantize never quantizes.

/// Parts of names of weights that are small or sensitive, of whatever architecture.
const PARTS: &[&str] = &[
    "_norm.weight",
    // Routers of experts.
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    // Gemma 3n.
    "altup",
    "laurel",
    "per_layer_model_proj",
    // Small convolutions.
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    // RWKV.
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    // T5.
    "attn_rel_b.weight",
    // Towers that see and hear.
    ".position_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    "a.rvq.codebook",
    "mm.a.code_embd",
];

/// Parts of names that stay in one architecture only.
const OF_GLM5_NEXT: &[&str] = &[
    "hc_",
    "indexer.attn_q_b",
    "indexer.attn_k",
    "indexer.proj",
    "indexer_compressor_gate",
    "indexer_compressor_ape",
    "ssm_f_a.weight",
    "ssm_f_b.weight",
    "ssm_g_a.weight",
    "ssm_g_b.weight",
    "ssm_beta.weight",
    "attn_kv_a_mqa.weight",
    "attn_k_b.weight",
    "attn_v_b.weight",
];

/// Whole names: what is looked up by position or kind of token.
const NAMES: &[&str] = &["position_embd.weight", "token_types.weight"];

/// Whether a weight of that name and shape, outermost dimension first, keeps its type.
pub(super) fn stays(name: &str, shape: &[u64], architecture: &str) -> bool {
    let has = |part: &&str| name.contains(*part);
    // ggml does not count dimensions of one around a vector.
    let dimensions = shape.iter().skip_while(|size| **size == 1).count();
    dimensions < 2
        || !name.ends_with("weight")
        || NAMES.contains(&name)
        || PARTS.iter().any(has)
        || architecture == "glm5-next" && OF_GLM5_NEXT.iter().any(has)
}

#[cfg(test)]
mod tests {
    use super::stays;

    #[test]
    fn vectors_routers_and_norms_stay() {
        let stays_in = |name: &str, shape: &[u64]| stays(name, shape, "llama");
        assert!(!stays_in("blk.0.attn_q.weight", &[64, 64]));
        assert!(!stays_in("blk.0.ffn_down_exps.weight", &[4, 64, 64]));
        assert!(!stays_in("blk.0.conv.weight", &[64, 1]));
        assert!(stays_in("blk.0.attn_q.weight", &[1, 64]));
        assert!(stays_in("blk.0.attn_q.bias", &[64, 64]));
        assert!(stays_in("blk.0.ffn_gate_inp.weight", &[8, 64]));
        assert!(stays_in("token_types.weight", &[2, 64]));
        assert!(stays("blk.0.attn_k_b.weight", &[64, 64], "glm5-next"));
        assert!(!stays_in("blk.0.attn_k_b.weight", &[64, 64]));
    }
}
