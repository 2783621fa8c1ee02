//! Headers as numpy writes them; archives are read again whole in `tests/`.

use super::*;
use crate::dtype::DType;
use crate::dtype::StoredType;

#[test]
fn headers_are_numpys() {
    let header_of = |dtype, shape: &[u64]| {
        let stored = StoredType::Element(dtype);
        header(&Planned { name: "a", stored: &stored, shape, bytes: 0 })
    };
    // `numpy.lib.format.write_array_header_1_0` of numpy 2.3, but for the spaces that it leaves
    // for a first dimension to grow.
    for (dtype, shape, text) in [
        (DType::F32, &[][..], "{'descr': '<f4', 'fortran_order': False, 'shape': (), }"),
        (DType::Bool, &[3], "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }"),
        (DType::C128, &[2, 3], "{'descr': '<c16', 'fortran_order': False, 'shape': (2, 3), }"),
    ] {
        let bytes = header_of(dtype, shape);
        assert_eq!(bytes[..8], *b"\x93NUMPY\x01\x00");
        assert_eq!(bytes.len() % 64, 0);
        assert_eq!(usize::from(u16::from_le_bytes([bytes[8], bytes[9]])), bytes.len() - 10);
        let written = std::str::from_utf8(&bytes[10..]).unwrap();
        assert!(written.ends_with('\n'));
        assert_eq!(written.trim_end(), text);
    }
}

#[test]
fn what_numpy_cannot_make_an_array_of_is_refused() {
    let refused = |shape: &[u64]| {
        let stored = StoredType::Element(DType::F64);
        let tensor = Planned { name: "a", stored: &stored, shape, bytes: 0 };
        assert_eq!(Npz.refuses(&tensor), Npy.refuses(&tensor));
        Npz.refuses(&tensor)
    };
    // numpy 2.4: `np.empty((0, 2**60), 'f8')` is "too big", `np.empty((0, 2**59), 'f8')` is fine.
    assert!(refused(&[0, 1 << 60]).unwrap().contains("too large for numpy"));
    assert_eq!(refused(&[0, 1 << 59]), None);
    assert!(refused(&[0, u64::MAX]).unwrap().contains("too large"));
    assert!(refused(&[1; 65]).unwrap().contains("at most 64"));
    assert_eq!(refused(&[1; 64]), None);
}

#[test]
fn what_numpy_has_no_name_for_is_refused() {
    let refused = |dtype| {
        let stored = StoredType::Element(dtype);
        Npz.refuses(&Planned { name: "a", stored: &stored, shape: &[2], bytes: 2 })
    };
    assert!(refused(DType::BF16).unwrap().contains("to f32 or f16"));
    assert!(refused(DType::F8_E4M3).unwrap().contains("F8_E4M3"));
    assert!(refused(DType::C32).unwrap().contains("C32"));
    assert_eq!(refused(DType::F16), None);
}
