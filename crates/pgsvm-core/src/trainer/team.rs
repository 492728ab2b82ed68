//! Threads that compute for one step of the trainer, and for no longer.
//!
//! A step starts them and joins them before it returns. So between steps, where the caller answers interrupts, raises
//! errors and ends, the process has one thread, and nothing borrowed by a thread can go away under it. They call
//! nothing but the solver. Starting one takes some 30 microseconds, of a step of a few milliseconds.

use std::thread;

/// Does `work` for each member, all at the same time; the first one in this thread.
///
/// Where a thread cannot be had its work is done here afterwards: slower, with the same outcome.
pub(super) fn side_by_side<M: Send>(members: &mut [M], work: impl Fn(&mut M) + Sync) {
    let Some((first, others)) = members.split_first_mut() else {
        return;
    };
    let mut started = 0;
    thread::scope(|scope| {
        for member in &mut *others {
            let work = &work;
            let thread = thread::Builder::new().name("trainer".into());
            match thread.spawn_scoped(scope, move || work(member)) {
                Ok(_) => started += 1,
                Err(_) => break,
            }
        }
        work(first);
    });
    others.iter_mut().skip(started).for_each(work);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_works_once() {
        let mut members = [1, 2, 3, 4, 5];
        side_by_side(&mut members, |member| *member *= 10);
        assert_eq!(members, [10, 20, 30, 40, 50]);
        side_by_side(&mut [0u8; 0], |_| unreachable!());
    }
}
