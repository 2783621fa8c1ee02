//! Rejects a weight with a reason, which becomes a finding and the weight's own message.

/// Returns a reason why something cannot be decoded or encoded, formatted as by `format!`.
macro_rules! refuse {
    ($($reason:tt)+) => {
        return Err(format!($($reason)+))
    };
}

/// Returns a reason as `refuse!` does, if a condition holds.
macro_rules! refuse_if {
    ($condition:expr, $($reason:tt)+) => {
        if $condition {
            refuse!($($reason)+);
        }
    };
}
