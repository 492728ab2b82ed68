//! Keys of rows and digests of their values, as they come and as they are stored in chunks. Does not know what a version is.

pub mod chunks;
pub mod column;
pub mod digest;
pub mod seen;

use crate::base::errors::{Code, Failure};

pub fn out_of_memory() -> Failure {
    Failure::new(
        Code::ERRCODE_OUT_OF_MEMORY,
        "out of memory for the keys of the rows",
    )
}
