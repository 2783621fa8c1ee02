use std::ops::Range;

use half::{bf16, f16};

use crate::number::Element;
use crate::{DType, ErrorKind, Model, Weight};

const SAMPLES: [&str; 6] = [
    "names/llama/hf",
    "names/qwen3-q8/model.gguf",
    "npy/fortran-big-endian.npy",
    "gguf/tensor-types.gguf",
    "npz/deflated.npz",
    "pth/views.pth",
];

fn sample(path: &str) -> Model {
    let files = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files");
    Model::open(files.join(path)).unwrap()
}

/// The little-endian bytes of what `decode_rows` gives.
fn decoded<T: Element>(weight: &Weight, rows: Range<u64>) -> Vec<u8> {
    let columns = weight.rows_and_columns().1;
    let mut out = vec![T::default(); usize::try_from((rows.end - rows.start) * columns).unwrap()];
    weight.decode_rows(rows, &mut out).unwrap();
    bytemuck::cast_slice(&out).to_vec()
}

/// Reads into a slice that starts at an odd address or an even one.
fn read(weight: &Weight, rows: Range<u64>, dtype: DType, shift: usize, len: usize) -> Vec<u8> {
    let mut out = vec![7; len + 8];
    let start = out.as_ptr().align_offset(8) + shift;
    weight.read_rows_into(rows, dtype, &mut out[start..start + len]).unwrap();
    out[start..start + len].to_vec()
}

fn compare<T: Element>(weight: &Weight) {
    let all = 0..weight.rows_and_columns().0;
    for rows in [all.clone(), all.end / 3..all.end - all.end / 4] {
        let wanted = decoded::<T>(weight, rows.clone());
        for shift in [0, 1] {
            let found = read(weight, rows.clone(), T::DTYPE, shift, wanted.len());
            assert!(found == wanted, "{} as {}", weight.name(), T::DTYPE);
        }
    }
    let numbers = weight.decode_to_vec::<T>().unwrap();
    assert!(bytemuck::cast_slice::<T, u8>(&numbers) == decoded::<T>(weight, all));
}

#[test]
fn what_is_read_into_bytes_is_what_is_decoded() {
    let mut count = 0;
    for path in SAMPLES {
        for weight in sample(path).weights().filter(|weight| weight.undecodable().is_none()) {
            compare::<f32>(&weight);
            compare::<bf16>(&weight);
            compare::<f16>(&weight);
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
}

/// An array of every byte that its type can take, in a file of numpy.
fn array(descr: &str, shape: &str, data: &[u8]) -> Model {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    let bytes = [b"\x93NUMPY\x01\x00v\x00", format!("{header:117}\n").as_bytes(), data].concat();
    Model::open_bytes(bytes, "array.npy").unwrap()
}

#[test]
fn integers_booleans_and_complex_numbers_are_read_as_they_are_stored() {
    let data: Vec<u8> = (0..96).collect();
    for (descr, dtype) in [
        ("<i8", DType::I64),
        ("<u2", DType::U16),
        ("|i1", DType::I8),
        ("<c8", DType::C64),
        ("<f8", DType::F64),
        ("<f4", DType::F32),
    ] {
        let count = 96 * 8 / u64::from(dtype.bits());
        let model = array(descr, &format!("{}, 2", count / 2), &data);
        let weight = model.weights().next().unwrap();
        assert_eq!(weight.read_to_vec(dtype).unwrap(), data, "{dtype}");
        let rows = 1..count / 2;
        let row = 2 * dtype.bits() as usize / 8;
        assert_eq!(read(&weight, rows, dtype, 1, 96 - row), data[row..], "{dtype}");
    }
    let bits: Vec<u8> = data.iter().map(|byte| byte & 1).collect();
    let weight = array("|b1", "96,", &bits).weights().next().unwrap();
    assert_eq!(weight.read_to_vec(DType::Bool).unwrap(), bits);
}

#[test]
fn large_weights_are_read_on_several_threads() {
    let data: Vec<u8> = (0..5_000_003u32).flat_map(u32::to_le_bytes).collect();
    let weight = array("<i4", "5000003,", &data).weights().next().unwrap();
    assert!(weight.read_to_vec(DType::I32).unwrap() == data);
    let floats: Vec<u8> = (0..4_194_309u32).flat_map(|i| f64::from(i).to_le_bytes()).collect();
    let weight = array("<f8", "1398103, 3", &floats).weights().next().unwrap();
    let numbers = weight.decode_to_vec::<f32>().unwrap();
    #[allow(clippy::cast_precision_loss)]
    let is_right = numbers.iter().enumerate().all(|(i, &number)| number == i as f32);
    assert!(is_right && numbers.len() == 4_194_309);
    assert!(weight.read_to_vec(DType::F32).unwrap() == bytemuck::cast_slice::<f32, u8>(&numbers));
}

#[test]
fn what_does_not_fit_is_an_error() {
    let weight = array("<i4", "4, 2", &[0; 32]).weights().next().unwrap();
    for (rows, dtype, len, word) in [
        (0..4, DType::I32, 31, "buffer of 31 bytes"),
        (0..5, DType::I32, 40, "there are only 4"),
        (Range { start: 3, end: 2 }, DType::I32, 0, "there are only 4"),
        (0..4, DType::I64, 64, "cannot be read as I64"),
    ] {
        let error = weight.read_rows_into(rows, dtype, &mut vec![0; len]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn weights_are_selected_by_name() {
    let model = sample("names/llama/hf");
    let layers = model.weights().include(|name| name.contains("layers.0."));
    let norms = layers.clone().exclude(|name| name.contains("proj"));
    let all: Vec<_> = layers.map(|weight| weight.name().to_owned()).collect();
    assert!(all.len() > 3 && all.iter().all(|name| name.contains("layers.0.")), "{all:?}");
    let norms: Vec<_> = norms.map(|weight| weight.name().to_owned()).collect();
    assert!(!norms.is_empty() && norms.len() < all.len(), "{norms:?}");
    for weight in model.weights() {
        assert_eq!(model.weight(weight.name()).unwrap().shape(), weight.shape());
    }
}

#[test]
fn handles_outlive_the_model_they_are_from_and_move_between_threads() {
    fn moves<T: Send + Sync + Clone + 'static>(_: &T) {}
    let model = sample("names/llama/hf");
    let weight = model.weights().next().unwrap();
    moves(&model);
    moves(&weight);
    drop(model);
    let read = std::thread::spawn(move || weight.decode_to_vec::<f32>().unwrap().len());
    assert!(read.join().unwrap() > 0);
}
