//! Every sample that can be converted is what it was converted to, but for rounding.

use libtest_mimic::Trial;
use weighbridge::ops::{self, ConvertOptions, DiffOptions, Names, Status};
use weighbridge::{FileAccess, OpenOptions};

use crate::common::Sample;
use crate::common::decoded::TYPES;
use crate::{counts, every_sample};

pub fn trials() -> Vec<Trial> {
    every_sample("compared", check)
}

fn check(sample: &Sample) -> Result<(), String> {
    let opener = OpenOptions::new().access(FileAccess::Read);
    let Ok(model) = opener.open(&sample.path) else {
        return Ok(());
    };
    for dtype in TYPES {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.safetensors");
        if ops::convert(&model, &ConvertOptions::new(&target).dtype(dtype).names(Names::Keep))
            .is_err()
        {
            continue;
        }
        let written = opener.open(&target).unwrap();
        let report = ops::diff(&model, &written, &DiffOptions::default()).unwrap();
        for tensor in &report.tensors {
            let is_equal = matches!(tensor.status, Status::Identical | Status::EqualAfterRounding);
            // What overflows is named.
            let is_named = tensor.unlike.is_some_and(|count| count > 0);
            if !is_equal && !is_named {
                return Err(format!("{dtype:?}: {tensor:?}"));
            }
        }
        counts::add("tensors compared after a conversion", report.tensors.len());
    }
    Ok(())
}
