//! Addresses of files elsewhere: `hf://`, `https://`, `s3://`, `gs://`, `az://`.

use super::Located;
use super::resolvers::{Resolver, Typed};
use super::search::Search;
#[cfg(feature = "remote")]
use crate::containers;
use crate::error::Result;

/// A place that is reached over a network.
pub(super) struct Elsewhere;

impl Resolver for Elsewhere {
    #[cfg(feature = "remote")]
    fn resolve(&self, typed: &Typed<'_>, search: &Search<'_>) -> Result<Option<Vec<Located>>> {
        let Some(place) = crate::remote::place_of(typed.path, typed.remote)? else {
            return Ok(None);
        };
        let search = Search { folder: place.folder, budget: search.budget };
        let found = super::path::locate(&place.path, &search)?;
        found.ok_or_else(|| super::not_found::not_in_folder(&place.path, &search)).map(Some)
    }

    /// A repository that is not in the cache may be on the Hub.
    #[cfg(feature = "remote")]
    fn other_way(&self, typed: &Typed<'_>) -> Option<String> {
        let text = typed.path.to_str()?;
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
            .then(|| format!("hf://{text} reads it from the Hub, without downloading all of it"))
    }

    #[cfg(not(feature = "remote"))]
    fn resolve(&self, typed: &Typed<'_>, _search: &Search<'_>) -> Result<Option<Vec<Located>>> {
        const SCHEMES: [&str; 6] = ["hf://", "https://", "http://", "s3://", "gs://", "az://"];
        let text = typed.path.to_str().unwrap_or_default();
        match SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
            true => Err(crate::Error::unsupported("this build reads files of this machine only")
                .in_file(typed.path)
                .hint("the library reads from networks with its feature `remote`")),
            false => Ok(None),
        }
    }
}
