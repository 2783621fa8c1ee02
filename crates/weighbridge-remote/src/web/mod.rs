//! Files on web servers, and on the Hugging Face Hub.

mod answer;
mod client;
mod fault;
mod fetch;
mod file;
mod folder;
pub mod hub;
mod places;
pub(crate) mod received;
mod refusal;
mod resolved;
mod retry;

pub use folder::WebFolder;
