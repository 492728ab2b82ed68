use super::*;
use crate::cache::{Consumer, TrainerSide};
use crate::objective::solver_choice::Policy;
use crate::rows::in_memory::{MemorySpool, OwnedExample, SliceSource};
use crate::rows::row::Row;
use crate::scaling::Scale;

const JOB: ReaderJob = ReaderJob {
    scale: Scale::Standard,
    seed: 5,
    beyond: Beyond::Streams,
    compression: Compression::Auto,
    stride: 1,
    balance: Balance::None,
    impute: false,
    unit_rows: false,
    as_they_come: false,
    looks: false,
    expansion: None,
    targets: None,
    epsilon: None,
};

fn examples(rows: usize) -> Vec<OwnedExample> {
    (0..rows)
        .map(|k| OwnedExample {
            offset: None,
            group: u32::from(k >= rows / 2),
            cost: 1.0 + (k % 3) as f32,
            dense: vec![k as f64, 5.0, -((k * k) as f64)],
            sparse_index: (0..k % 5).map(|j| (j * (1 + k % 7)) as u32).collect(),
            sparse_value: (0..k % 5).map(|j| (j + k) as f32).collect(),
        })
        .collect()
}

type Delivered = (usize, Vec<u32>);

/// Reads `passes` passes through the ring and gives each pass's blocks of rows as (ordinal, words).
fn stream_blocks(
    examples: &[OwnedExample],
    policy: Policy,
    cache_bytes: usize,
    passes: usize,
) -> Vec<Vec<Vec<Delivered>>> {
    let (mut reader, mut consumer) = streaming(examples, policy, cache_bytes);
    let mut result = vec![vec![Vec::new()]];
    loop {
        reader.step(37).unwrap();
        while let Some(batch) = consumer.front() {
            result
                .last_mut()
                .unwrap()
                .last_mut()
                .unwrap()
                .extend(delivered(batch.words));
            let ends = batch.ends;
            consumer.release();
            match ends {
                Ends::Nothing => {}
                Ends::Block => result.last_mut().unwrap().push(Vec::new()),
                Ends::Pass if result.len() == passes => return result,
                Ends::Pass => result.push(vec![Vec::new()]),
            }
        }
    }
}

/// A reader of rows that do not fit, and the end that gets them.
fn streaming(
    examples: &[OwnedExample],
    policy: Policy,
    cache_bytes: usize,
) -> (Reader<SliceSource<'_>, MemorySpool>, Consumer) {
    let cache = Cache::in_memory(cache_bytes).unwrap();
    let mut waiting = cache.claim_trainer().unwrap();
    let job = ReaderJob {
        beyond: Beyond::of(&policy.into()),
        ..JOB
    };
    let mut reader = Reader::new(
        cache.clone(),
        job,
        SliceSource::new(examples),
        MemorySpool::default(),
    )
    .unwrap();
    let consumer = loop {
        reader.step(37).unwrap();
        waiting = match waiting.poll() {
            TrainerSide::Waiting(waiting) => waiting,
            TrainerSide::Streaming(_, _, consumer) => break consumer,
            _ => panic!("the rows do not fit"),
        }
    };
    (reader, consumer)
}

/// The rows of a batch.
fn delivered(words: &[u32]) -> Vec<Delivered> {
    let (mut rows, mut at) = (Vec::new(), 0);
    while at < words.len() {
        let row = Row::new(&words[at..], 3);
        at += row.words().len();
        rows.push((row.ordinal(), row.words().to_vec()));
    }
    rows
}

/// The same for rows that are not split.
fn stream(examples: &[OwnedExample], cache_bytes: usize, passes: usize) -> Vec<Vec<Delivered>> {
    stream_blocks(examples, Policy::Cached, cache_bytes, passes)
        .into_iter()
        .map(|mut blocks| {
            assert_eq!(blocks.len(), 1);
            blocks.remove(0)
        })
        .collect()
}

/// The rows of a training in memory, by ordinal.
fn resident(examples: &[OwnedExample]) -> Vec<Vec<u32>> {
    let cache = Cache::in_memory(1 << 20).unwrap();
    let waiting = cache.claim_trainer().unwrap();
    let mut reader = Reader::new(
        cache,
        JOB,
        SliceSource::new(examples),
        MemorySpool::default(),
    )
    .unwrap();
    while reader.step(37).unwrap() == Step::Progress {}
    let TrainerSide::Resident(facts, arena) = waiting.poll() else {
        panic!("the rows fit")
    };
    let page = Page::new(arena.words(), facts.dense);
    assert_eq!(page.slots(), examples.len());
    (0..page.slots())
        .map(|slot| page.row(slot).unwrap().words().to_vec())
        .collect()
}

#[test]
fn every_pass_delivers_every_row_once_in_a_fresh_order() {
    let examples = examples(3000);
    let expected = resident(&examples);
    let passes = stream(&examples, 32 * 1024, 4);
    let orders: Vec<Vec<usize>> = passes
        .iter()
        .map(|pass| pass.iter().map(|row| row.0).collect())
        .collect();
    for (pass, rows) in passes.iter().enumerate() {
        let mut sorted = orders[pass].clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..3000).collect::<Vec<_>>());
        for (ordinal, words) in rows {
            assert_eq!(
                words, &expected[*ordinal],
                "streamed and resident rows are the same words"
            );
        }
        assert!(pass == 0 || orders[pass] != orders[pass - 1]);
    }
}

#[test]
fn a_sorted_table_arrives_mixed() {
    let examples = examples(3000);
    let passes = stream(&examples, 32 * 1024, 1);
    let first: Vec<bool> = passes[0]
        .iter()
        .take(1500)
        .map(|row| row.0 < 1500)
        .collect();
    let share = first.iter().filter(|low| **low).count() as f64 / first.len() as f64;
    assert!((0.2..=0.8).contains(&share), "{share}");
}

#[test]
fn rows_hold_what_the_example_said() {
    let examples = examples(200);
    for (ordinal, words) in resident(&examples).iter().enumerate() {
        let (row, example) = (Row::new(words, 3), &examples[ordinal]);
        let expected = (ordinal, example.group as usize);
        assert_eq!((row.ordinal(), row.group()), expected);
        assert_eq!(row.cost(), example.cost);
        let sparse = row.sparse().iter();
        let sparse: Vec<(u32, f32)> = sparse.map(|e| (e[0] - 3, f32::from_bits(e[1]))).collect();
        let given = example.sparse_index.iter().zip(&example.sparse_value);
        let given: Vec<(u32, f32)> = given.map(|(j, x)| (*j, *x)).collect();
        assert_eq!(sparse, given);
        let all = row.dense().iter().chain(&example.sparse_value);
        let squares: f64 = all.map(|x| f64::from(*x).powi(2)).sum();
        assert!((f64::from(row.q()) - squares).abs() <= 1e-6 * squares);
        assert_eq!(row.dense()[1], 0.0, "a constant column");
    }
}

#[test]
fn blocks_keep_their_rows_from_pass_to_pass_and_come_in_a_fresh_order() {
    let examples = examples(6000);
    let expected = resident(&examples);
    let passes = stream_blocks(&examples, Policy::Block, 32 * 1024, 5);
    let sorted = |block: &Vec<Delivered>| {
        let mut rows: Vec<usize> = block.iter().map(|row| row.0).collect();
        rows.sort_unstable();
        rows
    };
    let blocks = |pass: &Vec<Vec<Delivered>>| pass.iter().map(sorted).collect::<Vec<_>>();
    let mut first = blocks(&passes[0]);
    let mut orders = std::collections::HashSet::new();
    first.sort_unstable();
    for pass in &passes {
        let mut found = blocks(pass);
        orders.insert(found.clone());
        found.sort_unstable();
        assert_eq!(found, first);
        for (ordinal, words) in pass.iter().flatten() {
            assert_eq!(words, &expected[*ordinal]);
        }
    }
    assert_eq!(orders.len(), 5);
    let mut all = first.concat();
    all.sort_unstable();
    assert_eq!(all, (0..6000).collect::<Vec<_>>());
}

#[test]
fn blocks_fit_their_share_of_the_cache_and_are_about_equal() {
    let examples = examples(6000);
    // from blocks of many cells to cells of many blocks
    for cache_bytes in [16 * 1024, 64 * 1024, 200 * 1024] {
        for (policy, share) in [(Policy::Block, 1), (Policy::SelectiveBlock, 2)] {
            let passes = stream_blocks(&examples, policy, cache_bytes, 1);
            let room = Cache::in_memory(cache_bytes).unwrap().working_set_words();
            let sizes: Vec<usize> = passes[0]
                .iter()
                .map(|block| block.iter().map(|row| row.1.len() + 1).sum())
                .collect();
            assert!(sizes.len() > 1);
            for size in &sizes {
                assert!(*size <= room / share, "{sizes:?} {room}");
                assert!(*size >= room / share / 3, "{sizes:?} {room}");
            }
        }
    }
}

#[test]
fn blocks_of_a_sorted_table_are_samples_of_all_of_it() {
    let examples = examples(6000);
    for cache_bytes in [16 * 1024, 64 * 1024] {
        for block in &stream_blocks(&examples, Policy::Block, cache_bytes, 1)[0] {
            let low = block.iter().filter(|row| row.0 < 3000).count() as f64;
            let share = low / block.len() as f64;
            assert!((0.3..=0.7).contains(&share), "{share} of {}", block.len());
        }
    }
}
