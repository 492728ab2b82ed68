//! How long work is ended from outside. The extension must answer a cancel within milliseconds, also in the middle of a step. So the caller
//! of the steps sets a check for its thread, and long loops call it. The check may unwind; after that nobody steps again.
//!
//! Loops whose length is known call [`check`] every so many rounds. Products, factorizations and other long work say how much they have
//! done ([`worked`]), and the check is called when that adds up to a few milliseconds. So their callers need not know how long they take.

use std::cell::Cell;

/// Multiplications between two looks: 0.3 ms where vectors take them, 8 ms where numbers go one by one through a slow
/// processor.
const BETWEEN: usize = 1 << 23;

thread_local! {
    static CHECK: Cell<fn()> = const { Cell::new(nothing) };
    static WORKED: Cell<usize> = const { Cell::new(0) };
}

fn nothing() {}

/// From now on `check` is called in this thread every few milliseconds of a long step.
pub fn check_by(check: fn()) {
    CHECK.set(check);
}

/// Looks whether something must be answered.
#[inline]
pub fn check() {
    CHECK.get()();
}

/// So many multiplications have been done: looks whether something must be answered where those since the last look took long.
#[inline]
pub fn worked(multiplications: usize) {
    let all = WORKED.get().saturating_add(multiplications);
    WORKED.set(match all < BETWEEN {
        true => all,
        false => {
            check();
            0
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static ASKED: Cell<u32> = const { Cell::new(0) };
    }

    #[test]
    fn much_work_in_small_parts_is_asked_about_as_often_as_in_large_ones() {
        check_by(|| ASKED.set(ASKED.get() + 1));
        for part in [BETWEEN, BETWEEN / 16] {
            ASKED.set(0);
            (0..10 * BETWEEN / part).for_each(|_| worked(part));
            assert_eq!(ASKED.get(), 10);
        }
        worked(usize::MAX);
        assert_eq!(ASKED.get(), 11);
    }
}
