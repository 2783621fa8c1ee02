//! Functions that call another one: what they wrap is what they do.
//!
//! `functools.partial(f)` is as dangerous as `f`, which a pickle may also put there afterwards, as
//! the first item of the state. `operator.methodcaller("x")` calls a method by its name, whatever it
//! is given: that hides what is called, and is dangerous by itself.

use super::danger::{is_dangerous, python3_name};
use super::heap::{Heap, Id, Node, Object};
use super::known::Class;
use crate::text::shortened;

/// Functions whose first argument is what they call.
const WRAPPERS: &[&str] = names! {
    _functools.partial, _functools.reduce, builtins.filter, builtins.map, functools.partial,
    functools.partialmethod, functools.reduce, itertools.dropwhile, itertools.filterfalse,
    itertools.imap, itertools.starmap, itertools.takewhile, operator.attrgetter,
    operator.methodcaller, _operator.attrgetter, _operator.methodcaller,
};

/// Wrappers in wrappers; what goes deeper hides something.
const MAX_NESTING: usize = 4;

/// Characters shown of a method's name.
const MOST_NAME: usize = 80;

/// Whether a global calls what it is given.
pub(super) fn is_wrapper(module: &str, name: &str) -> bool {
    let module = python3_name(module).unwrap_or(module);
    let is =
        |path: &&str| path.strip_suffix(name).and_then(|m| m.strip_suffix('.')) == Some(module);
    WRAPPERS.iter().any(is)
}

/// What a wrapper calls, and what that means.
pub(crate) struct Wrapped {
    /// In words.
    pub(crate) what: String,
    pub(crate) class: Class,
}

/// What a call of a wrapper wraps: its first argument, and the first item of its state.
pub(crate) fn wrapped(heap: &Heap<'_>, object: &Object) -> Vec<Wrapped> {
    wrapped_within(heap, object, MAX_NESTING)
}

fn wrapped_within(heap: &Heap<'_>, object: &Object, nesting: usize) -> Vec<Wrapped> {
    let first = |id: Id| heap.tuple(id).and_then(|items| items.first().copied());
    let hides = heap.class_of(object.class).is_some_and(|global| {
        is_dangerous(&heap.text_start(global.module, 500), &heap.text_start(global.name, 500))
    });
    let mut all = Vec::new();
    let from = [Some(object.args), object.state].into_iter().flatten().filter_map(first);
    for id in from {
        let is_wrapper = |inner: &&Object| heap.class(inner.class) == Some(Class::Wrapper);
        let (what, class) = match heap.node(id) {
            Node::Object(_) => match (heap.object(id).filter(is_wrapper), nesting.checked_sub(1)) {
                (Some(inner), Some(rest)) => {
                    all.extend(wrapped_within(heap, inner, rest));
                    continue;
                }
                (Some(_), None) => ("too many nested wrappers".to_owned(), Class::Dangerous),
                (None, _) => ("the result of a call".to_owned(), Class::Unknown),
            },
            Node::Text(span) | Node::String(span) => {
                let name = shortened(&heap.text_start(span, 500), MOST_NAME);
                (format!("'{name}'"), Class::Unknown)
            }
            _ => match heap.class_of(id) {
                Some(global) => (heap.path_of(global), global.class),
                None => ("a value that is not a function".to_owned(), Class::Unknown),
            },
        };
        all.push(Wrapped { what, class });
    }
    for one in all.iter_mut().filter(|_| hides) {
        one.class = Class::Dangerous;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::is_wrapper;

    #[test]
    fn wrappers_by_all_their_names() {
        for (module, name) in [
            ("functools", "partial"),
            ("builtins", "map"),
            ("__builtin__", "map"),
            ("operator", "methodcaller"),
        ] {
            assert!(is_wrapper(module, name), "{module}.{name}");
        }
        for (module, name) in [("functools", "partial.x"), ("xfunctools", "partial"), ("", "map")] {
            assert!(!is_wrapper(module, name), "{module}.{name}");
        }
    }
}
