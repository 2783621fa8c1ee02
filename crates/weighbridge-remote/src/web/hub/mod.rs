//! The Hugging Face Hub.

mod address;
mod cache;
mod environment;
mod errors;
mod folder;
mod repository;
mod token;
mod tree;

pub use address::{HubAddress, RepositoryKind};
pub use environment::Environment;
pub use folder::HubFolder;
pub(crate) use repository::Repository;
pub(crate) use tree::{commit_of, page_of};
