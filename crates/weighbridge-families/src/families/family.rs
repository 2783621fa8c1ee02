//! All that is known about a family of models, in one place.

pub(super) use super::blocks::*;

/// Models that share a class of transformers', names of weights, and what files say of them.
pub struct Family {
    /// Its name in GGUF, with which its keys begin. Several families may have one; those that are told by
    /// more ([`Back::is`]) stand first in the table.
    pub(crate) architecture: &'static str,
    /// What remarks call it, if that is not its architecture.
    pub(crate) shown: Option<&'static str>,
    /// What configs call it under `architectures`; a config that is made has the first.
    pub(crate) classes: &'static [&'static str],
    /// What they call it under `model_type`; the first is the language model's own.
    pub types: &'static [&'static str],
    /// Whether a config of one of its classes describes one of the family: where it does not, the next
    /// family with that class counts.
    pub(crate) fits: fn(&Json) -> bool,
    /// Further names of models whose weights are those of the family.
    pub(crate) also: &'static [&'static str],
    /// Models that GGUF calls by the same name, but changes in ways that are not known here.
    pub(crate) unlike: &'static [&'static str],

    /// What stands before names of weights where transformers saves them, but for the output head.
    pub(crate) prefix: &'static str,
    /// Its modules in Hugging Face's names.
    pub(crate) rows: &'static [&'static [Row]],
    /// GGUF's tensors that are not common names as they are.
    pub(crate) gguf: &'static [&'static [Row]],
    /// Whether GGUF has the rows of query and key heads in pairs, where Hugging Face has halves.
    pub(crate) pairs: bool,
    /// What GGUF adds to Hugging Face's norms.
    pub norm_add: f32,
    /// Whether GGUF leaves out embedding rows that no token uses.
    pub(crate) cuts_embedding: bool,
    /// Tensors with a row a token that have rows of zeros for those that the weights do not reach.
    pub(crate) padded: &'static [&'static str],
    /// Whether the first positions are those of padding, which GGUF leaves out.
    pub(crate) pads_positions: bool,
    /// Whether the output head shares the embedding's numbers, unless a config says otherwise.
    pub(crate) tied: bool,
    /// Whether there may be layers that predict further tokens, behind those that the config counts.
    /// The converter may leave them out.
    pub(crate) predicts: bool,
    /// Whether it does.
    pub(crate) drops_next: bool,
    /// The key of configs that counts these layers, where files have them. The weights are believed.
    pub(crate) counts_next: Option<&'static str>,
    /// Which output heads it leaves out.
    pub(crate) drops_head: DropsHead,
    /// How names of weights begin that the converter leaves out, with `#` for numbers, and what they are.
    /// Those with a slash stand outside of the model.
    pub(crate) left_out: &'static [(&'static str, &'static str)],

    /// The stacks of a layer's experts in the order in which the converter writes them, if that is not
    /// the order of their weights.
    pub(crate) stacks: &'static [&'static str],
    /// Ends of names of tensors that have the type of matrices here, and F32 in other families.
    pub(crate) keeps: &'static [&'static str],
    /// Names of weights whose numbers stand in the metadata instead, with `#` for a layer, and the
    /// settings that they become: lists, layer by layer.
    pub(crate) measured: &'static [(&'static str, &'static str)],

    /// Keys of configs that the converter does not look at.
    pub(crate) ignored: &'static [&'static str],
    /// Entries that stand before all but the architecture.
    pub(crate) early: &'static [KeyRow],
    /// The entries. One that is set again keeps its place.
    pub(crate) keys: &'static [&'static [KeyRow]],
    /// Tensors that follow from the config.
    pub(crate) computed: fn(&Settings) -> Tensors,
    /// Whether rotary embeddings may have sections.
    pub(crate) has_sections: bool,
    /// Refuses models that look like one of the family and are converted in another way.
    pub(crate) refuse: fn(&Settings, &About<'_>) -> Result<()>,
    /// What llama.cpp takes for granted.
    pub(crate) rules: &'static [&'static [Rule]],
    /// The kinds of scaling of rotary positions that its files carry.
    pub(crate) scalings: &'static [&'static str],
    /// Whether transformers knows no config of the whole, and so reads that of the language model, which it
    /// may know, neither.
    pub(crate) as_stated: bool,
    /// What transformers fills in where a config is silent, if it knows the family.
    pub(crate) defaults: Option<Defaults>,

    /// How its tokenizer is read.
    pub(crate) tokenizer: Tokenizer,
    /// The way back, if it is known.
    pub(crate) back: Option<Back>,
    /// Whether mlx-lm takes its weights as transformers saves them.
    pub(crate) mlx: bool,
}

/// A model that reads in one direction, as most are. A family says what differs.
pub(crate) const DECODER: Family = Family {
    architecture: "",
    shown: None,
    classes: &[],
    types: &[],
    fits: |_| true,
    also: &[],
    unlike: &[],
    prefix: "model.",
    rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS],
    gguf: &[GGUF, GGUF_FUSED],
    pairs: false,
    norm_add: 0.0,
    cuts_embedding: false,
    padded: &[],
    pads_positions: false,
    tied: false,
    predicts: false,
    drops_next: false,
    counts_next: None,
    drops_head: DropsHead::Never,
    left_out: &[],
    stacks: &[],
    keeps: &[],
    measured: &[],
    ignored: &[],
    early: &[],
    keys: &[BASE],
    computed: |_| Vec::new(),
    has_sections: false,
    refuse: |_, _| Ok(()),
    rules: &[&[SILU], ROPE],
    scalings: &["linear", "yarn"],
    as_stated: false,
    defaults: None,
    tokenizer: Tokenizer::BytePairs(&[]),
    back: None,
    mlx: true,
};

impl Family {
    /// Whether configs or GGUF files call it so.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.architecture == name || self.types.contains(&name) || self.also.contains(&name)
    }

    /// Whether a GGUF file becomes a repository again.
    #[must_use]
    pub fn goes_back(&self) -> bool {
        self.back.is_some()
    }

    /// What remarks call it.
    pub(crate) fn shown(&self) -> &'static str {
        self.shown.unwrap_or(self.architecture)
    }

    /// Hugging Face's name of the module with the embedding.
    pub(crate) fn embedding(&self) -> &'static str {
        let mut rows = self.rows.iter().copied().flatten();
        rows.find(|row| row.1 == ["token_embd"]).map_or("embed_tokens", |row| row.0)
    }

    /// The setting that the numbers of a weight are of, and the numbers in its name.
    pub(crate) fn measures(&self, name: &str, prefix: &str) -> Option<(&'static str, Vec<u64>)> {
        let (below, numbers) = pattern(name.strip_prefix(prefix).unwrap_or(name));
        let (_, setting) = self.measured.iter().find(|(row, _)| *row == below)?;
        Some((setting, numbers))
    }

    /// Why converters leave out a weight, if they do. Names may have the prefix of the model.
    pub(crate) fn leaves_out(&self, name: &str, prefix: &str) -> Option<&'static str> {
        if self.measures(name, prefix).is_some() {
            return Some("stored in the metadata");
        }
        let (below, _) = pattern(name.strip_prefix(prefix).unwrap_or(name));
        let is_one = |start: &str| below.starts_with(start) || name.starts_with(start);
        let is_one = |start: &str| match start.strip_prefix('/') {
            Some(outside) => name.starts_with(outside),
            None => is_one(start),
        };
        self.left_out.iter().find(|(start, _)| is_one(start)).map(|(_, what)| *what)
    }
}

/// Whether the converter writes an output head that is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DropsHead {
    /// It does, even if it shares the embedding's numbers.
    Never,
    /// Not if the config says that it shares the embedding's numbers.
    Tied,
    /// It does not.
    Always,
}
