//! Codes of a composed weight whose stretches all have float codes of one form.

use std::ops::Range;

use super::block::{Band, Block, To, each_piece};
use super::{Composed, Stretch, length};
use crate::error::Result;
use crate::framework::{CodeNumbers, Extract, GroupedCodes, GroupedForm, Kind, NOT_MOVED, Taker};
use crate::source::{Slab, Staged};

impl Stretch {
    /// Returns its codes and their form, if they are floats that composing does not change.
    fn codes(&self) -> Option<(&dyn GroupedCodes, GroupedForm)> {
        let is_plain = !self.view.changes_values() && self.view.transposed.is_none();
        let codes = self.recipe.codes().ok().filter(|_| is_plain)?;
        let form = codes.form(Taker::Blocks).ok()?;
        let is_float = matches!(form.numbers, CodeNumbers::Floats { .. });
        let is_whole = |row: u64| row.is_multiple_of(form.group.max(1));
        let fits = is_whole(self.view.row_len()) && is_whole(self.recipe_row);
        (is_float && fits).then_some((codes, form))
    }
}

/// A component of the codes of a composed weight.
#[derive(Clone, Copy)]
struct Wanted {
    kind: Kind,
    /// Elements per code or factor.
    each: u64,
    /// Elements per byte.
    per_byte: usize,
}

impl Wanted {
    fn of(kind: Kind, form: &GroupedForm) -> Self {
        match kind {
            Kind::Codes => Self { kind, each: 1, per_byte: 2 },
            _ => Self { kind, each: form.group, per_byte: length(form.group) },
        }
    }

    /// Returns the extract of some elements.
    fn extract(&self, elements: &Range<u64>) -> Extract {
        let across = elements.start / self.each..elements.end / self.each;
        Extract { rows: 0..1, across }
    }

    /// Returns the bands of a block; all of it if it has no gaps.
    fn bands(&self, codes: &dyn GroupedCodes, block: &Block) -> Vec<Band> {
        let needs = &mut |elements: Range<u64>, slabs: &mut Vec<Slab>| {
            codes.needs(self.kind, &self.extract(&elements), slabs);
        };
        block.bands(needs, &mut Vec::new())
    }
}

impl Composed {
    /// Returns the form of all codes; `None` if they differ.
    pub(super) fn form_of_codes(stretches: &[Stretch]) -> Option<GroupedForm> {
        let mut forms = stretches.iter().map(|stretch| Some(stretch.codes()?.1));
        let first = forms.next()??;
        let is_alike = |form: GroupedForm| (form.scale, form.group) == (first.scale, first.group);
        forms.all(|form| form.is_some_and(is_alike)).then_some(first)
    }

    /// Calls `take` with each block of an extract that is a range of elements.
    fn each_block_of_codes(
        &self,
        kind: Kind,
        of: &Extract,
        mut take: impl FnMut(&Stretch, &dyn GroupedCodes, &Block, Wanted) -> Result<()>,
    ) -> Result<()> {
        let Some(form) = self.codes.as_ref().filter(|_| kind != Kind::Zeros) else { return Ok(()) };
        let wanted = Wanted::of(kind, form);
        let elements = of.across.start * wanted.each..of.across.end * wanted.each;
        self.each_block(&elements, |stretch, block| match stretch.codes() {
            Some((codes, _)) => take(stretch, codes, block, wanted),
            None => Ok(()),
        })
    }
}

impl GroupedCodes for Composed {
    fn form(&self, taker: Taker) -> Result<GroupedForm, String> {
        let form = self.codes.filter(|_| taker == Taker::Blocks);
        form.ok_or_else(|| NOT_MOVED.to_owned())
    }

    fn needs(&self, kind: Kind, of: &Extract, slabs: &mut Vec<Slab>) {
        // Listing byte ranges does not fail.
        _ = self.each_block_of_codes(kind, of, |stretch, codes, block, wanted| {
            for band in wanted.bands(codes, block) {
                let moved = |slab: Slab| Slab { part: slab.part + stretch.first_part, ..slab };
                slabs.extend(band.slabs.into_iter().map(moved));
            }
            Ok(())
        });
    }

    fn read(&self, kind: Kind, of: &Extract, staged: &[Staged<'_>], out: &mut [u8]) -> Result<()> {
        let mut rest = staged;
        self.each_block_of_codes(kind, of, |_, codes, block, wanted| {
            let To::Rows { every } = block.to else { return Ok(()) };
            let used = each_piece(&wanted.bands(codes, block), rest, |bytes, index| {
                let start = block.first + index * block.step;
                let of = wanted.extract(&(start..start + block.piece));
                let place = block.at + length(index) * every;
                let place = place..place + length(block.piece);
                let out = &mut out[place.start / wanted.per_byte..place.end / wanted.per_byte];
                codes.read(kind, &of, bytes, out)
            })?;
            rest = rest.get(used..).unwrap_or_default();
            Ok(())
        })
    }
}
