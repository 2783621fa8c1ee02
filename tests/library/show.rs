//! Windows onto weights: what they show is what decoding the whole weight gives.

use std::path::{Path, PathBuf};

use weighbridge::ops::{Numbers, ShowOptions, Window};
use weighbridge::output::Memory;
use weighbridge::{DType, Model, Weight};

fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("files")
}

const SAMPLES: [&str; 7] = [
    "gptq",
    "bnb",
    "ggml",
    "npy/float16-big-endian.npy",
    "npy/bfloat16-fortran.npy",
    "npz",
    "names/llama/hf",
];

fn singles(window: &Window) -> Vec<u32> {
    match window.numbers().unwrap() {
        Numbers::F32(all) => all.iter().map(|x| x.to_bits()).collect(),
        other => panic!("{other:?}"),
    }
}

/// What is taken of each dimension: from where, to where.
fn picked(weight: &Weight, all: &[f32], rows: [u64; 2], columns: [u64; 2]) -> Vec<u32> {
    let (shape, last) = (weight.shape(), weight.shape().last().copied().unwrap_or(1));
    let row = weight.rows_and_columns().1;
    let is_in = |at: u64| match shape.len() {
        1 => (rows[0]..rows[1]).contains(&at),
        _ => {
            (rows[0]..rows[1]).contains(&(at / row))
                && (columns[0]..columns[1]).contains(&(at % last))
        }
    };
    (0..).zip(all).filter(|(at, _)| is_in(*at)).map(|(_, x)| x.to_bits()).collect()
}

fn models() -> Vec<Model> {
    let mut all = Vec::new();
    for sample in SAMPLES {
        let path = files().join(sample);
        let inside = std::fs::read_dir(&path).into_iter().flatten();
        let paths = inside.map(|entry| entry.unwrap().path()).chain([path.clone()]);
        all.extend(paths.filter_map(|path| Model::open(path).ok()));
    }
    all
}

#[test]
fn a_window_shows_what_the_whole_weight_has_there() {
    let (mut checked, mut by_rows, mut deep) = (0, 0, 0);
    for weight in models().iter().flat_map(Model::weights) {
        let is_small = weight.elements() < 100_000 && !weight.is_empty();
        if weight.undecodable().is_some() || !is_small || weight.shape().is_empty() {
            continue;
        }
        let all: Vec<f32> = weight.decode_to_vec().unwrap();
        let options = ShowOptions::default().dtype(DType::F32);
        let Ok(whole) = Window::of(&weight, &options) else { continue };
        let bits: Vec<u32> = all.iter().map(|x| x.to_bits()).collect();
        assert_eq!(singles(&whole), bits, "{}", weight.name());
        let rows = options.clone().rows("1:-1".parse().unwrap());
        let part = match weight.shape().len() {
            1 => rows,
            _ => rows.columns("2:7".parse().unwrap()),
        };
        let part = Window::of(&weight, &part).unwrap();
        let (rows, columns) = (part.rows(), part.columns());
        let wanted = picked(&weight, &all, [rows.start, rows.end], [columns.start, columns.end]);
        assert_eq!(singles(&part), wanted, "{}", weight.name());
        let memory = Memory::default();
        part.write_to(&memory).unwrap();
        let bytes: Vec<u8> = wanted.iter().flat_map(|bits| bits.to_le_bytes()).collect();
        assert_eq!(memory.into_files().into_values().next().unwrap(), bytes);
        checked += 1;
        by_rows += u32::from(!weight.has_element_access());
        deep += u32::from(weight.shape().len() > 2);
    }
    assert!(checked > 60 && by_rows > 5 && deep > 2, "{checked} {by_rows} {deep}");
}

#[test]
fn corners_are_those_of_the_whole() {
    for weight in models().iter().flat_map(Model::weights) {
        let is_small = weight.elements() < 100_000 && !weight.is_empty();
        if weight.undecodable().is_some() || !is_small || weight.shape().is_empty() {
            continue;
        }
        let options = ShowOptions::default().dtype(DType::F32);
        let Ok(window) = Window::of(&weight, &options) else { continue };
        let all: Vec<f32> = weight.decode_to_vec().unwrap();
        let places = weight.shape().iter().fold(vec![0], |places: Vec<u64>, &len| {
            let along = |&at: &u64| len <= 6 || at < 3 || at + 3 >= len;
            let next = |place: u64| (0..len).filter(along).map(move |at| place * len + at);
            places.into_iter().flat_map(next).collect()
        });
        let wanted: Vec<u32> =
            places.iter().map(|&at| all[usize::try_from(at).unwrap()].to_bits()).collect();
        match window.corners(3).unwrap() {
            Numbers::F32(found) => {
                let found: Vec<u32> = found.iter().map(|x| x.to_bits()).collect();
                assert_eq!(found, wanted, "{}", weight.name());
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_weight_is_found_by_the_end_of_its_name() {
    let model = Model::open(files().join("names/llama/hf")).unwrap();
    let name = |typed: &str| model.find(typed).map(|weight| weight.name().to_owned());
    let full = "model.layers.0.self_attn.q_proj.weight";
    assert_eq!(name(full).unwrap(), full);
    assert_eq!(name("layers.0.self_attn.q_proj.weight").unwrap(), full);
    // After a dot goes before elsewhere: `model.norm.weight` and not `..layernorm.weight`.
    assert_eq!(name("norm.weight").unwrap(), "model.norm.weight");
    assert!(name("q_proj.weight").unwrap_err().to_string().contains("2 weights match this suffix"));
    let error = name("layers.0.self_attn.q_porj.weight").unwrap_err();
    assert!(error.hint_text().unwrap().contains("layers.0.self_attn.q_proj.weight"), "{error}");
    assert!(name("").is_err());
}
