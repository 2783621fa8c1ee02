//! Naming things outside the pickle, and what may be meant by that.
//!
//! ```text
//! GLOBAL        module and name as lines
//! STACK_GLOBAL  both from the stack; the name may have dots
//! getattr(..)   one more dot, spelled as a call
//! ```

use crate::error::{Error, Result};

use super::heap::{Global, Id, Node, Span, grow};
use super::known::{self, Class};
use super::machine::Machine;
use super::opcode::GLOBAL;

impl Machine<'_, '_> {
    pub(super) fn global(&mut self, op: u8) -> Result<()> {
        let (module, name) = if op == GLOBAL {
            (self.line()?, self.line()?)
        } else {
            let (name, module) = (self.pop()?, self.pop()?);
            if self.is_computed(module) || self.is_computed(name) {
                return self.computed_global();
            }
            (self.spelled(module)?, self.spelled(name)?)
        };
        let id = self.name_global(module, name)?;
        grow(&mut self.stack, id, self.budget)
    }

    /// Whether a call would have to be made to know what this is.
    fn is_computed(&self, id: Id) -> bool {
        matches!(self.heap.node(id), Node::Object(_))
    }

    /// A global whose name is the result of a call, which only serves to hide it.
    fn computed_global(&mut self) -> Result<()> {
        let module = self.heap.keep(b"<computed>", self.budget)?;
        let global = Global { module, name: module, class: Class::Dangerous, python2: false };
        let id = self.heap.add_global(global, self.budget)?;
        grow(&mut self.stack, id, self.budget)
    }

    fn spelled(&self, id: Id) -> Result<Span> {
        self.heap.text_span(id).ok_or_else(|| Error::malformed("the name of a global is not text"))
    }

    pub(super) fn name_global(&mut self, module: Span, name: Span) -> Result<Id> {
        let class = self.classify(module, name);
        if class == Class::GetAttr {
            self.attribute_uses = self.attribute_uses.saturating_add(1);
        }
        let global = Global { module, name, class, python2: self.protocol < 3 };
        self.heap.add_global(global, self.budget)
    }

    /// Text may be long and used often, so its length is asked for first.
    fn classify(&self, module: Span, name: Span) -> Class {
        let heap = &self.heap;
        if [module, name].iter().any(|&span| heap.bytes(span).len() > known::LONGEST) {
            return Class::Dangerous;
        }
        known::classify(&heap.text(module), &heap.text(name))
    }

    pub(super) fn class(&self, id: Id) -> Option<Class> {
        match self.heap.node(id) {
            Node::Global(index) => self.heap.global(index).map(|global| global.class),
            _ => None,
        }
    }

    /// `getattr(Class, "name")` is how enumerations and torch's own functions are pickled, and
    /// `getattr(object, "name")` how methods are that belong to an object. It is that, and no
    /// detour, if class and attribute together are not dangerous either.
    pub(super) fn spells_a_name(&self, args: Id) -> bool {
        let Some(&[target, attribute]) = self.heap.tuple(args) else { return false };
        let Some(attribute) = self.heap.text_span(attribute) else { return false };
        let Some(global) = self.class_behind(target) else { return false };
        if self.heap.bytes(attribute).len() > known::LONGEST
            || matches!(global.class, Class::Dangerous | Class::GetAttr)
        {
            return false;
        }
        let attribute = self.heap.text(attribute);
        let name = format!("{}.{attribute}", self.heap.text(global.name));
        let whole = known::classify(&self.heap.text(global.module), &name);
        whole != Class::Dangerous && !attribute.starts_with("__") && !attribute.contains('.')
    }

    /// The class that something is, or is an instance of. What a function returned can be
    /// anything, so only what is spelled like a class counts as one.
    fn class_behind(&self, id: Id) -> Option<&Global> {
        let heap = &self.heap;
        let Some(object) = heap.object(id) else { return heap.class_of(id) };
        let class = match heap.class_of(object.class)? {
            global if global.class == Class::Reconstructor => {
                heap.class_of(*heap.tuple(object.args)?.first()?)?
            }
            global => global,
        };
        let name = heap.bytes(class.name);
        let last = name.rsplit(|&byte| byte == b'.').next()?;
        last.trim_ascii_start().first().is_some_and(u8::is_ascii_uppercase).then_some(class)
    }

    /// `getattr` is harmless only if every time it was pushed it was then called harmlessly.
    pub(super) fn settle_attributes(&mut self) {
        let class = if self.attribute_uses == 0 { Class::Inert } else { Class::Dangerous };
        for global in self.heap.globals_mut().iter_mut().filter(|g| g.class == Class::GetAttr) {
            global.class = class;
        }
    }
}
