//! The table of combinations: what does not go with what, why, and the words of the error.
//!
//! An entry is a function that makes the error, or the NOTICE of an option that has no effect. Its fields:
//!
//! | field | holds |
//! |---|---|
//! | `what`, `with` | the two that do not go together, as the manual names them |
//! | `why` | `mathematics`: it would mean nothing, or what is asked for contradicts itself; `decision`: it could be done, and we decided against it; `not_yet`: it could be done, and nobody has done it yet; `no_effect`: it is accepted and changes nothing |
//! | `message`, `detail`, `hint` | the error's or the NOTICE's, with its placeholders |
//! | `reason` | the manual's reason where that is not the DETAIL |
//! | `code` | the SQLSTATE, where that is not 22023 |
//!
//! `scripts/combinations` makes docs/reference/combinations.md of these files; tests/e2e/test_composition.py tries trainers with
//! capabilities and finds each error here. What is wrong with one value alone is no combination. Pure.

pub mod choosing;
pub mod following;
pub mod kernels;
pub mod losses;
pub mod models;
pub mod no_effect;
pub mod novelty;
pub mod options;
pub mod regression;
pub mod scans;

/// The code of an entry: that of an invalid argument unless it names another.
macro_rules! code {
    () => {
        $crate::base::errors::Code::ERRCODE_INVALID_PARAMETER_VALUE
    };
    ($code:ident) => {
        $crate::base::errors::Code::$code
    };
}

/// Entries of the table as functions of their placeholders.
macro_rules! combinations {
    ($($name:ident($($placeholder:ident),*) {
        what: $what:literal,
        with: $with:literal,
        why: $why:ident,
        $(code: $code:ident,)?
        message: $message:literal,
        $(detail: $detail:literal,)?
        $(reason: $reason:literal,)?
        $(hint: $hint:literal,)?
    })*) => {$(
        #[doc = concat!($what, " with ", $with, ": ", stringify!($why), ".")]
        pub fn $name($($placeholder: impl std::fmt::Display),*) -> $crate::base::errors::Failure {
            let code = $crate::combinations::code!($($code)?);
            let failure = $crate::base::errors::Failure::new(code, format!($message));
            $(let failure = failure.detail(format!($detail));)?
            $(let failure = failure.hint(format!($hint));)?
            failure
        }
    )*};
}

use crate::base::errors::Failure;
use code;
use combinations;

/// Whether something was asked for, and the error that says why it is refused.
type Refusal = (bool, fn() -> Failure);

/// The first of these errors whose thing was asked for.
pub fn refuse(all: &[Refusal]) -> Result<(), Failure> {
    match all.iter().find(|(is, _)| *is) {
        Some((_, refused)) => Err(refused()),
        None => Ok(()),
    }
}
