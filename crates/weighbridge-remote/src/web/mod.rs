//! Files on web servers, and on the Hugging Face Hub.

mod answer;
mod client;
mod fault;
mod fetch;
mod file;
mod folder;
pub mod hub;
mod kept;
mod places;
mod refusal;
mod resolved;
mod retry;

pub use client::{Auth, Client};
pub use fault::Fault;
pub use file::WebFile;
pub use folder::WebFolder;
