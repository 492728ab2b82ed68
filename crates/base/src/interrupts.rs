//! Long work can be ended from outside: what must be answered at once is looked for in the middle of a step too, where one
//! of them may take long. Who steps says how, for its thread; the look may unwind, after which nobody steps again.

use std::cell::Cell;

thread_local! {
    static LOOK: Cell<fn()> = const { Cell::new(nothing) };
}

fn nothing() {}

/// From now on `look` is called in this thread every few milliseconds of a long step.
pub fn look_by(look: fn()) {
    LOOK.set(look);
}

/// Looks whether something must be answered.
#[inline]
pub fn look() {
    LOOK.get()();
}
