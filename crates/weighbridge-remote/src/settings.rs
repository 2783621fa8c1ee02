//! How files elsewhere are reached.

use std::path::PathBuf;
use std::time::Duration;

/// How files elsewhere are reached: over https, from the Hub, from object stores.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Remote {
    /// Plain http to any host; without it, to this machine only.
    pub allow_http: bool,
    /// A file of certificates that are trusted besides the system's.
    pub ca_file: Option<PathBuf>,
    /// How long a connection may take to be made, and a server may say nothing.
    pub timeout: Duration,
    /// The lowest speed of a server in bytes per second, over as long as it may say nothing; 0 for any.
    pub min_speed: u64,
    /// How often a request is made again after a failure that may pass.
    pub retries: u32,
    /// The longest that a server may ask to wait, and that a request is made again and again without
    /// getting a byte.
    pub max_wait: Duration,
    /// Requests under way at the same time, at most.
    pub parallel: usize,
    /// Bytes that are fetched before they are asked for, at most.
    pub read_ahead: u64,
}

impl Default for Remote {
    fn default() -> Self {
        Self {
            allow_http: false,
            ca_file: None,
            timeout: Duration::from_secs(30),
            min_speed: 1 << 10,
            retries: 5,
            max_wait: Duration::from_secs(300),
            parallel: 32,
            read_ahead: 64 << 20,
        }
    }
}
