//! The ways to understand what the user typed.

use std::cell::OnceCell;
use std::path::Path;

use super::Located;
use super::search::Search;
use super::stores::Stores;
use crate::Remote;
use crate::error::Result;

/// Every resolver, in the order they are asked.
pub(super) static RESOLVERS: &[&dyn Resolver] =
    &[&super::path::AnyPath, &super::addresses::Address, &super::hub::Hub];

/// A way to understand what was typed.
pub(super) trait Resolver: Sync {
    /// The models that were meant; `None` if this resolver does not know the name. A resolver for
    /// files elsewhere, such as a URL, makes a [`Search`] of a folder of its own.
    fn resolve(&self, typed: &Typed<'_>, search: &Search<'_>) -> Result<Option<Vec<Located>>>;

    /// What it looked for and did not find: "no such ..". `None` if the name alone shows that
    /// something else is meant.
    fn looked_for(&self, _typed: &Typed<'_>) -> Option<String> {
        None
    }

    /// What it knows under a similar name, best first.
    fn close_names(&self, _typed: &Typed<'_>, _search: &Search<'_>) -> Vec<String> {
        Vec::new()
    }

    /// Advice for when no resolver knows a similar name.
    fn advice(&self, _typed: &Typed<'_>, _search: &Search<'_>) -> Option<String> {
        None
    }

    /// What the name would mean if it were written in another way.
    fn other_way(&self, _typed: &Typed<'_>) -> Option<String> {
        None
    }
}

/// What was typed, and where names are looked up.
pub(in crate::model) struct Typed<'a> {
    pub(super) path: &'a Path,
    /// How files elsewhere are reached.
    pub(super) remote: &'a Remote,
    given: Option<&'a Stores>,
    found: OnceCell<Stores>,
}

impl<'a> Typed<'a> {
    /// Without `stores`, the environment says where they are.
    pub(in crate::model) fn new(
        path: &'a Path,
        stores: Option<&'a Stores>,
        remote: &'a Remote,
    ) -> Self {
        Self { path, remote, given: stores, found: OnceCell::new() }
    }

    /// The local stores.
    pub(super) fn stores(&self) -> &Stores {
        self.given.unwrap_or_else(|| self.found.get_or_init(Stores::from_env))
    }
}

/// The models that the first resolver finds.
pub(super) fn resolve(typed: &Typed<'_>, search: &Search<'_>) -> Result<Option<Vec<Located>>> {
    for resolver in RESOLVERS {
        if let Some(models) = resolver.resolve(typed, search)? {
            return Ok(Some(models));
        }
    }
    Ok(None)
}
