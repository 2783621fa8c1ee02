//! Addresses in object stores: `s3://bucket/key`, `gs://bucket/key`, `az://container/key`.

use std::fmt;
use std::path::Path as FilePath;

use crate::text::listed;
use crate::{Error, Result};
use object_store::path::Path;

/// A kind of object store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Amazon S3, and everything that speaks its protocol.
    S3,
    /// Google Cloud Storage. It is reached as `object_store` does it, which is not tested here:
    /// there is no server to test it with.
    Gs,
    /// Azure Blob Storage; what others call a bucket is a container there.
    Az,
}

impl Scheme {
    const ALL: [Self; 3] = [Self::S3, Self::Gs, Self::Az];

    /// How its addresses begin.
    pub fn name(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gs => "gs",
            Self::Az => "az",
        }
    }

    /// What it calls the place that holds objects.
    pub(crate) fn bucket_word(self) -> &'static str {
        match self {
            Self::Az => "container",
            _ => "bucket",
        }
    }
}

/// An object, or all objects under a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The kind of store.
    pub scheme: Scheme,
    /// The bucket; on Azure, the container.
    pub bucket: String,
    /// The key of an object, or what the keys begin with.
    pub key: Path,
    /// Whether it ended with a slash, or names a whole bucket: it is no object then.
    pub is_folder: bool,
}

impl Address {
    /// Reads an address. Keys are taken as they are, without percent-decoding, as the stores' own
    /// commands take them.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |why: String| {
            let error = Error::usage(why).in_file(FilePath::new(text));
            let forms = Scheme::ALL.map(|scheme| {
                format!("{}://{}/KEY", scheme.name(), scheme.bucket_word().to_uppercase())
            });
            error.hint(format!("write {}", listed(&forms, "or")))
        };
        let (scheme, rest) =
            split(text).ok_or_else(|| wrong("not an object store address".into()))?;
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(wrong(format!("the {} is missing", scheme.bucket_word())));
        }
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-._$".contains(c);
        if !bucket.chars().all(allowed) || bucket.starts_with('.') {
            return Err(wrong(format!("`{bucket}` is not a valid {} name", scheme.bucket_word())));
        }
        let path = Path::parse(key).map_err(|_| {
            wrong("the key has an empty part, a `.` or `..` part, or an invalid character".into())
        })?;
        let is_folder = key.is_empty() || key.ends_with('/');
        Ok(Self { scheme, bucket: bucket.to_owned(), key: path, is_folder })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}/{}", self.scheme.name(), self.bucket, self.key)?;
        f.write_str(if self.is_folder && !self.key.is_root() { "/" } else { "" })
    }
}

fn split(text: &str) -> Option<(Scheme, &str)> {
    let (start, rest) = text.split_once("://")?;
    let scheme =
        Scheme::ALL.into_iter().find(|scheme| start.eq_ignore_ascii_case(scheme.name()))?;
    Some((scheme, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let address = Address::parse("s3://models/org/Qwen3 8B/model.safetensors").unwrap();
        assert_eq!((address.scheme, &*address.bucket), (Scheme::S3, "models"));
        assert_eq!(address.key.as_ref(), "org/Qwen3 8B/model.safetensors");
        assert!(!address.is_folder);
        for (text, shown) in
            [("az://c", "az://c/"), ("GS://b/", "gs://b/"), ("s3://b/x/y/", "s3://b/x/y/")]
        {
            let address = Address::parse(text).unwrap();
            assert!(address.is_folder, "{text}");
            assert_eq!(address.to_string(), shown);
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in [
            "s3://",
            "s3:///key",
            "s3://b/x//y",
            "s3://b/../y",
            "s3://a@b/x",
            "gs://b:80/x",
            "http://b/x",
            "x",
        ] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
