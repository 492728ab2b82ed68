//! Trains on a file in LIBSVM notation and prints the certificate and the time it took.
//!
//! `cargo run --release -p pgsvm-core --example solve -- FILE[.xz] [key=value …]`
//! keys: c, loss (hinge|squared), tolerance, cache (bytes), threads (1|2), scale (none|standard|maxabs),
//! rows (sparse|dense), intercept (0|1), proximal (auto|on|off), schedule (timed|lockstep), policy (cached|paper|block|selective),
//! inner_rounds, seed, passes, positive (label), repeat

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Instant;

use pgsvm_core::engine::{train_examples, OwnedExample, Settings, Threads};
use pgsvm_core::{HeadSpec, Loss, Policy, Problem, Proximal, Scale, Schedule};

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
    let examples = load(
        &path,
        get("positive", "").as_str(),
        get("rows", "sparse") == "dense",
    )?;

    let loss = if get("loss", "hinge") == "squared" {
        Loss::SquaredHinge
    } else {
        Loss::Hinge
    };
    let c: f64 = get("c", "1").parse()?;
    let proximal = match get("proximal", "auto").as_str() {
        "on" => Proximal::On,
        "off" => Proximal::Off,
        _ => Proximal::Auto,
    };
    let schedule = if get("schedule", "timed") == "lockstep" {
        Schedule::Lockstep
    } else {
        Schedule::Timed
    };
    let problem = Problem::new(loss, c, get("tolerance", "1e-3").parse()?)?
        .with_max_passes(get("passes", "1000").parse()?)?
        .with_intercept(get("intercept", "0") == "1")
        .with_seed(get("seed", "0").parse()?)
        .with_schedule(schedule)
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
        let trained = train_examples(problem, vec![HeadSpec::binary(c)], &examples, settings)
            .map_err(|error| error.to_string())?;
        let seconds = start.elapsed().as_secs_f64();
        let report = trained.trainer.report();
        let head = report.heads[0];
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

/// Class 1 is the label `positive`, or when that is empty the largest one.
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
    let positive = if positive.is_empty() {
        largest
    } else {
        positive.parse()?
    };
    let width = rows
        .iter()
        .filter_map(|row| row.1.last())
        .map(|entry| entry.0 as usize + 1)
        .max()
        .unwrap_or(0);
    let example = |(label, entries): &(f64, Vec<(u32, f32)>)| {
        let class = u32::from(*label == positive);
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
