//! Everything that schemes may look at.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::catalog::{Metadata, TensorInfo};
use crate::config;
use crate::dtype::DType;
use crate::error::Result;
use crate::framework::endings::Endings;
use crate::framework::match_budget::MatchBudget;
use crate::framework::{Configs, Method, Roster, SchemeChoice, choices};

/// Which stored tensor of which source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId {
    /// Index of the source in the model.
    pub source: u32,
    /// Index of the tensor in the source's catalog.
    pub tensor: u32,
}

/// A stored tensor: which one, and what its file says about it.
pub type StoredTensor<'a> = (TensorId, &'a TensorInfo);

/// All a scheme may look at: the stored tensors, the configs, the files' metadata.
pub struct Evidence<'a> {
    tensors: Vec<StoredTensor<'a>>,
    /// Where each source's tensors start in the list above.
    starts: Vec<usize>,
    /// Built when it is first needed: most models need no lookups.
    by_name: OnceCell<HashMap<&'a str, usize, foldhash::fast::RandomState>>,
    endings: OnceCell<Endings<'a>>,
    configs: Configs<'a>,
    /// The settings of quantization, once somebody has asked.
    quantization: OnceCell<Option<(&'static str, &'a serde_json::Value)>>,
    /// The quantization method, in lower case.
    method: Option<String>,
    metadata: Vec<&'a Metadata>,
    /// Reads all bytes of a stored tensor, where there is a file to read.
    read: Option<&'a dyn Fn(TensorId) -> Result<Vec<u8>>>,
    pub(crate) choices: choices::Choices<'a>,
    match_budget: MatchBudget,
}

/// The longest tensor that is read while a model is opened. Descriptions that are stored as tensors
/// are far shorter.
const MOST_READ: u64 = 64 << 10;

impl<'a> Evidence<'a> {
    /// The evidence of a model whose configs name or imply a method.
    pub(crate) fn of(
        catalogs: impl Iterator<Item = (&'a [TensorInfo], &'a Metadata)>,
        configs: Configs<'a>,
        method: Option<String>,
    ) -> Self {
        let mut evidence = Self {
            tensors: Vec::new(),
            starts: Vec::new(),
            by_name: OnceCell::new(),
            endings: OnceCell::new(),
            configs,
            quantization: OnceCell::new(),
            method,
            metadata: Vec::new(),
            read: None,
            choices: choices::Choices::default(),
            match_budget: MatchBudget::default(),
        };
        for (source, (tensors, metadata)) in (0u32..).zip(catalogs) {
            evidence.metadata.push(metadata);
            evidence.starts.push(evidence.tensors.len());
            let numbered = (0u32..).zip(tensors);
            evidence
                .tensors
                .extend(numbered.map(|(tensor, info)| (TensorId { source, tensor }, info)));
        }
        evidence
    }

    /// Lets schemes look into small tensors, with `read`.
    #[must_use]
    pub fn reading(mut self, read: &'a dyn Fn(TensorId) -> Result<Vec<u8>>) -> Self {
        self.read = Some(read);
        self
    }

    /// Adds what the user says about single weights.
    #[must_use]
    pub fn with_choices(mut self, choices: &'a [SchemeChoice]) -> Self {
        self.choices = choices::Choices::new(choices);
        self
    }

    /// What the user says a weight is, as `scheme/variant`. To be asked only where the evidence
    /// leaves several readings open: a choice that no scheme asked for is a finding.
    #[must_use]
    pub fn chosen(&self, weight: &str) -> Option<&'a str> {
        self.choices.ask(weight)
    }

    /// The bytes of a small tensor that describes others (JSON as bytes, a shape), row by row and
    /// little-endian; an explanation if they cannot be read.
    pub fn bytes(&self, id: TensorId) -> Result<Vec<u8>, String> {
        let (_, info) = self.tensors[self.index(id)];
        let Some(read) = self.read else {
            return Err(format!("cannot read {} here", info.name));
        };
        if info.bytes > MOST_READ {
            return Err(format!(
                "{} has {} bytes, expected at most {MOST_READ}",
                info.name, info.bytes
            ));
        }
        read(id).map_err(|e| e.to_string())
    }

    /// What comparing names with the lists of configs may still cost.
    pub fn match_budget(&self) -> &MatchBudget {
        &self.match_budget
    }

    /// The quantization method that the configs name or imply, in lower case.
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// Whether the configs say that the model is another scheme's, so that tensors whose names and
    /// types several schemes use are not those of `scheme`.
    #[must_use]
    pub fn belongs_to_another(&self, scheme: &str) -> bool {
        let is_anothers = |(owner, method): (&str, &Method)| owner != scheme && method.is_exclusive;
        let Some(name) = self.method() else { return false };
        self.schemes().owners(name).any(is_anothers)
    }

    /// Whether the configs name a method that other schemes read, and `scheme` does not.
    #[must_use]
    pub fn is_read_by_another(&self, scheme: &str) -> bool {
        let Some(name) = self.method() else { return false };
        let mut owners = self.schemes().owners(name).peekable();
        owners.peek().is_some() && owners.all(|(owner, _)| owner != scheme)
    }

    /// What the schemes that there are state.
    pub(crate) fn schemes(&self) -> &Roster {
        &self.configs.roster
    }

    /// Every stored tensor, in the order of the files.
    #[must_use]
    pub fn tensors(&self) -> &[StoredTensor<'a>] {
        &self.tensors
    }

    /// The tensor of that name, in whichever file it lies.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<StoredTensor<'a>> {
        let by_name = self.by_name.get_or_init(|| {
            let names = self.tensors.iter().enumerate().rev();
            names.map(|(index, (_, info))| (&*info.name, index)).collect()
        });
        by_name.get(name).map(|&index| self.tensors[index])
    }

    /// The tensor whose name is `stem` followed by `suffix`. Costs next to nothing if no name ends
    /// with the suffix.
    #[must_use]
    pub fn beside(&self, stem: &str, suffix: &str) -> Option<StoredTensor<'a>> {
        self.endings().may_end_with(suffix).then(|| self.find(&[stem, suffix].concat()))?
    }

    pub(crate) fn endings(&self) -> &Endings<'a> {
        let names = || self.tensors.iter().map(|(_, info)| -> &'a str { &info.name });
        self.endings.get_or_init(|| Endings::of(names()))
    }

    /// A tensor's position in [`tensors`](Self::tensors).
    pub(crate) fn index(&self, id: TensorId) -> usize {
        self.starts[id.source as usize] + id.tensor as usize
    }

    /// The settings that configs have for quantization, and the file that has them.
    #[must_use]
    pub fn quantization(&self) -> Option<(&'static str, &'a serde_json::Value)> {
        *self.quantization.get_or_init(|| self.configs.quantization())
    }

    /// Everything the configs say.
    #[must_use]
    pub fn configs(&self) -> &Configs<'a> {
        &self.configs
    }

    /// The type that the config says the model was made in, where it says so.
    #[must_use]
    pub fn model_dtype(&self) -> Option<DType> {
        config::model_dtype(self.configs.all)
    }

    /// The metadata of each file.
    #[must_use]
    pub fn metadata(&self) -> &[&'a Metadata] {
        &self.metadata
    }
}
