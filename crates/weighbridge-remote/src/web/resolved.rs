//! Where the names of servers lead: a public name may be that of a private address.

use std::collections::HashMap;
use std::sync::Mutex;

use reqwest::Url;

use crate::stop::lock;
use crate::web::places::{Place, place_of, place_of_address};

/// The nearest place that each name leads to.
#[derive(Default)]
pub(crate) struct Resolved(Mutex<HashMap<String, Place>>);

impl Resolved {
    /// Where a host is. A name that cannot be looked up here is public: a proxy may know it.
    pub(crate) async fn place(&self, url: &Url) -> Place {
        let by_name = place_of(url);
        let host = url.domain().filter(|_| by_name == Place::Public);
        let Some(host) = host.map(str::to_owned) else { return by_name };
        let known = lock(&self.0).get(&host).copied();
        if let Some(place) = known {
            return place;
        }
        let port = url.port_or_known_default().unwrap_or(443);
        let Ok(found) = tokio::net::lookup_host((host.as_str(), port)).await else {
            return by_name;
        };
        let place = found.map(|address| place_of_address(address.ip())).min().unwrap_or(by_name);
        lock(&self.0).insert(host, place);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::block_on;

    #[test]
    fn names_are_where_they_lead_to() {
        let resolved = Resolved::default();
        let place = |text: &str| block_on(resolved.place(&Url::parse(text).unwrap())).unwrap();
        assert_eq!(place("https://10.1.2.3/x"), Place::Private);
        assert_eq!(place("https://localhost/x"), Place::Loopback);
        assert_eq!(place("https://host.invalid/x"), Place::Public);
        resolved.0.lock().unwrap().insert("inside.example".into(), Place::Private);
        assert_eq!(place("https://inside.example/x"), Place::Private);
    }
}
