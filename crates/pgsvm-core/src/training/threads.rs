//! Threads that compute for the steps of the trainer.
//!
//! They start with the training and end with it. Between two steps each waits at a channel of its own and holds
//! nothing else: a step returns, or unwinds, only when all of them are idle. So what they borrow cannot go away under
//! them, and a process that ends between steps without running destructors ends waiting threads only. They call
//! nothing but the solver.
//!
//! Who waits stays awake for a moment, since many a pass takes no more than a fifth of a millisecond and a thread that
//! sleeps needs some 25 microseconds to work again. Fresh ones for every step were measured too: the system often queues
//! them behind the thread that starts them, for as long as the step lasts.

use std::any::Any;
use std::hint::spin_loop;
use std::io;
use std::mem;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{bounded, Receiver, Sender, TryRecvError};

/// Who waits stays awake for so long.
const AWAKE: Duration = Duration::from_micros(100);

type Task<'a> = Box<dyn FnOnce() + Send + 'a>;

/// The threads beside the caller's own.
pub(super) struct ThreadPool {
    members: usize,
    workers: Vec<Worker>,
}

struct Worker {
    /// None when it is to end.
    tasks: Option<Sender<Task<'static>>>,
    /// A message for each task that has ended.
    ended: Receiver<thread::Result<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ThreadPool {
    /// As many threads as can be had, up to `workers`.
    pub(super) fn new(workers: usize) -> Self {
        Self {
            members: workers + 1,
            workers: (0..workers).map_while(|_| Worker::start().ok()).collect(),
        }
    }

    /// Threads wanted and the caller's own.
    pub(super) fn members(&self) -> usize {
        self.members
    }

    /// Does `work` for each member, all at the same time: the first in this thread, and those for which there is no
    /// thread after it, with the same outcome.
    pub(super) fn side_by_side<M: Send>(&self, members: &mut [M], work: impl Fn(&mut M) + Sync) {
        let Some((first, others)) = members.split_first_mut() else {
            return;
        };
        let mut others = others.iter_mut();
        let mut busy = Busy(Vec::with_capacity(self.workers.len()));
        for (worker, member) in self.workers.iter().zip(&mut others) {
            let work = &work;
            let task: Task<'_> = Box::new(move || work(member));
            // SAFETY: only the lifetime changes. The task borrows from this call alone, and `busy` waits for its end
            // before this call returns or unwinds.
            let task: Task<'static> = unsafe { mem::transmute(task) };
            if worker.give(task) {
                busy.0.push(worker);
            }
        }
        work(first);
        others.for_each(&work);
        if let Some(panic) = busy.wait() {
            resume_unwind(panic);
        }
    }
}

impl Worker {
    fn start() -> io::Result<Self> {
        // one task at a time, and one message for it
        let (tasks, inbox) = bounded::<Task<'static>>(1);
        let (outbox, ended) = bounded(1);
        let thread = thread::Builder::new()
            .name("trainer".into())
            .spawn(move || {
                while let Some(task) = next(&inbox) {
                    let result = catch_unwind(AssertUnwindSafe(task));
                    if outbox.send(result).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            tasks: Some(tasks),
            ended,
            thread: Some(thread),
        })
    }

    /// Has the task done by the thread, true, or if that is gone, here.
    fn give(&self, task: Task<'static>) -> bool {
        let sent = match &self.tasks {
            Some(tasks) => tasks.send(task).map_err(|unsent| unsent.0),
            None => Err(task),
        };
        sent.map_err(|task| task()).is_ok()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            // it has caught every panic
            let _ = thread.join();
        }
    }
}

/// The next message, waited for; None when none can come any more.
fn next<M>(messages: &Receiver<M>) -> Option<M> {
    let began = Instant::now();
    while began.elapsed() < AWAKE {
        match messages.try_recv() {
            Ok(message) => return Some(message),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => spin_loop(),
        }
    }
    messages.recv().ok()
}

/// Workers that have a task of the call under way.
struct Busy<'a>(Vec<&'a Worker>);

impl Busy<'_> {
    /// Waits until all are idle; gives back what one panicked with.
    fn wait(&mut self) -> Option<Box<dyn Any + Send>> {
        let mut panic = None;
        while let Some(worker) = self.0.pop() {
            // a worker that is gone has no task any more
            if let Some(Err(found)) = next(&worker.ended) {
                panic = Some(found);
            }
        }
        panic
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    #[test]
    fn every_member_works_once_however_many_threads_there_are() {
        for workers in [0, 1, 4, 7] {
            let pool = ThreadPool::new(workers);
            let mut members = [1, 2, 3, 4, 5];
            pool.side_by_side(&mut members, |member| *member *= 10);
            pool.side_by_side(&mut members, |member| *member += 1);
            assert_eq!(members, [11, 21, 31, 41, 51]);
            pool.side_by_side(&mut [0u8; 0], |_| unreachable!());
        }
    }

    #[test]
    fn a_panic_goes_on_once_all_are_idle_and_the_crew_works_on() {
        let pool = ThreadPool::new(2);
        for bad in 0..3 {
            let done = AtomicU32::new(0);
            let work = |member: &mut i32| {
                assert_ne!(*member, bad, "as it should");
                thread::sleep(Duration::from_millis(20));
                done.fetch_add(1, Ordering::Relaxed);
            };
            let result = catch_unwind(AssertUnwindSafe(|| {
                pool.side_by_side(&mut [0, 1, 2], work);
            }));
            assert!(result.is_err());
            assert_eq!(done.load(Ordering::Relaxed), 2);
        }
        pool.side_by_side(&mut [0, 1, 2], |_| {});
    }
}
