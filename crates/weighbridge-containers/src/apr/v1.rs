//! Version 1, `APRN`: one Rust object, serialised. Its schema is not in the file, so the header
//! and the metadata are all that can be shown.
//!
//! ```text
//! 0   `APRN`
//! 4   u8 u8    version, 1.0
//! 6   u16 LE   kind of model
//! 8   u32 LE   length of the metadata
//! 12  u32 LE   length of the payload
//! 16  u32 LE   length of the payload, decompressed
//! 20  u8       compression: 0 none, 1 zstd level 3, 2 zstd level 19, 3 lz4
//! 21  u8       flags
//! 22  u8       quality score
//! 32           metadata (a MessagePack map), payload (bincode), u32 LE CRC-32
//! ```

use crate::catalog::{Catalog, Finding, Value};
use crate::cursor::{Cursor, Endian};
use crate::error::{ErrorKind, Result};
use crate::input::Input;
use crate::limits::Budget;

use super::msgpack;

const HEADER: u64 = 32;

const FLAGS: [&str; 7] = [
    "encrypted",
    "signed",
    "streaming",
    "licensed",
    "trueno-native",
    "quantized",
    "with a model card",
];

pub(super) fn open(input: &Input, budget: &Budget) -> Result<Catalog> {
    let mut cursor = Cursor::new(input, 4, Endian::Little);
    let (major, minor) = (cursor.u8("the version")?, cursor.u8("the version")?);
    let kind = cursor.u16("the model kind")?;
    let metadata_len = u64::from(cursor.u32("the metadata length")?);
    let payload = u64::from(cursor.u32("the payload length")?);
    let unpacked = cursor.u32("the decompressed length")?;
    let compression = cursor.u8("the compression")?;
    let flags = cursor.u8("the flags")?;
    cursor.seek(HEADER.saturating_sub(1));
    cursor.u8("the header")?;
    // The lengths have 32 bits, so their sum cannot overflow; four bytes are the checksum.
    let end = HEADER.saturating_add(metadata_len).saturating_add(payload).saturating_add(4);
    let mut catalog = Catalog {
        detail: Some(format!("v{major}.{minor} (APRN), bincode payload: tensors cannot be listed")),
        declared_len: Some(end),
        ..Catalog::default()
    };
    catalog.notes.push(format!(
        "version 1 stores one serialized object without a tensor table: {}, {payload} bytes \
             {}{}",
        kind_name(kind),
        compression_name(compression, unpacked),
        flag_names(flags),
    ));
    read_metadata(input, metadata_len, budget, &mut catalog)?;
    if let Some(len) = input.len().filter(|&len| len < end) {
        let message = format!(
            "the payload and its checksum end at byte {end}, but the file ends at byte {len}"
        );
        catalog.findings.push(Finding::general("truncated", message));
    }
    Ok(catalog)
}

fn read_metadata(input: &Input, len: u64, budget: &Budget, catalog: &mut Catalog) -> Result<()> {
    let bytes = input.bytes(HEADER, len, budget, "the metadata")?;
    let problem = match msgpack::value(&bytes, budget) {
        Ok(Value::Map(entries)) => {
            entries.into_iter().for_each(|(key, value)| catalog.metadata.push(key, value));
            return Ok(());
        }
        Ok(_) => "it is not a map".to_owned(),
        Err(error) if error.kind() == ErrorKind::Limit => return Err(error),
        Err(error) => error.message().to_owned(),
    };
    let message = format!("the metadata cannot be shown: {problem}");
    catalog.findings.push(Finding::general("metadata", message));
    Ok(())
}

/// The kinds whose numbers are known; the list in the format is longer.
fn kind_name(kind: u16) -> String {
    let name = match kind {
        0x0001 => "LinearRegression",
        0x0020 => "NeuralSequential",
        0x0021 => "NeuralCustom",
        0x0040 => "MixtureOfExperts",
        0x00ff => "Custom",
        other => return format!("model kind {other:#06x}"),
    };
    format!("model kind {name}")
}

fn compression_name(compression: u8, unpacked: u32) -> String {
    match compression {
        0 => "uncompressed".to_owned(),
        1 => format!("zstd (level 3) of {unpacked}"),
        2 => format!("zstd (level 19) of {unpacked}"),
        3 => format!("lz4 of {unpacked}"),
        other => format!("with unknown compression (number {other})"),
    }
}

fn flag_names(flags: u8) -> String {
    let set = (0..).zip(FLAGS).filter(|(bit, _)| flags.wrapping_shr(*bit) & 1 == 1);
    set.map(|(_, name)| format!(", {name}")).collect()
}
