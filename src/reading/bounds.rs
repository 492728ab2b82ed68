//! What a training may take at most, as superusers have set it: features, and memory for the heads that rows turn out to need. The reading
//! process asks row by row, as features, classes and folds appear, before anybody takes that memory.

use crate::base::errors::{Code, Failure};
use crate::base::settings;
use crate::planning::job::Job;
use pgsvm_core::Pairs;

/// Bytes of weights for each feature and head, at most: see "Memory" in docs/reference/server.md.
const WEIGHT_BYTES: usize = 60;
/// The same by scans.
const SCANNED_WEIGHT_BYTES: usize = 190;
/// What several threads take besides, each.
const THREAD_WEIGHT_BYTES: usize = 20;
/// What a feature takes once: its scaling.
const FEATURE_BYTES: usize = 16;
/// What a map to landmarks takes for each two of them: see "Memory and time" in docs/reference/kernels.md, of a sample with as many rows.
const LANDMARK_BYTES: usize = 28;
/// The dual variable of a row and head.
const DUAL_BYTES: usize = 8;

/// The bounds of a training, and what it has come to.
pub(super) struct RowBounds {
    features: usize,
    bytes: usize,
    /// The row cache.
    cache: usize,
    /// Of each head: of a feature, and of a row.
    head_bytes: [usize; 2],
    /// Landmarks that were asked for; 0 where the cache bounds them.
    rank: usize,
    /// Values of C and s that are compared, each on every fold.
    candidates: usize,
    /// Classes up to which each head tells two apart.
    pairs_up_to: usize,
    /// Rows that are expected.
    rows: u64,
    /// How indices are hashed, where some are taken as they are.
    hashed: Option<String>,
    /// The most features that a row had.
    widest: usize,
}

/// What rows have come to: how many, and in how many classes and folds.
pub(super) struct SeenCounts {
    pub rows: u64,
    pub classes: usize,
    pub folds: usize,
}

impl RowBounds {
    pub fn of(job: &Job) -> Self {
        let scans = job.terms.scans();
        let weight = match job.resources.trainers {
            _ if scans => SCANNED_WEIGHT_BYTES,
            1 => WEIGHT_BYTES,
            threads => WEIGHT_BYTES + THREAD_WEIGHT_BYTES * threads,
        };
        Self {
            features: settings::max_features(),
            bytes: settings::max_memory_bytes(),
            cache: job.resources.cache_bytes,
            head_bytes: match job.kernel {
                // weights are those of landmarks
                Some(_) => [0, DUAL_BYTES],
                None if scans => [weight, 0],
                None => [weight, DUAL_BYTES],
            },
            rank: match &job.kernel {
                Some(kernel) => kernel.maps.iter().filter_map(|map| map.rank).max(),
                None => None,
            }
            .unwrap_or(0),
            candidates: match job.plan.holds_out() {
                true => job.plan.candidate_count(),
                false => 0,
            },
            pairs_up_to: job.plan.pairs_up_to,
            rows: job.statement.expected_rows,
            hashed: job
                .features
                .parts
                .iter()
                .find_map(|part| part.hashed_entry()),
            widest: 0,
        }
    }

    /// Refuses a row of so many features where that makes more than there may be.
    #[inline]
    pub fn check(&mut self, features: usize, seen: SeenCounts) -> Result<(), Failure> {
        self.widest = self.widest.max(features);
        if features > self.features {
            return Err(self.too_many_features(features, seen.rows));
        }
        match self.bytes_of(&seen) > self.bytes {
            true => Err(self.too_much_memory(&seen)),
            false => Ok(()),
        }
    }

    /// What the training takes if no more comes.
    fn bytes_of(&self, seen: &SeenCounts) -> usize {
        let [feature, row] = self.head_bytes;
        let rows = usize::try_from(seen.rows).unwrap_or(usize::MAX);
        let landmarks = self.landmarks(seen);
        let weights = (self.widest.saturating_mul(feature))
            .saturating_add(landmarks.saturating_mul(WEIGHT_BYTES));
        let map = landmarks
            .saturating_mul(landmarks)
            .saturating_mul(LANDMARK_BYTES);
        weights
            .saturating_add(rows.saturating_mul(row))
            .saturating_mul(self.heads(seen))
            .saturating_add(map)
            .saturating_add(self.widest.saturating_mul(FEATURE_BYTES))
            .saturating_add(self.cache)
    }

    /// There are no more of them than rows.
    fn landmarks(&self, seen: &SeenCounts) -> usize {
        let rows = usize::try_from(seen.rows).unwrap_or(usize::MAX);
        self.rank.min(rows)
    }

    /// Two classes have one head, more have one each or one a pair; rows that are held out have them for each fold and candidate.
    fn heads(&self, seen: &SeenCounts) -> usize {
        let classifier = match seen.classes {
            ..=2 => 1,
            classes if classes <= self.pairs_up_to => Pairs::count(classes),
            classes => classes,
        };
        classifier * (1 + self.candidates * seen.folds)
    }

    fn too_many_features(&self, features: usize, row: u64) -> Failure {
        Failure::new(
            Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!(
                "a training has at most {} features, and this row would make {features}",
                self.features
            ),
        )
        .detail(match &self.hashed {
            Some(_) => format!("It is row {row} of the source. A sparse index makes as many features as it is large, and each takes memory."),
            None => format!("It is row {row} of the source. Each feature takes memory."),
        })
        .hint(match &self.hashed {
            Some(entry) => format!("Hash the indices: {entry}; a superuser may raise pgsvm.max_features"),
            None => "Leave columns out: exclude => '{…}'; a superuser may raise pgsvm.max_features".to_owned(),
        })
    }

    fn too_much_memory(&self, seen: &SeenCounts) -> Failure {
        let mb = |bytes: usize| bytes.div_ceil(1 << 20);
        let heads = self.heads(seen);
        Failure::new(
            Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!(
                "the training would take {} MB, and pgsvm.max_memory allows {} MB",
                mb(self.bytes_of(seen)),
                mb(self.bytes)
            ),
        )
        .detail(format!(
            "Up to row {} of the source there are {} {}, and weights for {} {}: one for two classes, else one for each class or pair of classes, and as many again for each fold and value of C. The cache of rows takes {} MB.",
            seen.rows,
            if self.rank > 0 { self.landmarks(seen) } else { self.widest },
            if self.rank > 0 { "landmarks" } else { "features" },
            heads,
            if heads == 1 { "decision" } else { "decisions" },
            mb(self.cache)
        ))
        .hint(self.less_memory(seen))
    }

    /// How the training takes less, the likeliest first.
    fn less_memory(&self, seen: &SeenCounts) -> String {
        let mut tries = Vec::new();
        let all = SeenCounts {
            rows: seen.rows.max(self.rows),
            ..*seen
        };
        let others = self.bytes_of(&all) - self.cache;
        let free = (self.bytes.saturating_sub(others) >> 20) * 3 / 4;
        if free > 0 && free < self.cache >> 20 {
            tries.push(format!("SET pgsvm.cache_size = '{free}MB'"));
        }
        if self.rank > 0 {
            tries.push("a smaller rank".to_owned());
        }
        if let Some(entry) = &self.hashed {
            tries.push(format!("indices hashed into fewer features: {entry}"));
        }
        if self.candidates > 0 {
            tries.push("fewer values of C or folds".to_owned());
        }
        tries.push("fewer features or classes".to_owned());
        format!(
            "Try {}; a superuser may raise pgsvm.max_memory",
            tries.join(", or ")
        )
    }
}
