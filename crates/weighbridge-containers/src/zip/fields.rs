//! Little-endian numbers at fixed places of a record.

/// The 16-bit number at `at`; zero past the end, which callers rule out by length first.
pub(super) fn u16_at(record: &[u8], at: usize) -> u16 {
    bytes(record, at).map_or(0, u16::from_le_bytes)
}

/// The 32-bit number at `at`.
pub(super) fn u32_at(record: &[u8], at: usize) -> u32 {
    bytes(record, at).map_or(0, u32::from_le_bytes)
}

/// The 64-bit number at `at`.
pub(super) fn u64_at(record: &[u8], at: usize) -> u64 {
    bytes(record, at).map_or(0, u64::from_le_bytes)
}

fn bytes<const N: usize>(record: &[u8], at: usize) -> Option<[u8; N]> {
    record.get(at..)?.first_chunk().copied()
}

/// The data of the extra field `id`, among fields of `u16 id, u16 length, data`.
pub(super) fn extra_field(mut extra: &[u8], id: u16) -> Option<&[u8]> {
    while let Some((head, rest)) = extra.split_at_checked(4) {
        let len = usize::from(u16_at(head, 2));
        // A last field that claims too much is cut: some writers pad without care.
        let (data, next) = rest.split_at_checked(len).unwrap_or((rest, &[]));
        if u16_at(head, 0) == id {
            return Some(data);
        }
        extra = next;
    }
    None
}
