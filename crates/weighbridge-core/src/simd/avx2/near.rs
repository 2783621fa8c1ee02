//! Whether originals lie near their numbers, eight at a time.

use std::arch::x86_64::*;

use crate::simd::near::{Cells, EvenReach, FloatReach, Reach as _};

type Eight = [f32; 8];

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn load(eight: &Eight) -> __m256 {
    // SAFETY: there are eight numbers.
    unsafe { _mm256_loadu_ps(eight.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn size(x: __m256) -> __m256 {
    _mm256_andnot_ps(_mm256_set1_ps(-0.0), x)
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn even(reach: &EvenReach, values: &[f32], originals: &[f32]) -> bool {
    let ((values, rest), (originals, others)) = (values.as_chunks(), originals.as_chunks());
    let constant = _mm256_set1_ps(reach.constant);
    let mut far = _mm256_setzero_ps();
    if reach.of_distance == 0.0 {
        for (value, original) in values.iter().zip(originals) {
            let apart = size(_mm256_sub_ps(load(original), load(value)));
            far = _mm256_or_ps(far, _mm256_cmp_ps::<_CMP_NLE_UQ>(apart, constant));
        }
    } else {
        let (zero, of_distance) = (_mm256_set1_ps(reach.zero), _mm256_set1_ps(reach.of_distance));
        for (value, original) in values.iter().zip(originals) {
            let value = load(value);
            let more = _mm256_mul_ps(size(_mm256_sub_ps(value, zero)), of_distance);
            let apart = _mm256_sub_ps(size(_mm256_sub_ps(load(original), value)), more);
            far = _mm256_or_ps(far, _mm256_cmp_ps::<_CMP_NLE_UQ>(apart, constant));
        }
    }
    _mm256_movemask_ps(far) == 0 && reach.hold_all(rest, others)
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn floats(reach: &FloatReach, values: &[f32], originals: &[f32]) -> bool {
    let ((values, rest), (originals, others)) = (values.as_chunks(), originals.as_chunks());
    let FloatReach { inverse, smallest_normal, step, constant, of_value, most } = *reach;
    let [inverse, smallest_normal, step, constant, of_value, most] =
        [inverse, smallest_normal, step, constant, of_value, most].map(|one| _mm256_set1_ps(one));
    let exponent = _mm256_set1_ps(f32::INFINITY);
    let [mut far, mut largest] = [_mm256_setzero_ps(); 2];
    for (value, original) in values.iter().zip(originals) {
        let (value, original) = (load(value), load(original));
        let (stored, size_of_original) = (size(value), size(original));
        // If either is NaN, so is the difference.
        largest = _mm256_max_ps(largest, size_of_original);
        let smaller = _mm256_mul_ps(_mm256_min_ps(size_of_original, stored), inverse);
        let power = _mm256_max_ps(_mm256_and_ps(smaller, exponent), smallest_normal);
        let apart = size(_mm256_sub_ps(original, value));
        let apart = _mm256_sub_ps(apart, _mm256_mul_ps(stored, of_value));
        let apart = _mm256_sub_ps(apart, _mm256_mul_ps(power, step));
        far = _mm256_or_ps(far, _mm256_cmp_ps::<_CMP_NLE_UQ>(apart, constant));
    }
    far = _mm256_or_ps(far, _mm256_cmp_ps::<_CMP_NLE_UQ>(largest, most));
    _mm256_movemask_ps(far) == 0 && reach.hold_all(rest, others)
}

/// Four comparisons find a cell among sixteen. A comparison gives minus one, so that places are
/// counted downward, and tables are turned: place `k` is in lane `-k`.
struct Search {
    /// The edges that are compared first: the middle one, and those of the quarters.
    first: [__m256; 3],
    /// Those of the eighths, and of the sixteenths.
    then: [__m256; 2],
    /// The lower edges of the cells, the upper ones, each in two halves.
    edges: [[__m256; 2]; 2],
}

impl Search {
    #[inline]
    #[target_feature(enable = "avx2,f16c,fma")]
    fn of(Cells { edges, .. }: &Cells) -> Self {
        let from = |start: usize| -> Eight { std::array::from_fn(|lane| edges[start + lane]) };
        let [lower, later] = [load(&from(0)), load(&from(8))];
        let [upper, last] = [load(&from(1)), load(&from(9))];
        let turned = _mm256_setr_epi32(0, 7, 6, 5, 4, 3, 2, 1);
        let turn = |x: __m256| _mm256_permutevar8x32_ps(x, turned);
        // Edges 2, 10, 6, 14, each twice.
        let eighths = _mm256_shuffle_ps::<0xaa>(lower, later);
        // Edges 1, 3, 9, 11, 5, 7, 13, 15.
        let sixteenths = _mm256_shuffle_ps::<0x88>(upper, last);
        Self {
            first: [8, 4, 12].map(|index: usize| _mm256_set1_ps(edges[index])),
            then: [
                _mm256_permutevar8x32_ps(eighths, _mm256_setr_epi32(0, 0, 0, 0, 0, 6, 2, 4)),
                _mm256_permutevar8x32_ps(sixteenths, _mm256_setr_epi32(0, 7, 6, 3, 2, 5, 4, 1)),
            ],
            edges: [[turn(lower), turn(later)], [turn(upper), turn(last)]],
        }
    }
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn next(place: __m256i, is_passed: __m256) -> __m256i {
    _mm256_add_epi32(_mm256_add_epi32(place, place), _mm256_castps_si256(is_passed))
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn in_cells(cells: &Cells, values: &[f32], originals: &[f32]) -> bool {
    let ((values, rest), (originals, others)) = (values.as_chunks(), originals.as_chunks());
    let Search { first: [middle, quarter, three_quarters], then, edges } = Search::of(cells);
    let [constant, of_value] = [cells.constant, cells.of_value].map(|x| _mm256_set1_ps(x));
    let mut far = _mm256_setzero_ps();
    for (value, original) in values.iter().zip(originals) {
        let (value, original): (__m256, __m256) = (load(value), load(original));
        let is_upper = _mm256_cmp_ps::<_CMP_GT_OQ>(value, middle);
        let edge = _mm256_blendv_ps(quarter, three_quarters, is_upper);
        let mut place = next(_mm256_set1_epi32(0), is_upper);
        place = next(place, _mm256_cmp_ps::<_CMP_GT_OQ>(value, edge));
        for table in then {
            let edge = _mm256_permutevar8x32_ps(table, place);
            place = next(place, _mm256_cmp_ps::<_CMP_GT_OQ>(value, edge));
        }
        let [below, above] = edges.map(|[lower, upper]| {
            let lower = _mm256_permutevar8x32_ps(lower, place);
            _mm256_blendv_ps(lower, _mm256_permutevar8x32_ps(upper, place), is_upper)
        });
        let more = _mm256_add_ps(_mm256_mul_ps(size(value), of_value), constant);
        let [higher, lower] = [_mm256_add_ps(original, more), _mm256_sub_ps(original, more)];
        far = _mm256_or_ps(far, _mm256_cmp_ps::<_CMP_NGE_UQ>(higher, below));
        far = _mm256_or_ps(far, _mm256_cmp_ps::<_CMP_NLE_UQ>(lower, above));
    }
    _mm256_movemask_ps(far) == 0 && cells.hold_all(rest, others)
}
