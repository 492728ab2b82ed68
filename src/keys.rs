//! Keys of rows and digests of their values, as they come and as they are stored in chunks. Does not know what a version is.

pub mod chunks;
pub mod digest;
pub mod seen;
