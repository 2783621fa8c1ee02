use super::*;
use crate::noise::Noise;

/// The definition: each element by its index.
fn naive(shape: &[u64], strides: &[u64], unit: usize, stored: &[u8]) -> Vec<u8> {
    let all = shape.iter().product::<u64>();
    let mut expected = Vec::new();
    for element in 0..all {
        let (mut rest, mut at) = (element, 0);
        for (side, stride) in shape.iter().zip(strides).rev() {
            at += rest % side * stride;
            rest /= side;
        }
        let start = usize::try_from(at).unwrap() * unit;
        expected.extend_from_slice(&stored[start..start + unit]);
    }
    expected
}

/// Strides of several kinds: a permuted dense array, with gaps, expanded, overlapping.
fn strides_of(random: &mut Noise, shape: &[u64]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, usize::try_from(random.below(at as u64 + 1)).unwrap());
    }
    let mut strides = vec![0; shape.len()];
    let mut step = 1 + random.below(8) / 6 * random.below(4);
    for &dimension in &order {
        strides[dimension] = if random.below(8) == 0 { 0 } else { step };
        match random.below(8) {
            0 => {}
            1 => step = step * shape[dimension] + random.below(40),
            _ => step *= shape[dimension],
        }
    }
    strides
}

#[test]
fn any_stretch_of_any_arrangement_is_what_its_definition_says() {
    let mut random = Noise(1);
    for _ in 0..3000 {
        let rank = usize::try_from(1 + random.below(5)).unwrap();
        let most = [200, 40, 12, 7, 5][rank - 1];
        let shape: Vec<u64> = (0..rank).map(|_| 1 + random.below(most)).collect();
        let strides = strides_of(&mut random, &shape);
        let unit = [1, 2, 3, 4, 8, 16][usize::try_from(random.below(6)).unwrap()];
        let span: u64 = shape.iter().zip(&strides).map(|(side, step)| (side - 1) * step).sum();
        let stored: Vec<u8> =
            (0..(span + 1) * unit as u64).map(|_| random.below(256).to_le_bytes()[0]).collect();
        let expected = naive(&shape, &strides, unit, &stored);
        let all = shape.iter().product::<u64>();
        let first = random.below(all);
        let wanted = if random.below(3) == 0 {
            0..all
        } else {
            first..first + 1 + random.below(all - first)
        };
        let [start, end] = [wanted.start, wanted.end].map(|at| usize::try_from(at).unwrap() * unit);
        let reach = Reach {
            gap: random.below(60),
            buffer: usize::try_from(1 + random.below(2000)).unwrap(),
        };
        let mut read = |at: u64, out: &mut [u8]| {
            assert!(out.len() <= reach.buffer.max(unit), "{} of {reach:?}", out.len());
            let at = usize::try_from(at).unwrap();
            out.copy_from_slice(&stored[at..at + out.len()]);
            Ok(())
        };
        let mut staged = vec![0; end - start];
        let mut lent = staged.clone();
        for region in regions(&shape, &strides, &wanted).unwrap() {
            assert!(region.last <= span);
            gather(reach, &region, unit, &mut staged, &mut read).unwrap();
            region.copy(unit, &stored, &mut lent);
        }
        assert!(
            staged == expected[start..end],
            "{shape:?} {strides:?} {unit} {wanted:?} {reach:?}"
        );
        assert!(lent == expected[start..end], "{shape:?} {strides:?} {unit} {wanted:?}");
    }
}

/// A tile of some rows of a column-major array is read in as many stretches as it has columns, or
/// in fewer where they lie close.
#[test]
fn close_stretches_are_read_at_once() {
    let reads = |rows: u64, columns: u64, tile: u64| {
        let [region] = &regions(&[rows, columns], &[1, rows], &(0..tile * columns)).unwrap()[..]
        else {
            panic!("one region");
        };
        let mut out = vec![0; usize::try_from(tile * columns * 4).unwrap()];
        let (mut count, mut bytes) = (0, 0);
        gather(NEAR, region, 4, &mut out, &mut |_, out| {
            (count, bytes) = (count + 1, bytes + out.len());
            Ok(())
        })
        .unwrap();
        (count, bytes)
    };
    assert_eq!(reads(16384, 1000, 128), (1000, 128 * 4 * 1000));
    let (count, bytes) = reads(1000, 1000, 128);
    assert!(count < 20 && bytes <= 4_000_000, "{count} reads of {bytes} bytes");
    // An expanded row is read once.
    let [region] = &regions(&[1000, 50], &[0, 1], &(0..50_000)).unwrap()[..] else {
        panic!("one region")
    };
    let mut count = 0;
    gather(NEAR, region, 4, &mut vec![0; 200_000], &mut |_, _| {
        count += 1;
        Ok(())
    })
    .unwrap();
    assert_eq!(count, 1);
}

#[test]
fn what_cannot_be_counted_is_no_region() {
    assert_eq!(regions(&[4, 4], &[u64::MAX / 2, 1], &(0..16)), None);
    assert_eq!(regions(&[u64::MAX, 2], &[1, 1], &(0..16)), None);
    assert_eq!(regions(&[], &[], &(0..1)).unwrap().len(), 1);
    assert!(regions(&[0, 4], &[1, 1], &(0..0)).unwrap().is_empty());
}
