use std::convert::Infallible;

use super::packing::part;
use super::*;
use crate::rows::in_memory::MemorySpool;
use crate::rows::throttled::ThrottledSpool;

/// Chunks of all lengths in quads up to 40, then some long ones, filled by `word(index)`.
fn chunks(word: impl Fn(u32) -> u32) -> Vec<Vec<u32>> {
    let lengths = (1..40).chain([1000, 4001, 70_000]);
    lengths
        .map(|quads| (0..4 * quads).map(&word).collect())
        .collect()
}

fn kinds() -> Vec<Vec<Vec<u32>>> {
    vec![
        chunks(|_| 0),
        chunks(|k| k),
        chunks(|k| (k as f32).sqrt().to_bits()),
        chunks(|k| [3 * k % 1000, 1.0f32.to_bits()][k as usize % 2]),
        chunks(|k| k.wrapping_mul(2_654_435_761).rotate_left(k % 31)),
    ]
}

#[test]
fn every_round_of_transposition_is_taken_back() {
    for chunk in kinds().concat() {
        let rows = as_bytes(&chunk);
        for rounds in 0..5 {
            let mut kept = Chunks::new(Compression::Auto);
            kept.rounds = Some(rounds);
            let packed = kept.pack(rows).unwrap();
            assert!(packed <= kept.packed.len());
            let mut again = vec![0xa5; rows.len()];
            kept.unpack::<Infallible>(packed, &mut again).unwrap();
            assert!(again == rows, "{rounds} rounds, {} bytes", rows.len());
        }
    }
}

#[test]
fn transposition_brings_bytes_of_equal_place_together() {
    let values: Vec<u8> = (0..32).collect();
    let (mut once, mut twice) = (vec![0; 32], vec![0; 32]);
    part(&values, &mut once);
    part(&once, &mut twice);
    assert_eq!(twice[..8], [0, 4, 8, 12, 16, 20, 24, 28]);
    assert_eq!(twice[24..], [3, 7, 11, 15, 19, 23, 27, 31]);
}

/// A device on which compression pays.
fn slow_spool() -> ThrottledSpool<MemorySpool> {
    ThrottledSpool::new(MemorySpool::default(), 5e6)
}

/// Writes all chunks, reads them back in another order, and gives the bytes that each took.
fn through<P: Spool<Error = Infallible>>(chunks: &[Vec<u32>], mut spool: P) -> Vec<u32> {
    let mut kept = Chunks::new(Compression::Auto);
    for chunk in chunks {
        kept.write(chunk, &mut spool).unwrap();
    }
    assert_eq!(kept.len(), chunks.len());
    for (number, chunk) in chunks.iter().enumerate().rev() {
        assert_eq!(kept.words(number), chunk.len());
        let mut again = vec![u32::MAX; chunk.len()];
        kept.read(number, &mut again, &mut spool).unwrap();
        assert!(again == *chunk);
    }
    let stored: Vec<u32> = kept.stored.iter().map(|stored| stored.bytes).collect();
    assert_eq!(
        kept.bytes(),
        stored.iter().copied().map(u64::from).sum::<u64>()
    );
    stored
}

#[test]
fn chunks_come_back_as_they_were_through_any_spool() {
    for chunks in kinds() {
        through(&chunks, MemorySpool::default());
        through(&chunks, slow_spool());
    }
}

#[test]
fn a_slow_spool_is_compressed_from_the_second_chunk_on() {
    let chunk: Vec<u32> = (0..4096).map(|k| [k % 300, 1][k as usize % 2]).collect();
    let stored = through(&vec![chunk; 70], slow_spool());
    assert_eq!(stored[0], 4 * 4096);
    assert!(stored[1..].iter().all(|bytes| *bytes < 4 * 4096 / 2));
}

#[test]
fn noise_is_stored_as_it_is_on_any_spool() {
    let mut state = 1u64;
    let mut number = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 32) as u32
    };
    let noise: Vec<u32> = (0..4096).map(|_| number()).collect();
    assert_eq!(through(&vec![noise; 6], slow_spool()), [4 * 4096; 6]);
}

#[test]
fn a_chunk_that_does_not_decode_is_an_error() {
    let chunk: Vec<u32> = (0..4096).map(|k| k % 7).collect();
    let mut kept = Chunks::new(Compression::Auto);
    kept.rounds = Some(2);
    let packed = kept.pack(as_bytes(&chunk)).unwrap();
    let whole = kept.packed[..packed].to_vec();
    let mut again = vec![0; 4 * 4096];
    let mut rejected = 0;
    for at in 0..packed {
        for flip in [0x01, 0x80, 0xff] {
            kept.packed[..packed].copy_from_slice(&whole);
            kept.packed[at] ^= flip;
            rejected += u32::from(kept.unpack::<Infallible>(packed, &mut again).is_err());
        }
    }
    assert!(rejected > 0);
    kept.packed[..packed].copy_from_slice(&whole);
    for length in 0..packed {
        assert!(kept.unpack::<Infallible>(length, &mut again).is_err());
    }
    let mut longer = vec![0; 4 * 4096 + 16];
    assert!(kept.unpack::<Infallible>(packed, &mut longer).is_err());
    let mut shorter = vec![0; 4 * 4096 - 16];
    assert!(kept.unpack::<Infallible>(packed, &mut shorter).is_err());
}
