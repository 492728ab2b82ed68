//! Keeps Rust's call stacks out of errors: with RUST_BACKTRACE in the server's environment the DETAIL of each would hold
//! one, and reach clients.

use std::backtrace::Backtrace;
use std::env;

/// Of the variables that ask for call stacks, the one that wins.
const DECIDES: &str = "RUST_LIB_BACKTRACE";

/// Has this library take no call stacks in this process, whatever its environment asks for; others that are loaded later
/// find the environment as it was.
pub fn switch_off() {
    if env::var_os(DECIDES).is_none() && env::var_os("RUST_BACKTRACE").is_none() {
        return;
    }
    let before = env::var_os(DECIDES);
    // SAFETY: called while the library is being loaded, when the process has one thread.
    unsafe { env::set_var(DECIDES, "0") };
    // the first one decides for good
    let _ = Backtrace::capture();
    // SAFETY: as above.
    unsafe {
        match before {
            Some(value) => env::set_var(DECIDES, value),
            None => env::remove_var(DECIDES),
        }
    }
}
