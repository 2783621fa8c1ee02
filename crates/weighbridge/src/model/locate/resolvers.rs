//! The ways to understand what the user typed.

use std::cell::OnceCell;
use std::path::Path;

use super::Located;
use super::search::Search;
use super::stores::Stores;
use crate::error::Result;

/// Turns what was typed into models; `None` if it is nothing that this resolver knows. One whose
/// files lie elsewhere, behind a URL say, searches a folder of its own.
type Resolver = fn(&Typed<'_>, &Search<'_>) -> Result<Option<Vec<Located>>>;

/// Every resolver, in the order they are asked.
const RESOLVERS: &[Resolver] = &[super::path::resolve, super::ollama::resolve, super::hub::resolve];

/// What was typed, and where names are looked up.
pub(super) struct Typed<'a> {
    pub(super) path: &'a Path,
    given: Option<&'a Stores>,
    found: OnceCell<Stores>,
}

impl<'a> Typed<'a> {
    /// Without `stores`, the environment says where they are.
    pub(super) fn new(path: &'a Path, stores: Option<&'a Stores>) -> Self {
        Self { path, given: stores, found: OnceCell::new() }
    }

    /// The local stores.
    pub(super) fn stores(&self) -> &Stores {
        self.given.unwrap_or_else(|| self.found.get_or_init(Stores::from_env))
    }
}

/// The models that the first resolver finds.
pub(super) fn resolve(typed: &Typed<'_>, search: &Search<'_>) -> Result<Option<Vec<Located>>> {
    for resolver in RESOLVERS {
        if let Some(models) = resolver(typed, search)? {
            return Ok(Some(models));
        }
    }
    Ok(None)
}
