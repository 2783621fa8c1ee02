//! Where a request may go: which addresses are this machine's, a private network's or public, and
//! which redirects are followed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use reqwest::Url;

use crate::Remedy;
use crate::settings::Remote;
use crate::web::fault::{Fault, server};

/// How near an address is. A server may send us further out, never further in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Loopback,
    Private,
    Public,
}

/// Where a host is, as far as its name says.
pub(crate) fn place_of(url: &Url) -> Place {
    let host = url.host_str().unwrap_or_default();
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    if name == "localhost" || name.ends_with(".localhost") {
        return Place::Loopback;
    }
    match IpAddr::from_str(name.trim_start_matches('[').trim_end_matches(']')) {
        Ok(address) => place_of_address(address),
        Err(_) => Place::Public,
    }
}

pub(crate) fn place_of_address(address: IpAddr) -> Place {
    match address {
        IpAddr::V4(address) => place_of_v4(address),
        IpAddr::V6(address) => place_of_v6(address),
    }
}

fn place_of_v4(address: Ipv4Addr) -> Place {
    let [first, second, ..] = address.octets();
    // Between a provider and its customers; "this network".
    let shared = first == 100 && (64..128).contains(&second);
    match () {
        () if address.is_loopback() || address.is_unspecified() => Place::Loopback,
        () if address.is_private() || address.is_link_local() || address.is_broadcast() => {
            Place::Private
        }
        () if shared || first == 0 || address.is_multicast() => Place::Private,
        () => Place::Public,
    }
}

fn place_of_v6(address: Ipv6Addr) -> Place {
    if let Some(inner) = address.to_ipv4_mapped() {
        return place_of_v4(inner);
    }
    // Addresses of version 4 behind a translator.
    if let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = address.segments() {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        return place_of_v4(Ipv4Addr::new(a, b, c, d));
    }
    match () {
        () if address.is_loopback() || address.is_unspecified() => Place::Loopback,
        () if address.is_unique_local() || address.is_unicast_link_local() => Place::Private,
        () if address.is_multicast() => Place::Private,
        () => Place::Public,
    }
}

/// Refuses to begin at an address. `trusted` is an address that the user has set up, whose server
/// may be spoken to in plain http.
pub(crate) fn check_start(
    url: &Url,
    trusted: Option<&Url>,
    settings: &Remote,
) -> Result<(), Fault> {
    let is_trusted = trusted.is_some_and(|trusted| trusted.origin() == url.origin());
    match url.scheme() {
        "https" => Ok(()),
        "http" if settings.allow_http || is_trusted => Ok(()),
        "http" if place_of(url) == Place::Loopback => Ok(()),
        "http" => Err(Fault::unsupported(format!(
            "plain http to {} is not allowed: the file could be changed in transit",
            server(url)
        ))
        .hint("use https")
        .remedy(Remedy::AllowHttp)),
        _ => Err(Fault::unsupported("only https addresses are supported")),
    }
}

/// Refuses a redirect. `outermost` is the most public place on the way so far.
pub(crate) fn check_redirect(
    from: &Url,
    (to, to_place): (&Url, Place),
    outermost: Place,
    trusted: Option<&Url>,
    settings: &Remote,
) -> Result<(), Fault> {
    let refused = |why: String| {
        Err(Fault::unsupported(format!("{} redirects {why}, which is not allowed", server(from)))
            .hint("if you trust that server, download the file with another program"))
    };
    if !matches!(to.scheme(), "http" | "https") || to.host_str().is_none() {
        return refused("to an address that is not http or https".to_owned());
    }
    if from.scheme() == "https" && to.scheme() == "http" {
        return refused(format!("from https to plain http on {}", server(to)));
    }
    if to_place < outermost {
        return refused(format!("to the private address {}", server(to)));
    }
    if check_start(to, trusted, settings).is_err() {
        return refused(format!("to plain http on {}", server(to)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn addresses_are_placed() {
        let loopback =
            ["localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.9.9.9", "[::1]"];
        let tricky = ["0x7f.1", "2130706433", "0.0.0.0", "[::ffff:127.0.0.1]"];
        for host in loopback.iter().chain(&tricky) {
            assert_eq!(place_of(&url(&format!("http://{host}/"))), Place::Loopback, "{host}");
        }
        let private = ["10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1"];
        let version_6 = ["[fd00::1]", "[fe80::1]", "[::ffff:10.0.0.1]", "[64:ff9b::a00:1]"];
        for host in private.iter().chain(&version_6) {
            assert_eq!(place_of(&url(&format!("http://{host}/"))), Place::Private, "{host}");
        }
        for host in ["huggingface.co", "8.8.8.8", "100.128.0.1", "[2606:4700::1]", "localhost.com"]
        {
            assert_eq!(place_of(&url(&format!("http://{host}/"))), Place::Public, "{host}");
        }
    }

    #[test]
    fn redirects_lead_outwards_and_stay_encrypted() {
        let settings = Remote::default();
        let goes = |from: &str, to: &str| {
            let from = url(from);
            check_redirect(&from, (&url(to), place_of(&url(to))), place_of(&from), None, &settings)
                .is_ok()
        };
        assert!(goes("https://a.com/", "https://b.com/"));
        assert!(goes("https://127.0.0.1/", "https://127.0.0.1:99/"));
        assert!(goes("http://127.0.0.1/", "https://10.0.0.1/"));
        for to in ["http://a.com/", "https://10.0.0.1/", "https://localhost/", "ftp://a.com/"] {
            assert!(!goes("https://a.com/", to), "{to}");
        }
        assert!(!goes("https://a.com/", "https://169.254.169.254/"));
        assert!(!goes("https://10.0.0.1/", "https://127.0.0.1/"));
        assert!(!goes("http://127.0.0.1/", "http://a.com/"));
    }

    #[test]
    fn plain_http_is_for_this_machine() {
        let mut settings = Remote::default();
        let refused = check_start(&url("http://a.com/?secret"), None, &settings).unwrap_err();
        let text = refused.into_error().to_string();
        assert!(text.contains("plain http to a.com is not allowed"), "{text}");
        assert!(check_start(&url("http://[::1]:8/"), None, &settings).is_ok());
        assert!(
            check_start(&url("http://a.com/x"), Some(&url("http://a.com/")), &settings).is_ok()
        );
        settings.allow_http = true;
        assert!(check_start(&url("http://a.com/"), None, &settings).is_ok());
        assert!(check_start(&url("file:///etc/passwd"), None, &settings).is_err());
    }
}
