//! One training on arrays in a folder, measured: prints seconds, certificate and passes as JSON and leaves the weights.
//!
//! `measure FOLDER [key=value …]`, called by bench/. The folder holds `label.i8` (-1 or 1 a row) and either `dense.f32`
//! (rows one after the other) or `offset.i64` (rows + 1), `index.u32` and `value.f32`, in the machine's byte order.
//!
//! | key | means |
//! |---|---|
//! | features | of a dense row |
//! | strings, longest | in place of other rows `letter.u8`: strings of so many letters ACGT, whose runs of up to so many letters are the features |
//! | expansion | of those: `stored`, or `visit`, which keeps the strings |
//! | c, tolerance, passes, intercept (0, 1, 2 for a free one), seed | the problem |
//! | heads, labels | train class k against the others for each k below `heads`; a file of class ids instead of `label.i8` |
//! | cache | bytes |
//! | chunks_by | by what `indexed` files rows: `slack` or `forest`, whose shape are `tree_size`, `tree_width`, `query_size`, `query_end` and `shrink_above` |
//! | solver | what stays in a cache that is smaller than the rows: `stream`, `indexed`, `paper`, `block` or `selective_block` |
//! | newton | whether Newton's method begins: `auto`, `on` or `off` |
//! | loss | `hinge`, `squared_hinge` or `huber` |
//! | epsilon | rows have numbers to predict, in `target.f64`, and the loss is one of the distance beyond this: `hinge` that distance, `squared_hinge` its square, `huber` Huber's with `delta`; labels are not scaled |
//! | truncation | s of the truncated loss min(L, 1 + s) |
//! | proximal | the proximal shift: `auto`, `on` or `off` |
//! | inner, inner_rounds | how blocks are solved, `dual` or `newton`; rounds over a block at most |
//! | kernel | `rbf`, `polynomial`, `sigmoid` or `linear`: rows are mapped by landmarks first |
//! | exact | bytes of memory: the same is solved exactly afterwards, beginning at the machine of low rank |
//! | interior | machines: PSVM solves the heads afterwards, which `passes=1 rank=1` only names; `exponent` of the number of rows, or `columns`, `factor_trace`, `steps` and `interior_memory` bytes say how far it goes |
//! | beside | 1: coordinate descent solves the same on PSVM's factor, with `intercept=0` the same problem |
//! | gamma, degree, coef0 | of the kernel; gamma is scikit-learn's 'scale' where it is not given |
//! | rank, landmarks, trace | landmarks at most; `pivots`, `drawn`, `uniform` or `centres`; the part of the trace that may be left out |
//! | raw_cache | bytes for rows that are to be mapped |
//! | test | folder of rows whose decisions are compared with their labels |
//! | threads | 1: the roles take turns; 2: the reader has a thread of its own |
//! | lockstep | 1: as many visits of kept rows as the schedule owes, whichever role is faster |
//! | trainers | threads that train at the same time |
//! | throttle_mb | megabytes a second at which the spool is written and read at most |
//! | seconds, wall | processor and wall seconds after which the trainer is asked to stop |
//! | dual | the dual objective at which it is asked to stop |
//! | bandwidth | 1: also measure how fast as many bytes as the cached rows take can be read |
//! | start | folder with the files of `out`: one head begins from those dual variables and weights |
//! | out | folder for `weights.f64` (features in order, then the intercept, head after head) and `duals.f32` |
//!
//! The clock of the solver starts when the rows are encoded in the cache, or in the spool.

mod arrays;
mod bandwidth;
mod clock;
mod interior;
mod low_rank;
mod observer;
mod options;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use arrays::{numbers, Arrays};
use clock::{Clock, Time};
use observer::{Limit, Observer, Point};
use options::Options;
use pgsvm_core::engine::{MemorySpool, ThrottledSpool};
use pgsvm_core::{
    Awake, Blocks, Cache, CompactForm, Expanding, ForestShape, Formulation, HeadSpec, Indexed,
    Inner, Intercept, LogEntry, Loss, LowRankSource, Parameters, PartForm, Phase, Picks, Problem,
    Proximal, Reader, ReaderJob, Scale, SolverChoice, Source, Start, Step, Stopping, StringForm,
    TargetJob, Timing, Trainer, TrainerReport,
};

/// Rows of a reader's step and stored words of a trainer's.
const READER_BUDGET: usize = 1024;
const TRAINER_BUDGET: usize = 1 << 20;
/// How long a role with a thread of its own rests when it is blocked.
const REST: Duration = Duration::from_micros(50);

type MeasuredReader<S> = Reader<S, ThrottledSpool<MemorySpool>>;
type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments
        .next()
        .ok_or("usage: measure FOLDER [key=value …]")?;
    let mut options = Options::parse(arguments)?;

    let c = options.number("c", 1.0)?;
    let problem = problem(&mut options, c)?;
    let heads = heads(options.number("heads", 1)?, c);
    let cache = Cache::in_memory(options.number("cache", 4_000_000_000)?)?;
    let threads: u32 = options.number("threads", 1)?;
    let bytes_per_second = 1e6 * options.number("throttle_mb", f64::INFINITY)?;
    let spool = ThrottledSpool::new(MemorySpool::default(), bytes_per_second);
    let limit = Limit {
        time: Time {
            cpu: options.number("seconds", f64::INFINITY)?,
            wall: options.number("wall", f64::INFINITY)?,
        },
        dual: options.number("dual", f64::INFINITY)?,
    };
    let wants_bandwidth = options.number("bandwidth", 0)? == 1;
    let out = options.take("out");
    let start = options.take("start");
    let labels = options.take("labels").unwrap_or("label.i8".into());
    let features = options.number("features", 0)?;
    let kernel = low_rank::asked(&mut options)?;
    let strings = (options.number("strings", 0)?, options.number("longest", 8)?);
    let expansion = options.take("expansion").unwrap_or("visit".into());
    let epsilon = options.take("epsilon").map(|it| it.parse()).transpose()?;
    let delta = options.take("delta").map(|it| it.parse()).transpose()?;
    options.finish()?;

    let load = |folder: &str| match strings.0 {
        0 => {
            let folder = Path::new(folder);
            let arrays = Arrays::load(folder, features, &labels)?;
            match epsilon {
                Some(_) => arrays.with_targets(folder),
                None => Ok(arrays),
            }
        }
        _ => Arrays::strings(Path::new(folder), strings, &labels),
    };
    let exact_problem = problem;
    let loading = Clock::start()?;
    let form = StringForm {
        letters: 4,
        longest: strings.1 as u8,
    };
    let job = ReaderJob {
        expansion: (strings.0 > 0 && expansion != "stored").then_some(Expanding {
            form: CompactForm {
                parts: 1,
                kept: [Some((0, PartForm::String(form))), None, None, None],
            },
            measured: (expansion == "auto").then_some(0),
        }),
        targets: epsilon.map(|epsilon| TargetJob {
            epsilon,
            delta,
            standardizes: false,
        }),
        ..ReaderJob::new(Scale::None, &problem)
    };
    let arrays = load(&folder)?;
    let measured = Measured {
        cache,
        problem,
        heads,
        threads,
        limit,
        wants_bandwidth,
        out,
        start,
        loading,
    };
    let Some(asked) = kernel else {
        let reader = Reader::new(measured.cache.clone(), job, arrays, spool)?;
        measured.train(reader)?;
        return Ok(());
    };
    let source = LowRankSource::new(
        arrays,
        MemorySpool::default(),
        job,
        asked.job,
        asked.raw_cache,
    )?;
    let reader = Reader::new(measured.cache.clone(), job, source, spool)?;
    let (mut reader, trainer) = measured.train(reader)?;
    let test = asked.test.as_deref().map(load).transpose()?;
    low_rank::tell(reader.source(), &trainer, test)?;
    if let Some(terms) = asked.interior {
        let problem = exact_problem.with(|it| it.stopping.max_passes = Some(asked.steps))?;
        let [test, rows] = [
            asked.test.as_deref(),
            asked.beside.then_some(folder.as_str()),
        ];
        let wanted = interior::Wanted {
            terms,
            test: test.map(load).transpose()?,
            beside: rows.map(load).transpose()?,
        };
        return interior::solve(reader.source_mut(), &trainer, &problem, wanted);
    }
    match asked.exact {
        None => Ok(()),
        Some(bytes) => {
            let test = asked.test.as_deref().map(load).transpose()?;
            low_rank::solve_exactly(reader.source_mut(), &trainer, &exact_problem, bytes, test)
        }
    }
}

/// What is trained and looked at.
struct Measured {
    cache: Cache,
    problem: Problem,
    heads: Vec<HeadSpec>,
    threads: u32,
    limit: Limit,
    wants_bandwidth: bool,
    out: Option<String>,
    start: Option<String>,
    loading: Clock,
}

impl Measured {
    /// Trains on what this reader reads, and prints what there is to say.
    fn train<S: Source + Send>(
        self,
        mut reader: MeasuredReader<S>,
    ) -> Result<(MeasuredReader<S>, Trainer)>
    where
        S::Error: Send + std::fmt::Debug,
    {
        let Self {
            cache,
            problem,
            heads,
            threads,
            limit,
            wants_bandwidth,
            out,
            start,
            loading,
        } = self;
        while cache.phase() == Phase::Loading {
            reader.step(READER_BUDGET).map_err(debug)?;
        }
        let loading = loading.read()?;

        let mut trainer = Trainer::new(cache.clone(), problem, heads.clone()).map_err(debug)?;
        if let Some(folder) = start {
            trainer.begin_from(vec![read_start(Path::new(&folder))?]);
        }
        let mut observer = Observer::start(&cache, limit)?;
        match threads {
            1 => take_turns(&mut reader, &mut trainer, &mut observer)?,
            _ => side_by_side(&mut reader, &mut trainer, &mut observer)?,
        }
        let solving = observer.finish(&trainer)?;

        let seen = cache.statistics();
        let row_bytes = seen.bytes_loaded as f64 / seen.rows as f64;
        let read_bandwidth = match wants_bandwidth {
            true => bandwidth::of_reading(seen.bytes_loaded as usize)?,
            false => 0.0,
        };
        let report = trainer.report().unwrap();
        let mut fields = outcome(&report, [loading, solving]);
        fields.extend([
            ("row_bytes", row_bytes),
            ("spool_bytes", reader.report().unwrap().spool_bytes as f64),
            ("spool_bytes_read", reader.parts().1.bytes_read() as f64),
            ("full_bandwidth", observer.full.bytes_per_second(row_bytes)),
            (
                "active_bandwidth",
                observer.active.bytes_per_second(row_bytes),
            ),
            ("read_bandwidth", read_bandwidth),
        ]);
        tell(&fields, &report, &observer.points, &trainer.log().unwrap());
        if let Some(out) = out {
            write(Path::new(&out), &trainer, heads.len())?;
        }
        Ok((reader, trainer))
    }
}

/// What was found, and how long it took to load and to solve.
fn outcome(report: &TrainerReport, [loading, solving]: [Time; 2]) -> Vec<(&'static str, f64)> {
    let head = report.heads[0];
    let gaps = report.heads.iter().map(|head| head.certificate.gap);
    vec![
        ("load_wall", loading.wall),
        ("load_cpu", loading.cpu),
        ("wall", solving.wall),
        ("cpu", solving.cpu),
        ("primal", head.certificate.primal),
        ("dual", head.certificate.dual),
        ("gap", gaps.fold(0.0, f64::max)),
        ("passes", f64::from(report.passes)),
        ("visits", report.visits as f64),
        ("support", head.support_vectors as f64),
        (
            "objective",
            head.truncated
                .map_or(head.certificate.primal, |it| it.objective),
        ),
        (
            "outliers",
            head.truncated.map_or(0.0, |it| it.outliers as f64),
        ),
    ]
}

/// Prints all of it as JSON.
fn tell(fields: &[(&str, f64)], report: &TrainerReport, points: &[Point], log: &[LogEntry]) {
    let fields = fields.iter();
    let fields: Vec<_> = fields
        .map(|(name, value)| format!("\"{name}\": {value}"))
        .collect();
    let gaps: Vec<f64> = report.heads.iter().map(|it| it.certificate.gap).collect();
    let known = points.iter().filter(|point| point.primal.is_finite());
    let points: Vec<_> = known.map(point).collect();
    println!(
        "{{{}, \"gaps\": {gaps:?}, \"resident\": {}, \"points\": [{}], \"duals\": [{}], \"events\": [{}]}}",
        fields.join(", "),
        report.resident,
        points.join(", "),
        duals(log),
        events(log),
    );
}

fn problem(options: &mut Options, c: f64) -> Result<Problem> {
    let loss = [
        ("hinge", Loss::Hinge),
        ("squared_hinge", Loss::SquaredHinge),
        ("huber", Loss::Huber),
    ];
    let loss = options.word("loss", &loss)?;
    let timing = match options.number("lockstep", 0)? {
        1 => Timing::Lockstep,
        _ => Timing::Timed,
    };
    let proximal = [
        ("auto", Proximal::Auto),
        ("on", Proximal::On),
        ("off", Proximal::Off),
    ];
    let solver = solver(options)?;
    let truncation = options.take("truncation").map(|s| s.parse());
    let usual = Parameters::usual(loss, options.number("tolerance", 1e-3)?);
    let parameters = Parameters {
        formulation: Formulation {
            truncation: truncation.transpose()?,
            intercept: match options.number("intercept", 1)? {
                0 => Intercept::None,
                1 => Intercept::InNorm,
                _ => Intercept::Free,
            },
            ..usual.formulation
        },
        stopping: Stopping {
            max_passes: Some(options.number("passes", 1000)?),
            ..usual.stopping
        },
        solver,
        proximal: options.word("proximal", &proximal)?,
        seed: options.number("seed", 0)?,
    };
    let trainers = options.number("trainers", 1)?;
    let problem = Problem::of(parameters, c)?.with_trainers(trainers)?;
    Ok(problem.with_timing(timing))
}

fn solver(options: &mut Options) -> Result<SolverChoice> {
    let newton = options.word(
        "newton",
        &[
            ("off", SolverChoice::Stream),
            ("auto", SolverChoice::Auto),
            ("on", SolverChoice::Newton),
        ],
    )?;
    let inner = match options.word(
        "inner",
        &[("dual", Inner::USUAL), ("newton", Inner::Newton)],
    )? {
        Inner::Newton => Inner::Newton,
        _ => Inner::CoordinateDescent(options.number("inner_rounds", Inner::USUAL_ROUNDS)?),
    };
    let usual = ForestShape::USUAL;
    let shape = ForestShape {
        tree_size: options.number("tree_size", usual.tree_size)?,
        tree_width: options.number("tree_width", usual.tree_width)?,
        query_size: options.take("query_size").map(|n| n.parse()).transpose()?,
        query_end: options.take("query_end").map(|n| n.parse()).transpose()?,
        shrink_above: options.number("shrink_above", usual.shrink_above)?,
    };
    let chunks = [
        ("slack", Indexed::Slack),
        ("forest", Indexed::Forest(shape)),
    ];
    let indexed = match (options.word("chunks_by", &chunks)?, newton) {
        (_, SolverChoice::Newton) => Indexed::Newton,
        (by, _) => by,
    };
    options.word(
        "solver",
        &[
            ("stream", newton),
            ("indexed", SolverChoice::Indexed(indexed)),
            ("paper", SolverChoice::StreamSvm(Picks::Usual)),
            ("block", SolverChoice::Block(Blocks::solved_by(inner))),
            (
                "selective_block",
                SolverChoice::SelectiveBlock(Blocks::solved_by(inner)),
            ),
        ],
    )
}

fn heads(count: usize, c: f64) -> Vec<HeadSpec> {
    if count == 1 {
        return vec![HeadSpec::binary(c)];
    }
    let against_the_rest = |class: usize| {
        let mut signs = vec![-1; count];
        signs[class] = 1;
        HeadSpec::new(signs, c)
    };
    (0..count).map(against_the_rest).collect()
}

fn take_turns<S: Source>(
    reader: &mut MeasuredReader<S>,
    trainer: &mut Trainer,
    observer: &mut Observer,
) -> Result<()>
where
    S::Error: std::fmt::Debug,
{
    loop {
        while reader.step(READER_BUDGET).map_err(debug)? == Step::Progress {}
        loop {
            let step = trainer.step(TRAINER_BUDGET).map_err(debug)?;
            observer.look(trainer)?;
            match step {
                Step::Progress => {}
                Step::Blocked => break,
                Step::Done => return Ok(()),
            }
        }
    }
}

fn side_by_side<S: Source + Send>(
    reader: &mut MeasuredReader<S>,
    trainer: &mut Trainer,
    observer: &mut Observer,
) -> Result<()>
where
    S::Error: Send + std::fmt::Debug,
{
    thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut awake = Awake::default();
            loop {
                match reader.step(READER_BUDGET) {
                    Ok(Step::Progress) => awake.work(),
                    Ok(Step::Blocked) => rest(&mut awake),
                    Ok(Step::Done) => return Ok(()),
                    Err(error) => return Err(format!("{error:?}")),
                }
            }
        });
        let mut awake = Awake::default();
        loop {
            let step = trainer.step(TRAINER_BUDGET).map_err(debug)?;
            observer.look(trainer)?;
            match step {
                Step::Progress => awake.work(),
                Step::Blocked => rest(&mut awake),
                Step::Done => break,
            }
        }
        reading.join().map_err(|_| "the reader panicked")??;
        Ok(())
    })
}

/// What a blocked role does before it looks again.
fn rest(awake: &mut Awake) {
    if !awake.rest() {
        thread::sleep(REST);
    }
}

fn point(point: &Point) -> String {
    format!(
        "{{\"passes\": {}, \"wall\": {}, \"cpu\": {}, \"primal\": {}, \"dual\": {}}}",
        point.passes, point.time.wall, point.time.cpu, point.primal, point.dual
    )
}

/// The dual objectives that training noted, between passes too: after so many passes over the spool and wall seconds from
/// the end of loading on.
fn duals(log: &[LogEntry]) -> String {
    let Some(loaded) = log.first() else {
        return String::new();
    };
    let noted = log.iter().filter_map(|entry| {
        let passes = entry.rows_read as f64 / loaded.rows_read as f64 - 1.0;
        let wall = entry.seconds - loaded.seconds;
        let dual = entry.dual?;
        Some(format!(
            "{{\"passes\": {passes}, \"wall\": {wall}, \"dual\": {dual}}}"
        ))
    });
    noted.collect::<Vec<_>>().join(", ")
}

/// What ended when, after how many rows that were read, and how many the cache held.
fn events(log: &[LogEntry]) -> String {
    let all = log.iter().map(|entry| {
        let LogEntry {
            event,
            pass,
            rows_read,
            cache_rows,
            visits,
            dual,
            primal,
            ..
        } = entry;
        let [dual, primal] = [dual, primal].map(|it| it.unwrap_or(-1.0));
        format!("[\"{event:?}\", {pass}, {rows_read}, {cache_rows}, {visits}, {dual}, {primal}]")
    });
    all.collect::<Vec<_>>().join(", ")
}

fn write(out: &Path, trainer: &Trainer, heads: usize) -> Result<()> {
    let (mut weights, mut duals) = (Vec::new(), Vec::new());
    for head in 0..heads {
        let found = trainer.weights(head);
        let values = found.iter().chain([found.intercept()]);
        weights.extend(values.flat_map(f64::to_ne_bytes));
        let values = trainer.duals(head).iter();
        duals.extend(values.flat_map(f32::to_ne_bytes));
    }
    fs::write(out.join("weights.f64"), weights)?;
    fs::write(out.join("duals.f32"), duals)?;
    Ok(())
}

/// Where a head begins, from files like those that [`write`] makes.
fn read_start(folder: &Path) -> Result<Start> {
    let (weights, duals) = (
        fs::read(folder.join("weights.f64"))?,
        fs::read(folder.join("duals.f32"))?,
    );
    Ok(Start {
        updates: 0,
        duals: numbers(&duals, f32::from_ne_bytes),
        weights: Some(numbers(&weights, f64::from_ne_bytes)),
    })
}

fn debug(error: impl std::fmt::Debug) -> Box<dyn Error> {
    format!("{error:?}").into()
}
