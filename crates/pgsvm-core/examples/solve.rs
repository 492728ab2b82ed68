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
use std::time::Instant;

use pgsvm_core::engine::{train_examples, OwnedExample, Settings, Threads};
use pgsvm_core::plan::drawn_fold;
use pgsvm_core::{
    Folds, Loss, Plan, Policy, Problem, Proximal, Purpose, Scale, StopReason, Timing,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: solve FILE [key=value …]")?;
    let options: HashMap<String, String> = arguments
        .filter_map(|argument| {
            argument
                .split_once('=')
                .map(|(key, value)| (key.to_string(), value.to_string()))
        })
        .collect();
    let get = |key: &str, default: &str| {
        options
            .get(key)
            .cloned()
            .unwrap_or_else(|| default.to_string())
    };
    let folds: u32 = get("folds", "0").parse()?;
    let costs = get("c", "1");
    let plan = Plan {
        costs: costs.split(',').map(str::parse).collect::<Result<_, _>>()?,
        folds: (folds > 0).then_some(Folds::Count(folds)),
        purpose: match get("validate", "0") == "1" {
            true => Purpose::Validate,
            false => Purpose::Train,
        },
        probability: get("probability", "0") == "1",
        ..Plan::train(1.0)
    };
    let mut examples = load(
        &path,
        get("positive", "").as_str(),
        get("rows", "sparse") == "dense",
    )?;
    let mut counts = HashMap::new();
    for example in &mut examples {
        let count = counts.entry(example.group).or_insert(0);
        let fold = drawn_fold(0, example.group, *count, plan.stride());
        example.group = example.group * plan.stride() + fold;
        *count += 1;
    }

    let loss = if get("loss", "hinge") == "squared" {
        Loss::SquaredHinge
    } else {
        Loss::Hinge
    };
    let proximal = match get("proximal", "auto").as_str() {
        "on" => Proximal::On,
        "off" => Proximal::Off,
        _ => Proximal::Auto,
    };
    let schedule = if get("schedule", "timed") == "lockstep" {
        Timing::Lockstep
    } else {
        Timing::Timed
    };
    let problem = Problem::new(loss, plan.costs[0], get("tolerance", "1e-3").parse()?)?
        .with_max_passes(get("passes", "1000").parse()?)?
        .with_intercept(get("intercept", "0") == "1")
        .with_seed(get("seed", "0").parse()?)
        .with_timing(schedule)
        .with_policy(match get("policy", "cached").as_str() {
            "paper" => Policy::Paper,
            "block" => Policy::Block,
            "selective" => Policy::SelectiveBlock,
            _ => Policy::Cached,
        })
        .with_inner_rounds(get("inner_rounds", "10").parse()?)?
        .with_proximal(proximal);
    let scale = match get("scale", "none").as_str() {
        "standard" => Scale::Standard,
        "maxabs" => Scale::MaxAbs,
        _ => Scale::None,
    };
    let threads = if get("threads", "1") == "2" {
        Threads::Two
    } else {
        Threads::One
    };
    let settings = Settings::new(get("cache", "2000000000").parse()?, scale, threads);
    for _ in 0..get("repeat", "1").parse::<usize>()? {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        let trained = train_examples(problem, plan.clone(), &examples, settings)
            .map_err(|error| error.to_string())?;
        let seconds = start.elapsed().as_secs_f64();
        let report = trained.trainer.report().unwrap();
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
        let heads = trained.trainer.heads().unwrap();
        let behind = heads
            .iter()
            .filter(|(_, head)| head.stop != Some(StopReason::Tolerance));
        println!(
            "chosen {:?}, sigmoids {:?}, {} of the last {} heads did not reach their tolerance",
            report.c,
            report.sigmoids,
            behind.count(),
            heads.len()
        );
        let head = heads[0].1;
        println!(
            "{:?} primal {:.4} dual {:.4} gap {:.2e} accuracy {:.4} | {} rows x {} features, {} KB, resident {} | passes {} \
             visits {:.1} n, updates {:.2} n, evicted {:.2} n, replaced {:.2} n, kappa {:.2} | read {:.1} ms solve {:.1} ms, cpu {:.1} ms",
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
            1e3 * trained.loading_seconds,
            1e3 * (seconds - trained.loading_seconds),
            1e3 * (cpu_seconds() - cpu),
        );
    }
    Ok(())
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
    let input: Box<dyn Read> = if path.ends_with(".xz") {
        let child = Command::new("xz")
            .args(["-dc", path])
            .stdout(Stdio::piped())
            .spawn()?;
        Box::new(child.stdout.ok_or("xz gives no output")?)
    } else {
        Box::new(std::fs::File::open(path)?)
    };
    let mut rows: Vec<(f64, Vec<(u32, f32)>)> = Vec::new();
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
    let largest = rows.iter().map(|row| row.0).fold(f64::MIN, f64::max);
    let mut labels: Vec<f64> = match positive {
        "" => vec![largest],
        "each" => rows.iter().map(|row| row.0).collect(),
        one => vec![one.parse()?],
    };
    labels.sort_by(f64::total_cmp);
    labels.dedup();
    let width = rows
        .iter()
        .filter_map(|row| row.1.last())
        .map(|entry| entry.0 as usize + 1)
        .max()
        .unwrap_or(0);
    let example = |(label, entries): &(f64, Vec<(u32, f32)>)| {
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
