//! Weights of few rows: one changed row is no sign that scales were fitted again.

use weighbridge::ops::Status;
use weighbridge::{DType, Model};

use super::compare;
use super::matrices::{changed_model, folder, originals};

/// Moves one number that is stored as zero by three steps, in a matrix of eight rows.
#[test]
fn an_element_is_found_where_there_are_few_rows() {
    let stored = Model::open(folder().join("plain.gguf")).unwrap();
    let originals = originals();
    for (kind, gaps) in [("Q4_0", 15.0), ("Q4_1", 15.0), ("Q5_0", 31.0), ("Q5_1", 31.0)] {
        let name = format!("sparse.{kind}");
        let mut planted = None;
        let altered = changed_model(&stored, &["sparse"], DType::F32, |of, weight| {
            let mut matrix = originals["sparse"].clone();
            if of == name {
                let stored: Vec<f32> = weight.decode_to_vec().unwrap();
                let most = |block: &[f32]| block.iter().fold(0.0_f32, |most, x| most.max(*x));
                let least = |block: &[f32]| block.iter().fold(0.0_f32, |least, x| least.min(*x));
                let spread = |block: &[f32]| most(block) - least(block);
                let at = stored.chunks(32).position(|block| spread(block) > 0.1).unwrap();
                let block = &stored[32 * at..32 * at + 32];
                let smallest = |i: &usize, j: &usize| block[*i].abs().total_cmp(&block[*j].abs());
                let place = 32 * at + (0..32).min_by(smallest).unwrap();
                let up = if most(block) > -least(block) { 3.0 } else { -3.0 };
                matrix.values[place] += up * spread(block) / gaps;
                planted = Some([place / matrix.columns, place % matrix.columns]);
            }
            matrix
        });
        for is_reversed in [false, true] {
            let report = compare(&altered, &stored, is_reversed);
            let tensor = report.tensors.iter().find(|tensor| tensor.name_a == name).unwrap();
            assert_eq!(tensor.status, Status::Changed, "{kind}: {tensor:?}");
            let place = tensor.places[0].index.clone();
            assert_eq!(place, planted.unwrap().map(|at| at as u64), "{kind}");
            assert_eq!(tensor.outside_rows, Some(1));
        }
    }
}
