//! Arrays in the pickles of joblib: an object that describes one, then its bytes, then more opcodes.
//!
//! ```text
//! NumpyArrayWrapper      its state has the type and the shape, and perhaps an alignment
//! u8, padding            with an alignment: the number of bytes before the array
//! bytes                  the array; of one of objects: a pickle of its own
//! ```
//!
//! Only joblib reads such files. An attack behind an array is out of sight of readers that stop there.

use crate::error::{Error, Result};

use super::heap::Id;
use super::machine::Machine;

/// Whether this may be a pickle of joblib.
pub(crate) fn is_joblib(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, CLASS).is_some()
}

/// The class whose objects have arrays behind them, and its module.
const CLASS: &[u8] = b"NumpyArrayWrapper";
const MODULE: &[u8] = b"joblib.numpy_pickle";

/// What follows a description.
enum Follows {
    Bytes(usize),
    Pickle,
}

impl Machine<'_, '_> {
    /// Steps over the array behind a description that has just got its state.
    pub(super) fn skip_array(&mut self, wrapper: Id) -> Result<()> {
        let Some(state) = self.wrapper_state(wrapper) else { return Ok(()) };
        let unknown = || Error::malformed("the array behind this byte has an unknown type");
        match self.follows(state).ok_or_else(unknown)? {
            Follows::Pickle => self.run_inner(),
            Follows::Bytes(len) => {
                let alignment = self.heap.lookup(state, "numpy_array_alignment_bytes");
                if alignment.is_some_and(|id| self.heap.int(id).is_some()) {
                    let [padding] = self.array()?;
                    self.take(padding.into())?;
                }
                self.take(len).map(drop)
            }
        }
    }

    /// The state of an object, if it is such a description.
    fn wrapper_state(&self, id: Id) -> Option<Id> {
        let object = self.heap.object(id)?;
        let class = self.heap.class_of(object.class)?;
        let is_wrapper =
            self.heap.bytes(class.module) == MODULE && self.heap.bytes(class.name) == CLASS;
        object.state.filter(|_| is_wrapper)
    }

    fn follows(&self, state: Id) -> Option<Follows> {
        let heap = &self.heap;
        let dtype = heap.object(heap.lookup(state, "dtype")?)?;
        let spelled = heap.text_of(*heap.tuple(dtype.args)?.first()?)?;
        let mut characters = spelled.chars();
        let kind = characters.next()?;
        let number: usize = characters.as_str().parse().ok()?;
        let width = match kind {
            'O' => return Some(Follows::Pickle),
            'b' | 'i' | 'u' | 'f' | 'c' | 'S' | 'M' | 'm' => number,
            'U' => number.checked_mul(4)?,
            // Records may hold objects.
            _ => return None,
        };
        let sides = heap.tuple(heap.lookup(state, "shape")?)?;
        let mut sides = sides.iter().map(|&side| usize::try_from(heap.int(side)?).ok());
        let len = sides.try_fold(width, |len, side| len.checked_mul(side?))?;
        Some(Follows::Bytes(len))
    }
}
