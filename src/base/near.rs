//! Names like one that is misspelt, for hints.

/// Longest name, in characters, that is compared: PostgreSQL's own have 63 bytes.
const LONGEST: usize = 64;
/// Names that a hint shows.
pub const SHOWN: usize = 3;

/// The names most like `name`, the nearest first: those that differ in case alone, or else in so few characters that it may
/// have been meant.
pub fn names<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let lower: Vec<char> = name
        .chars()
        .flat_map(char::to_lowercase)
        .take(LONGEST + 1)
        .collect();
    if lower.is_empty() || lower.len() > LONGEST {
        return Vec::new();
    }
    let near = known.filter_map(|known| {
        pgrx::check_for_interrupts!();
        Some((distance_to(known, &lower)?, known))
    });
    let mut near: Vec<(usize, &str)> = near.collect();
    near.sort_by_key(|(away, _)| *away);
    let nearest = near.first().map_or(0, |(away, _)| *away);
    near.iter()
        .filter(|(away, _)| nearest > 0 || *away == 0)
        .take(SHOWN)
        .map(|(_, known)| (*known).to_owned())
        .collect()
}

/// How far a name is from `lower`, whatever its case; None where it is too far.
fn distance_to(known: &str, lower: &[char]) -> Option<usize> {
    let most = lower.len() / 3;
    let other: Vec<char> = known.to_lowercase().chars().take(LONGEST).collect();
    if lower.len().abs_diff(other.len()) > most {
        return None;
    }
    Some(distance(lower, &other)).filter(|away| *away <= most)
}

/// Insertions, deletions, replacements and swaps of neighbours that make one text the other.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let replaced = last[j] + usize::from(a != b);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[other.len()]
}

/// What a hint says of them; None where there are none.
pub fn hint(near: &[String]) -> Option<String> {
    match near {
        [] => None,
        [one] => Some(format!(
            "There is a column \"{one}\"; write its name exactly so."
        )),
        many => {
            let names: Vec<_> = many.iter().map(|name| format!("\"{name}\"")).collect();
            Some(format!("The nearest names are {}.", names.join(", ")))
        }
    }
}
