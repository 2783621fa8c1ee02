//! Options for threads and memory.

use std::num::NonZeroUsize;

use clap::Args as ClapArgs;
use weighbridge::ops;

use crate::size::parse_size;

// No doc comment: clap would take it for the help of the whole command.
#[derive(ClapArgs)]
pub(crate) struct Work {
    /// Memory limit for weight data, excluding headers, e.g. 64MiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Work")]
    max_memory: Option<u64>,

    /// Number of threads [default: all]
    ///
    /// Does not affect the result.
    #[arg(short = 'j', long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

impl Work {
    /// Converts to library options.
    pub(crate) fn options(&self) -> ops::Work {
        let mut work = ops::Work::new();
        if let Some(bytes) = self.max_memory {
            work = work.max_memory(bytes);
        }
        if let Some(threads) = self.threads {
            work = work.threads(threads);
        }
        work
    }
}
