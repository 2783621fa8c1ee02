//! Facts: what a scheme, a quantizer or an encoder states about itself.

/// Methods that only state something, a line for each: `facts! { self; name: self.name, }`.
macro_rules! facts {
    (type name) => { &'static str };
    (type about) => { &'static str };
    (type types) => { Vec<crate::dtype::StoredType> };
    (type methods) => { &'static [crate::framework::Method] };
    (type config_files) => { &'static [crate::framework::ConfigFile] };
    (type config_keys) => { &'static [&'static str] };
    (type layer_formats) => { &'static [&'static str] };
    (type layouts) => { &'static [&'static dyn crate::framework::TargetLayout] };
    (type quantizers) => { &'static [&'static dyn crate::framework::Quantizer] };
    (type traces) => { crate::framework::Traces };
    ($this:ident; $($(#[$condition:meta])? $fact:ident: $value:expr,)+) => {
        $(
            $(#[$condition])?
            fn $fact(&$this) -> facts!(type $fact) {
                $value
            }
        )+
    };
}
