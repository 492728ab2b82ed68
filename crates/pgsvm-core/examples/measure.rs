//! One training on arrays in a folder, measured: prints seconds, certificate and passes as JSON and leaves the weights.
//!
//! `measure FOLDER [key=value …]`, called by bench/. The folder holds `label.i8` (-1 or 1 a row) and either `dense.f32`
//! (rows one after the other) or `offset.i64` (rows + 1), `index.u32` and `value.f32`, in the machine's byte order.
//! Keys: features (of a dense row), c, tolerance, passes, cache (bytes), intercept (0|1), seed. Writes `weights.f64`
//! (features in order, then the intercept) and `duals.f32` into the folder named by `out`. One thread; the clock of
//! the solver starts when the rows are encoded in the cache.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

use pgsvm_core::engine::MemorySpool;
use pgsvm_core::{
    Cache, Example, HeadSpec, Loss, Phase, Problem, Reader, ReaderJob, RowError, Scale, Source,
    Step, Trainer,
};

/// Rows of a reader's step and stored words of a trainer's.
const READER_BUDGET: usize = 1024;
const TRAINER_BUDGET: usize = 1 << 20;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments
        .next()
        .ok_or("usage: measure FOLDER [key=value …]")?;
    let options: HashMap<String, String> = arguments
        .filter_map(|argument| argument.split_once('=').map(|(k, v)| (k.into(), v.into())))
        .collect();
    let get = |key: &str, default: &str| {
        options
            .get(key)
            .cloned()
            .unwrap_or_else(|| default.to_string())
    };

    let arrays = Arrays::load(Path::new(&folder), get("features", "0").parse()?)?;
    let c: f64 = get("c", "1").parse()?;
    let problem = Problem::new(Loss::Hinge, c, get("tolerance", "1e-3").parse()?)?
        .with_max_passes(get("passes", "1000").parse()?)?
        .with_intercept(get("intercept", "1") == "1")
        .with_seed(get("seed", "0").parse()?);
    let cache = Cache::in_memory(get("cache", "4000000000").parse()?)?;
    let job = ReaderJob::new(Scale::None, &problem);

    let loading = Clock::start()?;
    let mut reader = Reader::new(cache.clone(), job, arrays, MemorySpool::default())?;
    while cache.phase() == Phase::Loading {
        reader
            .step(READER_BUDGET)
            .map_err(|error| format!("{error:?}"))?;
    }
    let loading = loading.stop()?;
    let solving = Clock::start()?;
    let mut trainer = Trainer::new(cache, problem, vec![HeadSpec::binary(c)])
        .map_err(|error| error.to_string())?;
    train(&mut reader, &mut trainer)?;
    let solving = solving.stop()?;

    let report = trainer.report();
    let head = report.heads[0];
    println!(
        "{{\"load_wall\": {}, \"load_cpu\": {}, \"wall\": {}, \"cpu\": {}, \"primal\": {}, \"dual\": {}, \"gap\": {}, \
         \"passes\": {}, \"visits\": {}, \"resident\": {}, \"stop\": \"{:?}\"}}",
        loading.wall,
        loading.cpu,
        solving.wall,
        solving.cpu,
        head.certificate.primal,
        head.certificate.dual,
        head.certificate.gap,
        report.passes,
        report.visits,
        report.resident,
        head.stop,
    );
    if let Some(out) = options.get("out") {
        let weights = trainer.weights(0);
        let values = weights.iter().chain([weights.intercept()]);
        fs::write(
            Path::new(out).join("weights.f64"),
            values.flat_map(f64::to_ne_bytes).collect::<Vec<u8>>(),
        )?;
        let duals = trainer.duals(0).iter().copied();
        fs::write(
            Path::new(out).join("duals.f32"),
            duals.flat_map(f32::to_ne_bytes).collect::<Vec<u8>>(),
        )?;
    }
    Ok(())
}

fn train(reader: &mut Reader<Arrays, MemorySpool>, trainer: &mut Trainer) -> Result<()> {
    loop {
        while reader
            .step(READER_BUDGET)
            .map_err(|error| format!("{error:?}"))?
            == Step::Progress
        {}
        loop {
            match trainer
                .step(TRAINER_BUDGET)
                .map_err(|error| error.to_string())?
            {
                Step::Progress => {}
                Step::Blocked => break,
                Step::Done => return Ok(()),
            }
        }
    }
}

/// Wall time and this thread's processor time, in seconds.
struct Clock {
    wall: f64,
    cpu: f64,
    started: Instant,
}

impl Clock {
    fn start() -> Result<Self> {
        Ok(Self {
            wall: 0.0,
            cpu: cpu_seconds()?,
            started: Instant::now(),
        })
    }

    fn stop(self) -> Result<Self> {
        Ok(Self {
            wall: self.started.elapsed().as_secs_f64(),
            cpu: cpu_seconds()? - self.cpu,
            ..self
        })
    }
}

/// The first field of schedstat is nanoseconds on a processor.
fn cpu_seconds() -> Result<f64> {
    let schedstat = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = schedstat
        .split_whitespace()
        .next()
        .ok_or("an empty schedstat")?
        .parse()?;
    Ok(1e-9 * nanoseconds)
}

/// Rows as the folder holds them, delivered in order.
struct Arrays {
    label: Vec<i8>,
    features: usize,
    dense: Vec<f32>,
    offset: Vec<i64>,
    index: Vec<u32>,
    value: Vec<f32>,
    next: usize,
    row: Vec<f64>,
}

impl Arrays {
    fn load(folder: &Path, features: usize) -> Result<Self> {
        let read =
            |name: &str| fs::read(folder.join(name)).map_err(|error| format!("{name}: {error}"));
        let is_dense = folder.join("dense.f32").exists();
        let sparse = |name: &str| if is_dense { Ok(Vec::new()) } else { read(name) };
        let dense = if is_dense {
            read("dense.f32")?
        } else {
            Vec::new()
        };
        Ok(Self {
            label: read("label.i8")?
                .into_iter()
                .map(|byte| byte as i8)
                .collect(),
            features,
            dense: numbers(&dense, f32::from_ne_bytes),
            offset: numbers(&sparse("offset.i64")?, i64::from_ne_bytes),
            index: numbers(&sparse("index.u32")?, u32::from_ne_bytes),
            value: numbers(&sparse("value.f32")?, f32::from_ne_bytes),
            next: 0,
            row: Vec::new(),
        })
    }
}

fn numbers<T, const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes
        .as_chunks::<N>()
        .0
        .iter()
        .map(|chunk| number(*chunk))
        .collect()
}

impl Source for Arrays {
    type Error = RowError;

    fn fetch(
        &mut self,
        rows: usize,
        sink: &mut dyn FnMut(&Example<'_>) -> std::result::Result<(), RowError>,
    ) -> std::result::Result<bool, RowError> {
        let end = (self.next + rows).min(self.label.len());
        for row in self.next..end {
            self.row.clear();
            let (mut sparse_index, mut sparse_value): (&[u32], &[f32]) = (&[], &[]);
            if self.offset.is_empty() {
                let values = &self.dense[row * self.features..(row + 1) * self.features];
                self.row
                    .extend(values.iter().map(|value| f64::from(*value)));
            } else {
                let entries = self.offset[row] as usize..self.offset[row + 1] as usize;
                sparse_index = &self.index[entries.clone()];
                sparse_value = &self.value[entries];
            }
            let class = u32::from(self.label[row] > 0);
            sink(&Example {
                class,
                cost: 1.0,
                dense: &self.row,
                sparse_index,
                sparse_value,
            })?;
        }
        self.next = end;
        Ok(end < self.label.len())
    }
}
