//! Addresses of the places that the table knows.

use super::Located;
use super::places::{Place, as_address, far_starts};
use super::resolvers::{Resolver, Typed};
use super::search::Search;
use crate::containers;
use crate::error::{Error, Result};

/// What begins as an address does.
pub(super) struct Address;

impl Resolver for Address {
    fn resolve(&self, typed: &Typed<'_>, search: &Search<'_>) -> Result<Option<Vec<Located>>> {
        let Some(text) = typed.path.to_str() else { return Ok(None) };
        let address = as_address(text);
        let plain = address.as_deref().unwrap_or(text);
        match Place::of(plain) {
            Some(place) => place.locate(plain, typed, search).map(Some),
            None if address.is_none() => Ok(None),
            None => Err(Error::usage("unknown kind of address")
                .in_file(typed.path)
                .hint(format!("supported: {}", far_starts()))),
        }
    }

    fn advice(&self, _typed: &Typed<'_>, _search: &Search<'_>) -> Option<String> {
        Some("write ollama:name:tag for a model in the local Ollama store".to_owned())
    }

    /// A repository that is not in the cache may be on the Hub.
    fn other_way(&self, typed: &Typed<'_>) -> Option<String> {
        let text = typed.path.to_str().filter(|_| cfg!(feature = "remote"))?;
        let (owner, name) = text.split_once('/')?;
        let is_part = |part: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            part.starts_with(|c: char| c.is_ascii_alphanumeric()) && part.chars().all(allowed)
        };
        let repository = name.split_once('@').map_or(name, |(name, _)| name);
        // What is called like a file is a mistyped path.
        let is_file = repository.rsplit_once('.').is_some_and(|(_, extension)| {
            extension == "json" || containers::by_extension(extension).is_some()
        });
        (is_part(owner) && is_part(repository) && !is_file)
            .then(|| format!("write hf://{text} to read it from the Hub"))
    }
}
