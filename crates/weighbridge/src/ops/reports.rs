//! What all reports have in common.

/// Structs of reports: the names of their fields are the JSON contract, and the guide describes
/// each of them. A report may get more fields.
macro_rules! reports {
    ($($(#[$about:meta])* pub struct $name:ident { $($fields:tt)* })*) => {
        $(
            $(#[$about])*
            #[derive(Debug, serde::Serialize)]
            #[allow(missing_docs)]
            #[non_exhaustive]
            pub struct $name { $($fields)* }
        )*
    };
}

pub(super) use reports;
