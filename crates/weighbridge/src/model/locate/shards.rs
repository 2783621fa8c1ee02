//! Numbered file names: `model-00002-of-00005.safetensors`.
//!
//! ```text
//! model.fp16-00002-of-000163.safetensors
//! ^prefix    ^index   ^total ^suffix         index from 1 (some writers: from 0)
//! ```

/// A name taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    /// Everything before the index, its separator included.
    pub(super) prefix: String,
    pub(super) index: u32,
    pub(super) total: u32,
    /// Everything after the total.
    pub(super) suffix: String,
    /// How many digits index and total are written with; they differ in real models.
    widths: (usize, usize),
}

impl Shard {
    /// Takes a name apart, if it is numbered.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let (left, right) = name.rsplit_once("-of-")?;
        let digits = |c: char| c.is_ascii_digit();
        let prefix = left.trim_end_matches(digits);
        let suffix = right.trim_start_matches(digits);
        let index = &left[prefix.len()..];
        let total = &right[..right.len() - suffix.len()];
        // No real set has more digits; they would only make long lists of missing files.
        let sane = (1..=6).contains(&index.len()) && (1..=6).contains(&total.len());
        let apart = prefix.ends_with(['-', '_', '.']) && suffix.starts_with('.');
        let (index_number, total_number) = (index.parse().ok()?, total.parse().ok()?);
        let counts = total_number > 0 && index_number <= total_number;
        (sane && apart && counts).then(|| Self {
            prefix: prefix.to_owned(),
            index: index_number,
            total: total_number,
            suffix: suffix.to_owned(),
            widths: (index.len(), total.len()),
        })
    }

    /// The name of another member of the set.
    pub(super) fn name(&self, index: u32) -> String {
        let (i, t) = self.widths;
        format!("{}{index:0i$}-of-{:0t$}{}", self.prefix, self.total, self.suffix)
    }

    /// What all members of a set have in common.
    pub(super) fn set(&self) -> (String, String, u32, (usize, usize)) {
        (self.prefix.clone(), self.suffix.clone(), self.total, self.widths)
    }

    /// The indices a set has, counted from one unless a member says otherwise.
    pub(super) fn indices(&self, lowest: u32) -> std::ops::Range<u32> {
        match lowest {
            0 => 0..self.total,
            _ => 1..self.total.saturating_add(1),
        }
    }

    /// The name of the set without its numbers: `model`.
    pub(super) fn stem(&self) -> &str {
        self.prefix.trim_end_matches(['-', '_', '.'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_apart_and_together() {
        for name in [
            "model-00002-of-00005.safetensors",
            "model-00001-of-000163.safetensors",
            "pytorch_model-00001-of-00002.bin",
            "model.fp16-00001-of-00002.safetensors",
            "model-00001-of-00002.fp16.safetensors",
            "Llama-4-Q4_K_M-00001-of-00002.gguf",
            "model_1-of-3.gguf",
        ] {
            let shard = Shard::parse(name).unwrap();
            assert_eq!(shard.name(shard.index), name);
        }
        let shard = Shard::parse("model-00002-of-00005.safetensors").unwrap();
        assert_eq!((shard.index, shard.total, shard.stem()), (2, 5, "model"));
        assert_eq!(shard.name(5), "model-00005-of-00005.safetensors");
    }

    #[test]
    fn other_names_do_not_count() {
        for name in [
            "model.safetensors",
            "best-of-2024.safetensors",
            "x-5-of-3.gguf",
            "x-1-of-0.gguf",
            "a-00001-of-99999999999.gguf",
            "master-of-1.bin",
            "-of-.bin",
            "x-1-of-2",
        ] {
            assert_eq!(Shard::parse(name), None, "{name}");
        }
    }
}
