//! Trains on a file in LIBSVM notation and prints the certificates and the time it took.
//!
//! `cargo run --release -p pgsvm-core --example solve -- FILE[.xz] [key=value …]`
//! keys: c (several, by commas: the best is chosen), folds (rows held out to choose it), probability (0|1), validate (0|1), loss (hinge|squared), tolerance, cache (bytes), threads (1|2), scale (none|standard|maxabs),
//! rows (sparse|dense), intercept (0|1), proximal (auto|on|off), schedule (timed|lockstep), policy (cached|paper|block|selective),
//! inner_rounds, seed, passes, positive (label, or `each`: every label is a class), repeat

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Instant;

use pgsvm_core::engine::{train_examples, OwnedExample, Settings, Threads, Trained};
use pgsvm_core::plan::drawn_fold;
use pgsvm_core::{
    Blocks, Folds, Formulation, HeadReport, Inner, Intercept, Loss, Parameters, Picks, Plan,
    Problem, Proximal, Purpose, Scale, SolverChoice, StopReason, Stopping, Timing, TrainerReport,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: solve FILE [key=value …]")?;
    let options = Options::of(arguments);
    let plan = plan(&options)?;
    let dense = options.get("rows", "sparse") == "dense";
    let mut examples = load(&path, options.get("positive", ""), dense)?;
    draw_folds(&mut examples, plan.stride());
    let problem = problem(&options, plan.costs[0])?;
    let settings = settings(&options)?;
    for _ in 0..options.number::<usize>("repeat", "1")? {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        let trained = train_examples(problem, plan.clone(), &examples, settings)
            .map_err(|error| error.to_string())?;
        let seconds = start.elapsed().as_secs_f64();
        tell(&trained, seconds, cpu_seconds() - cpu);
    }
    Ok(())
}

/// What follows the file: keys and their values.
struct Options(HashMap<String, String>);

impl Options {
    fn of(arguments: impl Iterator<Item = String>) -> Self {
        let pairs = arguments.filter_map(|argument| {
            let (key, value) = argument.split_once('=')?;
            Some((key.to_string(), value.to_string()))
        });
        Self(pairs.collect())
    }

    fn get<'a>(&'a self, key: &str, default: &'a str) -> &'a str {
        self.0.get(key).map_or(default, String::as_str)
    }

    fn number<T: FromStr>(&self, key: &str, default: &str) -> Result<T, T::Err> {
        self.get(key, default).parse()
    }
}

fn plan(options: &Options) -> Result<Plan, Box<dyn Error>> {
    let folds: u32 = options.number("folds", "0")?;
    let costs = options.get("c", "1").split(',').map(str::parse);
    Ok(Plan {
        costs: costs.collect::<Result<_, _>>()?,
        folds: (folds > 0).then_some(Folds::Count(folds)),
        purpose: match options.get("validate", "0") {
            "1" => Purpose::Validate,
            _ => Purpose::Train,
        },
        probability: options.get("probability", "0") == "1",
        ..Plan::train(1.0)
    })
}

/// Gives each example a fold, where there are some.
fn draw_folds(examples: &mut [OwnedExample], stride: u32) {
    let mut counts = HashMap::new();
    for example in examples {
        let count = counts.entry(example.group).or_insert(0);
        let fold = drawn_fold(0, example.group, *count, stride);
        example.group = example.group * stride + fold;
        *count += 1;
    }
}

fn problem(options: &Options, c: f64) -> Result<Problem, Box<dyn Error>> {
    let loss = match options.get("loss", "hinge") {
        "squared" => Loss::SquaredHinge,
        _ => Loss::Hinge,
    };
    let rounds = Inner::CoordinateDescent(options.number("inner_rounds", "10")?);
    let usual = Parameters::usual(loss, options.number("tolerance", "1e-3")?);
    let parameters = Parameters {
        formulation: Formulation {
            intercept: match options.get("intercept", "0") {
                "1" => Intercept::InNorm,
                _ => Intercept::None,
            },
            ..usual.formulation
        },
        stopping: Stopping {
            max_passes: Some(options.number("passes", "1000")?),
            ..usual.stopping
        },
        solver: match options.get("policy", "cached") {
            "paper" => SolverChoice::StreamSvm(Picks::Usual),
            "block" => SolverChoice::Block(Blocks::solved_by(rounds)),
            "selective" => SolverChoice::SelectiveBlock(Blocks::solved_by(rounds)),
            _ => SolverChoice::Stream,
        },
        proximal: match options.get("proximal", "auto") {
            "on" => Proximal::On,
            "off" => Proximal::Off,
            _ => Proximal::Auto,
        },
        seed: options.number("seed", "0")?,
    };
    let timing = match options.get("schedule", "timed") {
        "lockstep" => Timing::Lockstep,
        _ => Timing::Timed,
    };
    Ok(Problem::of(parameters, c)?.with_timing(timing))
}

fn settings(options: &Options) -> Result<Settings, Box<dyn Error>> {
    let scale = match options.get("scale", "none") {
        "standard" => Scale::Standard,
        "maxabs" => Scale::MaxAbs,
        _ => Scale::None,
    };
    let threads = match options.get("threads", "1") {
        "2" => Threads::Two,
        _ => Threads::One,
    };
    let cache_bytes = options.number("cache", "2000000000")?;
    Ok(Settings::new(cache_bytes, scale, threads))
}

/// Prints what a training of so many seconds found.
fn tell(trained: &Trained, seconds: f64, cpu: f64) {
    let report = trained.trainer.report().unwrap();
    tell_validation(&report);
    let heads = trained.trainer.heads().unwrap();
    let behind = heads
        .iter()
        .filter(|(_, head)| head.stop != Some(StopReason::Tolerance));
    println!(
        "chosen {:?}, sigmoids {:?}, {} of the last {} heads did not reach their tolerance",
        report.c,
        report.calibrations.heads,
        behind.count(),
        heads.len()
    );
    tell_first(trained, &report, &heads[0].1);
    println!(
        " | read {:.1} ms solve {:.1} ms, cpu {:.1} ms",
        1e3 * trained.loading_seconds,
        1e3 * (seconds - trained.loading_seconds),
        1e3 * cpu,
    );
}

/// Prints how good each C is in each fold.
fn tell_validation(report: &TrainerReport) {
    for said in &report.validation {
        println!(
            "c {} fold {}: {} rows, accuracy {:.4}, auc {:.4}, objective {:.4}",
            said.c,
            said.fold,
            said.rows,
            said.accuracy,
            said.auc.unwrap_or(f64::NAN),
            said.objective
        );
    }
}

/// Prints the certificate of the first head, and what it took.
fn tell_first(trained: &Trained, report: &TrainerReport, head: &HeadReport) {
    print!(
        "{:?} primal {:.4} dual {:.4} gap {:.2e} accuracy {:.4} | {} rows x {} features, {} KB, resident {} | passes {} \
         visits {:.1} n, updates {:.2} n, evicted {:.2} n, replaced {:.2} n, kappa {:.2}",
        head.stop,
        head.certificate.primal,
        head.certificate.dual,
        head.certificate.gap,
        head.training_accuracy,
        report.rows,
        trained.reader.features,
        trained.reader.bytes / 1024,
        report.resident,
        report.passes,
        report.visits as f64 / report.rows as f64,
        report.updates as f64 / report.rows as f64,
        report.evictions as f64 / report.rows as f64,
        report.replaced as f64 / report.rows as f64,
        head.kappa,
    );
}

/// Processor time of the main thread where Linux tells it, else 0.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = text
        .split_ascii_whitespace()
        .next()
        .and_then(|field| field.parse::<f64>().ok());
    nanoseconds.unwrap_or(0.0) / 1e9
}

/// Class 1 is the label `positive`, or when that is empty the largest one; `each` makes every label a class.
fn load(path: &str, positive: &str, dense: bool) -> Result<Vec<OwnedExample>, Box<dyn Error>> {
    let rows = read(path)?;
    let largest = rows.iter().map(|row| row.0).fold(f64::MIN, f64::max);
    let mut labels: Vec<f64> = match positive {
        "" => vec![largest],
        "each" => rows.iter().map(|row| row.0).collect(),
        one => vec![one.parse()?],
    };
    labels.sort_by(f64::total_cmp);
    labels.dedup();
    let last = rows.iter().filter_map(|row| row.1.last());
    let width = last.map(|entry| entry.0 as usize + 1).max().unwrap_or(0);
    let example = |(label, entries): &LabelledRow| {
        let place = labels.iter().position(|one| one == label);
        let class = match labels.len() {
            1 => u32::from(place.is_some()),
            _ => place.unwrap_or(0) as u32,
        };
        if !dense {
            return OwnedExample::sparse(class, entries);
        }
        let mut values = vec![0.0; width];
        for (index, value) in entries {
            values[*index as usize] = f64::from(*value);
        }
        OwnedExample::dense(class, values)
    };
    Ok(rows.iter().map(example).collect())
}

/// A label, and indices from 0 with their values.
type LabelledRow = (f64, Vec<(u32, f32)>);

fn read(path: &str) -> Result<Vec<LabelledRow>, Box<dyn Error>> {
    let input: Box<dyn Read> = if path.ends_with(".xz") {
        let child = Command::new("xz")
            .args(["-dc", path])
            .stdout(Stdio::piped())
            .spawn()?;
        Box::new(child.stdout.ok_or("xz gives no output")?)
    } else {
        Box::new(std::fs::File::open(path)?)
    };
    let mut rows = Vec::new();
    for line in BufReader::new(input).lines() {
        let line = line?;
        let mut fields = line.split_ascii_whitespace();
        let Some(label) = fields.next() else { continue };
        let mut entries = Vec::new();
        for field in fields {
            let (index, value) = field.split_once(':').ok_or("a field without colon")?;
            entries.push((index.parse::<u32>()? - 1, value.parse()?));
        }
        rows.push((label.parse()?, entries));
    }
    Ok(rows)
}
