//! The addresses of one repository.

use std::path::Path;

use reqwest::Url;

use super::address::HubAddress;
use super::environment::Environment;
use crate::web::client::Auth;
use crate::web::fault::shown;

/// A repository of the Hub, and who asks for it.
pub(crate) struct Repository {
    pub(super) address: HubAddress,
    pub(crate) endpoint: Url,
    pub(super) auth: Option<Auth>,
}

impl Repository {
    pub(super) fn new(address: &HubAddress, environment: &Environment) -> Self {
        let endpoint = environment.endpoint.clone();
        let token = environment.token.as_deref();
        let auth = token.and_then(|token| Auth::bearer(token, &endpoint));
        Self { address: address.clone(), endpoint, auth }
    }

    /// Its page, where people accept terms.
    pub(super) fn page(&self) -> String {
        // The variable may hold a password or a signature.
        let endpoint = shown(&self.endpoint);
        format!("{}/{}", endpoint.trim_end_matches('/'), self.address.shown_id())
    }

    /// Which commit a revision is.
    pub(super) fn revision_url(&self) -> Url {
        self.api(&["revision", self.address.revision()])
    }

    /// All files of a commit.
    pub(super) fn tree_url(&self, commit: &str) -> Url {
        let mut url = self.api(&["tree", commit]);
        url.set_query(Some("recursive=true&expand=false"));
        url
    }

    fn api(&self, rest: &[&str]) -> Url {
        let id = self.address.id.split('/');
        let start = ["api", self.address.kind.word()];
        self.below(start.into_iter().chain(id).chain(rest.iter().copied()))
    }

    /// Where a file of a commit is.
    pub(super) fn file_url(&self, commit: &str, path: &Path) -> Url {
        let id = self.address.shown_id();
        let parts = path.iter().filter_map(|part| part.to_str());
        self.below(id.split('/').chain(["resolve", commit]).chain(parts))
    }

    /// An address below that of the Hub; each part becomes one step, whatever it holds.
    fn below<'a>(&self, parts: impl Iterator<Item = &'a str>) -> Url {
        let mut url = self.endpoint.clone();
        url.set_query(None);
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(parts);
        }
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_tells_no_secret_of_the_endpoint() {
        let secret = "https://user:pass@m.com/hf/?key=secret#part";
        let lookup = |name: &str| (name == "HF_ENDPOINT").then(|| secret.into());
        let environment = Environment::from_lookup(&lookup).unwrap();
        let address = HubAddress::parse("hf://o/n", environment.endpoint()).unwrap().unwrap();
        assert_eq!(Repository::new(&address, &environment).page(), "https://m.com/hf/o/n");
    }

    #[test]
    fn addresses() {
        let environment = |name: &str| (name == "HF_ENDPOINT").then(|| "https://m.com/hf/".into());
        let environment = Environment::from_lookup(&environment).unwrap();
        let of = |typed: &str| {
            let address = HubAddress::parse(typed, environment.endpoint()).unwrap().unwrap();
            Repository::new(&address, &environment)
        };
        let model = of("hf://o/n@refs%2Fpr%2F1");
        assert_eq!(
            model.revision_url().as_str(),
            "https://m.com/hf/api/models/o/n/revision/refs%2Fpr%2F1"
        );
        assert_eq!(
            model.tree_url("abc").as_str(),
            "https://m.com/hf/api/models/o/n/tree/abc?recursive=true&expand=false"
        );
        assert_eq!(
            model.file_url("abc", Path::new("a b/c#d?e")).as_str(),
            "https://m.com/hf/o/n/resolve/abc/a%20b/c%23d%3Fe"
        );
        let data = of("hf://datasets/o/n");
        assert_eq!(
            data.file_url("abc", Path::new("x")).as_str(),
            "https://m.com/hf/datasets/o/n/resolve/abc/x"
        );
        assert_eq!(data.page(), "https://m.com/hf/datasets/o/n");
    }
}
