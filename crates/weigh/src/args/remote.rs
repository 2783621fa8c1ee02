//! How files elsewhere are reached.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;
use weighbridge::Remote;

// No doc comment: clap would take it for the help of the whole command.
#[derive(ClapArgs)]
#[command(next_help_heading = "Network")]
pub(crate) struct RemoteArgs {
    /// Also read http:// addresses of other machines, which anybody on the way can read and change
    #[arg(long)]
    allow_http: bool,

    /// A PEM file of certificates to trust besides the system's
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// How long a server may say nothing, in seconds [default: 30]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,

    /// How often a request is made again that may have failed by chance [default: 5]
    #[arg(long, value_name = "COUNT")]
    retries: Option<u32>,

    /// The longest time to wait when a server asks for it, in seconds [default: 300]
    #[arg(long, value_name = "SECONDS")]
    max_wait: Option<u64>,
}

impl RemoteArgs {
    /// The settings as the library takes them.
    pub(crate) fn settings(&self) -> Remote {
        let mut settings = Remote::default();
        settings.allow_http = self.allow_http;
        settings.ca_file = self.ca_file.clone();
        settings.timeout = self.timeout.map_or(settings.timeout, Duration::from_secs);
        settings.retries = self.retries.unwrap_or(settings.retries);
        settings.max_wait = self.max_wait.map_or(settings.max_wait, Duration::from_secs);
        settings
    }
}
