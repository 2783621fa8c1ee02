//! Downloads that are interrupted: they end soon, and leave nothing that looks complete.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;

use crate::interrupted::is_ignored;
use crate::network::{model, network};
use crate::server::{Fault, Reply, Server};
use crate::{program, trials};

pub fn trials() -> Vec<Trial> {
    trials![
        "remote":
        a_slow_download_is_interrupted,
        opening_is_interrupted,
        waiting_as_the_server_asks_is_interrupted,
    ]
}

/// Longer than anybody waits who has pressed Ctrl-C, and shorter than what is waited for here.
const MOST: Duration = Duration::from_secs(8);

fn weigh(folder: &Path, args: &[&str]) -> Child {
    let mut command = Command::new(program());
    network().reach(&mut command);
    command
        .current_dir(folder)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Interrupts a command once the server has had so many requests; what it said.
fn interrupted(mut child: Child, server: &Server, requests: usize) -> String {
    let wait = || std::thread::sleep(Duration::from_millis(20));
    while server.requests().len() < requests {
        assert!(child.try_wait().unwrap().is_none(), "it has ended by itself");
        wait();
    }
    // The answer has begun.
    std::thread::sleep(Duration::from_millis(300));
    let process = child.id().to_string();
    // What was started in the background may be deaf to Ctrl-C, and is asked to end in another way.
    let (name, number) = if is_ignored(2) { ("-TERM", 15) } else { ("-INT", 2) };
    assert!(Command::new("kill").args([name, &process]).status().unwrap().success());
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < MOST, "it goes on");
        wait();
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    // What writes nothing has nothing to clean up: the signal itself ends it.
    let (code, signal) = (output.status.code(), output.status.signal());
    let is_stopped = code == Some(128 + number) || signal == Some(number);
    assert!(is_stopped, "{}: {said}", output.status);
    said
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

fn a_slow_download_is_interrupted() {
    for target in ["out.safetensors", "out.gguf", "out"] {
        let place = tempfile::tempdir().unwrap();
        let server = Server::of_files(&[("/model.safetensors", model())]);
        // The header takes a second, the values twenty.
        server.rate(100_000);
        let url = server.url("/model.safetensors");
        let child = weigh(
            place.path(),
            &["convert", &url, "--names", "keep", "--dtype", "f16", "-o", target],
        );
        let said = interrupted(child, &server, 2);
        assert!(said.contains("stopped"), "{said}");
        let left: Vec<_> = std::fs::read_dir(place.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        // A folder may be continued; it does not have its name.
        let is_unfinished = left.is_empty() || left == ["out.weigh-partial"];
        assert!(is_unfinished, "{target}: {left:?}");
    }
}

fn opening_is_interrupted() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::of_files(&[("/model.safetensors", model())]);
    server.fail("/model", Fault::Stall(1000), usize::MAX);
    for args in [&["inspect"][..], &["convert", "-o", "out.safetensors"]] {
        let url = server.url("/model.safetensors");
        let before = server.requests().len();
        let child = weigh(place.path(), &[&[args[0], &url], &args[1..]].concat());
        interrupted(child, &server, before + 1);
        assert!(is_empty(place.path()));
    }
}

fn waiting_as_the_server_asks_is_interrupted() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::of_files(&[("/model.safetensors", model())]);
    let busy = Reply::new(429).with("RateLimit", "\"api\";r=0;t=60");
    server.fail("/model", Fault::Answer(busy), usize::MAX);
    let child = weigh(place.path(), &["inspect", &server.url("/model.safetensors")]);
    interrupted(child, &server, 1);
}
