//! Facts that a scheme or a quantizer states about itself.

/// Defines methods that only return a value, as a list: `facts! { name: "of a member", }`.
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
    ($($(#[$condition:meta])? $fact:ident: $value:expr,)+) => {
        $(
            $(#[$condition])?
            fn $fact(&self) -> facts!(type $fact) {
                $value
            }
        )+
    };
}
