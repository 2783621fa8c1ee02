//! Requests go through the proxy that the environment names, and past it where it says so.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use libtest_mimic::Trial;

use crate::network::network;
use crate::server::{AUTHORITY, Reply, Server};
use crate::{program, trials};

pub fn trials() -> Vec<Trial> {
    trials![
        "proxies":
        the_web_is_reached_through_a_proxy,
        the_hub_is_reached_through_a_proxy,
        stores_are_reached_through_a_proxy,
        a_proxy_is_told_its_own_login_and_no_other,
    ]
}

/// What a proxy was asked for: the first line and the login, a request each.
type Asked = Arc<Mutex<Vec<(String, Option<String>)>>>;

/// A proxy that leads everybody to where they want to go.
struct Proxy {
    address: SocketAddr,
    asked: Asked,
}

impl Proxy {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Asked::default();
        let told = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let told = told.clone();
                std::thread::spawn(move || lead(stream, &told));
            }
        });
        Self { address, asked }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The first lines of what was asked for since this was last asked.
    fn lines(&self) -> Vec<String> {
        self.asked.lock().unwrap().drain(..).map(|(line, _)| line).collect()
    }
}

/// Serves one connection: a tunnel, or what follows the first request for a whole address.
fn lead(stream: TcpStream, told: &Asked) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut login) = (String::new(), None);
    loop {
        let start = head.len();
        reader.read_line(&mut head).ok().filter(|count| *count > 0)?;
        let line = head[start..].trim();
        match line.split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("proxy-authorization") => {
                login = Some(value.to_owned());
            }
            _ if line.is_empty() => break,
            _ => {}
        }
    }
    let line = head.lines().next()?.to_owned();
    told.lock().unwrap().push((line.clone(), login));
    let target = line.split(' ').nth(1)?;
    let host = target.trim_start_matches("http://").split('/').next()?;
    let mut there = TcpStream::connect(host).ok()?;
    let mut here = stream;
    match line.starts_with("CONNECT ") {
        true => here.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").ok()?,
        false => there.write_all(head.as_bytes()).ok()?,
    }
    let (mut back, mut client) = (there.try_clone().ok()?, here.try_clone().ok()?);
    std::thread::spawn(move || copy(&mut back, &mut client));
    copy(&mut reader, &mut there);
    here.shutdown(Shutdown::Both).ok()
}

fn copy(from: &mut impl Read, to: &mut TcpStream) {
    let _ = std::io::copy(from, to);
    let _ = to.shutdown(Shutdown::Write);
}

/// Runs the command with some variables; what it says, and whether it ended well.
fn weigh(args: &[&str], variables: &[(&str, &str)]) -> (bool, String) {
    let mut command = Command::new(program());
    network().reach(&mut command);
    let home = tempfile::tempdir().unwrap();
    command.env("HOME", home.path()).args(args).stdin(Stdio::null());
    variables.iter().for_each(|(name, value)| {
        command.env(name, value);
    });
    let output = command.output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn the_web_is_reached_through_a_proxy() {
    let proxy = Proxy::start();
    let (web, tls) = (&network().web, &network().tls);
    let plain = web.url("/model/model.safetensors");
    let encrypted = format!("https://{}/model/model.safetensors", tls.address);
    let encrypted = ["inspect", "--ca-file", AUTHORITY, &encrypted];
    for (args, variables, used) in [
        (&["inspect", &plain][..], &["HTTP_PROXY"][..], true),
        (&["inspect", &plain], &["http_proxy"], true),
        (&["inspect", &plain], &["ALL_PROXY"], true),
        (&["inspect", &plain], &["HTTPS_PROXY"], false),
        (&encrypted, &["HTTPS_PROXY"], true),
        (&encrypted, &["https_proxy"], true),
        (&encrypted, &["HTTP_PROXY"], false),
    ] {
        let url = proxy.url();
        let mut variables: Vec<(&str, &str)> =
            variables.iter().map(|name| (*name, &*url)).collect();
        let (is_fine, said) = weigh(args, &variables);
        assert!(is_fine, "{variables:?}: {said}");
        let lines = proxy.lines();
        assert_eq!(!lines.is_empty(), used, "{variables:?}: {lines:?}");
        if used && args.len() > 2 {
            // The proxy sees a host, and nothing of what is asked for.
            let tunnel = format!("CONNECT {} HTTP/1.1", tls.address);
            assert!(lines.iter().all(|line| *line == tunnel), "{lines:?}");
        }
        variables.push(("NO_PROXY", "example.com,127.0.0.1"));
        let (is_fine, said) = weigh(args, &variables);
        assert!(is_fine && proxy.lines().is_empty(), "{variables:?}: {said}");
    }
}

fn the_hub_is_reached_through_a_proxy() {
    let proxy = Proxy::start();
    let url = proxy.url();
    let args = ["show", "hf://owner/tiny-llama-gptq", "model.norm.weight"];
    let (is_fine, said) = weigh(&args, &[("HTTP_PROXY", &url)]);
    assert!(is_fine, "{said}");
    let lines = proxy.lines();
    // Both the Hub and those who store its files.
    for server in [&network().hub.hub, &network().hub.cdn] {
        let start = format!("GET {}/", server.url(""));
        assert!(lines.iter().any(|line| line.starts_with(&start)), "{lines:?}");
    }
    let (is_fine, said) = weigh(&args, &[("HTTP_PROXY", &url), ("NO_PROXY", "127.0.0.1")]);
    assert!(is_fine && proxy.lines().is_empty(), "{said}");
}

fn stores_are_reached_through_a_proxy() {
    let proxy = Proxy::start();
    let url = proxy.url();
    let store = Server::start(|_| Reply::new(404));
    let endpoint = store.url("");
    let variables = [
        ("AWS_ENDPOINT_URL", &*endpoint),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("HTTP_PROXY", &*url),
    ];
    let args = ["inspect", "--retries", "0", "s3://bucket/model.safetensors"];
    let (is_fine, said) = weigh(&args, &variables);
    assert!(!is_fine && !said.contains("secret"), "{said}");
    assert!(!proxy.lines().is_empty() && !store.requests().is_empty(), "{said}");
    let (is_fine, said) = weigh(&args, &[&variables[..], &[("NO_PROXY", "127.0.0.1")]].concat());
    assert!(!is_fine && proxy.lines().is_empty(), "{said}");
}

fn a_proxy_is_told_its_own_login_and_no_other() {
    let proxy = Proxy::start();
    let url = format!("http://user:p%40ss@{}", proxy.address);
    let address = format!("https://{}/model/model.safetensors", network().tls.address);
    let (is_fine, said) =
        weigh(&["inspect", "--ca-file", AUTHORITY, &address], &[("HTTPS_PROXY", &url)]);
    assert!(is_fine, "{said}");
    let asked = proxy.asked.lock().unwrap();
    // `user:p@ss`.
    assert!(!asked.is_empty());
    assert!(
        asked.iter().all(|(_, login)| login.as_deref() == Some("Basic dXNlcjpwQHNz")),
        "{asked:?}"
    );
    let down = "http://user:p%40ss@127.0.0.1:9";
    let (is_fine, said) = weigh(
        &["inspect", "--retries", "0", "--ca-file", AUTHORITY, &address],
        &[("HTTPS_PROXY", down)],
    );
    assert!(!is_fine && !said.contains("p%40ss") && !said.contains("p@ss"), "{said}");
}
