//! Outputs in object stores: where they go, and the memory that waits to be sent.

use super::ConvertOptions;
use crate::error::Result;
use crate::model::{self, OpenOptions, Writing};
use crate::output::{Destination, Sending};
use crate::pipeline::{Place, Target};

/// Bytes that wait to be sent, if nobody limits memory.
const USUAL: u64 = 96 << 20;

/// Fewer would not let a part be filled while another is sent.
const LEAST: u64 = 32 << 20;

/// Opens models by the settings of networks.
#[cfg_attr(not(feature = "remote"), allow(unused_variables))]
pub(super) fn opener(options: &ConvertOptions) -> OpenOptions {
    let opener = OpenOptions::new();
    #[cfg(feature = "remote")]
    let opener = opener.remote(options.network.clone());
    opener
}

/// Bytes of an output that wait to be sent, at most.
pub(super) fn held_bytes(target: &Target, options: &ConvertOptions) -> u64 {
    if target.is_elsewhere {
        options.work.max_memory.map_or(USUAL, |most| USUAL.min(most / 3).max(LEAST))
    } else {
        0
    }
}

/// The place of an output elsewhere; `None` if it is on this machine.
pub(super) fn destination(
    target: &Target,
    options: &ConvertOptions,
) -> Result<Option<Box<dyn Destination>>> {
    let (Place::File(path) | Place::Folder(path), true) = (&target.place, target.is_elsewhere)
    else {
        return Ok(None);
    };
    let address = path.to_string_lossy();
    let Some(Writing::Far(Some(write))) = model::Place::of(&address).map(|place| &place.writing)
    else {
        return Ok(None);
    };
    let sending = Sending {
        is_folder: matches!(target.place, Place::Folder(_)),
        memory: held_bytes(target, options),
        force: options.force,
        resume: options.resume,
        in_turn: target.is_in_turn(),
    };
    write(&address, &options.network, &sending).map(Some)
}
