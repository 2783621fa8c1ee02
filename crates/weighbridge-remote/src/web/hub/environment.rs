//! What the environment says about the Hub.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::{Error, Result};
use reqwest::Url;

use super::token;

const ENDPOINT: &str = "https://huggingface.co";

/// Where variables are looked up.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Which server is the Hub, who asks, what is on this machine already.
#[derive(Clone)]
pub struct Environment {
    pub(super) endpoint: Url,
    pub(super) token: Option<String>,
    /// The folder that holds `models--owner--name`.
    pub(super) cache: Option<PathBuf>,
    pub(super) offline: bool,
}

impl Environment {
    /// What the variables of this process say.
    pub fn from_env() -> Result<Self> {
        Self::from_lookup(&|name| std::env::var_os(name))
    }

    /// What some variables say: `HF_ENDPOINT`, `HF_HUB_OFFLINE`, `HF_HUB_CACHE` and `HF_HOME` with
    /// their older names, and those of the token.
    pub fn from_lookup(lookup: &dyn Fn(&str) -> Option<OsString>) -> Result<Self> {
        let home = home(lookup);
        let text = lookup("HF_ENDPOINT").and_then(|value| value.into_string().ok());
        let text = text.filter(|text| !text.trim().is_empty()).unwrap_or(ENDPOINT.to_owned());
        let endpoint = Url::parse(text.trim())
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some());
        let endpoint = endpoint.ok_or_else(|| {
            Error::usage("HF_ENDPOINT is not a web address").hint("write it like https://host")
        })?;
        let cache = folder(lookup, "HF_HUB_CACHE")
            .or_else(|| folder(lookup, "HUGGINGFACE_HUB_CACHE"))
            .or_else(|| home.as_ref().map(|home| home.join("hub")));
        Ok(Self {
            endpoint,
            token: token::find(lookup, home.as_deref()),
            cache,
            offline: is_set(lookup, "HF_HUB_OFFLINE") || is_set(lookup, "TRANSFORMERS_OFFLINE"),
        })
    }

    /// The address of the Hub.
    pub fn endpoint(&self) -> &Url {
        &self.endpoint
    }
}

/// A switch, as the Hub's own programs read it.
pub(super) fn is_set(lookup: Lookup<'_>, name: &str) -> bool {
    let value = lookup(name).and_then(|value| value.into_string().ok()).unwrap_or_default();
    matches!(&*value.to_ascii_uppercase(), "1" | "ON" | "YES" | "TRUE")
}

fn folder(lookup: Lookup<'_>, name: &str) -> Option<PathBuf> {
    let path = lookup(name).filter(|value| !value.is_empty()).map(PathBuf::from)?;
    // A leading `~` in a variable was never seen by a shell.
    match path.strip_prefix("~") {
        Ok(rest) => user(lookup).map(|user| user.join(rest)),
        Err(_) => Some(path),
    }
}

fn user(lookup: Lookup<'_>) -> Option<PathBuf> {
    let set = |name| lookup(name).filter(|value| !value.is_empty());
    set("HOME").or_else(|| set("USERPROFILE")).map(PathBuf::from)
}

fn home(lookup: Lookup<'_>) -> Option<PathBuf> {
    folder(lookup, "HF_HOME").or_else(|| {
        let caches = folder(lookup, "XDG_CACHE_HOME");
        let caches = caches.or_else(|| user(lookup).map(|user| user.join(".cache")));
        caches.map(|caches| caches.join("huggingface"))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Result<Environment> {
        Environment::from_lookup(&|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn the_most_specific_variable_wins() {
        let cache = |variables: &[(&str, &str)]| environment(variables).unwrap().cache.unwrap();
        let mut variables = vec![("HOME", "/h")];
        assert_eq!(cache(&variables), Path::new("/h/.cache/huggingface/hub"));
        variables.push(("HF_HOME", "~/hf"));
        assert_eq!(cache(&variables), Path::new("/h/hf/hub"));
        variables.push(("HF_HUB_CACHE", "/cache"));
        assert_eq!(cache(&variables), Path::new("/cache"));
    }

    #[test]
    fn switches_and_endpoints() {
        let plain = environment(&[]).unwrap();
        assert_eq!(plain.endpoint.as_str(), "https://huggingface.co/");
        assert!(!plain.offline && plain.cache.is_none() && plain.token.is_none());
        assert!(environment(&[("HF_HUB_OFFLINE", "yes")]).unwrap().offline);
        assert!(environment(&[("TRANSFORMERS_OFFLINE", "1")]).unwrap().offline);
        assert!(!environment(&[("HF_HUB_OFFLINE", "0")]).unwrap().offline);
        let endpoint = environment(&[("HF_ENDPOINT", "http://mirror:8080/hf/")]).unwrap().endpoint;
        assert_eq!(endpoint.as_str(), "http://mirror:8080/hf/");
        assert!(environment(&[("HF_ENDPOINT", "mirror")]).is_err());
    }
}
