//! pgvector's values from bytes: what fits, and what is damaged, without that extension.

tests![
    reads_vectors,
    reads_halves,
    reads_pairs,
    refuses_damaged_values,
];

use crate::pg::vector::{append_elements, pairs};

/// A `vector` of these elements that says it has `count`.
fn vector(count: i16, elements: &[f32]) -> Vec<u8> {
    let mut bytes = count.to_ne_bytes().to_vec();
    bytes.extend([0; 2]);
    bytes.extend(elements.iter().flat_map(|element| element.to_ne_bytes()));
    bytes
}

/// A `sparsevec` of these pairs that says it has `count`.
fn sparsevec(count: i32, pairs: &[(i32, f32)]) -> Vec<u8> {
    let mut bytes: Vec<u8> = [100, count, 0]
        .iter()
        .flat_map(|word: &i32| word.to_ne_bytes())
        .collect();
    bytes.extend(pairs.iter().flat_map(|pair| pair.0.to_ne_bytes()));
    bytes.extend(pairs.iter().flat_map(|pair| pair.1.to_ne_bytes()));
    bytes
}

fn halves(words: &[u16]) -> Vec<u8> {
    let mut bytes = (words.len() as i16).to_ne_bytes().to_vec();
    bytes.extend([0; 2]);
    bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    bytes
}

fn reads_vectors() {
    let mut out = vec![7.0];
    assert_eq!(
        append_elements(&vector(2, &[0.5, -3.0]), false, &mut out).unwrap(),
        Some(2)
    );
    assert_eq!(out, [7.0, 0.5, -3.0]);
    assert_eq!(
        append_elements(&vector(0, &[]), false, &mut out).unwrap(),
        Some(0)
    );
}

fn reads_halves() {
    let words = [0x3c00, 0xc000, 0x0001, 0x0400, 0x7bff, 0x7c00, 0x8000];
    let mut out = Vec::new();
    assert_eq!(
        append_elements(&halves(&words), true, &mut out).unwrap(),
        Some(7)
    );
    let smallest = 2f64.powi(-24);
    assert_eq!(
        out,
        [
            1.0,
            -2.0,
            smallest,
            2f64.powi(-14),
            65504.0,
            f64::INFINITY,
            0.0
        ]
    );
}

fn reads_pairs() {
    let bytes = sparsevec(2, &[(0, 1.5), (99, -2.0)]);
    let read: Vec<_> = pairs(&bytes).into_iter().flatten().collect();
    assert_eq!(read, [(0, 1.5), (99, -2.0)]);
}

fn refuses_damaged_values() {
    let mut out = Vec::new();
    for count in [-1, 1, 3, i16::MAX, i16::MIN] {
        assert_eq!(
            append_elements(&vector(count, &[1.0, 2.0]), false, &mut out).unwrap(),
            None
        );
    }
    for count in [-1, 1, 3, i32::MAX, i32::MIN] {
        assert!(pairs(&sparsevec(count, &[(0, 1.0), (1, 2.0)])).is_none());
    }
    let whole = sparsevec(2, &[(0, 1.0), (1, 2.0)]);
    for end in 0..whole.len() {
        assert!(pairs(&whole[..end]).is_none());
        assert_eq!(
            append_elements(&vector(2, &[1.0, 2.0])[..end.min(11)], false, &mut out).unwrap(),
            None
        );
    }
}
