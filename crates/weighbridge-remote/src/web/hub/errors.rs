//! What the Hub's refusals mean.

use reqwest::header::HeaderMap;
use reqwest::{StatusCode, Url};

use super::repository::Repository;
use crate::web::fault::{Fault, server};
use crate::web::refusal::{answered, refusal, said};

const TAKEN_DOWN: &str = "Access to this resource is disabled";

impl Repository {
    /// What a refusal means. The Hub does not tell a private repository from a missing one, so
    /// neither can this.
    pub(crate) fn refusal(&self, status: StatusCode, headers: &HeaderMap) -> Fault {
        let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let said = said(status);
        match (text("x-error-code"), status.as_u16()) {
            _ if text("x-error-message").contains(TAKEN_DOWN) => {
                Fault::denied("the Hub has disabled access to this repository")
                    .hint(format!("its page may say why: {}", self.page()))
            }
            ("GatedRepo", _) => self.gated(),
            ("RevisionNotFound", _) => {
                let revision = self.address.revision();
                Fault::missing(format!("the repository has no revision `{revision}`"))
                    .hint("name a branch, a tag or a commit behind an @")
            }
            ("EntryNotFound", _) => Fault::missing("the repository has no such file")
                .hint(format!("its files are listed at {}/tree/main", self.page())),
            ("RepoNotFound", _) | (_, 401) => self.missing(),
            (_, 403) => Fault::denied(format!("the Hub refuses access ({said})"))
                .hint(format!("check what your token may read, and the page {}", self.page())),
            (_, 429) if self.auth.is_none() => answered(status, headers)
                .hint("set HF_TOKEN: the Hub allows more to those it knows"),
            _ => refusal(status, headers),
        }
    }

    /// What it means that the server to which the Hub has sent us refuses. Its addresses are signed
    /// for some time, and this one is fresh.
    pub(crate) fn refused_elsewhere(&self, by: &Url, status: StatusCode) -> Fault {
        let message =
            format!("{}, where the Hub stores it, refuses access ({})", server(by), said(status));
        Fault::denied(message)
            .hint("check the clock of this machine, and proxies on the way; then run it again")
    }

    fn gated(&self) -> Fault {
        let page = self.page();
        let hint = match self.auth {
            Some(_) => format!("accept its terms at {page} with the account of your token"),
            None => format!("accept its terms at {page}, then set HF_TOKEN"),
        };
        let message = "this repository is gated: its terms must be accepted first";
        Fault::denied(message).hint(hint)
    }

    fn missing(&self) -> Fault {
        let (message, hint) = match self.auth {
            Some(_) => (
                "the Hub has no such repository, or your token may not read it",
                "check the name, and what the token may read",
            ),
            None => (
                "the Hub has no such repository, or it is private",
                "check the name; for a private repository set HF_TOKEN",
            ),
        };
        Fault::missing(message).hint(hint)
    }
}
