//! How often, and after what time, a request is made again.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::Remedy;
use crate::settings::Remote;
use crate::web::fault::{Again, Fault};

const SHORTEST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(8);

/// The tries of one request.
pub(crate) struct Tries<'a> {
    settings: &'a Remote,
    failed: u32,
    /// Since when nothing has come.
    since: Instant,
}

impl<'a> Tries<'a> {
    pub(crate) fn new(settings: &'a Remote) -> Self {
        Self { settings, failed: 0, since: Instant::now() }
    }

    /// Something has come.
    pub(crate) fn go_on(&mut self) {
        self.since = Instant::now();
    }

    /// Waits until the request may be made again; the fault itself if it may not.
    pub(crate) async fn pause(&mut self, fault: Fault) -> Result<(), Fault> {
        // Another address is no second try of the same request; it is followed once in a row.
        let Remote { retries, max_wait, .. } = *self.settings;
        let is_asked = matches!(fault.again, Again::After(_));
        let wait = match fault.again {
            Again::Now => return Ok(()),
            Again::Soon if self.failed < retries => {
                let wait = backoff(self.failed);
                if self.since.elapsed() + wait > max_wait {
                    return Err(fault.after(self.failed).remedy(Remedy::AllowWait));
                }
                wait
            }
            Again::After(asked) if self.failed < retries && asked <= max_wait => asked,
            Again::After(asked) if self.failed < retries => {
                return Err(fault.asks_to_wait(asked, max_wait));
            }
            _ => return Err(fault.after(self.failed)),
        };
        self.failed += 1;
        tokio::time::sleep(wait).await;
        // The server has answered, and a wait that it asks for is no silence.
        if is_asked {
            self.go_on();
        }
        Ok(())
    }
}

/// Tries something until it is done, or has failed in a way that does not pass.
pub(crate) async fn retried<T, F: Future<Output = Result<T, Fault>>>(
    settings: &Remote,
    work: impl Fn() -> F,
) -> Result<T, Fault> {
    let mut tries = Tries::new(settings);
    loop {
        match work().await {
            Ok(done) => return Ok(done),
            Err(fault) => tries.pause(fault).await?,
        }
    }
}

fn backoff(failed: u32) -> Duration {
    SHORTEST.saturating_mul(1 << failed.min(8)).min(LONGEST)
}

/// Whether a status is one that may pass, and when.
pub(crate) fn passing(status: StatusCode, headers: &HeaderMap) -> Again {
    match status.as_u16() {
        429 | 503 => asked_wait(headers).map_or(Again::Soon, Again::After),
        408 | 500 | 502 | 504 => Again::Soon,
        _ => Again::Never,
    }
}

/// How long a server asks to wait: `Retry-After: 12`, or `RateLimit: "api";r=0;t=12`.
fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
    let seconds = |text: &str| text.trim().parse().ok().map(Duration::from_secs);
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let plain = text(RETRY_AFTER.as_str()).and_then(seconds);
    let limits = || {
        let items = text("ratelimit")?.split([',', ';']);
        items.filter_map(|item| seconds(item.trim().strip_prefix("t=")?)).max()
    };
    plain.or_else(limits).filter(|wait| !wait.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(name: &'static str, value: &'static str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        asked_wait(&headers)
    }

    #[test]
    fn the_server_says_how_long() {
        assert_eq!(wait("retry-after", "7"), Some(Duration::from_secs(7)));
        let limits = "\"api\";r=5;t=3, \"resolvers\";r=0;t=211";
        assert_eq!(wait("ratelimit", limits), Some(Duration::from_secs(211)));
        for (name, value) in [("ratelimit", "t=x"), ("retry-after", "-1"), ("retry-after", "0")] {
            assert_eq!(wait(name, value), None);
        }
    }

    #[test]
    fn waiting_grows_to_a_bound() {
        let waits: Vec<u128> = (0..6).map(|failed| backoff(failed).as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 8000]);
        assert_eq!(backoff(u32::MAX), LONGEST);
    }
}
