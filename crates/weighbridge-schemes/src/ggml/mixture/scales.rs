//! Where llama.cpp applies the scale beside an NVFP4 weight.
//!
//! The scale is a tensor of its own, and the graph of each architecture has to multiply with it. Most
//! do so for attention only, by llama.cpp's source and by runs (`oracles/check_nvfp4_scales.py`):
//! they would compute with wrong values.

/// Architectures that apply the scales of feed-forward layers too.
const APPLYING: [&str; 7] =
    ["cohere2", "llama", "mistral3", "qwen3", "qwen35", "qwen35moe", "qwen3moe"];

/// Whether the scale of a weight is applied. A file without an architecture is no model.
pub(super) fn is_applied(architecture: Option<&str>, weight: &str) -> bool {
    !weight.contains("ffn_") || architecture.is_none_or(|name| APPLYING.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::is_applied;

    #[test]
    fn some_architectures_apply_scales_to_attention_only() {
        assert!(is_applied(Some("gemma3"), "blk.0.attn_q.weight"));
        assert!(!is_applied(Some("gemma3"), "blk.0.ffn_up.weight"));
        assert!(is_applied(Some("llama"), "blk.0.ffn_up_exps.weight"));
        assert!(is_applied(None, "blk.0.ffn_up.weight"));
    }
}
