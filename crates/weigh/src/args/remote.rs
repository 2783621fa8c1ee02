//! Options for remote files.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;
use weighbridge::Remote;

use crate::size::parse_size;

// No doc comment: clap would take it for the help of the whole command.
#[derive(ClapArgs)]
#[command(next_help_heading = "Network")]
pub(crate) struct RemoteArgs {
    /// Allow http:// to other machines
    ///
    /// Traffic over http is neither encrypted nor authenticated: others on the network can read
    /// and change it.
    #[arg(long)]
    allow_http: bool,

    /// Trust the certificates in a PEM file, in addition to the system's
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Read timeout in seconds [default: 30]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,

    /// Lowest speed of a server per second; 0 for any [default: 1KiB]
    ///
    /// A response that is slower than this over the read timeout counts as a broken connection.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    min_speed: Option<u64>,

    /// Retries after a transient failure [default: 5]
    #[arg(long, value_name = "COUNT")]
    retries: Option<u32>,

    /// Longest wait for a server, in seconds [default: 300]
    ///
    /// A server may ask to wait this long. A request that gets no bytes for this long is not
    /// retried.
    #[arg(long, value_name = "SECONDS")]
    max_wait: Option<u64>,
}

impl RemoteArgs {
    /// Converts to library settings.
    pub(crate) fn settings(&self) -> Remote {
        let mut settings = Remote::default();
        settings.allow_http = self.allow_http;
        settings.ca_file = self.ca_file.clone();
        settings.timeout = self.timeout.map_or(settings.timeout, Duration::from_secs);
        settings.min_speed = self.min_speed.unwrap_or(settings.min_speed);
        settings.retries = self.retries.unwrap_or(settings.retries);
        settings.max_wait = self.max_wait.map_or(settings.max_wait, Duration::from_secs);
        settings
    }
}
