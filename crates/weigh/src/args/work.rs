//! How much of the machine a command may take.

use std::num::NonZeroUsize;

use clap::Args as ClapArgs;

use crate::size::parse_size;

// No doc comment: clap would take it for the help of the whole command.
#[derive(ClapArgs)]
pub(crate) struct Work {
    /// The most memory for pieces of weights, over all threads, like 64MiB; headers come on top
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_memory: Option<u64>,

    /// How many threads work; the result is the same [default: as many as the machine has]
    #[arg(short = 'j', long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
}
