//! Files elsewhere: on the web, on the Hub, in object stores.
//!
//! Each kind of place is a [`Folder`] of sources of bytes; the rest of the library does
//! not know that they are far away. Requests are made on threads of their own (`runtime`), and what
//! a plan announces is fetched before it is asked for (`ahead`).

// The ground, under its own names.
use weighbridge_core::{
    EntryKind, ErrorKind, FileAccess, FolderEntry, LocalFolder, Need, ReadAt, ReadRange, Remedy,
    Requests, error, input, output, read_ranges_merged, stop, text,
};

mod ahead;
mod announced;
mod far;
mod guess;
mod kept;
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
use crate::output::{Destination, Sending};
use rooted::Rooted;

pub use settings::Remote;
pub use store::{
    Address, Bucket, Purpose, Scheme, StoreDestination, StoreFile, StoreFolder, connect,
    connect_with,
};
pub use web::WebFolder;
pub use web::hub::{Environment, HubAddress, HubFolder, RepositoryKind};

/// The files at an address, whose paths begin with it, and what is meant among them.
type Reached = (Arc<dyn Folder>, PathBuf);

fn reached(address: &str, folder: impl Folder + 'static, inside: &Path) -> Reached {
    let address = PathBuf::from(address.trim_end_matches('/'));
    let path = match inside.as_os_str().is_empty() {
        true => address.clone(),
        false => address.join(inside),
    };
    (Arc::new(Rooted::new(address, Arc::new(folder))), path)
}

/// An error and what has caused it, the innermost last.
fn causes<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'e (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

/// What is at an address of the web, or of the Hub, by its own scheme or by that of its pages.
pub fn on_web(text: &str, how: &Remote) -> Result<Reached> {
    let environment = Environment::from_env()?;
    match HubAddress::parse(text, environment.endpoint()) {
        Some(address) => on_hub(&address?, &environment, how),
        None => on_server(text, how),
    }
}

/// What is at an address of an object store.
pub fn in_store(text: &str, how: &Remote) -> Result<Reached> {
    let address = Address::parse(text)?;
    let bucket = connect(&address, how, Purpose::Read)?;
    let (folder, name) = StoreFolder::at(bucket, &address)?;
    let text = text.trim_end_matches('/');
    let root = text.strip_suffix(&*name).filter(|_| !name.is_empty()).unwrap_or(text);
    Ok(reached(root, folder, Path::new(&name)))
}

/// An output in an object store.
pub fn to_store(text: &str, how: &Remote, sending: &Sending) -> Result<Box<dyn Destination>> {
    let address = Address::parse(text)?;
    let bucket = connect(&address, how, Purpose::Write)?;
    let to = match sending.is_folder {
        true => StoreDestination::folder(bucket, address.key, sending.memory),
        false => StoreDestination::object(bucket, address.key, sending.memory),
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
        Error::usage("this address names no file").hint("the address of a single file is needed")
    })?;
    Ok(reached(&root, folder, &name))
}
