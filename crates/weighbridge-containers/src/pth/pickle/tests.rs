//! Small programs, and hostile ones.

use super::*;
use crate::error::ErrorKind;
use crate::limits::{Budget, Limits};

fn budget() -> Budget {
    Budget::new(Limits::default())
}

fn root(bytes: &[u8]) -> (Program<'_>, Node) {
    let program = run(bytes, 0, &budget()).unwrap();
    let node = program.heap.node(program.root.expect("a whole pickle"));
    (program, node)
}

#[test]
fn values_of_all_protocols() {
    assert!(matches!(root(b"I-5\n.").1, Node::Int(-5)));
    assert!(matches!(root(b"I01\n.").1, Node::Bool(true)));
    assert!(matches!(root(b"L7L\n.").1, Node::Int(7)));
    assert!(matches!(root(b"F1.5\n.").1, Node::Float(1.5)));
    assert!(matches!(root(b"\x80\x02\x8a\x01\xff.").1, Node::Int(-1)));
    assert!(matches!(root(b"\x80\x02\x8a\x00.").1, Node::Int(0)));
    assert!(matches!(root(b"J\xff\xff\xff\xff.").1, Node::Int(-1)));
    assert!(matches!(root(b"G\x3f\xf8\0\0\0\0\0\0.").1, Node::Float(1.5)));
    let (program, node) = root(b"S'a\\x41'\n.");
    let Node::String(span) = node else { panic!("{node:?}") };
    assert_eq!(program.heap.bytes(span), b"aA");
    let (program, node) = root(b"\x80\x04\x8c\x02hi\x94.");
    let Node::Text(span) = node else { panic!("{node:?}") };
    assert_eq!((&*program.heap.text(span), program.heap.offset(span)), ("hi", Some(4)));
}

#[test]
fn a_dict_that_contains_itself() {
    let (program, node) = root(b"}q\x00(X\x01\x00\x00\x00ah\x00u.");
    let Node::Dict(seq) = node else { panic!("{node:?}") };
    let pairs: Vec<_> = program.heap.pairs(seq).collect();
    assert_eq!(pairs.len(), 1);
    assert_eq!(Some(pairs[0].1), program.root);
}

#[test]
fn lists_grow_in_turns() {
    // two lists, filled alternately
    let (program, node) = root(b"]q\x00K\x01a]q\x01K\x02a0h\x00K\x03ah\x01\x86.");
    let Node::Tuple { .. } = node else { panic!("{node:?}") };
    let outer = program.heap.tuple(program.root.unwrap()).unwrap();
    let Node::List(seq) = program.heap.node(outer[0]) else { panic!() };
    let items: Vec<_> = program.heap.items(seq).map(|id| program.heap.int(id)).collect();
    assert_eq!(items, [Some(1), Some(3)]);
}

#[test]
fn nesting_is_no_recursion() {
    let mut deep = vec![b']'; 200_000];
    deep.extend(vec![b'a'; 199_999]);
    deep.push(b'.');
    assert!(matches!(root(&deep).1, Node::List(_)));
    let mut deep = vec![b'N'];
    deep.extend(vec![0x85; 200_000]);
    deep.push(b'.');
    assert!(matches!(root(&deep).1, Node::Tuple { .. }));
}

#[test]
fn getattr_is_judged_by_its_use() {
    let class = |bytes: &[u8]| run(bytes, 0, &budget()).unwrap().heap.globals()[0].class;
    let name = b"c__builtin__\ngetattr\n";
    let harmless = [&name[..], b"cmylab\nKind\nX\x03\0\0\0RED\x86R."].concat();
    assert_eq!(class(&harmless), Class::Inert);
    // A method of an object, which fused convolutions and old learning rate schedules have.
    let method = [&name[..], b"cmodels.common\nConv\n)\x81X\x0c\0\0\0forward_fuse\x86R."].concat();
    assert_eq!(class(&method), Class::Inert);
    let private =
        [&name[..], b"ctorch.optim.lr_scheduler\nOneCycleLR\nX\x02\0\0\0_a\x86R."].concat();
    assert_eq!(class(&private), Class::Inert);
    let result = [&name[..], b"cmylab\nfind\n)RX\x02\0\0\0go\x86R."].concat();
    assert_eq!(class(&result), Class::Dangerous);
    let writes = [&name[..], b"cpathlib\nPosixPath\n)RX\x05\0\0\0touch\x86R."].concat();
    assert_eq!(class(&writes), Class::Dangerous);
    let through = [&name[..], b"ctorch.nn.modules.module\ntorch\nX\x04\0\0\0load\x86R."].concat();
    assert_eq!(class(&through), Class::Dangerous);
    let only_named = [&name[..], b"."].concat();
    assert_eq!(class(&only_named), Class::Dangerous);
    let detour = [&name[..], b"cmylab\nos\nX\x06\0\0\0system\x86R."].concat();
    assert_eq!(class(&detour), Class::Dangerous);
    let handed_on = [&name[..], b"q\0cmylab\nKind\nX\x03\0\0\0RED\x86R0h\0."].concat();
    assert_eq!(class(&handed_on), Class::Dangerous);
    let inst = b"(Ni__builtin__\ngetattr\n.";
    assert_eq!(class(inst), Class::Dangerous);
}

#[test]
fn names_in_disguise() {
    let classes = |bytes: &[u8]| -> Vec<Class> {
        run(bytes, 0, &budget()).unwrap().heap.globals().iter().map(|g| g.class).collect()
    };
    // Octal escapes, and a name that a call would give.
    assert_eq!(classes(b"S'\\157s'\nS'\\163ystem'\n\x93."), [Class::Dangerous]);
    assert_eq!(classes(b"V\\u006fs\nVsystem\n\x93."), [Class::Dangerous]);
    let computed = b"c__builtin__\nstr\nC\x02osX\x05\0\0\0ascii\x86RX\x06\0\0\0system\x93.";
    assert_eq!(classes(computed), [Class::Inert, Class::Dangerous]);
    let long = [&b"c"[..], &b"a.".repeat(1000), b"b\nc\n."].concat();
    assert_eq!(classes(&long), [Class::Dangerous]);
}

#[test]
fn faults_keep_what_was_made() {
    for bytes in [
        &b"cos\nsystem\n"[..],
        b"cos\nsystem\na.",
        b"cos\nsystem\n\x82\x01.",
        b"cos\nsystem\n\x97.",
        b"cos\nsystem\nh\x09.",
        b"cos\nsystem\n(1\xff",
        b"cos\nsystem\n(\x85.",
        b"cos\nsystem\nX\xff\xff\xff\xffa",
    ] {
        let program = run(bytes, 100, &budget()).unwrap();
        assert_eq!(program.heap.globals()[0].class, Class::Dangerous);
        let failure = program.failure.expect("a fault");
        assert_eq!(failure.kind(), ErrorKind::Malformed);
        assert!(failure.offset().unwrap() >= 100);
        assert!(program.root.is_none());
    }
}

#[test]
fn limits_hold() {
    let steps = Budget::new(Limits::default().max_pickle_steps(10));
    let many = [b"N0".repeat(20), b"N.".to_vec()].concat();
    assert_eq!(run(&many, 0, &steps).err().unwrap().kind(), ErrorKind::Limit);
    let memory = Budget::new(Limits::default().max_total(4096));
    let many = [b"N".repeat(10_000), b".".to_vec()].concat();
    assert_eq!(run(&many, 0, &memory).err().unwrap().kind(), ErrorKind::Limit);
    // A memo number out of line does not make the memo long.
    let far = b"Nr\xff\xff\xff\x7fj\xff\xff\xff\x7f.";
    assert!(run(far, 0, &Budget::new(Limits::default().max_total(8192))).unwrap().root.is_some());
}
