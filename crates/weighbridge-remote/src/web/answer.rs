//! What an answer says about a file: which bytes these are, how long it is, which version.

use std::ops::Range;

use reqwest::Url;
use reqwest::header::{CONTENT_RANGE, ETAG, HeaderMap, LAST_MODIFIED};

use crate::web::client::Answer;
use crate::web::fault::Fault;

/// `Content-Range: bytes 0-99/1000`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ContentRange {
    pub(crate) range: Range<u64>,
    pub(crate) total: u64,
}

impl ContentRange {
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let (range, total) = parts(headers)?;
        let (first, last) = range.split_once('-')?;
        let start = number(first)?;
        let end = number(last)?.checked_add(1)?;
        let total = number(total)?;
        (start < end && end <= total).then_some(Self { range: start..end, total })
    }

    /// Refuses other bytes than those asked for.
    pub(crate) fn check(&self, asked: &Range<u64>) -> Result<(), Fault> {
        let expected = asked.start..asked.end.min(self.total);
        if self.range == expected {
            Ok(())
        } else {
            Err(Fault::unsupported(format!(
                "requested bytes {} to {}, but the server sent bytes {} to {}",
                expected.start, expected.end, self.range.start, self.range.end
            ))
            .hint("the server or a proxy misbehaves; download the file instead"))
        }
    }
}

/// The length that comes with "416 Range Not Satisfiable".
pub(crate) fn length_alone(headers: &HeaderMap) -> Option<u64> {
    parts(headers).filter(|(range, _)| *range == "*").and_then(|(_, total)| number(total))
}

fn parts(headers: &HeaderMap) -> Option<(&str, &str)> {
    let text = headers.get(CONTENT_RANGE)?.to_str().ok()?.trim();
    text.strip_prefix("bytes")?.trim_start().split_once('/')
}

/// Digits only: `parse` would take a sign.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// What tells one version of a file from another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pin {
    /// The tag, and where it came from.
    tag: Option<(String, Url)>,
    modified: Option<String>,
    /// The Hub's tag of a file that lies elsewhere.
    linked: Option<String>,
}

impl Pin {
    /// The version of an answer. A repository of the Hub is pinned by its commit, and those who
    /// store its files may give them any tags; only the Hub's own is compared.
    pub(crate) fn of(answer: &Answer, is_hub: bool) -> Self {
        let text = |headers: &HeaderMap, name: &str| {
            headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        let headers = answer.response.headers();
        if is_hub {
            let linked = answer.redirect.as_ref().and_then(|h| text(h, "x-linked-etag"));
            let linked = linked.or_else(|| text(headers, "x-linked-etag"));
            let sum = linked.map(|tag| tag.trim_start_matches("W/").trim_matches('"').to_owned());
            return Self { linked: sum, ..Self::default() };
        }
        let tag = text(headers, ETAG.as_str()).map(|tag| (tag, answer.url.clone()));
        Self { tag, modified: text(headers, LAST_MODIFIED.as_str()), linked: None }
    }

    /// A file of the Hub whose contents are known by their sum.
    pub(crate) fn of_sum(sum: &str) -> Self {
        Self { linked: Some(sum.to_owned()), ..Self::default() }
    }

    /// What a request states, so that the server itself refuses another version. A weak tag never
    /// fits there.
    pub(crate) fn condition(&self) -> Option<(String, Url)> {
        self.tag.clone().filter(|(tag, _)| tag.starts_with('"'))
    }

    /// The version in one word.
    pub(crate) fn version(&self) -> Option<&str> {
        let tag = self.tag.as_ref().map(|(tag, _)| tag);
        tag.or(self.linked.as_ref()).or(self.modified.as_ref()).map(String::as_str)
    }

    /// Whether another answer comes from another version. What is missing says nothing.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        let differ =
            |a: Option<&String>, b: Option<&String>| matches!((a, b), (Some(a), Some(b)) if a != b);
        let tag = |pin: &'_ Self| pin.tag.as_ref().map(|(tag, _)| tag.clone());
        match (tag(self), tag(other)) {
            (Some(a), Some(b)) => a != b,
            _ => {
                differ(self.modified.as_ref(), other.modified.as_ref())
                    || differ(self.linked.as_ref(), other.linked.as_ref())
            }
        }
    }

    /// Takes over what was unknown.
    pub(crate) fn complete(&mut self, other: Self) {
        self.tag = self.tag.take().or(other.tag);
        self.modified = self.modified.take().or(other.modified);
        self.linked = self.linked.take().or(other.linked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Option<ContentRange> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_RANGE, text.parse().unwrap());
        ContentRange::of(&headers)
    }

    #[test]
    fn content_ranges() {
        assert_eq!(range("bytes 0-99/1000"), Some(ContentRange { range: 0..100, total: 1000 }));
        let most = format!("bytes 0-{}/{}", u64::MAX, u64::MAX);
        let odd = ["bytes 5-4/10", "bytes 0-10/10", "bytes +0-1/9", "bytes 0-1/*", "0-1/9", ""];
        for text in odd.iter().copied().chain([&*most, "bytes */9", "bytes -1-2/9"]) {
            assert_eq!(range(text), None, "{text}");
        }
    }

    #[test]
    fn other_bytes_and_other_lengths_are_refused() {
        let found = ContentRange { range: 0..100, total: 1000 };
        assert!(found.check(&(0..100)).is_ok());
        for asked in [1..100, 0..101, 0..99] {
            assert!(found.check(&asked).is_err());
        }
        let short = ContentRange { range: 0..10, total: 10 };
        assert!(short.check(&(0..100)).is_ok());
    }
}
