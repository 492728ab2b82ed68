//! Kernel machines of low rank: what is asked, and what came of it.

use pgsvm_core::engine::MemorySpool;
use pgsvm_core::kernels::{Expansion, KernelKind, KernelSpec, Room, Rows};
use pgsvm_core::{
    InteriorRank, InteriorTerms, LandmarkChoice, LowRankJob, LowRankSource, Problem, Source, Step,
    Trainer,
};

use crate::arrays::Arrays;
use crate::clock::Clock;
use crate::options::Options;
use crate::{debug, Result};

/// Rows decided at a time.
const AT_ONCE: usize = 4096;

pub struct Asked {
    pub job: LowRankJob,
    pub raw_cache: usize,
    pub test: Option<String>,
    /// Bytes for the exact method, where that is to follow.
    pub exact: Option<usize>,
    /// The same of PSVM.
    pub interior: Option<InteriorTerms>,
    /// Its steps at most, and whether coordinate descent is to solve the same on its factor.
    pub steps: u32,
    pub beside: bool,
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
    let exact = options.take("exact").map(|it| it.parse()).transpose()?;
    let interior = interior(options)?;
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
        keeps_rows: exact.is_some() || interior.is_some(),
        seed: options.number("landmark_seed", 0)?,
        sample_times: options.number("sample_times", LowRankJob::SAMPLE_TIMES)?,
        ..LowRankJob::new(kernel)
    };
    Ok(Some(Asked {
        job,
        raw_cache: options.number("raw_cache", 2_000_000_000)?,
        test: options.take("test"),
        exact,
        interior,
        steps: options.number("steps", InteriorTerms::MOST_STEPS)?,
        beside: options.number("beside", 0)? == 1,
    }))
}

/// PSVM, where its number of machines is given.
fn interior(options: &mut Options) -> Result<Option<InteriorTerms>> {
    let power = options.number("exponent", InteriorTerms::POWER)?;
    let rank = options.take("columns").map(|it| it.parse()).transpose()?;
    let trace_tolerance = options.number("factor_trace", LowRankJob::DEFAULT_TOLERANCE)?;
    let memory_bytes = options.number("interior_memory", 4 << 30)?;
    let machines = options.take("interior").map(|it| it.parse()).transpose()?;
    Ok(machines.map(|machines| InteriorTerms {
        machines,
        rank: rank.map_or(InteriorRank::Power(power), InteriorRank::Given),
        trace_tolerance,
        in_norm: false,
        keep_duals: false,
        keep_weights: false,
        memory_bytes,
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

/// Solves the same exactly, and says what that took and what came of it.
pub fn solve_exactly(
    source: &mut LowRankSource<Arrays, MemorySpool>,
    trainer: &Trainer,
    problem: &Problem,
    bytes: usize,
    test: Option<Arrays>,
) -> Result<()> {
    let clock = Clock::start()?;
    let map = source.map().ok_or("no row was mapped")?;
    let kernel = *map.kernel();
    let solver = trainer.exactly(map, problem, bytes, false)?;
    let mut solver = solver.ok_or("weights and landmarks do not fit")?;
    let mut before = solver.progress();
    while solver.step(source).map_err(debug)? != Step::Done {
        let now = solver.progress();
        if now.passes != before.passes {
            let seconds = clock.read()?;
            println!(
                "{{\"head\": {}, \"pass\": {}, \"gap\": {}, \"cpu\": {}}}",
                now.head, now.passes, now.gap, seconds.cpu
            );
            before = now;
        }
    }
    let found = solver.finish()?;
    let seconds = clock.read()?;
    let report = found.reports[0];
    let landmarks = found.landmarks.len();
    let machine = Expansion::new(
        kernel,
        found.landmarks,
        found.factors.concat(),
        found.intercepts,
    )?;
    let accuracy = match (machine, test) {
        (Some(machine), Some(test)) => share_right(&machine, test)?,
        _ => f64::NAN,
    };
    println!(
        "{{\"exact_cpu\": {}, \"primal\": {}, \"dual\": {}, \"gap\": {}, \"support\": {landmarks}, \"accuracy\": {accuracy}}}",
        seconds.cpu, report.certificate.primal, report.certificate.dual, report.certificate.gap
    );
    Ok(())
}

/// How many of other rows the first head of low rank decides rightly.
fn accuracy(
    source: &LowRankSource<Arrays, MemorySpool>,
    trainer: &Trainer,
    test: Arrays,
) -> Result<f64> {
    let map = source.map().ok_or("no row was mapped")?;
    let machine = trainer.machines(map, 1)?;
    share_right(&machine.ok_or("weights and landmarks do not fit")?, test)
}

/// How many of these rows a machine decides rightly, or of several classes that of the right one with the greatest decision.
pub fn share_right(machine: &Expansion, mut test: Arrays) -> Result<f64> {
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
        let fits = |(class, own): (&u32, &[f64])| match own {
            [only] => (*only > 0.0) == (*class == 1),
            many => (0..many.len()).all(|other| many[other] <= many[*class as usize]),
        };
        let each = decisions.chunks_exact(machine.machines());
        right += classes.iter().zip(each).filter(|it| fits(*it)).count();
        all += classes.len();
    }
    Ok(right as f64 / all as f64)
}
