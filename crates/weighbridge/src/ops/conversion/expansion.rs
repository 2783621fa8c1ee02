//! How much larger an output may be than what the model holds.

use super::options::ConvertOptions;
use crate::error::{Error, Remedy, Result};
use crate::limits::MOST_EXPANSION;
use crate::model::{Model, most_repeating};
use crate::pipeline::Plan;
use crate::source::Source;
use crate::text::shortened;

/// Characters of a name that an error shows.
const MOST_NAME: usize = 100;

/// An error if the files of a plan would be larger than the options allow; without a word about it
/// there, if they are more than 1000 times as large as what the model holds.
pub(super) fn check(model: &Model, options: &ConvertOptions, plan: &Plan) -> Result<()> {
    let (bytes, held) = (plan.bytes(), held_bytes(model));
    let most = options.max_output.unwrap_or(held.saturating_mul(MOST_EXPANSION));
    if bytes <= most {
        return Ok(());
    }
    let problem = match options.max_output {
        Some(most) => format!("the output would take {bytes} bytes, the limit is {most} bytes"),
        None => {
            let held = format!("over {MOST_EXPANSION} times the model's {held} bytes");
            format!("the output would take {bytes} bytes, {held}{}", why(model))
        }
    };
    Err(Error::limit(problem).remedy(Remedy::RaiseLimit("max_output")).in_file(model.path()))
}

/// Bytes of the model's files; a compressed member counts as what it is decompressed to, which has a
/// limit of its own.
fn held_bytes(model: &Model) -> u64 {
    let held = |source: &Source| {
        let members = source.catalog().members.iter();
        let growth = members.map(|member| member.size.saturating_sub(member.compressed));
        growth.fold(source.file_bytes(), u64::saturating_add)
    };
    model.sources().iter().map(held).fold(0, u64::saturating_add)
}

/// What makes it so large, where one tensor does.
fn why(model: &Model) -> String {
    most_repeating(model.sources()).map_or(String::new(), |tensor| {
        let (name, held) = (shortened(&tensor.name, MOST_NAME), tensor.held_bytes());
        format!("; tensor `{name}` expands {held} stored bytes to {} bytes", tensor.bytes)
    })
}
