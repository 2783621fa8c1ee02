//! Pickles that are made to keep a reader busy, and a byte order that nobody knows.

use std::path::Path;

use weighbridge::internals::input::Input;
use weighbridge::{ErrorKind, Limits};

use crate::common::torch::{open, open_within, sha};

fn text(text: &[u8]) -> Vec<u8> {
    [&b"X"[..], &u32::try_from(text.len()).unwrap().to_le_bytes(), text].concat()
}

/// How often something is repeated: this squared is more than any limit.
const MANY: usize = 200_000;

/// Small pickles that would keep a careless walk busy for hours, each with what it is about.
fn tangles() -> Vec<(&'static str, Vec<u8>)> {
    let ints = || [&b"]("[..], &b"K\x01".repeat(MANY), b"e"].concat();
    let often = |what: &[u8], again: &[u8]| {
        [b"\x80\x02", what, b"q\x000](", &again.repeat(MANY), b"e."].concat()
    };
    let long = text(&b"x".repeat(20 << 20));
    let globals = (0..MANY).flat_map(|i| format!("cmylab\nf{i}\n0").into_bytes());
    let encoded = [b"c_codecs\nencode\n", &long[..], b"X\x06\0\0\0latin1\x86R"].concat();
    let dtype = b"cnumpy\ndtype\nX\x02\0\0\0f4K\0K\x01\x87R(K\x03X\x01\0\0\0<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb";
    let array = [
        &b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85X\x01\0\0\0b\x87R(K\x01J"
            [..],
        &(5u32 << 20).to_le_bytes(),
        b"\x85",
        dtype,
        b"\x89",
        &encoded,
        b"tb",
    ]
    .concat();
    let meta = b"ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat32\nK\x01\x85K\x01\x85\x89tR";
    let with_tensor = [&b"]("[..], &b"K\x01".repeat(MANY), meta, b"e"].concat();
    let entries: Vec<u8> =
        (0..MANY).flat_map(|i| [text(&i.to_le_bytes()), b"N".to_vec()].concat()).collect();
    let state = [&b"}("[..], &entries, b"u"].concat();
    let tuple = |inner: &[u8]| [inner, &b"2".repeat(31), b"t"].concat();
    let mut key = [b"(", &text(&b"k".repeat(100_000))[..]].concat();
    key = tuple(&key);
    for _ in 0..3 {
        key = tuple(&[b"(", &key[..]].concat());
    }
    vec![
        ("globals", [b"\x80\x02".to_vec(), globals.collect(), b"N.".to_vec()].concat()),
        ("lists", often(&ints(), b"h\0")),
        ("lists with a dict", often(&[&ints()[..], b"}a"].concat(), b"h\0")),
        ("lists with a tensor", often(&with_tensor, b"h\0")),
        ("states", often(&state, b"cmylab\nNet\n)\x81h\0b")),
        ("text", often(&long, b"h\0")),
        ("names", often(&long, b"h\0h\0\x93")),
        ("keys", [b"\x80\x02", &long[..], b"q\x000}(", &b"h\0N".repeat(MANY), b"u."].concat()),
        (
            "entries",
            [b"\x80\x02", &long[..], b"q\x000cmylab\nMap\n)R(", &b"h\0}".repeat(MANY), b"u."]
                .concat(),
        ),
        ("arrays", often(&array, b"h\0")),
        ("tuples", [b"\x80\x02}", &key[..], b"]s."].concat()),
    ]
}

/// A walk that did not count its steps would not come back from these.
#[test]
fn tangles_are_given_up_soon() {
    let limits = Limits::default().max_pickle_steps(20 * MANY as u64);
    for (what, pickle) in tangles() {
        let tangle = Input::from_bytes(pickle, "tangle.pkl");
        if let Err(error) = open_within(tangle, false, limits.clone()) {
            assert_eq!(error.kind(), ErrorKind::Limit, "{what}: {error}");
        }
    }
}

#[test]
fn an_unknown_byte_order_is_not_guessed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("files/pth");
    let mut bytes = std::fs::read(folder.join("state_dict.pth")).unwrap();
    let at = bytes.windows(6).position(|window| window == b"little").expect("the record");
    bytes[at..at + 6].copy_from_slice(b"middle");
    let source = open(Input::from_bytes(bytes, "state_dict.pth"), false).unwrap();
    assert!(source.catalog().findings.iter().any(|f| f.kind == "unknown-byte-order"));
    let index = source.catalog().tensors.iter().position(|t| t.bytes > 8).unwrap();
    assert!(sha(&source, index).unwrap_err().to_string().contains("order"));
}

/// A checkpoint of a training is its model; the rest is named, and can be chosen.
#[test]
fn the_model_of_a_training_is_taken() {
    use crate::common::root;
    use weighbridge::{Model, OpenOptions};
    let folder = root().join("tests/files/pth");
    for (name, key, beside, state) in [
        ("lightning_trained.ckpt", "state_dict", "optimizer_states", 18),
        ("optimizer.pth", "model", "optimizer", 18),
        ("old_1_6_checkpoint.pth.tar", "state_dict", "optimizer", 12),
    ] {
        let model = Model::open(folder.join(name)).unwrap();
        assert_eq!((model.weights().len(), model.findings()), (9, &[][..]), "{name}");
        assert!(model.weights().all(|weight| !weight.name().starts_with(key)));
        let note = model.notes().iter().find(|note| note.contains("training")).unwrap();
        assert!(note.contains(&format!("the model's tensors are under `{key}`")), "{note}");
        assert!(note.contains(&format!("`{beside}` ({state} tensors)")), "{note}");
        let other = OpenOptions::new().root(beside).open(folder.join(name)).unwrap();
        assert_eq!(other.weights().len(), state, "{name}");
    }
    let note = "`callbacks` (1 tensor), `optimizer_states` (18 tensors)";
    let model = Model::open(folder.join("lightning_trained.ckpt")).unwrap();
    assert!(model.notes().iter().any(|found| found.contains(note)), "{:?}", model.notes());
    // A second model beside it is not something to leave out.
    let both = Model::open(folder.join("not_wrapped_ema.pth")).unwrap();
    assert!(both.weights().any(|weight| weight.name().starts_with("ema.")));
}

#[test]
fn a_name_that_is_not_utf8_is_a_problem_of_its_tensor() {
    let meta = b"ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat32\nK\x01\x85K\x01\x85\x89tR";
    let key = |bytes: &[u8]| [&text(bytes)[..], meta, b"s"].concat();
    let pickle = [&b"\x80\x02}"[..], &key(b"right"), &key(b"lone \xed\xa0\x80"), b"."].concat();
    let source = open(Input::from_bytes(pickle, "x.pth"), false).unwrap();
    let findings = &source.catalog().findings;
    let found = findings.iter().find(|finding| finding.kind == "name-encoding").unwrap();
    assert!(found.tensor.as_ref().unwrap().starts_with("lone"), "{found:?}");
    assert!(found.message.contains("(byte "), "{found:?}");
    let encoded = findings.iter().filter(|finding| finding.kind == "name-encoding").count();
    assert_eq!(encoded, 1, "{findings:?}");
}
