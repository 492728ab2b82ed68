//! Kernel machines of low rank: what is asked, and what came of it.

use pgsvm_core::engine::MemorySpool;
use pgsvm_core::kernels::{Expansion, KernelKind, KernelSpec, Room, Rows};
use pgsvm_core::{LandmarkChoice, LowRankJob, LowRankSource, Source, Trainer};

use crate::arrays::Arrays;
use crate::options::Options;
use crate::{debug, Result};

/// Rows decided at a time.
const AT_ONCE: usize = 4096;

pub struct Asked {
    pub job: LowRankJob,
    pub raw_cache: usize,
    pub test: Option<String>,
}

/// None where no kernel is named.
pub fn asked(options: &mut Options) -> Result<Option<Asked>> {
    let kind = match options.take("kernel").as_deref() {
        None => return Ok(None),
        Some("linear") => KernelKind::Linear,
        Some("rbf") => KernelKind::Rbf,
        Some("polynomial") => KernelKind::Polynomial,
        Some("sigmoid") => KernelKind::Sigmoid,
        Some(other) => return Err(format!("unknown kernel {other}").into()),
    };
    let gamma = options
        .take("gamma")
        .map(|gamma| gamma.parse())
        .transpose()?;
    let degree = options.number("degree", 3)?;
    let kernel = KernelSpec::new(kind, gamma, degree, options.number("coef0", 0.0)?)?;
    let rank = options.take("rank").map(|rank| rank.parse()).transpose()?;
    let job = LowRankJob {
        rank,
        tolerance: options.number("trace", LowRankJob::DEFAULT_TOLERANCE)?,
        landmarks: match options.take("landmarks").as_deref() {
            None | Some("pivots") => LandmarkChoice::Pivots,
            Some("drawn") => LandmarkChoice::Drawn,
            Some("uniform") => LandmarkChoice::Uniform,
            Some("centres") => LandmarkChoice::Centres,
            Some(other) => return Err(format!("unknown landmarks {other}").into()),
        },
        ..LowRankJob::new(kernel)
    };
    Ok(Some(Asked {
        job,
        raw_cache: options.number("raw_cache", 2_000_000_000)?,
        test: options.take("test"),
    }))
}

/// Says how rows were mapped, and how many of other rows are decided rightly by the first head.
pub fn tell(
    source: &LowRankSource<Arrays, MemorySpool>,
    trainer: &Trainer,
    test: Option<Arrays>,
) -> Result<()> {
    let map = source.map().ok_or("no row was mapped")?;
    let accuracy = match test {
        None => f64::NAN,
        Some(test) => accuracy(source, trainer, test)?,
    };
    println!(
        "{{\"kernel\": \"{:?}\", \"rank\": {}, \"left_out\": {}, \"accuracy\": {accuracy}}}",
        map.kernel(),
        map.rank(),
        map.left_out()
    );
    Ok(())
}

fn accuracy(
    source: &LowRankSource<Arrays, MemorySpool>,
    trainer: &Trainer,
    mut test: Arrays,
) -> Result<f64> {
    let map = source.map().ok_or("no row was mapped")?;
    let found = trainer.weights(0);
    let landmarks = map.landmarks().rows();
    let mut copy = Rows::new(landmarks.width());
    (0..landmarks.len()).try_for_each(|row| copy.push_from(landmarks, row))?;
    let factors = map.fold(found.iter())?;
    let machine = Expansion::new(*map.kernel(), copy, factors, vec![found.intercept()])?;
    let machine = machine.ok_or("weights and landmarks do not fit")?;
    let (mut room, mut decisions) = (Room::default(), Vec::new());
    let (mut right, mut all, mut more) = (0usize, 0usize, true);
    while more {
        let (mut rows, mut classes) = (Rows::new(machine.width()), Vec::new());
        more = test
            .fetch(AT_ONCE, &mut |example| {
                let dense: Vec<f32> = example.dense.iter().map(|x| *x as f32).collect();
                let offset = dense.len() as u32;
                let entries = example.sparse_index.iter().zip(example.sparse_value);
                let sparse: Vec<_> = entries
                    .map(|(index, value)| [index + offset, value.to_bits()])
                    .collect();
                classes.push(example.group);
                rows.push(&dense, &sparse)
                    .map_err(|error| pgsvm_core::RowError::OutOfMemory { bytes: error.bytes })
            })
            .map_err(debug)?;
        machine.decide(&rows, &mut room, &mut decisions)?;
        let fits = |(class, decision): (&u32, &f64)| (*decision > 0.0) == (*class == 1);
        right += classes
            .iter()
            .zip(&decisions)
            .filter(|it| fits(*it))
            .count();
        all += classes.len();
    }
    Ok(right as f64 / all as f64)
}
