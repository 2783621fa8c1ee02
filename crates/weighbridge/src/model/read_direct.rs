//! Numbers that are stored in the wanted type are read directly into the caller's slice.

use std::ops::Range;

use super::Weight;
use crate::error::Result;
use crate::schemes::{Element, Entry, plain};

impl Weight {
    /// Reads some elements of a plain weight that is stored in the wanted type; they fill `out`.
    /// `None` where there is something to decode, or where the bytes are in memory already.
    pub(super) fn read_direct<T: Element>(
        &self,
        elements: &Range<u64>,
        out: &mut [T],
    ) -> Option<Result<()>> {
        let Entry::Plain(id) = self.entry() else { return None };
        let (source, info) = self.model().stored(*id);
        let is_wanted = info.stored.element() == Some(T::DTYPE);
        // What is read is little-endian, whatever the file is.
        if !is_wanted || cfg!(target_endian = "big") || source.input().lent().is_some() {
            return None;
        }
        let slab = plain::recipe(info).ok()?.slab(elements);
        Some(source.copy(info, &slab, bytemuck::cast_slice_mut(out)))
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use crate::schemes::Element;
    use crate::{FileAccess, Model, OpenOptions, Scratch, Weight};

    /// Every plain weight of some samples of either byte order and any order in memory, in every
    /// type, whole and in part: as from a map, which lends its bytes.
    #[test]
    fn what_is_read_direct_is_what_is_lent() {
        let files = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files");
        let open =
            |path: &str, access| OpenOptions::new().access(access).open(files.join(path)).unwrap();
        let mut direct = 0;
        for path in SAMPLES {
            let [map, read] = [FileAccess::Map, FileAccess::Read].map(|access| open(path, access));
            assert_eq!(map.weights().count(), read.weights().count());
            for (lent, weight) in map.weights().zip(read.weights()) {
                if weight.undecodable().is_none() && weight.elements() > 0 {
                    direct += compare::<f32>(&lent, &weight);
                    direct += compare::<bf16>(&lent, &weight);
                    direct += compare::<f16>(&lent, &weight);
                }
            }
        }
        assert!(direct > 20, "{direct}");
    }

    const SAMPLES: [&str; 9] = [
        "names/llama/hf",
        "npy/float16-big-endian.npy",
        "npy/float32-big-endian.npy",
        "npy/fortran-big-endian.npy",
        "npy/bfloat16-fortran.npy",
        "gguf/big-endian.gguf",
        "gguf/tensor-types.gguf",
        "npz/deflated.npz",
        "pth/views.pth",
    ];

    /// 1 if it was read directly, otherwise 0.
    fn compare<T: Element>(lent: &Weight, weight: &Weight) -> usize {
        let all = 0..weight.elements();
        for range in [all.clone(), all.end / 3..all.end - all.end / 4] {
            let len = usize::try_from(range.end - range.start).unwrap();
            let [mut wanted, mut found] = [(); 2].map(|()| vec![T::default(); len]);
            let scratch = &mut Scratch::default();
            lent.decode_elements_with(range.clone(), &mut wanted, scratch).unwrap();
            weight.decode_elements_with(range, &mut found, scratch).unwrap();
            let bytes = |numbers: &[T]| bytemuck::cast_slice::<T, u8>(numbers).to_vec();
            assert!(bytes(&wanted) == bytes(&found), "{} to {:?}", weight.name(), T::DTYPE);
        }
        let mut out = vec![T::default(); weight.len()];
        usize::from(weight.read_direct(&all, &mut out).is_some())
    }

    /// What cannot be read is refused, not left as it was.
    #[test]
    fn a_file_that_became_shorter_is_an_error() {
        let path = std::env::temp_dir().join(format!("weigh-direct-{}.npy", std::process::id()));
        let header =
            format!("{:117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (50000,), }");
        let mut bytes = [b"\x93NUMPY\x01\x00v\x00", header.as_bytes()].concat();
        bytes.resize(bytes.len() + 200_000, 1);
        std::fs::write(&path, &bytes).unwrap();
        let model: Model = OpenOptions::new().access(FileAccess::Read).open(&path).unwrap();
        let weight = model.weights().next().unwrap();
        let mut out = vec![0f32; 50_000];
        weight.decode_into(&mut out).unwrap();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1000).unwrap();
        let message = weight.decode_into(&mut out).unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(message.contains("the file shrank"), "{message}");
    }
}
