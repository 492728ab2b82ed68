//! The stored form of keys and dual variables, digests of rows, and rows known by their keys.

use crate::features::FeatureBuffer;
use crate::keys::chunks::{read_keys, read_states, KeyChunks, KeyKind, StateChunks, CHUNK_ROWS};
use crate::keys::digest::{self, RowDigests};
use crate::keys::seen::SeenKeys;
use crate::warm_start::remembered::Remembered;
use std::collections::HashSet;

tests![
    keys_come_back_as_they_were,
    keys_that_are_none_are_refused,
    dual_variables_come_back_as_they_were_whatever_they_share,
    dual_variables_that_are_none_are_refused,
    digests_differ_where_rows_do_and_only_there,
    a_key_is_seen_whatever_order_keys_come_in,
    rows_are_found_in_their_order_and_out_of_it_until_they_are_forgotten,
];

/// Numbers below `bound` in no order, the same each time.
fn scattered(count: u64, bound: u64) -> impl Iterator<Item = u128> {
    let digest = move |i: u64| digest::of_key(&i.to_le_bytes()) as u64 % bound;
    (0..count).map(move |i| digest(i).into())
}

fn keys(kind: KeyKind, rows: &[(u128, u64)]) -> Vec<(u128, u64)> {
    let mut chunks = KeyChunks::new(kind);
    rows.iter()
        .for_each(|(key, digest)| chunks.push(*key, *digest).unwrap());
    let read = chunks.chunks().iter().flat_map(|chunk| {
        read_keys(kind, chunk.rows as usize, &chunk.keys, &chunk.digests)
            .unwrap()
            .unwrap()
    });
    read.collect()
}

fn keys_come_back_as_they_were() {
    let integer = |key: i64| u128::from(key as u64);
    let some = [0, 1, -1, i64::MAX, i64::MIN, 63, 64, -64, -65];
    let mut rows: Vec<_> = some.map(|key| (integer(key), key as u64)).to_vec();
    rows.extend((0..CHUNK_ROWS as i64 + 5).map(|key| (integer(7 * key), 1 << 63)));
    assert_eq!(keys(KeyKind::Integer, &rows), rows);
    let rows: Vec<_> = (0..20_000)
        .map(|i| (digest::of_key(&[i as u8; 3]), i))
        .collect();
    assert_eq!(keys(KeyKind::Text, &rows), rows);
}

fn keys_that_are_none_are_refused() {
    let digests = [0; 16];
    assert_eq!(
        read_keys(KeyKind::Integer, 2, &[0x80], &digests).unwrap(),
        None
    );
    assert_eq!(
        read_keys(KeyKind::Integer, 2, &[0xff; 30], &digests).unwrap(),
        None
    );
    assert_eq!(
        read_keys(KeyKind::Integer, 2, &[2, 2, 2], &digests).unwrap(),
        None
    );
    assert_eq!(
        read_keys(KeyKind::Integer, 3, &[2, 2, 2], &digests).unwrap(),
        None
    );
    assert_eq!(
        read_keys(KeyKind::Text, 2, &[0; 31], &digests).unwrap(),
        None
    );
    let two = read_keys(KeyKind::Integer, 2, &[2, 2], &digests).unwrap();
    assert_eq!(two, Some(vec![(1, 0), (2, 0)]));
}

fn dual_variables_come_back_as_they_were_whatever_they_share() {
    let shared = |row: usize| [0.0f32, 1.0, 0.25, 1.0, 0.0][row % 5];
    let own = |row: usize| row as f32 / 3.0;
    let signed = |row: usize| [0.5f32, -0.5, 0.0, -0.125][row % 4];
    let all = [
        &shared as &dyn Fn(usize) -> f32,
        &own,
        &signed,
        &|_| 0.0,
        &|_| 2.0,
    ];
    for of_row in all {
        for rows in [1, 3, 4, CHUNK_ROWS, CHUNK_ROWS + 1] {
            let duals: Vec<f32> = (0..rows).map(of_row).collect();
            let mut chunks = StateChunks::default();
            duals.iter().for_each(|dual| chunks.push(*dual).unwrap());
            let mut found = vec![0.0; rows];
            for chunk in chunks.finish().unwrap() {
                let first = chunk.first_row as usize;
                let end = rows.min(first + CHUNK_ROWS);
                let out = &mut found[first..end];
                read_states((&chunk.states, true), &chunk.common, &chunk.duals, out).unwrap();
            }
            assert_eq!(found, duals);
        }
    }
}

fn dual_variables_that_are_none_are_refused() {
    let mut out = [0.0; 4];
    let mut read = |states: &[u8], common: &[f32], duals: &[f32]| {
        read_states((states, false), common, duals, &mut out)
    };
    assert_eq!(read(&[0b0001], &[1.0], &[]), Some(()));
    assert_eq!(read(&[0b0010], &[1.0], &[]), None);
    assert_eq!(read(&[0b0011], &[], &[]), None);
    assert_eq!(read(&[0b0011], &[], &[1.0, 2.0]), None);
    assert_eq!(read(&[0b0011], &[], &[f32::NAN]), None);
    assert_eq!(read(&[0b0011], &[], &[-1.0]), None);
    assert_eq!(read(&[0, 1], &[1.0], &[]), None);
}

fn digests_differ_where_rows_do_and_only_there() {
    let row = |dense: &[f64], sparse: &[(u32, f32)]| FeatureBuffer {
        dense: dense.to_vec(),
        sparse_index: sparse.iter().map(|(index, _)| *index).collect(),
        sparse_value: sparse.iter().map(|(_, value)| *value).collect(),
        ..FeatureBuffer::default()
    };
    let label = digest::of_label("yes");
    let of =
        |weight, row: &FeatureBuffer| RowDigests::default().of_row(label, weight, row).unwrap();
    let plain = of(1.0, &row(&[0.0, 2.0], &[(3, 1.0)]));
    assert_eq!(plain, of(1.0, &row(&[-0.0, 2.0], &[(3, 1.0)])));
    let others = [
        of(2.0, &row(&[0.0, 2.0], &[(3, 1.0)])),
        of(1.0, &row(&[2.0, 0.0], &[(3, 1.0)])),
        of(1.0, &row(&[0.0, 2.0], &[(4, 1.0)])),
        of(1.0, &row(&[0.0, 2.0], &[(3, 2.0)])),
        of(1.0, &row(&[0.0, 2.0], &[])),
        RowDigests::default()
            .of_row(digest::of_label("no"), 1.0, &row(&[0.0, 2.0], &[(3, 1.0)]))
            .unwrap(),
    ];
    assert!(others.iter().all(|other| *other != plain));
    // stored with models: these must never change
    assert_eq!(of(1.0, &row(&[], &[])), STORED_ROW);
    assert_eq!(digest::of_key(b"abc"), STORED_KEY);
}

fn a_key_is_seen_whatever_order_keys_come_in() {
    let ends = [u128::MAX, 0, u128::MAX - 1, 1, u128::MAX];
    let orders: [Vec<u128>; 4] = [
        (0..500).chain(490..600).chain(0..3).collect(),
        (0..500).map(|key| 3 * key).chain(0..1600).collect(),
        (0..500).rev().chain(400..700).collect(),
        ends.into_iter().chain(scattered(3000, 2000)).collect(),
    ];
    for order in orders {
        let (mut seen, mut all) = (SeenKeys::default(), HashSet::new());
        for key in order {
            assert_eq!(seen.insert(key), Ok(all.insert(key)), "{key}");
        }
    }
}

fn rows_are_found_in_their_order_and_out_of_it_until_they_are_forgotten() {
    let mut keys: Vec<u128> = scattered(3000, 1 << 40).collect();
    keys.extend(0..1000);
    let rows: Vec<_> = keys.iter().map(|key| (*key, !*key as u64)).collect();
    let mut remembered = Remembered::default();
    remembered.extend(&rows[..1700]).unwrap();
    remembered.extend(&rows[1700..]).unwrap();
    let mut find = |key| remembered.find(key).unwrap();
    let there = |row: usize| Some(row as u32);
    // all, every third, backwards, and with others between them
    (0..4000).for_each(|row| assert_eq!(find(keys[row]), there(row)));
    (0..4000)
        .step_by(3)
        .for_each(|row| assert_eq!(find(keys[row]), there(row)));
    (0..4000)
        .rev()
        .for_each(|row| assert_eq!(find(keys[row]), there(row)));
    for (row, key) in keys.iter().enumerate().skip(3000) {
        assert_eq!(find(1 << 50 | row as u128), None);
        assert_eq!(find(*key), there(row));
    }
    for row in (0..4000).step_by(2) {
        assert!(remembered.forget(keys[row]).unwrap());
        assert!(!remembered.forget(keys[row]).unwrap());
    }
    assert_eq!(remembered.len(), 2000);
    for (row, key) in keys.iter().enumerate() {
        let left = there(row).filter(|row| row % 2 == 1);
        assert_eq!(remembered.find(*key).unwrap(), left);
        assert_eq!(remembered.digest(row as u32), !*key as u64);
    }
    assert_eq!(Remembered::default().find(7).unwrap(), None);
}

const STORED_ROW: u64 = 0x6e1d1ab76e41317c;
const STORED_KEY: u128 = 0x06b05ab6733a618578af5f94892f3950;
