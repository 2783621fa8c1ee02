//! An answer of a server, invented from bytes: status, headers and a body.
//!
//! ```text
//! 1 byte   status
//! 1 byte   number of headers
//! each     1 byte name, 1 byte length, that many bytes
//! rest     the body
//! ```

use std::path::Component;
use std::sync::Arc;

use weighbridge::internals::remote::received;
use weighbridge::{MemoryFolder, OpenOptions};

use crate::limits;

const STATUS: &[u16] = &[200, 206, 301, 302, 307, 401, 403, 404, 416, 429, 500, 503, 100, 599, 999];

#[rustfmt::skip]
const NAMES: &[&str] = &[
    "link", "location", "content-range", "etag", "last-modified", "retry-after", "ratelimit",
    "x-linked-etag", "x-error-code", "x-error-message", "content-length", "x-repo-commit",
];

/// Reads an answer twice, and holds what is read to what callers rely on. The body is also taken for
/// an index of shards, and for a manifest of somebody who stores models.
pub fn read_answer(bytes: &[u8]) {
    let mut rest = bytes;
    let mut next = || {
        let (&first, more) = rest.split_first()?;
        rest = more;
        Some(usize::from(first))
    };
    let (status, count) = (next().unwrap_or(0), next().unwrap_or(0) % 8);
    let heads: Vec<(usize, usize)> = (0..count).map_while(|_| Some((next()?, next()?))).collect();
    let mut headers: Vec<(&str, &[u8])> = Vec::new();
    for (name, len) in heads {
        let (value, more) = rest.split_at(len.min(rest.len()));
        rest = more;
        headers.push((NAMES[name % NAMES.len()], value));
    }
    let status = STATUS[status % STATUS.len()];
    let found = received(status, &headers, rest);
    assert_eq!(found, received(status, &headers, rest), "two answers");
    let Some(found) = found else { return };
    for (path, _) in &found.files {
        let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        assert!(is_inside && path.components().next().is_some(), "{path:?} leads elsewhere");
    }
    let is_here = |next: &String| next.starts_with("https://host.test/");
    assert!(found.next.iter().all(is_here), "{:?} is another server's", found.next);
    if let (Some(range), Some(total)) = (&found.range, found.total) {
        assert!(range.start < range.end && range.end <= total, "{range:?} of {total}");
    }
    let is_hash = |commit: &String| commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(found.commit.iter().all(is_hash), "{:?}", found.commit);
    index(rest);
}

fn index(body: &[u8]) {
    const SHARD: &[u8] = b"\x3c\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}         \0";
    let folder = MemoryFolder::new()
        .with("model.safetensors.index.json", body.to_vec())
        .with("model-00001-of-00001.safetensors", SHARD.to_vec());
    let _ = OpenOptions::new().limits(limits()).open_all_in(Arc::new(folder), "");
}
