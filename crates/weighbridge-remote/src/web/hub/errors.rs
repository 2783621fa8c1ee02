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
                    .hint(format!("its page may give the reason: {}", self.page()))
            }
            ("GatedRepo", _) => self.gated(),
            ("RevisionNotFound", _) => {
                let revision = self.address.revision();
                Fault::missing(format!("the repository has no revision `{revision}`"))
                    .hint("write a branch, tag or commit after @")
            }
            ("EntryNotFound", _) => Fault::missing("the repository has no such file")
                .hint(format!("its files are listed at {}/tree/main", self.page())),
            ("RepoNotFound", _) | (_, 401) => self.missing(),
            (_, 403) => Fault::denied(format!("the Hub denied access ({said})"))
                .hint(format!("check the permissions of your token and the page {}", self.page())),
            (_, 429) if self.auth.is_none() => {
                answered(status, headers).hint("set HF_TOKEN for a higher rate limit")
            }
            _ => refusal(status, headers),
        }
    }

    /// What it means that the server to which the Hub has sent us refuses. Its addresses are signed
    /// for some time, and this one is fresh.
    pub(crate) fn refused_elsewhere(&self, by: &Url, status: StatusCode) -> Fault {
        let message =
            format!("the Hub's storage server {} denied access ({})", server(by), said(status));
        Fault::denied(message).hint("check the system clock and any proxies, then run it again")
    }

    fn gated(&self) -> Fault {
        let page = self.page();
        let hint = match self.auth {
            Some(_) => format!("accept its terms at {page} with the account of your token"),
            None => format!("accept its terms at {page}, then set HF_TOKEN"),
        };
        let message = "this repository is gated; its terms are not accepted yet";
        Fault::denied(message).hint(hint)
    }

    fn missing(&self) -> Fault {
        let (message, hint) = match self.auth {
            Some(_) => (
                "repository not found on the Hub, or your token cannot read it",
                "check the name and the permissions of the token",
            ),
            None => (
                "repository not found on the Hub, or it is private",
                "check the name, or set HF_TOKEN for a private repository",
            ),
        };
        Fault::missing(message).hint(hint)
    }
}
