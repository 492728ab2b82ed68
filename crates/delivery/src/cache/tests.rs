use super::*;
use crate::base::random::{Random, Stream};

fn ends(cache_bytes: usize) -> (Producer, Consumer) {
    let cache = Cache::in_memory(cache_bytes).unwrap();
    let waiting = cache.claim_trainer().unwrap();
    let producer = cache
        .claim_reader()
        .unwrap()
        .publish_streaming(&Facts::default(), &[], 0);
    match waiting.poll() {
        TrainerSide::Streaming(_, _, consumer) => (producer, consumer),
        _ => panic!("streaming was published"),
    }
}

/// Sends batches of counted words with random lengths and checks that they arrive whole and in order.
fn batches_arrive(cache_bytes: usize, seed: u64, batches: usize) {
    let (producer, mut consumer) = ends(cache_bytes);
    let sending = std::thread::spawn(move || send(producer, seed, batches));
    let mut random = Random::new(seed, Stream::Trainer);
    let mut next = 0u32;
    loop {
        let Some(batch) = consumer.front() else {
            std::thread::yield_now();
            continue;
        };
        for word in batch.words {
            assert_eq!(*word, next);
            next = next.wrapping_add(1);
        }
        let last = batch.ends == Ends::Pass;
        consumer.release();
        if last {
            break;
        }
        if random.below(10) == 0 {
            std::thread::yield_now();
        }
    }
    assert_eq!(sending.join().unwrap(), next);
    assert!(consumer.front().is_none());
}

/// Returns the number behind the last word's.
fn send(mut producer: Producer, seed: u64, batches: usize) -> u32 {
    let largest = producer.max_batch_words();
    let mut random = Random::new(seed, Stream::Reader);
    let mut next = 0u32;
    for batch in 0..batches {
        let room = (1 + random.below(largest / QUAD)) * QUAD;
        let used = random.below(room / QUAD + 1) * QUAD;
        loop {
            if let Some(words) = producer.reserve(room) {
                for word in &mut words[..used] {
                    *word = next;
                    next = next.wrapping_add(1);
                }
                break;
            }
            std::thread::yield_now();
        }
        let last = batch + 1 == batches;
        producer.commit(used, if last { Ends::Pass } else { Ends::Nothing });
    }
    next
}

#[test]
fn batches_arrive_whole_and_in_order_between_threads() {
    for seed in 0..20 {
        batches_arrive(16 * 1024 + 128 * seed as usize, seed, 3000);
    }
    batches_arrive(1 << 20, 99, 500);
}

#[test]
fn the_largest_batch_always_finds_room_in_an_empty_ring() {
    let (mut producer, mut consumer) = ends(20_000);
    let largest = producer.max_batch_words();
    for used in (0..largest).step_by(QUAD * 3) {
        assert!(producer.reserve(largest).is_some());
        producer.commit(used, Ends::Nothing);
        assert_eq!(consumer.front().unwrap().words.len(), used);
        consumer.release();
    }
}

#[test]
fn a_full_ring_refuses_until_a_batch_is_released() {
    let (mut producer, mut consumer) = ends(20_000);
    let mut sent = 0;
    while producer.reserve(64).is_some() {
        producer.commit(64, Ends::Nothing);
        sent += 1;
    }
    assert!(sent > 1);
    consumer.front().unwrap();
    consumer.release();
    consumer.front().unwrap();
    consumer.release();
    assert!(producer.reserve(64).is_some());
}

#[test]
fn batches_that_wait_to_be_looked_at_are_not_written_over() {
    let (mut producer, mut consumer) = ends(20_000);
    let mut sent = 0u32;
    while let Some(words) = producer.reserve(64) {
        words[..60].fill(sent);
        words[60..].fill(0);
        producer.commit_asking((60, QUAD), Ends::Nothing).unwrap();
        sent += 1;
    }
    // all are given back between the producer's looking for answers and its asking for room
    for number in 0..sent {
        consumer.answer(std::iter::repeat_n(number as u16, QUAD));
        consumer.release();
    }
    assert!(producer.reserve(64).is_none());
    for number in 0..sent {
        let (rows, answers) = producer.answered().unwrap();
        assert!(rows.iter().all(|word| *word == number));
        assert!(answers.iter().all(|word| *word == u32::from(number as u8)));
    }
    assert!(producer.answered().is_none() && producer.has_all_answers());
    assert!(producer.reserve(64).is_some());
}

#[test]
fn the_trainer_reaches_nothing_before_a_phase_is_published() {
    let cache = Cache::in_memory(20_000).unwrap();
    let mut loading = cache.claim_reader().unwrap();
    let waiting = cache.claim_trainer().unwrap();
    let TrainerSide::Waiting(waiting) = waiting.poll() else {
        panic!("loading")
    };
    loading.arena()[17] = 99;
    let facts = Facts {
        rows: 3,
        mean_q: 1.5,
        ..Facts::default()
    };
    loading.publish_resident(&facts, &[]);
    let TrainerSide::Resident(found, arena) = waiting.poll() else {
        panic!("resident")
    };
    assert_eq!(found, facts);
    assert_eq!(arena.words()[17], 99);
}

/// Every order of the two ends' steps, for every choice of batch sizes, with every position of the other end that an end
/// may have seen by then: positions are published by release and read by acquire, so that an end sees some position
/// between the last one it saw and the newest, and with it every word written before. The code under test is the real
/// one; between its steps the test writes the position to be seen into the control block.
mod every_interleaving {
    use super::*;
    use std::collections::HashSet;
    use std::sync::atomic::Ordering;

    /// Published positions of one end, from 0, and which of them the other end has seen.
    #[derive(Default)]
    struct Published {
        positions: Vec<u64>,
        seen: usize,
    }

    /// What the two ends have done: half-steps of each (reserve, commit; look, release), and what each has seen.
    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    struct State {
        produced: usize,
        consumed: usize,
        head_seen: usize,
        tail_seen: usize,
    }

    /// One step: an end, and how many published positions of the other it newly sees.
    #[derive(Clone, Copy)]
    struct Move {
        producer: bool,
        newly_seen: usize,
    }

    struct Run {
        cache: Cache,
        producer: Producer,
        consumer: Consumer,
        heads: Published,
        tails: Published,
        produced: usize,
        consumed: usize,
    }

    impl Run {
        fn new(cache_bytes: usize) -> Self {
            let cache = Cache::in_memory(cache_bytes).unwrap();
            let waiting = cache.claim_trainer().unwrap();
            let loading = cache.claim_reader().unwrap();
            let producer = loading.publish_streaming(&Facts::default(), &[], 0);
            let TrainerSide::Streaming(_, _, consumer) = waiting.poll() else {
                panic!("streaming was published")
            };
            let start = || Published {
                positions: vec![0],
                seen: 0,
            };
            Self {
                cache,
                producer,
                consumer,
                heads: start(),
                tails: start(),
                produced: 0,
                consumed: 0,
            }
        }

        fn state(&self) -> State {
            State {
                produced: self.produced,
                consumed: self.consumed,
                head_seen: self.heads.seen,
                tail_seen: self.tails.seen,
            }
        }

        /// Takes a step; false when the end was blocked, or has nothing left to do.
        fn step(&mut self, next: Move, sizes: &[usize]) -> bool {
            match next.producer {
                true => self.produce(next.newly_seen, sizes),
                false => self.consume(next.newly_seen, sizes),
            }
        }

        /// Reserves a batch, or commits the one reserved.
        fn produce(&mut self, newly_seen: usize, sizes: &[usize]) -> bool {
            let control = self.cache.control();
            let batch = self.produced / 2;
            let Some(&size) = sizes.get(batch) else {
                return false;
            };
            if self.produced.is_multiple_of(2) {
                self.tails.seen += newly_seen;
                let tail = self.tails.positions[self.tails.seen];
                control.ring_tail.0.store(tail, Ordering::Relaxed);
                let Some(words) = self.producer.reserve(size) else {
                    return false;
                };
                // a word that the consumer still reads would be seen to change
                words.fill(batch as u32);
            } else {
                self.producer.commit(size, Ends::Nothing);
                let head = control.ring_head.0.load(Ordering::Relaxed);
                self.heads.positions.push(head);
            }
            self.produced += 1;
            true
        }

        /// Looks at a batch, or releases the one looked at.
        fn consume(&mut self, newly_seen: usize, sizes: &[usize]) -> bool {
            let control = self.cache.control();
            let batch = self.consumed / 2;
            let looks = self.consumed.is_multiple_of(2);
            self.heads.seen += if looks { newly_seen } else { 0 };
            let head = self.heads.positions[self.heads.seen];
            control.ring_head.0.store(head, Ordering::Relaxed);
            if looks {
                if self.consumer.front().is_none() {
                    return false;
                }
            } else {
                // as it was when it came, however far the producer has got meanwhile
                let front = self.consumer.front().expect("it was there");
                assert_eq!(front.words.len(), sizes[batch]);
                assert!(front.words.iter().all(|word| *word == batch as u32));
                self.consumer.release();
                let tail = self.cache.control().ring_tail.0.load(Ordering::Relaxed);
                self.tails.positions.push(tail);
            }
            self.consumed += 1;
            true
        }

        /// What either end may do next.
        fn moves(&self) -> impl Iterator<Item = Move> + '_ {
            [true, false].into_iter().flat_map(|producer| {
                let half = if producer {
                    self.produced
                } else {
                    self.consumed
                } % 2;
                // the other position is looked at in the first half of a batch only
                let most = if half == 0 { self.unseen(producer) } else { 0 };
                (0..=most).map(move |newly_seen| Move {
                    producer,
                    newly_seen,
                })
            })
        }

        /// Positions of the other end that an end may come to see.
        fn unseen(&self, producer: bool) -> usize {
            let other = if producer { &self.tails } else { &self.heads };
            other.positions.len() - 1 - other.seen
        }
    }

    /// Explores from the states reached; returns how many there are.
    fn explore(cache_bytes: usize, sizes: &[usize]) -> usize {
        let mut reached = HashSet::new();
        let mut paths: Vec<Vec<Move>> = vec![Vec::new()];
        while let Some(path) = paths.pop() {
            let again = || {
                let mut run = Run::new(cache_bytes);
                for &taken in &path {
                    assert!(run.step(taken, sizes), "the same steps again");
                }
                run
            };
            let run = again();
            if !reached.insert(run.state()) {
                continue;
            }
            let able: Vec<_> = run.moves().filter(|it| again().step(*it, sizes)).collect();
            let done = run.produced == 2 * sizes.len() && run.consumed == run.produced;
            assert!(!able.is_empty() || done, "neither end can go on: {sizes:?}");
            let longer = able.into_iter().map(|next| [&path[..], &[next]].concat());
            paths.extend(longer);
        }
        reached.len()
    }

    #[test]
    fn keeps_batches_whole_and_in_order_and_somebody_can_always_go_on() {
        let cache_bytes = 16 * 1024;
        let largest = Run::new(cache_bytes).producer.max_batch_words();
        let choices = [0, QUAD, largest / 2 / QUAD * QUAD, largest - QUAD, largest];
        let batches = 5;
        let mut states = 0;
        for number in 0..choices.len().pow(batches) {
            let sizes: Vec<usize> = (0..batches)
                .map(|place| choices[number / choices.len().pow(place) % choices.len()])
                .collect();
            states += explore(cache_bytes, &sizes);
        }
        assert!(states > 100_000, "{states}");
        println!("{states} states");
    }
}
