//! The first rows of every tensor in every file that llama-quantize made: the same bytes, in the same
//! order. (All rows would take too long.)

use std::path::Path;

use serde_json::Value as Json;
use weighbridge::internals::schemes::{Chosen, SCHEMES, TypeAssignment};
use weighbridge::{DType, ImportanceMatrix, Model, bf16, f16};

use super::asked::{Run, Tensor, list, text};
use super::models::{MODELS, converted, described, expected, home, ones};

/// Rows of each matrix that are looked at.
const ROWS: usize = 2;

/// A tensor of the source, with its numbers.
struct Given {
    tensor: Tensor,
    values: Vec<f32>,
}

impl Given {
    /// Where the first rows of each matrix are.
    fn first_rows(&self) -> Vec<std::ops::Range<usize>> {
        let size = |at: usize| {
            usize::try_from(self.tensor.shape.iter().rev().nth(at).copied().unwrap_or(1)).unwrap()
        };
        let (columns, rows, matrices) = (size(0), size(1), size(2));
        let start = |matrix: usize| matrix * rows * columns;
        (0..matrices).map(|at| start(at)..start(at) + ROWS.min(rows) * columns).collect()
    }

    /// What these rows become.
    fn written(&self, fate: &TypeAssignment) -> Vec<u8> {
        let rows = self.first_rows();
        let plain = |dtype| rows.iter().flat_map(move |at| stored(dtype, &self.values[at.clone()]));
        match fate {
            TypeAssignment::Keep => plain(self.tensor.dtype).collect(),
            TypeAssignment::Cast(dtype) => plain(*dtype).collect(),
            TypeAssignment::Encode(encoder) => {
                let Tensor { name, shape, .. } = &self.tensor;
                let [output] = &encoder.outputs(name, shape).unwrap()[..] else { panic!("{name}") };
                let encoder = encoder.begin(shape);
                let encoded = rows.iter().flat_map(|at| {
                    let elements = at.start as u64..at.end as u64;
                    let place = output.groups.bytes_of(&elements, output.bytes);
                    let mut bytes = vec![0; usize::try_from(place.end - place.start).unwrap()];
                    let values = &self.values[at.clone()];
                    encoder.encode(elements, values, &mut [&mut bytes]).unwrap();
                    bytes
                });
                encoded.collect()
            }
        }
    }
}

/// Numbers as they are stored in a type.
fn stored(dtype: DType, values: &[f32]) -> Vec<u8> {
    let bytes = |&value: &f32| match dtype {
        DType::F32 => value.to_le_bytes().to_vec(),
        DType::F16 => f16::from_f32(value).to_le_bytes().to_vec(),
        DType::BF16 => bf16::from_f32(value).to_le_bytes().to_vec(),
        _ => panic!("{dtype}"),
    };
    values.iter().flat_map(bytes).collect()
}

#[test]
fn rows_are_those_that_llama_quantize_wrote() {
    for name in MODELS {
        let expected = expected(name);
        let model = Model::open_bytes(converted(name, &expected), "made.gguf").unwrap();
        let values = |name: &str| model.weight(name).unwrap().decode_to_vec().unwrap();
        let tensors = described(&expected).tensors.into_iter();
        let given: Vec<Given> =
            tensors.map(|tensor| Given { values: values(&tensor.name), tensor }).collect();
        for said in list(&expected["runs"]) {
            // Importance is read when it is needed.
            let folder = tempfile::tempdir().unwrap();
            check(name, &given, &chosen(name, &expected, said, folder.path()), said);
        }
    }
}

/// What our quantizer decides in place of a run of llama-quantize.
fn chosen(model: &str, expected: &Json, said: &Json, folder: &Path) -> Chosen {
    let mut run = Run::of(&said["options"]);
    run.known = run.matrix.as_ref().map(|file| {
        let path = match &**file {
            "ones.dat" => folder.join(file),
            _ => home(model).join(file),
        };
        if !path.exists() {
            std::fs::write(&path, ones(expected)).unwrap();
        }
        ImportanceMatrix::open(path).unwrap()
    });
    let file = SCHEMES.quantizer(text(&said["type"])).unwrap();
    run.request(&described(expected), |request| file.choose(request)).unwrap()
}

fn check(model: &str, given: &[Given], chosen: &Chosen, said: &Json) {
    let what = format!("{model} {} {}", said["type"], said["options"]);
    let order = chosen.order.as_ref().unwrap();
    for (written, &place) in list(&said["written"]).iter().zip(order) {
        let given = &given[place];
        assert_eq!(given.tensor.name, text(&written[0]), "{what}");
        let crc = crc32fast::hash(&given.written(&chosen.fates[place]));
        assert_eq!(format!("{crc:08x}"), text(&written[3]), "{what} {}", given.tensor.name);
    }
    for ((key, value), last) in chosen.metadata.iter().zip(list(&said["last"])) {
        assert_eq!((&**key, value.to_json()), (text(&last[0]), last[2].clone()), "{what}");
    }
}
