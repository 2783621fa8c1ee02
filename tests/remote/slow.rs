//! Servers that send hardly anything, or nothing at all.

use std::time::Duration;

use crate::https::{SECRET, numbers, once, open, read, settings, text};
use crate::server::{Fault, Reply, Server};
use weighbridge::Folder;
use weighbridge::internals::remote::WebFolder;

#[test]
fn a_server_that_drips_is_given_up() {
    let server = Server::of_files(&[("/x.npy", numbers(2 << 20))]);
    let mut settings = settings();
    (settings.timeout, settings.min_speed) = (Duration::from_millis(500), 2000);
    settings.retries = 1;
    let folder = WebFolder::new(&server.url(&format!("/x.npy?{SECRET}")), &settings).unwrap();
    let file = folder.open(folder.name()).unwrap();
    server.fail("/x", Fault::Drip(Duration::from_millis(20)), usize::MAX);
    let told = text(read(&*file, 1 << 20, 100_000).unwrap_err());
    let expected = "the server sent less than 2000 bytes per second over 0.5 s (after 2 tries)";
    assert!(told.contains(expected), "{told}");
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn the_text_of_a_redirect_is_not_waited_for() {
    let store = Server::of_files(&[("/y", numbers(1000))]);
    let target = store.url("/y");
    let front = Server::start(move |_| {
        Reply::new(302).with("Location", target.clone()).body("Found. ".repeat(1000))
    });
    front.fail("/x", Fault::Drip(Duration::from_millis(20)), 1);
    let file = open(&front, "/x.npy").unwrap();
    assert_eq!(read(&*file, 0, 1000).unwrap(), numbers(1000));
}

/// What was fetched ahead in vain was tried often enough.
#[test]
fn a_dead_server_is_tried_once_for_each_range() {
    let server = Server::of_files(&[("/x.npy", numbers(2 << 20))]);
    let mut settings = settings();
    (settings.timeout, settings.retries) = (Duration::from_millis(300), 1);
    let folder = WebFolder::new(&server.url(&format!("/x.npy?{SECRET}")), &settings).unwrap();
    let file = folder.open(folder.name()).unwrap();
    server.fail("/x", Fault::Stall(0), usize::MAX);
    file.will_need(&once(1 << 20..2 << 20));
    let told = text(read(&*file, 1 << 20, 1 << 20).unwrap_err());
    assert!(told.contains("(read timeout) (after 2 tries)"), "{told}");
    assert_eq!(server.requests().len(), 1 + 2, "{:?}", server.requests());
    // It may be back when somebody asks again.
    server.forgive();
    assert_eq!(read(&*file, 1 << 20, 1 << 20).unwrap(), numbers(2 << 20)[1 << 20..]);
}

#[test]
fn a_dead_server_is_given_up_after_the_longest_wait() {
    let server = Server::of_files(&[("/x.npy", numbers(2 << 20))]);
    let mut settings = settings();
    (settings.timeout, settings.retries) = (Duration::from_millis(200), 1000);
    let folder = WebFolder::new(&server.url(&format!("/x.npy?{SECRET}")), &settings).unwrap();
    let file = folder.open(folder.name()).unwrap();
    // What comes before the silence counts.
    server.fail("/x", Fault::Stall(1000), 1);
    server.fail("/x", Fault::Stall(0), usize::MAX);
    let told = text(read(&*file, 1 << 20, 1 << 20).unwrap_err());
    assert!(told.contains("(read timeout) (after "), "{told}");
    assert!((3..=5).contains(&server.requests().len()), "{:?}", server.requests());
}
