//! How fast a body has to come. A server that sends a byte now and then never runs into a timeout.

use std::time::{Duration, Instant};

use crate::settings::Remote;

/// Counts the bytes of one body, and compares them with the lowest speed from time to time: over as
/// long as a server may say nothing.
pub(crate) struct Pace {
    least: u64,
    over: Duration,
    begun: Instant,
    got: u64,
}

impl Pace {
    pub(crate) fn of(settings: &Remote) -> Self {
        let (least, over) = (settings.min_speed, settings.timeout);
        Self { least, over, begun: Instant::now(), got: 0 }
    }

    /// Counts bytes that came; the reason to give up, if they come too slowly.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), String> {
        self.added(bytes as u64, self.begun.elapsed())
    }

    fn added(&mut self, bytes: u64, elapsed: Duration) -> Result<(), String> {
        self.got = self.got.saturating_add(bytes);
        if elapsed < self.over {
            return Ok(());
        }
        let least = u128::from(self.least).saturating_mul(elapsed.as_millis()) / 1000;
        if u128::from(self.got) < least {
            let (least, over) = (self.least, self.over.as_secs_f64());
            return Err(format!(
                "the server sent less than {least} bytes per second over {over} s"
            ));
        }
        (self.begun, self.got) = (Instant::now(), 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowness_counts_after_a_while() {
        let mut settings = Remote::default();
        (settings.min_speed, settings.timeout) = (100, Duration::from_secs(10));
        let seconds = Duration::from_secs;
        let mut pace = Pace::of(&settings);
        pace.added(1, seconds(9)).unwrap();
        pace.added(999, seconds(10)).unwrap();
        // What came before does not count twice.
        let told = pace.added(999, seconds(10)).unwrap_err();
        assert_eq!(told, "the server sent less than 100 bytes per second over 10 s");
        settings.min_speed = 0;
        Pace::of(&settings).added(0, seconds(1000)).unwrap();
    }
}
