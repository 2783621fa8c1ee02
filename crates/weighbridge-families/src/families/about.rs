//! What a repository says about its model.

use serde_json::Value as Json;

/// What a repository says about its model.
pub struct About<'a> {
    /// config.json as it is.
    pub config: &'a Json,
    /// generation_config.json, if it is there.
    pub generation: Option<&'a Json>,
    /// The text of README.md, if it is there.
    pub card: Option<&'a str>,
    /// How the vectors of all tokens become one, as sentence-transformers say it in a file of its own.
    pub pooling: Option<&'a Json>,
    /// Next-token prediction layers, as the metadata are to count them.
    pub next_layers: NextCount,
    /// Settings that weights have as numbers.
    pub measured: &'a [(&'static str, Json)],
    /// The name of the folder.
    pub folder: &'a str,
    /// How large the model is.
    pub parameters: Parameters,
    /// general.file_type of what is written (0 F32, 1 F16, 7 Q8_0, 32 BF16, ..).
    pub file_type: u32,
}

/// How many next-token prediction layers a file has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NextCount {
    /// As many as the config states.
    #[default]
    Stated,
    /// So many, whatever the config states.
    Counted(u64),
    /// None: they are left out.
    Dropped,
}

/// How many numbers a model has, as `general.size_label` counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// All of them.
    pub total: u64,
    /// Those outside the stacks of experts.
    pub shared: u64,
    /// Those of one expert, in all layers.
    pub expert: u64,
    /// How many experts there are.
    pub experts: u64,
}

impl Parameters {
    /// Counts tensors of a GGUF file: their names there, and their shapes, outermost first.
    pub fn of<'a>(tensors: impl IntoIterator<Item = (&'a str, &'a [u64])>) -> Self {
        let mut all = Self::default();
        let (mut sum, mut stacks) = (0_u64, 0_u64);
        for (name, shape) in tensors {
            let size = shape.iter().fold(1_u64, |size, side| size.saturating_mul(*side));
            let from_end = if name.contains(".bias") { 2 } else { 3 };
            let experts = shape.len().checked_sub(from_end).and_then(|at| shape.get(at)).copied();
            match experts.filter(|_| name.contains("_exps.") && shape.len() >= 3) {
                Some(experts) => {
                    all.expert = all.expert.saturating_add(size.checked_div(experts).unwrap_or(0));
                    sum = sum.saturating_add(experts);
                    stacks += 1;
                }
                None => all.shared = all.shared.saturating_add(size),
            }
            all.total = all.total.saturating_add(size);
        }
        all.experts = sum.checked_div(stacks).unwrap_or(0);
        all
    }
}
