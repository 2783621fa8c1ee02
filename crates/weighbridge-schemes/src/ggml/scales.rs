//! Where llama.cpp applies the scale beside an NVFP4 weight.
//!
//! The scale is a tensor of its own, and the graph of each architecture has to multiply with it. Most
//! do so for attention only, by llama.cpp's source and by runs (`oracles/check_nvfp4_scales.py`):
//! they would compute with wrong values. A scale of another tensor keeps a file from loading.

/// Architectures that apply the scales of feed-forward layers too.
const APPLYING: [&str; 7] =
    ["cohere2", "llama", "mistral3", "qwen3", "qwen35", "qwen35moe", "qwen3moe"];

/// Matrices of attention, in the graph that architectures share.
const ATTENTION: [&str; 5] = ["attn_q", "attn_k", "attn_v", "attn_qkv", "attn_output"];

/// Matrices of feed-forward layers.
const FEED_FORWARD: [&str; 9] = [
    "ffn_gate",
    "ffn_up",
    "ffn_down",
    "ffn_gate_shexp",
    "ffn_up_shexp",
    "ffn_down_shexp",
    "ffn_gate_exps",
    "ffn_up_exps",
    "ffn_down_exps",
];

/// Matrices of recurrent layers, and of those that predict further tokens.
const HYBRID: [&str; 7] = [
    "attn_gate",
    "ssm_in",
    "ssm_out",
    "ssm_alpha",
    "ssm_beta",
    "nextn.eh_proj",
    "nextn.shared_head_head",
];

/// Whether a matrix is one of attention or of a feed-forward layer.
pub(super) fn is_common(weight: &str) -> bool {
    matrix_of(weight).is_some_and(|matrix| {
        [&ATTENTION[..], &FEED_FORWARD].iter().any(|names| names.contains(&matrix))
    })
}

/// Whether the scale of a weight is applied. A file without an architecture is no model.
pub(super) fn is_applied(architecture: Option<&str>, weight: &str) -> bool {
    let Some(matrix) = matrix_of(weight) else { return weight == "output.weight" };
    let Some(architecture) = architecture else { return true };
    if FEED_FORWARD.contains(&matrix) {
        APPLYING.contains(&architecture)
    } else if ATTENTION.contains(&matrix) {
        // Its queries are not made by the shared graph.
        (architecture, matrix) != ("deepseek2", "attn_q")
    } else {
        HYBRID.contains(&matrix) && architecture.starts_with("qwen35")
    }
}

/// What a weight of a block is called there.
fn matrix_of(weight: &str) -> Option<&str> {
    let (_, inside) = weight.strip_prefix("blk.")?.split_once('.')?;
    inside.strip_suffix(".weight")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_architectures_apply_scales_to_attention_only() {
        assert!(is_applied(Some("gemma3"), "blk.0.attn_q.weight"));
        assert!(!is_applied(Some("gemma3"), "blk.0.ffn_up.weight"));
        assert!(is_applied(Some("llama"), "blk.0.ffn_up_exps.weight"));
        assert!(is_applied(None, "blk.0.ffn_up.weight"));
        assert!(!is_applied(Some("deepseek2"), "blk.0.attn_q.weight"));
        assert!(is_applied(Some("deepseek2"), "blk.0.attn_output.weight"));
    }

    #[test]
    fn tensors_that_llama_cpp_looks_for_no_scale_of_have_none() {
        assert!(!is_applied(Some("deepseek2"), "blk.0.attn_kv_b.weight"));
        assert!(!is_applied(Some("llama"), "token_embd.weight"));
        assert!(is_applied(Some("llama"), "output.weight"));
        assert!(is_applied(Some("qwen35"), "blk.0.ssm_out.weight"));
        assert!(!is_applied(Some("llama"), "blk.0.ssm_out.weight"));
        assert!(is_common("blk.7.ffn_up.weight") && is_common("blk.0.attn_qkv.weight"));
        assert!(!is_common("output.weight") && !is_common("blk.0.ssm_out.weight"));
    }
}
