//! What is written is read again by this crate's own reader; other readers are tried elsewhere.

use super::*;
use crate::input::Input;
use crate::limits::{Budget, Limits};
use crate::{Container as _, Opening};

fn opened(layout: &Layout) -> crate::catalog::Catalog {
    let mut bytes = vec![0; usize::try_from(layout.len).unwrap()];
    for fixed in &layout.fixed {
        let at = usize::try_from(fixed.at).unwrap();
        bytes[at..at + fixed.bytes.len()].copy_from_slice(&fixed.bytes);
    }
    let budget = Budget::new(Limits::default());
    let opening = Opening { budget: &budget, stem: "x", root: None, strict_pickle: false };
    Gguf.open(&Input::from_bytes(bytes, "x.gguf"), &opening).unwrap()
}

fn context(metadata: &[(String, MetadataValue)]) -> FileContext<'_> {
    FileContext { metadata, part: (0, 1), tensors: 2, streamed: false }
}

fn entries(values: Vec<(&str, Value)>) -> Entries {
    values.into_iter().map(|(key, value)| (key.to_owned(), MetadataValue::Value(value))).collect()
}

fn f32s<'a>(name: &'a str, shape: &'a [u64]) -> Planned<'a> {
    static F32: StoredType = StoredType::Element(DType::F32);
    Planned { name, stored: &F32, shape, bytes: 4 * shape.iter().product::<u64>() }
}

#[test]
fn values_come_back_with_their_widths() {
    let list = |values: Vec<Value>| Value::List(values);
    let all = entries(vec![
        ("u8", Value::Unsigned(8, 200)),
        ("i16", Value::Signed(16, -300)),
        ("u64", Value::Unsigned(64, u64::MAX)),
        ("f32", Value::F32(0.5)),
        ("f64", Value::F64(0.25)),
        ("bool", Value::Bool(true)),
        ("text", Value::text("é")),
        ("empty", Value::text("")),
        ("not UTF-8", Value::RawText([b'a', 0xe9, 0xff].into())),
    ]);
    let layout = Gguf.lay_out(&[f32s("a", &[3, 5]), f32s("b", &[])], &context(&all)).unwrap();
    let catalog = opened(&layout);
    assert!(catalog.findings.is_empty(), "{:?}", catalog.findings);
    for (key, held) in &all {
        assert_eq!(catalog.metadata.get(key), held.value(), "{key}");
    }
    assert_eq!(catalog.tensors[0].shape[..], [3, 5]);
    assert_eq!(catalog.tensors[1].shape[..], [1], "a scalar, as ggml has it");
    assert_eq!(catalog.tensors[1].file_offset(), Some(layout.places[1]));
    assert_eq!(layout.places.iter().chain([&layout.len]).map(|at| at % 32).sum::<u64>(), 0);
    let lists = entries(vec![
        ("same", list(vec![Value::Signed(32, 1), Value::Signed(32, 2)])),
        ("mixed", list(vec![Value::Bool(true), Value::text("x")])),
        ("none", list(Vec::new())),
    ]);
    let metadata = opened(&Gguf.lay_out(&[], &context(&lists)).unwrap()).metadata;
    assert!(matches!(metadata.get("same"), Some(Value::Array(array)) if array.len == 2));
    // ggml has no arrays of several kinds: what they say is kept as text.
    assert_eq!(metadata.get("mixed").and_then(Value::as_str), Some("[true,\"x\"]"));
    assert_eq!(metadata.get("none").and_then(Value::as_str), Some("[]"));
}

#[test]
fn the_file_type_is_that_of_most_numbers() {
    let of = |stored: &'static str, said: Option<u64>| {
        let stored = match crate::blocks::Block::from_name(stored) {
            Some(block) => StoredType::Block(block),
            None => StoredType::Element(DType::from_name(stored).unwrap()),
        };
        let matrix = Planned { name: "w", stored: &stored, shape: &[256, 256], bytes: 1000 };
        let said = said.map(|number| vec![(FILE_TYPE, Value::Unsigned(32, number))]);
        let mut given = entries(said.unwrap_or_default());
        given.extend(entries(vec![("split.no", Value::Unsigned(16, 0))]));
        given.extend(entries(vec![("general.quantization_version", Value::Unsigned(32, 2))]));
        let got = Gguf.metadata(given, &[f32s("norm", &[100_000]), matrix], false).unwrap();
        assert!(!got.iter().any(|(key, _)| key.starts_with("split.")));
        let version = got.iter().any(|(key, _)| key == "general.quantization_version");
        let number = got.into_iter().find(|(key, _)| key == FILE_TYPE);
        (number.and_then(|(_, held)| held.value()?.as_u64()), version)
    };
    assert_eq!(of("BF16", Some(15)), (Some(32), false));
    assert_eq!(of("F16", None), (Some(1), false));
    assert_eq!(of("Q4_K", Some(14)), (Some(14), true));
    assert_eq!(of("Q4_K", None), (Some(15), true));
    assert_eq!(of("I32", None), (None, false));
}

#[test]
fn parts_say_which_they_are() {
    let all = entries(vec![
        ("general.alignment", Value::Unsigned(32, 64)),
        ("general.name", Value::text("x")),
    ]);
    let part = |index| {
        let context = FileContext { metadata: &all, part: (index, 3), tensors: 9, streamed: false };
        opened(&Gguf.lay_out(&[f32s("a", &[1])], &context).unwrap())
    };
    let (first, second) = (part(0), part(1));
    assert_eq!(first.metadata.len(), 5);
    assert_eq!(first.tensors[0].file_offset().unwrap() % 64, 0);
    assert_eq!(second.metadata.len(), 3);
    assert_eq!(second.metadata.get("split.no"), Some(&Value::Unsigned(16, 1)));
    assert_eq!(second.metadata.get("split.count"), Some(&Value::Unsigned(16, 3)));
    assert_eq!(second.metadata.get("split.tensors.count"), Some(&Value::Signed(32, 9)));
}

#[test]
fn what_ggml_cannot_read_is_refused() {
    let long = "x".repeat(64);
    assert!(Gguf.refuses(&f32s(&long, &[1])).unwrap().contains("63"));
    assert!(Gguf.refuses(&f32s(&long[1..], &[1])).is_none());
    assert!(Gguf.refuses(&f32s("a\0b", &[1])).is_some());
    assert!(Gguf.refuses(&f32s("a", &[1; 5])).unwrap().contains("5 dimensions"));
    for absurd in [&[0, 1 << 63][..], &[1 << 63, 0], &[0, 1 << 32, 1 << 32], &[1 << 57]] {
        let tensor = Planned { bytes: 0, ..f32s("a", &[1]) };
        let reason = Gguf.refuses(&Planned { shape: absurd, ..tensor }).unwrap();
        assert!(reason.contains("too large for GGUF"), "{reason}");
    }
    assert_eq!(Gguf.refuses(&f32s("a", &[0, 1 << 40])), None);
    let bool = StoredType::Element(DType::Bool);
    let tensor = Planned { name: "a", stored: &bool, shape: &[1], bytes: 1 };
    assert!(Gguf.refuses(&tensor).unwrap().contains("BOOL"));
    let twins = [f32s("a", &[1]), f32s("a", &[2])];
    assert!(Gguf.lay_out(&twins, &context(&[])).is_err());
    let odd = entries(vec![("general.alignment", Value::Unsigned(64, 32))]);
    assert!(Gguf.lay_out(&[], &context(&odd)).is_err());
}
