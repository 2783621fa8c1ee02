//! What the readers of a server's answer make of one, without a server: for the fuzz target.

use std::ops::Range;
use std::path::PathBuf;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{StatusCode, Url};

use crate::EntryKind;
use crate::web::answer::{ContentRange, length_alone};
use crate::web::client::target;
use crate::web::hub::{HubAddress, commit_of, page_of};
use crate::web::refusal::refusal;

/// What was read out of an answer of a server at `https://host.test/a/b`.
#[derive(Debug, PartialEq, Eq)]
pub struct Received {
    /// A page of a repository's files, as far as it is one.
    pub files: Vec<(PathBuf, EntryKind)>,
    /// The address of the next page.
    pub next: Option<String>,
    /// The commit of a revision.
    pub commit: Option<String>,
    /// Which bytes of a file the body is.
    pub range: Option<Range<u64>>,
    /// The length of the file.
    pub total: Option<u64>,
    /// Where a redirect leads.
    pub target: Option<String>,
    /// What a refusal with this status and these headers says.
    pub refusal: String,
    /// Whether the body is an address of the Hub's, as people copy them from its pages.
    pub is_address: bool,
}

fn is_address(text: &str, endpoint: &Url) -> bool {
    HubAddress::parse(text, endpoint).is_some_and(|address| address.is_ok())
}

/// Reads an answer in every way in which one is read. Headers that cannot be sent are left out.
pub fn received(status: u16, headers: &[(&str, &[u8])], body: &[u8]) -> Option<Received> {
    let from = Url::parse("https://host.test/a/b").ok()?;
    let status = StatusCode::from_u16(status).ok()?;
    let valid = headers.iter().filter_map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_bytes(value).ok()?))
    });
    let headers: HeaderMap = valid.collect();
    let (files, next) = page_of(body, &headers, &from).unwrap_or_default();
    let stated = ContentRange::of(&headers);
    let total = stated.as_ref().map(|stated| stated.total).or_else(|| length_alone(&headers));
    Some(Received {
        files,
        next: next.map(String::from),
        commit: commit_of(body).ok(),
        range: stated.map(|stated| stated.range),
        total,
        target: target(&from, &headers).ok().map(String::from),
        refusal: format!("{:?}", refusal(status, &headers)),
        is_address: std::str::from_utf8(body).is_ok_and(|text| is_address(text, &from)),
    })
}
