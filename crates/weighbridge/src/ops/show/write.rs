//! Writes the numbers of a window to a file: with the header of a format, or without any.

use super::Window;
use crate::catalog::element_count;
use crate::containers::writing::{Entries, FileContext, Fixed, Planned, Writer};
use crate::containers::{self, WRITERS};
use crate::dtype::StoredType;
use crate::error::{Error, Result};
use crate::output::Destination;

impl Window {
    /// The formats of [`write_as`](Self::write_as), which are also the extensions of their files.
    pub fn formats() -> impl Iterator<Item = &'static str> {
        WRITERS.iter().filter(|writer| is_simple(**writer)).map(|writer| writer.format())
    }

    /// Writes all numbers as one file of a format, as a tensor with the name of the weight.
    ///
    /// ```no_run
    /// use weighbridge::ops::{ShowOptions, Window};
    /// use weighbridge::{Model, output::LocalFile};
    /// let weight = Model::open("model.gguf")?.find("blk.0.ffn_up.weight")?;
    /// let window = Window::of(&weight, &ShowOptions::default())?;
    /// window.write_as("npy", &LocalFile::new("ffn_up.npy".as_ref(), false))?;
    /// # Ok::<(), weighbridge::Error>(())
    /// ```
    pub fn write_as(&self, format: &str, to: &dyn Destination) -> Result<()> {
        let writer = containers::writer(format).filter(|writer| is_simple(*writer));
        let writer = writer.ok_or_else(|| {
            Error::usage(format!("a single weight cannot be written as {format}"))
        })?;
        let stored = StoredType::Element(self.dtype());
        let bytes = element_count(self.shape()).and_then(|count| self.dtype().bytes_for(count));
        let bytes = bytes.ok_or_else(|| Error::limit("the weight is too large for a file"))?;
        let name = self.weight().name();
        let tensor = Planned { name, stored: &stored, shape: self.shape(), bytes };
        if let Some(reason) = writer.refuses(&tensor).or_else(|| writer.refuses_name(name)) {
            let path = self.weight().model().path();
            return Err(Error::unsupported(reason).in_tensor(name).in_file(path));
        }
        let metadata = writer.metadata(Entries::new(), &[tensor], true)?;
        let context =
            FileContext { metadata: &metadata, part: (0, 1), tensors: 1, streamed: false };
        let layout = writer.lay_out(&[tensor], &context)?;
        let start = layout.places.first().copied().unwrap_or(0);
        self.write_behind(&layout.fixed, start, layout.len, to)
    }

    /// Writes all numbers as one file without a header, as little-endian bytes, row by row.
    pub fn write_to(&self, to: &dyn Destination) -> Result<()> {
        let count = element_count(self.shape());
        let bytes = count.and_then(|count| self.dtype().bytes_for(count)).unwrap_or(u64::MAX);
        self.write_behind(&[], 0, bytes, to)
    }

    /// Writes the bytes of a header, and all numbers from `start` on.
    fn write_behind(
        &self,
        header: &[Fixed],
        start: u64,
        len: u64,
        to: &dyn Destination,
    ) -> Result<()> {
        let write = || {
            to.begin(&|| format!("{} as {}", self.weight().name(), self.dtype()))?;
            to.reserve(len)?;
            let file = to.create("numbers", len)?;
            header.iter().try_for_each(|fixed| file.write_at(fixed.at, &fixed.bytes))?;
            let mut at = start;
            self.read(&mut |bytes| {
                file.write_at(at, bytes)?;
                at += bytes.len() as u64;
                Ok(())
            })?;
            file.finish()?;
            to.finish()
        };
        write().inspect_err(|_| to.abort())
    }
}

/// Whether a file is a header and then the bytes: sums over the bytes are not known before.
fn is_simple(writer: &dyn Writer) -> bool {
    !writer.states_sums()
}
