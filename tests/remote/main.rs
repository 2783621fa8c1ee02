//! Models elsewhere: on a server of the tests that speaks the Hub's protocol with every fault, and against
//! real servers, where `WEIGHBRIDGE_SERVERS` names the folder that `install-servers.sh` filled.

#[path = "../common/mod.rs"]
mod common;

mod each_byte_once;
mod https;
mod hub;
mod nginx;
mod samples;
mod server;
mod servers;
mod slow;
mod store_reading;
mod store_replacing;
mod store_writing;
mod vouching;
