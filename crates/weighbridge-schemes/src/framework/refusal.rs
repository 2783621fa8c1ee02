//! Giving a weight up with a reason, which becomes a finding and what the weight says of itself.

/// Returns a reason why something cannot be decoded or encoded, in the words of `format!`.
macro_rules! refuse {
    ($($reason:tt)+) => {
        return Err(format!($($reason)+))
    };
}

/// The same where a condition holds.
macro_rules! refuse_if {
    ($condition:expr, $($reason:tt)+) => {
        if $condition {
            refuse!($($reason)+);
        }
    };
}
