//! Models in object stores: `s3://`, `gs://`, `az://`. GCS is held to by object_store's own tests only;
//! the others by real servers.

mod address;
mod bucket;
mod connect;
mod credentials;
mod destination;
mod fault;
mod file;
mod finishing;
mod folder;
mod output_file;
mod part;
mod records;
mod upload;

pub use address::{Address, Scheme};
pub use bucket::Bucket;
pub use connect::{Purpose, connect, connect_with};
pub use destination::StoreDestination;
pub use file::StoreFile;
pub use folder::StoreFolder;
