//! Files elsewhere: on the web, on the Hub, in object stores.
//!
//! Each kind of place is a [`Folder`] of sources of bytes; the rest of the library does
//! not know that they are far away. Requests are made on threads of their own (`runtime`), and what
//! a plan announces is fetched before it is asked for (`ahead`).

// The ground, under its own names.
use weighbridge_core::{
    EntryKind, ErrorKind, FileAccess, FolderEntry, LocalFolder, Need, ReadAt, ReadRange, Remedy,
    Requests, error, input, output, read_ranges_merged, stop,
};

mod ahead;
mod announced;
mod guess;
mod process;
mod rooted;
mod runtime;
mod settings;
mod store;
mod web;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::input::Folder;
use rooted::Rooted;

pub use settings::Remote;
pub use store::{
    Address, Bucket, Purpose, Scheme, StoreDestination, StoreFile, StoreFolder, connect,
    connect_with,
};
pub use web::hub::{Environment, HubAddress, HubFolder, RepositoryKind};
pub use web::{Auth, Client, Fault, WebFile, WebFolder};

/// Where an address leads.
pub struct Place {
    /// The files there. Their paths begin with the address.
    pub folder: Arc<dyn Folder>,
    /// What is meant among them.
    pub path: PathBuf,
}

impl Place {
    fn new(address: &str, folder: impl Folder + 'static, inside: &Path) -> Self {
        let address = PathBuf::from(address.trim_end_matches('/'));
        let path = match inside.as_os_str().is_empty() {
            true => address.clone(),
            false => address.join(inside),
        };
        Self { folder: Arc::new(Rooted::new(address, Arc::new(folder))), path }
    }
}

/// Where what was typed leads; `None` if it is no address.
pub fn place_of(typed: &Path, how: &Remote) -> Result<Option<Place>> {
    let Some(text) = typed.to_str() else { return Ok(None) };
    let text = match text.split_once("://").filter(|_| is_address(text)) {
        Some((scheme, rest)) => &format!("{}://{rest}", scheme.to_ascii_lowercase()),
        None => text,
    };
    if store::Address::is_one(text) {
        return in_store(text, how).map(Some);
    }
    if !["hf://", "https://", "http://"].iter().any(|scheme| text.starts_with(scheme)) {
        return match is_address(text) {
            true => Err(Error::usage("addresses of this kind are not known here")
                .in_file(typed)
                .hint("hf://, https://, s3://, gs:// and az:// are")),
            false => Ok(None),
        };
    }
    let environment = Environment::from_env()?;
    match HubAddress::parse(text, environment.endpoint()) {
        Some(address) => on_hub(&address?, &environment, how).map(Some),
        None => on_web(text, how).map(Some),
    }
}

/// Whether this looks like an address, of whatever kind.
fn is_address(text: &str) -> bool {
    let is_word = |word: &str| word.len() > 1 && word.chars().all(|c| c.is_ascii_alphanumeric());
    text.split_once("://").is_some_and(|(scheme, _)| is_word(scheme))
}

fn in_store(text: &str, how: &Remote) -> Result<Place> {
    let address = store::Address::parse(text)?;
    let bucket = store::connect(&address, how, store::Purpose::Read)?;
    let (folder, name) = store::StoreFolder::at(bucket, &address)?;
    let text = text.trim_end_matches('/');
    let root = text.strip_suffix(&*name).filter(|_| !name.is_empty()).unwrap_or(text);
    Ok(Place::new(root, folder, Path::new(&name)))
}

fn on_hub(address: &HubAddress, environment: &Environment, how: &Remote) -> Result<Place> {
    let folder = HubFolder::new(address, environment, how)?;
    let revision = match &address.revision {
        Some(revision) => format!("@{}", revision.replace('/', "%2F")),
        None => String::new(),
    };
    let root = format!("hf://{}{revision}", address.shown_id());
    Ok(Place::new(&root, folder, &address.path))
}

fn on_web(text: &str, how: &Remote) -> Result<Place> {
    let folder = web::WebFolder::new(text, how)?;
    let name = folder.name().to_owned();
    let root = folder.shown_folder().ok_or_else(|| {
        Error::usage("this address names no file").hint("the address of a single file is needed")
    })?;
    Ok(Place::new(&root, folder, &name))
}
