//! Options of opening, from the arguments of Python functions.

use std::collections::BTreeMap;
use std::time::Duration;

use pyo3::prelude::*;
use weighbridge::internals::PLACES;
use weighbridge::{FileAccess, Limits, OpenOptions, Remote};

use crate::errors;
use crate::options::{Asked, expression, unknown};

/// The URL schemes of addresses, before `://`.
#[pyfunction]
pub(crate) fn schemes() -> Vec<&'static str> {
    PLACES
        .iter()
        .flat_map(|place| place.starts)
        .filter_map(|start| start.strip_suffix("://"))
        .collect()
}

impl Asked<'_> {
    /// The options of opening.
    pub(crate) fn opening(&self) -> PyResult<OpenOptions> {
        let is_mapped = self.take("mmap")?.unwrap_or(false);
        let mut options = OpenOptions::new()
            .access(if is_mapped { FileAccess::Map } else { FileAccess::Read })
            .limits(self.opening_limits()?)
            .strict_pickle(self.take("strict_pickle")?.unwrap_or(false))
            .remote(self.remote()?);
        for (text, says) in self.rules("scheme")? {
            let matches = expression(self.py(), &text)?;
            options = options.scheme(move |name| matches.is_match(name), &says);
        }
        if let Some(key) = self.text("root")? {
            options = options.root(&key);
        }
        self.finish()?;
        Ok(options)
    }

    /// The options of remote models.
    fn remote(&self) -> PyResult<Remote> {
        let mut remote = Remote::default();
        remote.allow_http = self.take("allow_http")?.unwrap_or(false);
        remote.ca_file = self.path("ca_file")?;
        remote.timeout = self.time("timeout")?.unwrap_or(remote.timeout);
        remote.min_speed = self.take("min_speed")?.unwrap_or(remote.min_speed);
        remote.retries = self.take("retries")?.unwrap_or(remote.retries);
        remote.max_wait = self.time("max_wait")?.unwrap_or(remote.max_wait);
        Ok(remote)
    }

    /// A number of seconds.
    fn time(&self, name: &str) -> PyResult<Option<Duration>> {
        let Some(seconds) = self.take::<f64>(name)? else { return Ok(None) };
        let wrong = |_| {
            errors::usage(
                self.py(),
                &format!("{name} {seconds} is not a valid number of seconds"),
                None,
            )
        };
        Duration::try_from_secs_f64(seconds).map(Some).map_err(wrong)
    }

    fn opening_limits(&self) -> PyResult<Limits> {
        let given: BTreeMap<String, u64> = self.take("limits")?.unwrap_or_default();
        given.iter().try_fold(Limits::default(), |limits, (name, &value)| {
            Ok(match &**name {
                "max_allocation" => limits.max_allocation(value),
                "max_total" => limits.max_total(value),
                "max_items" => limits.max_items(value),
                "max_depth" => limits.max_depth(u32::try_from(value)?),
                "max_ratio" => limits.max_ratio(value),
                "max_pickle_steps" => limits.max_pickle_steps(value),
                _ => {
                    let known = "max_allocation, max_total, max_items, max_depth, max_ratio, max_pickle_steps";
                    return Err(unknown(self.py(), "limit", name, known));
                }
            })
        })
    }
}
