//! Models in two forms, Hugging Face's and what llama.cpp's own converter makes of it: every weight
//! has its counterpart, with the same numbers once the pair's transform is applied.
#![allow(clippy::cast_possible_truncation)]

use std::path::{Path, PathBuf};

use weighbridge::internals::names::{Named, Pair, Pairing, Rules, Side, View, Which, pair};
use weighbridge::{Model, bf16, f16};

/// What the converter was given and what it made of it, by the name of the model.
pub fn folder(name: &str) -> PathBuf {
    super::root().join("tests/files/names").join(name)
}

/// A model with the shapes of its weights, which a side borrows.
pub struct Opened {
    pub model: Model,
    pub shapes: Vec<(String, Vec<u64>)>,
}

impl Opened {
    pub fn new(path: &Path) -> Self {
        let model = Model::open(path).unwrap();
        let shapes = model.weights().map(|w| (w.name().to_owned(), w.shape().to_vec())).collect();
        Self { model, shapes }
    }

    pub fn side(&self) -> Side<'_> {
        Side {
            weights: self.shapes.iter().map(|(name, shape)| Named { name, shape }).collect(),
            configs: self.model.configs(),
            metadata: self.model.metadata().into_iter().map(|(k, v, _)| (k, v)).collect(),
        }
    }

    pub fn values(&self, index: usize) -> Vec<f32> {
        let weight = self.model.weight(&self.shapes[index].0).unwrap();
        let mut out = vec![0f32; weight.len()];
        weight.decode_into(&mut out).unwrap();
        out
    }

    pub fn dtype(&self, index: usize) -> String {
        let weight = self.model.weight(&self.shapes[index].0).unwrap();
        let (_, _, info) = weight.parts().next().unwrap();
        info.stored.name().to_lowercase()
    }
}

/// The numbers of a view, row by row; they are changed in f16 where the weight is.
pub fn seen(view: &View, values: &[f32], dtype: &str) -> Vec<f32> {
    let places = (0..view.row_count())
        .flat_map(|row| (0..view.row_len()).map(move |column| view.element(row, column)));
    let numbers = places.map(|place| values[place as usize]);
    let changed = |value: f32| match view.changes_values() && dtype == "f16" {
        true => f16::from_f32(view.change.of(value)).to_f32(),
        false => view.change.of(value),
    };
    numbers.map(changed).collect()
}

/// Whether B holds what A holds, rounded to the type it has there.
pub fn agree(pair: &Pair, a: &Opened, b: &Opened) -> bool {
    let ours = seen(&pair.view_a, &a.values(pair.a), &a.dtype(pair.a));
    let theirs = seen(&pair.view_b, &b.values(pair.b), &b.dtype(pair.b));
    assert_eq!(pair.view_a.shape, pair.view_b.shape, "{}", a.shapes[pair.a].0);
    let dtype = b.dtype(pair.b);
    let rounded = |value: f32| match dtype.as_str() {
        "f32" | "mxfp4" => value,
        "f16" => f16::from_f32(value).to_f32(),
        "bf16" => bf16::from_f32(value).to_f32(),
        other => panic!("no rule for {other}"),
    };
    if dtype == "q8_0" {
        // Steps of a block are its largest number over 127; its scale is an f16.
        let blocks = ours.chunks(32).zip(theirs.chunks(32));
        return blocks.into_iter().all(|(ours, theirs)| {
            let step = ours.iter().fold(0f32, |most, value| most.max(value.abs())) / 127.0;
            ours.iter().zip(theirs).all(|(a, b)| (a - b).abs() <= step * 0.57)
        });
    }
    // Its two zeros are one in GGUF.
    let is_zero = |a: f32, b: f32| dtype == "mxfp4" && a == 0.0 && b == 0.0;
    let same = |(a, b): (&f32, &f32)| rounded(*a).to_bits() == b.to_bits() || is_zero(*a, *b);
    ours.len() == theirs.len() && !ours.is_empty() && ours.iter().zip(&theirs).all(same)
}

/// Pairs the two and checks that nothing is left and every value agrees.
pub fn check(a: &Opened, b: &Opened) -> Pairing {
    let found = pair(&a.side(), &b.side(), &Rules::default());
    let names = |side: &Opened, indexes: &[usize]| -> Vec<String> {
        indexes.iter().map(|&index| side.shapes[index].0.clone()).collect()
    };
    assert_eq!(names(a, &found.only_a), [""; 0], "{:?}", found.notes);
    assert_eq!(names(b, &found.only_b), [""; 0], "{:?}", found.notes);
    for pair in &found.pairs {
        let (ours, theirs) = (&a.shapes[pair.a].0, &b.shapes[pair.b].0);
        assert!(agree(pair, a, b), "{ours} and {theirs} differ: {:?}", pair.transform);
    }
    // Every number of either side has been looked at, or is explained.
    for (which, side) in [(Which::A, a), (Which::B, b)] {
        for (index, (name, shape)) in side.shapes.iter().enumerate() {
            let explained = found.explained.iter().any(|e| (e.0, e.1) == (which, index));
            let views = found.pairs.iter().filter_map(|pair| match which {
                Which::A => (pair.a == index).then_some(&pair.view_a),
                Which::B => (pair.b == index).then_some(&pair.view_b),
            });
            let looked: u64 = views.map(|view| view.shape.iter().product::<u64>()).sum();
            let cut = ["embed_tokens.weight", "position_embeddings.weight"];
            let cut = looked > 0 && cut.iter().any(|end| name.ends_with(end));
            assert!(explained || cut || looked >= shape.iter().product(), "{name} {looked}");
        }
    }
    found
}

/// The two files of a model, paired in both directions.
pub fn both_ways(name: &str) -> (Opened, Opened, Pairing) {
    let (hf, gguf) =
        (Opened::new(&folder(name).join("hf")), Opened::new(&folder(name).join("model.gguf")));
    let found = check(&hf, &gguf);
    let back = pair(&gguf.side(), &hf.side(), &Rules::default());
    assert_eq!(back.pairs.len(), found.pairs.len(), "{name}");
    assert!(back.only_a.is_empty() && back.only_b.is_empty(), "{name}");
    for pair in &found.pairs {
        let mirrored = |other: &&Pair| {
            (other.a, other.b) == (pair.b, pair.a)
                && (&other.view_a, &other.view_b) == (&pair.view_b, &pair.view_a)
        };
        assert!(back.pairs.iter().any(|other| mirrored(&other)), "{name}: {pair:?}");
    }
    (hf, gguf, found)
}
