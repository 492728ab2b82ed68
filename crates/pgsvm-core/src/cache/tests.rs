use super::*;
use crate::random::{Random, Stream};

fn ends(cache_bytes: usize) -> (Producer, Consumer) {
    let cache = Cache::in_memory(cache_bytes).unwrap();
    let waiting = cache.claim_trainer().unwrap();
    let producer = cache
        .claim_reader()
        .unwrap()
        .publish_streaming(&Facts::default());
    match waiting.poll() {
        TrainerSide::Streaming(_, _, consumer) => (producer, consumer),
        _ => panic!("streaming was published"),
    }
}

/// Sends batches of counted words with random lengths and checks that they arrive whole and in order.
fn batches_arrive(cache_bytes: usize, seed: u64, batches: usize) {
    let (mut producer, mut consumer) = ends(cache_bytes);
    let largest = producer.max_batch_words();
    let sending = std::thread::spawn(move || {
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
    });
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
    loading.publish_resident(&facts);
    let TrainerSide::Resident(found, arena) = waiting.poll() else {
        panic!("resident")
    };
    assert_eq!(found, facts);
    assert_eq!(arena.words()[17], 99);
}
