//! Outputs in object stores: where they go, and the memory that waits to be sent.

use super::ConvertOptions;
use crate::error::Result;
use crate::model::OpenOptions;
use crate::output::Destination;
use crate::pipeline::Target;

/// Bytes that wait to be sent, if nobody limits memory.
#[cfg(feature = "remote")]
const USUAL: u64 = 96 << 20;

/// Fewer would not let a part be filled while another is sent.
#[cfg(feature = "remote")]
const LEAST: u64 = 32 << 20;

/// How places elsewhere are reached.
#[derive(Clone, Default)]
pub(super) struct Network {
    #[cfg(feature = "remote")]
    pub(super) settings: crate::remote::Remote,
}

impl Network {
    /// Opens models by these settings.
    pub(super) fn opener(&self) -> OpenOptions {
        let opener = OpenOptions::new();
        #[cfg(feature = "remote")]
        let opener = opener.remote(self.settings.clone());
        opener
    }
}

/// Bytes of an output that wait to be sent, at most.
#[cfg(feature = "remote")]
pub(super) fn held_bytes(target: &Target, options: &ConvertOptions) -> u64 {
    match target.is_elsewhere {
        true => options.work.max_memory.map_or(USUAL, |most| USUAL.min(most / 3).max(LEAST)),
        false => 0,
    }
}

/// Without the feature, nothing is sent.
#[cfg(not(feature = "remote"))]
pub(super) fn held_bytes(_: &Target, _: &ConvertOptions) -> u64 {
    0
}

/// The place of an output in a store; `None` if it is on this machine.
#[cfg(feature = "remote")]
pub(super) fn destination(
    target: &Target,
    options: &ConvertOptions,
) -> Result<Option<Box<dyn Destination>>> {
    use crate::pipeline::Place;
    use crate::remote::{Address, Purpose, StoreDestination, connect};
    let (Place::File(path) | Place::Folder(path), true) = (&target.place, target.is_elsewhere)
    else {
        return Ok(None);
    };
    let address = Address::parse(&path.to_string_lossy())?;
    let bucket = connect(&address, &options.network.settings, Purpose::Write)?;
    let memory = held_bytes(target, options);
    let to = match target.place {
        Place::File(_) => StoreDestination::object(bucket, address.key, memory),
        _ => StoreDestination::folder(bucket, address.key, memory),
    };
    let to = to.force(options.force).resume(options.resume).in_turn(target.is_in_turn());
    Ok(Some(Box::new(to)))
}

/// Without the feature, there are no such places.
#[cfg(not(feature = "remote"))]
pub(super) fn destination(_: &Target, _: &ConvertOptions) -> Result<Option<Box<dyn Destination>>> {
    Ok(None)
}
