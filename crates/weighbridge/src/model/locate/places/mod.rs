//! The places that addresses lead to, one row each. Locating, outputs, messages and Python read this
//! table. A new place is a row, and a file that opens it: here, or in the crate for networks.

mod ollama;

use std::path::PathBuf;
use std::sync::Arc;

use super::Located;
use super::resolvers::Typed;
use super::search::Search;
use crate::Remote;
use crate::error::{Error, Result};
use crate::input::Folder;
use crate::output::{Destination, Sending};

/// A function of the crate for networks; `None` in a build without it.
#[cfg(feature = "remote")]
macro_rules! remote {
    ($does:ident) => {
        Some(crate::remote::$does)
    };
}
#[cfg(not(feature = "remote"))]
macro_rules! remote {
    ($does:ident) => {
        None
    };
}

/// Where each address leads.
pub static PLACES: &[Place] = &[
    far(&["hf://"], remote!(on_web), Writing::Never),
    far(&["https://", "http://"], remote!(on_web), Writing::Never),
    far(&["s3://"], remote!(in_store), Writing::Far(remote!(to_store))),
    far(&["gs://"], remote!(in_store), Writing::Far(remote!(to_store))),
    far(&["az://"], remote!(in_store), Writing::Far(remote!(to_store))),
    Place { starts: &["ollama:"], reading: Reading::Here(ollama::locate), writing: Writing::Never },
];

/// A place that models are in.
pub struct Place {
    /// How its addresses begin. The first is the one that messages name.
    pub starts: &'static [&'static str],
    reading: Reading,
    /// Who writes there.
    pub(crate) writing: Writing,
}

/// Who finds what an address names.
enum Reading {
    /// By what stands behind the start, among files of this machine.
    Here(fn(&str, &Typed<'_>, &Search<'_>) -> Result<Vec<Located>>),
    Far(Option<Read>),
}

/// Gives the files at an address, and what is meant among them.
type Read = fn(&str, &Remote) -> Result<(Arc<dyn Folder>, PathBuf)>;

/// Who takes outputs.
pub(crate) enum Writing {
    Never,
    Far(Option<Write>),
}

/// Opens an address for an output.
type Write = fn(&str, &Remote, &Sending) -> Result<Box<dyn Destination>>;

const fn far(starts: &'static [&'static str], read: Option<Read>, writing: Writing) -> Place {
    Place { starts, reading: Reading::Far(read), writing }
}

impl Place {
    /// The place that an address is of.
    pub(crate) fn of(address: &str) -> Option<&'static Self> {
        PLACES.iter().find(|place| place.behind_start(address).is_some())
    }

    fn behind_start<'a>(&self, address: &'a str) -> Option<&'a str> {
        self.starts.iter().find_map(|start| address.strip_prefix(start))
    }

    /// The models at an address.
    pub(super) fn locate(
        &self,
        address: &str,
        typed: &Typed<'_>,
        search: &Search<'_>,
    ) -> Result<Vec<Located>> {
        let read = match self.reading {
            Reading::Here(locate) => {
                return locate(self.behind_start(address).unwrap_or_default(), typed, search);
            }
            Reading::Far(read) => read,
        };
        let read = read.ok_or_else(|| {
            Error::unsupported("this build reads local files only")
                .in_file(typed.path)
                .hint("enable the library's `remote` feature")
        })?;
        let (folder, path) = read(address, typed.remote)?;
        let search = Search { folder, budget: search.budget };
        let found = super::path::locate(&path, &search)?;
        found.ok_or_else(|| super::not_found::not_in_folder(&path, &search))
    }
}

/// An address of whatever kind, with its scheme in small letters. One letter is a drive.
pub(crate) fn as_address(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let is_word = scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_word.then(|| format!("{}://{rest}", scheme.to_ascii_lowercase()))
}

/// How the addresses of some places begin: "a://, b:// and c://", with `last` for "and".
pub(crate) fn starts_of(wanted: impl Fn(&Place) -> bool, last: &str) -> String {
    let starts = PLACES.iter().filter(|place| wanted(place)).map(|place| place.starts[0]);
    crate::text::listed(&starts.collect::<Vec<_>>(), last)
}

/// How addresses begin that are read over a network.
pub(super) fn far_starts() -> String {
    starts_of(|place| matches!(place.reading, Reading::Far(_)), "and")
}
