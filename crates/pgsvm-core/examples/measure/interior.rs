//! PSVM: what it took and came to, and coordinate descent on the same factor beside it.

use std::fs;
use std::time::Instant;

use pgsvm_core::engine::{train, MemorySpool, Settings, Threads};
use pgsvm_core::kernels::{Expansion, Room, Rows};
use pgsvm_core::{
    HeadSpec, InteriorOutcome, InteriorTerms, LowRankSource, MachineThreads, Problem, Scale,
    SolverChoice, Source, Step, Trainer,
};

use crate::arrays::Arrays;
use crate::clock::Clock;
use crate::low_rank::share_right;
use crate::{debug, Result};

/// Rows mapped at a time.
const AT_ONCE: usize = 4096;

/// What is wanted.
pub struct Wanted {
    pub terms: InteriorTerms,
    /// Rows to be decided.
    pub test: Option<Arrays>,
    /// The training rows again, for coordinate descent.
    pub beside: Option<Arrays>,
}

/// Solves the heads of this training, and says what that took and what came of it.
pub fn solve(
    source: &mut LowRankSource<Arrays, MemorySpool>,
    trainer: &Trainer,
    problem: &Problem,
    wanted: Wanted,
) -> Result<()> {
    let (began, cpu) = (Instant::now(), process_seconds()?);
    let map = source.map().ok_or("no row was mapped")?;
    let crew = MachineThreads::new(wanted.terms.machines);
    let solver = trainer.interior_point(map, problem, wanted.terms, (None, crew));
    let solver = solver.map_err(|halt| format!("{halt:?}"))?;
    let mut solver = solver.ok_or("there are no heads")?;
    while solver.step(source).map_err(debug)? != Step::Done {}
    let found = solver.finish()?.ok_or("there is no factor")?;
    let (wall, cpu) = (began.elapsed().as_secs_f64(), process_seconds()? - cpu);
    let factored = found.log.first().map_or(f64::NAN, |step| step.seconds);
    let accuracy = match wanted.test {
        Some(test) => share_right(&machine(&found)?, test)?,
        None => f64::NAN,
    };
    let certificates = || found.reports.iter().map(|report| report.certificate);
    let times = |of: fn(&pgsvm_core::MachineTimes) -> f64| -> Vec<f64> {
        found.times.iter().map(of).collect()
    };
    println!(
        "{{\"wall\": {wall}, \"cpu\": {cpu}, \"factored\": {factored}, \"steps\": {}, \"rank\": {}, \"left_out\": {}, \"bound\": {}, \"primal\": {}, \"dual\": {}, \"gap\": {}, \"support\": {}, \"accuracy\": {accuracy}, \"computing\": {:?}, \"exchanging\": {:?}, \"waiting\": {:?}}}",
        found.steps,
        found.map.rank(),
        found.map.left_out(),
        found.bounds.iter().sum::<f64>(),
        certificates().map(|it| it.primal).sum::<f64>(),
        certificates().map(|it| it.dual).sum::<f64>(),
        certificates().map(|it| it.gap).fold(0.0, f64::max),
        found.reports[0].support_vectors,
        times(|it| it.computing),
        times(|it| it.exchanging),
        times(|it| it.waiting),
    );
    match wanted.beside {
        Some(rows) => descend(&found, problem, rows),
        None => Ok(()),
    }
}

/// All heads, to decide with.
fn machine(found: &InteriorOutcome) -> Result<Expansion> {
    let landmarks = found.map.landmarks().rows().copied()?;
    let mut factors = Vec::new();
    for weights in &found.weights {
        factors.extend(found.map.fold(weights.iter().copied())?);
    }
    let intercepts = found.intercepts.clone();
    let machine = Expansion::new(*found.map.kernel(), landmarks, factors, intercepts)?;
    machine.ok_or_else(|| "weights and landmarks do not fit".into())
}

/// Coordinate descent over the rows of the factor, which a map makes again.
fn descend(found: &InteriorOutcome, problem: &Problem, mut rows: Arrays) -> Result<()> {
    let width = found.map.landmarks().rows().width();
    let (mut classes, mut mapped) = (Vec::new(), Vec::new());
    let (mut room, mut more) = (Room::default(), true);
    while more {
        let mut block = Rows::new(width);
        let taken = rows.fetch(AT_ONCE, &mut |example| {
            let dense: Vec<f32> = example.dense.iter().map(|x| *x as f32).collect();
            let offset = dense.len() as u32;
            let entries = example.sparse_index.iter().zip(example.sparse_value);
            let entries = entries.map(|(index, value)| [index + offset, value.to_bits()]);
            classes.push(example.group);
            let sparse: Vec<_> = entries.collect();
            block
                .push(&dense, &sparse)
                .map_err(|error| pgsvm_core::RowError::OutOfMemory { bytes: error.bytes })
        });
        more = taken.map_err(debug)?;
        let start = mapped.len();
        mapped.resize(start + block.len() * found.map.rank(), 0.0);
        found.map.map(&block, 0, &mut room, &mut mapped[start..])?;
    }
    let source = Arrays::of(classes, found.map.rank(), mapped);
    let settings = Settings::new(4_000_000_000, Scale::None, Threads::One);
    let problem = problem
        .with(|it| it.stopping.max_passes = Some(Problem::DEFAULT_MAX_PASSES))?
        .with(|it| it.solver = SolverChoice::Stream)
        .expect("valid");
    let heads = vec![HeadSpec::binary(problem.c())];
    let clock = Clock::start()?;
    let trained = train(problem, heads, source, MemorySpool::default(), settings);
    let trained = trained.map_err(debug)?;
    let seconds = clock.read()?;
    let report = trained.trainer.report()?;
    let certificate = report.heads[0].certificate;
    println!(
        "{{\"cpu\": {}, \"loading\": {}, \"primal\": {}, \"dual\": {}, \"gap\": {}, \"passes\": {}}}",
        seconds.cpu,
        trained.loading_seconds,
        certificate.primal,
        certificate.dual,
        certificate.gap,
        report.passes
    );
    Ok(())
}

/// Processor seconds of all threads of this process, those that have ended too; in hundredths.
fn process_seconds() -> Result<f64> {
    let text = fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = text.rsplit_once(')').ok_or("an odd stat")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
    Ok(ticks / 100.0)
}
