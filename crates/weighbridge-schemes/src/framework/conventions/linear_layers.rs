//! Recognises the matrices of linear layers that loaders accept in fewer bits.
//!
//! Names follow transformers. Matrices that choose among few outcomes (the output head, expert
//! routers) or are looked up by row (embeddings) are not quantized: they are small or sensitive,
//! and loaders expect them unquantized.

use crate::framework::Candidate;

/// Prefixes and suffixes of the last-but-one part of a name whose matrix is not a linear layer.
const LOOKED_UP: &[&str] = &["embed", "wte", "wpe", "word_embeddings", "position_embeddings"];

/// Modules whose matrices choose among few outcomes, by the last part of their names.
const CHOOSING: &[&str] = &[
    "lm_head",
    "output",
    "embed_out",
    "score",
    "classifier",
    "gate",
    "router",
    "shared_expert_gate",
];

/// Whether a weight is a matrix of a linear layer that may be quantized.
pub(crate) fn is_quantized(weight: &Candidate<'_>) -> bool {
    is_linear(weight) && !CHOOSING.contains(&own_name(weight).unwrap_or_default())
}

/// Whether a weight is a matrix of a linear layer at all.
pub(crate) fn is_linear(weight: &Candidate<'_>) -> bool {
    let is_other =
        |name: &str| name.contains("norm") || LOOKED_UP.iter().any(|part| name.contains(part));
    let is_matrix = weight.shape.len() == 2 && weight.dtype.is_float();
    is_matrix && own_name(weight).is_some_and(|name| !is_other(name))
}

/// The last part of the name of a weight's module.
fn own_name<'a>(weight: &Candidate<'a>) -> Option<&'a str> {
    weight.name.strip_suffix(".weight")?.rsplit('.').next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    fn weight<'a>(name: &'a str, shape: &'a [u64]) -> Candidate<'a> {
        Candidate { name, shape, dtype: DType::BF16, block: None }
    }

    #[test]
    fn what_chooses_or_is_looked_up_stays() {
        let quantized = |name, shape: &[u64]| is_quantized(&weight(name, shape));
        assert!(quantized("model.layers.0.self_attn.q_proj.weight", &[64, 64]));
        assert!(quantized("model.layers.0.mlp.gate_proj.weight", &[64, 64]));
        assert!(quantized("model.layers.0.mlp.experts.3.w1.weight", &[64, 64]));
        for name in [
            "lm_head.weight",
            "model.embed_tokens.weight",
            "model.layers.0.mlp.gate.weight",
            "model.layers.0.mlp.shared_expert_gate.weight",
            "model.layers.0.self_attn.q_norm.weight",
            "model.layers.0.self_attn.q_proj.bias",
        ] {
            assert!(!quantized(name, &[64, 64]), "{name}");
        }
        assert!(!quantized("model.layers.0.input_layernorm.weight", &[64]));
        assert!(!quantized("visual.patch_embed.proj.weight", &[64, 3, 14, 14]));
        assert!(is_linear(&weight("lm_head.weight", &[64, 64])));
    }
}
