//! Rotary parameters, from the metadata and the tensors of factors that a file has.

use serde_json::{Map, Value as Json, json};

use crate::error::{Error, Remedy, Result};
use crate::families::{
    Back, Config, Family, Get, Scaling, Told, as_json, llama3_divisors, single, whole,
};
use crate::text::escaped;

/// Wider heads than any model has.
const MOST: usize = 1 << 15;

/// Sets all rotary parameters of a config.
pub(super) fn set(
    config: &mut Config,
    family: &Family,
    back: &Back,
    told: &Told<'_>,
) -> Result<()> {
    let number = |key: &str| told.own(key).as_ref().and_then(as_json);
    // What llama.cpp takes where the file says nothing.
    config.insert("rope_theta".into(), number("rope.freq_base").unwrap_or(json!(10000.0)));
    if let Some(local) = number("rope.freq_base_swa") {
        config.insert("rope_local_base_freq".into(), local);
    }
    let original = number("rope.scaling.original_context_length");
    let class = family.defaults.as_ref();
    // Configs may have the context before scaling beside the rotary parameters.
    let is_beside = class.is_some_and(|class| class.original_context.is_some());
    if let Some(original) = original.filter(|_| is_beside) {
        config.insert("original_max_position_embeddings".into(), original);
    }
    if let Some(key) = back.rotated {
        let share = rotated_share(config, number("rope.dimension_count"));
        config.insert(key.to_owned(), share.map_or(Json::Null, Json::from));
    }
    if let Some(scaling) = scaling(family, told)? {
        config.insert("rope_scaling".into(), scaling.into());
    }
    if let Some(scaling) = llama3(config, told)?.or(long(told)?)
        && config.insert("rope_scaling".into(), scaling).is_some()
    {
        let message = "two conflicting rotary scalings: one in the metadata, one in a tensor";
        return Err(Error::unsupported(message).remedy(Remedy::KeepNames));
    }
    Ok(())
}

/// The part of a head that is rotated: all of it where the file does not say.
fn rotated_share(config: &Config, rotated: Option<Json>) -> Option<f64> {
    let Some(rotated) = rotated else { return Some(1.0) };
    let width = head_width(config).filter(|width| *width > 0)?;
    Some(rotated.as_u64()? as f64 / width as f64)
}

fn head_width(config: &Config) -> Option<u64> {
    let count = |key: &str| config.get(key).and_then(Json::as_u64);
    count("head_dim").or_else(|| count("hidden_size")?.checked_div(count("num_attention_heads")?))
}

/// Scaling that the metadata states.
fn scaling(family: &Family, told: &Told<'_>) -> Result<Option<Map<String, Json>>> {
    let Some(kind) = told.own("rope.scaling.type") else { return Ok(None) };
    let kind = kind.as_str().unwrap_or_default();
    let mut scaling = Map::new();
    scaling.insert("rope_type".into(), kind.into());
    let mut put = |name: &str, key: &str| {
        if let Some(value) = told.own(key).as_ref().and_then(as_json) {
            scaling.insert(name.to_owned(), value);
        }
    };
    match kind {
        "none" => return Ok(None),
        "linear" => put("factor", "rope.scaling.factor"),
        "yarn" => {
            put("factor", "rope.scaling.factor");
            for (key, _, get) in family.keys.iter().copied().flatten() {
                if let Get::Yarn([name, ..]) = get {
                    put(name, key);
                }
            }
        }
        other => {
            let message = format!("unknown rotary scaling type `{}`", escaped(other));
            return Err(Error::unsupported(message).remedy(Remedy::StateBase));
        }
    }
    Ok(Some(scaling))
}

/// Llama 3's scaling, from the numbers that its formula gives. A file does not have the parameters:
/// those that models were published with are tried, and the ones that give every number to the bit
/// are taken.
fn llama3(config: &Config, told: &Told<'_>) -> Result<Option<Json>> {
    const TENSOR: &str = "rope_freqs.weight";
    let Some(divisors) = (told.numbers)(TENSOR)? else { return Ok(None) };
    let base = config.get("rope_theta").and_then(Json::as_f64).unwrap_or(10000.0);
    let found = Some(&divisors).filter(|divisors| divisors.len() <= MOST);
    let found = found.and_then(|divisors| parameters(divisors, base));
    let Some(found) = found else {
        let message = "the values match no known parameters of Llama 3's rotary scaling";
        return Err(Error::unsupported(message)
            .in_tensor(TENSOR)
            .remedy(Remedy::StateBase)
            .remedy(Remedy::KeepNames));
    };
    Ok(Some(json!({
        "rope_type": "llama3",
        "factor": found.factor,
        "low_freq_factor": found.low,
        "high_freq_factor": found.high,
        "original_max_position_embeddings": whole(&found.context.into()),
    })))
}

/// The parameters that give these numbers to the bit.
fn parameters(divisors: &[f32], base: f64) -> Option<Scaling> {
    const CONTEXTS: [f64; 9] =
        [8192.0, 4096.0, 16384.0, 32768.0, 2048.0, 65536.0, 131_072.0, 1024.0, 512.0];
    const BOUNDS: [(f64, f64); 7] =
        [(1.0, 4.0), (1.0, 2.0), (1.0, 8.0), (2.0, 4.0), (1.0, 16.0), (1.0, 32.0), (2.0, 8.0)];
    let largest = divisors.iter().copied().fold(1.0, f32::max);
    let largest = single(largest).and_then(|number| number.as_f64()).unwrap_or(1.0);
    let width = 2 * divisors.len() as u64;
    let is_it = |scaling: &Scaling| {
        let made = llama3_divisors(base, width, scaling);
        made.map(f32::to_bits).eq(divisors.iter().map(|number| number.to_bits()))
    };
    let factors = [largest, 8.0, 32.0, 16.0, 4.0, 2.0, 64.0].into_iter();
    let contexts = factors.flat_map(|factor| CONTEXTS.map(|context| (factor, context)));
    let mut all = contexts.flat_map(|(factor, context)| {
        BOUNDS.map(|(low, high)| Scaling { factor, low, high, context })
    });
    all.find(is_it)
}

/// Phi-3's factors for long and short contexts.
fn long(told: &Told<'_>) -> Result<Option<Json>> {
    let list = |tensor: &str| -> Result<Option<Json>> {
        let numbers = (told.numbers)(tensor)?;
        Ok(numbers.map(|numbers| numbers.iter().map(|number| single(*number)).collect()))
    };
    let long = list("rope_factors_long.weight")?;
    let both = long.zip(list("rope_factors_short.weight")?);
    Ok(both.map(|(long, short)| {
        json!({ "rope_type": "longrope", "long_factor": long, "short_factor": short })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divisors(scaling: &Scaling) -> Vec<f32> {
        llama3_divisors(500_000.0, 128, scaling).collect()
    }

    #[test]
    fn published_parameters_are_found_again() {
        for (factor, low, high, context) in
            [(8.0, 1.0, 4.0, 8192.0), (32.0, 1.0, 4.0, 8192.0), (4.0, 1.0, 8.0, 4096.0)]
        {
            let made = divisors(&Scaling { factor, low, high, context });
            let found = parameters(&made, 500_000.0).unwrap();
            assert_eq!(
                (found.factor, found.low, found.high, found.context),
                (factor, low, high, context)
            );
        }
    }

    #[test]
    fn one_bit_off_is_no_match() {
        let mut made = divisors(&Scaling { factor: 8.0, low: 1.0, high: 4.0, context: 8192.0 });
        let at = made.iter().position(|number| *number > 1.0 && *number < 8.0).unwrap();
        made[at] = f32::from_bits(made[at].to_bits() + 1);
        assert!(parameters(&made, 500_000.0).is_none());
    }
}
