//! The evidence that schemes may look at.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::catalog::{Metadata, TensorInfo};
use crate::config;
use crate::dtype::DType;
use crate::error::Result;
use crate::framework::endings::Endings;
use crate::framework::match_budget::MatchBudget;
use crate::framework::{Configs, Method, Roster, SchemeChoice, choices};

/// Identifies a stored tensor by source and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId {
    /// Index of the source in the model.
    pub source: u32,
    /// Index of the tensor in the source's catalog.
    pub tensor: u32,
}

/// A stored tensor: its identifier and its catalog entry.
pub type StoredTensor<'a> = (TensorId, &'a TensorInfo);

/// Everything a scheme may look at: stored tensors, configs and file metadata.
pub struct Evidence<'a> {
    tensors: Vec<StoredTensor<'a>>,
    /// Index of each source's first tensor in the list above.
    starts: Vec<usize>,
    /// Built on first use: most models need no lookups.
    by_name: OnceCell<HashMap<&'a str, usize, foldhash::fast::RandomState>>,
    endings: OnceCell<Endings<'a>>,
    configs: Configs<'a>,
    /// The quantization settings, found on first use.
    quantization: OnceCell<Option<(&'static str, &'a serde_json::Value)>>,
    /// The quantization method, in lower case.
    method: Option<String>,
    metadata: Vec<&'a Metadata>,
    /// Reads all bytes of a stored tensor, where there is a file to read.
    read: Option<&'a dyn Fn(TensorId) -> Result<Vec<u8>>>,
    pub(crate) choices: choices::Choices<'a>,
    match_budget: MatchBudget,
}

/// Maximum size of a tensor that is read while a model is opened. Descriptions stored as tensors
/// are far smaller.
const MOST_READ: u64 = 64 << 10;

impl<'a> Evidence<'a> {
    /// Creates the evidence of a model whose configs name or imply a method.
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

    /// Lets schemes read small tensors, with `read`.
    #[must_use]
    pub fn reading(mut self, read: &'a dyn Fn(TensorId) -> Result<Vec<u8>>) -> Self {
        self.read = Some(read);
        self
    }

    /// Adds the user's choices for single weights.
    #[must_use]
    pub fn with_choices(mut self, choices: &'a [SchemeChoice]) -> Self {
        self.choices = choices::Choices::new(choices);
        self
    }

    /// Returns the user's choice for a weight, as `scheme/variant`. Ask only if the evidence leaves
    /// several readings open: a choice that no scheme asked for is a finding.
    #[must_use]
    pub fn chosen(&self, weight: &str) -> Option<&'a str> {
        self.choices.ask(weight)
    }

    /// Returns the bytes of a small tensor that describes others (JSON, a shape), row by row and
    /// little-endian, or why they cannot be read.
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

    /// Returns the remaining budget for comparing names with the lists in configs.
    pub fn match_budget(&self) -> &MatchBudget {
        &self.match_budget
    }

    /// The quantization method that the configs name or imply, in lower case.
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// Whether the configs assign the model to another scheme. Then tensors with names and types
    /// that several schemes use do not belong to `scheme`.
    #[must_use]
    pub fn belongs_to_another(&self, scheme: &str) -> bool {
        let is_anothers = |(owner, method): (&str, &Method)| owner != scheme && method.is_exclusive;
        let Some(name) = self.method() else { return false };
        self.schemes().owners(name).any(is_anothers)
    }

    /// Whether the configs name a method that other schemes read and `scheme` does not.
    #[must_use]
    pub fn is_read_by_another(&self, scheme: &str) -> bool {
        let Some(name) = self.method() else { return false };
        let mut owners = self.schemes().owners(name).peekable();
        owners.peek().is_some() && owners.all(|(owner, _)| owner != scheme)
    }

    /// Returns the facts about all schemes.
    pub(crate) fn schemes(&self) -> &Roster {
        &self.configs.roster
    }

    /// Returns every stored tensor, in file order.
    #[must_use]
    pub fn tensors(&self) -> &[StoredTensor<'a>] {
        &self.tensors
    }

    /// Returns the tensor of that name, from any file.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<StoredTensor<'a>> {
        let by_name = self.by_name.get_or_init(|| {
            let names = self.tensors.iter().enumerate().rev();
            names.map(|(index, (_, info))| (&*info.name, index)).collect()
        });
        by_name.get(name).map(|&index| self.tensors[index])
    }

    /// Returns the tensor whose name is `stem` followed by `suffix`. Nearly free if no name ends in
    /// the suffix.
    #[must_use]
    pub fn beside(&self, stem: &str, suffix: &str) -> Option<StoredTensor<'a>> {
        self.endings().may_end_with(suffix).then(|| self.find(&[stem, suffix].concat()))?
    }

    pub(crate) fn endings(&self) -> &Endings<'a> {
        let names = || self.tensors.iter().map(|(_, info)| -> &'a str { &info.name });
        self.endings.get_or_init(|| Endings::of(names()))
    }

    /// Returns a tensor's position in [`tensors`](Self::tensors).
    pub(crate) fn index(&self, id: TensorId) -> usize {
        self.starts[id.source as usize] + id.tensor as usize
    }

    /// Returns the quantization settings, and the file that contains them.
    #[must_use]
    pub fn quantization(&self) -> Option<(&'static str, &'a serde_json::Value)> {
        *self.quantization.get_or_init(|| self.configs.quantization())
    }

    /// Returns all configs.
    #[must_use]
    pub fn configs(&self) -> &Configs<'a> {
        &self.configs
    }

    /// Returns the type that the config states for the model.
    #[must_use]
    pub fn model_dtype(&self) -> Option<DType> {
        config::model_dtype(self.configs.all)
    }

    /// Returns the metadata of each file.
    #[must_use]
    pub fn metadata(&self) -> &[&'a Metadata] {
        &self.metadata
    }
}
