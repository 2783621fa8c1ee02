//! Files elsewhere: on the web, on the Hub, in object stores.
//!
//! Each kind of place is a [`Folder`](crate::Folder) of sources of bytes; the rest of the library does
//! not know that they are far away. Requests are made on threads of their own ([`runtime`]), and what
//! a plan announces is fetched before it is asked for ([`ahead`]).

mod ahead;
mod rooted;
mod runtime;
mod settings;

pub use settings::Remote;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Result;
use crate::input::Folder;

/// Where an address leads.
pub(crate) struct Place {
    /// The files there.
    pub(crate) folder: Arc<dyn Folder>,
    /// What is meant among them.
    pub(crate) path: PathBuf,
}

/// Where what was typed leads; `None` if it is no address.
pub(crate) fn place_of(_typed: &Path, _how: &Remote) -> Result<Option<Place>> {
    Ok(None)
}
