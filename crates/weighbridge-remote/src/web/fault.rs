//! What went wrong with a request. Several readers may wait for one request, so this can be
//! cloned; it becomes an error of the library when somebody is told.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::{Error, ErrorKind, Remedy, causes, stop};
use reqwest::Url;

/// A failed request, in words that hold neither a token nor the query of an address.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    kind: io::ErrorKind,
    class: Class,
    message: String,
    hint: Option<String>,
    remedy: Option<Remedy>,
    place: Option<String>,
    /// Whether the same request may succeed later.
    pub(crate) again: Again,
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Network,
    Changed,
    Unsupported,
    Refused,
    Cancelled,
}

/// Whether the same request may succeed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    /// After a while.
    Soon,
    /// After as long as the server says.
    After(Duration),
    /// At once, with another address.
    Now,
}

impl Fault {
    fn new(class: Class, kind: io::ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        let again = Again::Never;
        Self { kind, class, message, hint: None, remedy: None, place: None, again }
    }

    /// The network, or what the server did.
    pub(crate) fn network(kind: io::ErrorKind, message: impl Into<String>) -> Self {
        Self::new(Class::Network, kind, message)
    }

    /// A failure of the network that may pass.
    pub(crate) fn passing(kind: io::ErrorKind, message: impl Into<String>) -> Self {
        Self::network(kind, message).again(Again::Soon)
    }

    /// The file is no longer the one whose first bytes were read.
    pub(crate) fn changed() -> Self {
        Self::new(Class::Changed, io::ErrorKind::InvalidData, "was changed while it was read")
            .hint("the data read may mix old and new bytes; run it again")
    }

    /// The bytes of a whole file are not those that the Hub lists.
    pub(crate) fn wrong_sum() -> Self {
        let message = "the downloaded bytes do not have the SHA-256 that the Hub states";
        Self::new(Class::Changed, io::ErrorKind::InvalidData, message)
            .hint("a server or a proxy sent wrong bytes; run it again, or download the file")
    }

    /// Bytes come, but hardly any.
    pub(crate) fn too_slow(message: String) -> Self {
        Self::passing(io::ErrorKind::TimedOut, message).remedy(Remedy::AllowSlowness)
    }

    /// Nobody says where a server is.
    pub(crate) fn unresolved() -> Self {
        Self::passing(io::ErrorKind::TimedOut, "the lookup of a host name timed out")
            .remedy(Remedy::AllowSilence)
    }

    /// What is not done, or not with this server.
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(Class::Unsupported, io::ErrorKind::Unsupported, message)
    }

    /// What was asked for is not there.
    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self::new(Class::Refused, io::ErrorKind::NotFound, message)
    }

    /// What was asked for is not for this user.
    pub(crate) fn denied(message: impl Into<String>) -> Self {
        Self::new(Class::Refused, io::ErrorKind::PermissionDenied, message)
    }

    /// Waiting for an answer ended without one: somebody wanted it to, or there are no threads.
    pub(crate) fn of_wait(error: &io::Error) -> Self {
        let own = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        if own.is_some_and(|own| own.kind() == ErrorKind::Cancelled) {
            Self::new(Class::Cancelled, error.kind(), error.to_string())
        } else {
            Self::network(error.kind(), error.to_string())
        }
    }

    /// A proxy that does not know us.
    pub(crate) fn proxy_login() -> Self {
        Self::denied("the proxy requires a login (407)")
            .hint("put the login in the proxy address: http://user:password@host:port")
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// Names a setting that helps.
    pub(crate) fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedy.get_or_insert(remedy);
        self
    }

    /// Names the file or the server, unless that was done.
    pub(crate) fn at(mut self, place: &str) -> Self {
        self.place.get_or_insert_with(|| place.to_owned());
        self
    }

    pub(crate) fn again(mut self, again: Again) -> Self {
        self.again = again;
        self
    }

    pub(crate) fn is_change(&self) -> bool {
        self.class == Class::Changed
    }

    /// Adds to the reason how often it was tried. That is all: nobody tries again.
    pub(crate) fn after(mut self, tries: u32) -> Self {
        if tries > 0 {
            self.message.push_str(&format!(" (after {} tries)", tries + 1));
        }
        self.again(Again::Never)
    }

    /// Adds to the reason that the server asks for a longer wait than is allowed.
    pub(crate) fn asks_to_wait(mut self, asked: Duration, most: Duration) -> Self {
        let (asked, most) = (asked.as_secs(), most.as_secs());
        self.message
            .push_str(&format!(" and asks to wait {asked} seconds, the limit is {most} seconds"));
        self.kind = io::ErrorKind::TimedOut;
        self.again(Again::Never).remedy(Remedy::AllowWait)
    }

    /// As an error of the library.
    pub(crate) fn into_error(self) -> Error {
        let error = match self.class {
            Class::Network => Error::io(io::Error::new(self.kind, self.message), "cannot fetch"),
            Class::Changed => Error::malformed(self.message),
            Class::Unsupported => Error::unsupported(self.message),
            Class::Refused => Error::refused(self.kind, self.message),
            Class::Cancelled => stop::stopped(),
        };
        let error = self.place.iter().fold(error, |error, place| error.in_file(Path::new(place)));
        let error = self.hint.into_iter().fold(error, Error::hint);
        self.remedy.into_iter().fold(error, Error::remedy)
    }
}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> Self {
        let kind = fault.kind;
        Self::new(kind, fault.into_error())
    }
}

/// A failure of the client itself. Its text would hold the whole address, with a signature.
impl From<reqwest::Error> for Fault {
    fn from(error: reqwest::Error) -> Self {
        let reason = reason(&error);
        let unconnected = |message: String| Self::passing(io::ErrorKind::NotConnected, message);
        match () {
            () if error.is_builder() => {
                Self::network(io::ErrorKind::InvalidInput, format!("cannot connect ({reason})"))
            }
            () if error.is_timeout() => {
                let message = if error.is_connect() {
                    "the connection timed out"
                } else {
                    "the server stopped sending data (read timeout)"
                };
                Self::passing(io::ErrorKind::TimedOut, message).remedy(Remedy::AllowSilence)
            }
            () if says(&error, "certificate") => untrusted(&reason),
            () if says(&error, "proxy authorization required") => Self::proxy_login(),
            () if says(&error, "tunnel error") => unconnected(if says(&error, "dns error") {
                "the proxy host name was not found".to_owned()
            } else {
                format!("cannot connect through the proxy ({reason})")
            }),
            () if says(&error, "dns error") => {
                unconnected("the host name was not found".to_owned())
            }
            () if error.is_connect() => unconnected(format!("cannot connect ({reason})")),
            () => {
                let message = if reason.contains("before message length reached") {
                    "the connection closed before all bytes arrived".to_owned()
                } else {
                    format!("the connection failed ({reason})")
                };
                Self::passing(io::ErrorKind::ConnectionAborted, message).hint(
                    "run it again; if it keeps failing, download the file with a tool that resumes",
                )
            }
        }
    }
}

/// A server whose certificate is not accepted.
fn untrusted(reason: &str) -> Fault {
    let reason = match reason.strip_prefix("invalid peer certificate: ").unwrap_or(reason) {
        "UnknownIssuer" => "the certificate issuer is not trusted",
        other => other,
    };
    let message = format!("the server certificate is not valid ({reason})");
    Fault::network(io::ErrorKind::Other, message)
        .hint("set SSL_CERT_FILE to a PEM file of trusted certificates")
        .remedy(Remedy::StateCertificates)
}

/// The innermost reason: the outer ones only say that there is one.
fn reason(error: &reqwest::Error) -> String {
    let innermost = causes(error).skip(1).last();
    innermost.map_or("unknown reason".to_owned(), |inner| without_number(&inner.to_string()))
}

/// "Connection refused (os error 111)" in the house's style.
fn without_number(text: &str) -> String {
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text.to_owned(),
    }
}

/// Whether one of the reasons of an error says this. Its own text holds the address, which may say
/// anything.
fn says(error: &reqwest::Error, what: &str) -> bool {
    causes(error).skip(1).any(|error| error.to_string().contains(what))
}

/// An address as it may be shown: without user, password, query and fragment.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // These fail for addresses that cannot have either.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// The server alone, in a message.
pub(crate) fn server(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}
