//! Remote files: on web servers, on the Hugging Face Hub and in object stores.
//!
//! Each kind of place implements [`Folder`], so the rest of the library treats remote files like
//! local ones. Requests run on their own threads (`runtime`). Byte ranges that a plan announces are
//! prefetched (`ahead`).

// The ground, under its own names.
use weighbridge_core::{
    EntryKind, ErrorKind, FileAccess, FolderEntry, LocalFolder, Need, ReadAt, ReadRange, Remedy,
    Requests, Vouched, error, input, output, read_ranges_merged, stop, text,
};

mod ahead;
mod announced;
mod far;
mod guess;
mod kept;
mod pace;
mod process;
mod rooted;
mod runtime;
mod settings;
mod store;
mod web;
mod whole;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::input::Folder;
use crate::output::{Destination, Sending};
use rooted::Rooted;

pub use settings::Remote;
pub use store::{
    Address, Bucket, Purpose, Scheme, StoreDestination, StoreFile, StoreFolder, connect,
    connect_with,
};
pub use web::WebFolder;
pub use web::hub::{Environment, HubAddress, HubFolder, RepositoryKind};
pub use web::received::{Received, received};

/// The files at an address, and the path of the requested one. Paths begin with the address.
type Reached = (Arc<dyn Folder>, PathBuf);

fn reached(address: &str, folder: impl Folder + 'static, inside: &Path) -> Reached {
    let address = PathBuf::from(address.trim_end_matches('/'));
    let path = if inside.as_os_str().is_empty() { address.clone() } else { address.join(inside) };
    (Arc::new(Rooted::new(address, Arc::new(folder))), path)
}

/// An error and what has caused it, the innermost last.
fn causes<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'e (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

/// Opens an `https://` address, or a Hub address (`hf://` or the address of a Hub page).
pub fn on_web(text: &str, how: &Remote) -> Result<Reached> {
    let environment = Environment::from_env()?;
    match HubAddress::parse(text, environment.endpoint()) {
        Some(address) => on_hub(&address?, &environment, how),
        None => on_server(text, how),
    }
}

/// Opens an address of an object store.
pub fn in_store(text: &str, how: &Remote) -> Result<Reached> {
    let address = Address::parse(text)?;
    let bucket = connect(&address, how, Purpose::Read)?;
    let (folder, name) = StoreFolder::at(bucket, &address)?;
    let text = text.trim_end_matches('/');
    let root = text.strip_suffix(&*name).filter(|_| !name.is_empty()).unwrap_or(text);
    Ok(reached(root, folder, Path::new(&name)))
}

/// Creates an output in an object store.
pub fn to_store(text: &str, how: &Remote, sending: &Sending) -> Result<Box<dyn Destination>> {
    let address = Address::parse(text)?;
    let bucket = connect(&address, how, Purpose::Write)?;
    let to = if sending.is_folder {
        StoreDestination::folder(bucket, address.key, sending.memory)
    } else {
        StoreDestination::object(bucket, address.key, sending.memory)
    };
    Ok(Box::new(to.force(sending.force).resume(sending.resume).in_turn(sending.in_turn)))
}

fn on_hub(address: &HubAddress, environment: &Environment, how: &Remote) -> Result<Reached> {
    let folder = HubFolder::new(address, environment, how)?;
    Ok(reached(&address.shown(Path::new("")), folder, &address.path))
}

fn on_server(text: &str, how: &Remote) -> Result<Reached> {
    let folder = web::WebFolder::new(text, how)?;
    let name = folder.name().to_owned();
    let root = folder.shown_folder().ok_or_else(|| {
        Error::usage("the address has no file name").hint("give the address of a single file")
    })?;
    Ok(reached(&root, folder, &name))
}
