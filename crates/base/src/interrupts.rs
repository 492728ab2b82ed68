//! Long work can be ended from outside: what must be answered at once is looked for in the middle of a step too, where one
//! of them may take long. Who steps says how, for its thread; the check may unwind, after which nobody steps again.

use std::cell::Cell;

thread_local! {
    static CHECK: Cell<fn()> = const { Cell::new(nothing) };
}

fn nothing() {}

/// From now on `check` is called in this thread every few milliseconds of a long step.
pub fn check_by(check: fn()) {
    CHECK.set(check);
}

/// While `work` lasts `check` is called, and then again what was before; unless it unwinds.
pub fn checked_by<T>(check: fn(), work: impl FnOnce() -> T) -> T {
    let before = CHECK.replace(check);
    let result = work();
    CHECK.set(before);
    result
}

/// Looks whether something must be answered.
#[inline]
pub fn check() {
    CHECK.get()();
}
