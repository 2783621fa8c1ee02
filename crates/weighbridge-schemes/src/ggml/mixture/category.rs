//! What a weight does in the model, as far as its name tells and the rules ask.

/// What a weight does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Category {
    /// The last matrix.
    Output,
    /// What tokens are looked up in.
    Embedding,
    /// Values of attention, alone or together with others.
    Values,
    Keys,
    Queries,
    AttentionOutput,
    Up,
    Gate,
    Down,
    Other,
}

/// The name of the matrix that per-layer embeddings are looked up in.
pub(super) const PER_LAYER: &str = "per_layer_token_embd.weight";

/// Names, or parts of them; the first that is found counts.
const PARTS: [(&str, Category); 9] = [
    ("attn_qkv.weight", Category::Values),
    ("attn_kv_b.weight", Category::Values),
    ("attn_v.weight", Category::Values),
    ("attn_k.weight", Category::Keys),
    ("attn_q.weight", Category::Queries),
    ("attn_output.weight", Category::AttentionOutput),
    ("ffn_up", Category::Up),
    ("ffn_gate", Category::Gate),
    ("ffn_down", Category::Down),
];

impl Category {
    /// That of a weight.
    pub(super) fn of(name: &str) -> Self {
        match name {
            "output.weight" => Self::Output,
            "token_embd.weight" | PER_LAYER => Self::Embedding,
            _ => {
                PARTS.iter().find(|(part, _)| name.contains(part)).map_or(Self::Other, |row| row.1)
            }
        }
    }
}

/// The number of the block that a weight is in: that of `blk.7.attn_q.weight` is 7.
pub(super) fn block_of(name: &str) -> Option<i64> {
    let rest = name.strip_prefix("blk.")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..digits].parse::<u32>().ok().map(i64::from)
}

/// The order in which weights are looked at and written: by block, those of none first, then by
/// name.
pub(super) fn order<'a>(names: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let names: Vec<&str> = names.collect();
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|&at| (block_of(names[at]).unwrap_or(-1), names[at].as_bytes()));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_categories_blocks_and_order() {
        assert_eq!(Category::of("blk.3.ffn_down_exps.weight"), Category::Down);
        assert_eq!(Category::of("blk.3.attn_v_b.weight"), Category::Other);
        assert_eq!(Category::of("output.weight"), Category::Output);
        assert_eq!(block_of("blk.12.attn_q.weight"), Some(12));
        assert_eq!(block_of("v.blk.12.attn_q.weight"), None);
        let names = ["blk.10.a", "token_embd.weight", "blk.2.b", "blk.2.a", "output.weight"];
        assert_eq!(order(names.into_iter()), [4, 1, 3, 2, 0]);
    }
}
