//! Finds weights by their names, in constant time.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

/// An open-addressed table of indices; the names themselves stay where they are.
pub(super) struct ByName {
    /// At least half of them are empty, and their number is a power of two.
    slots: Vec<u32>,
    hasher: RandomState,
}

/// Marks a slot without a name.
const EMPTY: u32 = u32::MAX;

impl ByName {
    /// Indexes `count` names; of several that are the same, the first counts.
    pub(super) fn new<'a>(count: usize, name_of: impl Fn(usize) -> &'a str) -> Self {
        let slots = vec![EMPTY; (count * 2).next_power_of_two()];
        let mut table = Self { slots, hasher: RandomState::default() };
        for index in 0..count {
            let slot = table.slot(name_of(index), &name_of);
            // More weights than `u32` counts do not fit into memory.
            if let (EMPTY, Ok(index)) = (table.slots[slot], u32::try_from(index)) {
                table.slots[slot] = index;
            }
        }
        table
    }

    /// The index of a name.
    pub(super) fn find<'a>(&self, name: &str, name_of: impl Fn(usize) -> &'a str) -> Option<usize> {
        let index = self.slots[self.slot(name, &name_of)];
        (index != EMPTY).then_some(index as usize)
    }

    /// The slot that holds a name, or the empty one where it would go.
    fn slot<'a>(&self, name: &str, name_of: &impl Fn(usize) -> &'a str) -> usize {
        let mask = self.slots.len() - 1;
        #[allow(clippy::cast_possible_truncation)] // Any bits of a hash will do.
        let mut slot = self.hasher.hash_one(name) as usize & mask;
        while self.slots[slot] != EMPTY && name_of(self.slots[slot] as usize) != name {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_the_first_of_equal_ones_counts() {
        for count in [0, 1, 2, 3, 1000] {
            let names: Vec<String> = (0..count).map(|i| format!("w{}", i % 700)).collect();
            let name_of = |index: usize| &*names[index];
            let table = ByName::new(names.len(), name_of);
            for (index, name) in names.iter().enumerate() {
                assert_eq!(table.find(name, name_of), Some(index % 700));
            }
            assert_eq!(table.find("w", name_of), None);
        }
    }
}
