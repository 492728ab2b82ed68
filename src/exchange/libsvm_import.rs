//! `svm_import` of a model that LIBSVM trained: its support vectors become the landmarks of a kernel machine; of a linear one of two
//! classes they are summed up to weights.

use super::import::{invalid, FeatureForm, Imported, ImportedHead, ImportedLabels};
use super::libsvm_model::{self, LibsvmHeader, LibsvmModelReader, SupportVectors};
use crate::base::errors::Failure;
use crate::features::{KernelForm, SUPPORT_VECTORS};
use crate::model::{NOVELTY, REGRESSION};
use crate::pg::check_for_interrupts;
use crate::pg::json::JsonText;
use crate::training::weights::{StoredWeights, WeightFolding};
use pgsvm_core::kernels::{Kernel, Rows};
use pgsvm_core::memory::Room;
use pgsvm_core::Pairs;
use serde_json::json;

/// Most values of dense support vectors: 256 MB.
const MOST_DENSE: u64 = 1 << 26;
/// Most factors, one a support vector and pair of classes: 1 GB.
const MOST_FACTORS: usize = 1 << 27;

/// What a file of LIBSVM's says.
pub fn read(
    content: &str,
    form: FeatureForm,
    classes: Option<&JsonText>,
) -> Result<Imported, Failure> {
    let mut reader = LibsvmModelReader::new(content);
    let header = reader.header()?;
    check_size(&header)?;
    let labels = match header.svm_type.as_str() {
        libsvm_model::ONE_CLASS => ImportedLabels::of_one_class(classes)?,
        other if libsvm_model::REGRESSIONS.contains(&other) => ImportedLabels::of_sides(classes)?,
        _ => ImportedLabels::of(&header.labels, classes)?,
    };
    let vectors = reader.support_vectors(&header, check_for_interrupts)?;
    let features = feature_count(&vectors, form);
    let parts = [form.part(features)];
    let classes = header.labels.len().max(2);
    let (features_json, landmarks) = match (&header.kernel, classes) {
        (Kernel::Linear, 2) => (json!({"parts": parts}), None),
        (kernel, _) => {
            let rows = rows(&vectors, form, features)?;
            let kernel = KernelForm::of(kernel, &rows, (SUPPORT_VECTORS, 0.0), None);
            (json!({"parts": parts, "kernel": kernel}), Some(rows))
        }
    };
    // one machine without labels speaks for what is above, or usual, as one of two classes does for the first
    let pairs = Pairs::all(classes)?;
    let mut heads = Vec::new();
    for (class, against) in labels.sides(&pairs) {
        check_for_interrupts();
        // the file's machine speaks for the class that comes first there
        let sign = if class < against { 1.0 } else { -1.0 };
        let of_file = [class.min(against), class.max(against)];
        let machine = pairs.head(of_file);
        let weights = match landmarks {
            None => summed(&vectors, form, sign)?,
            Some(_) => factors(&vectors, &header.counts, of_file, sign),
        };
        let sigmoid = header.sigmoids.get(machine);
        heads.room(1)?.push(ImportedHead {
            class,
            against: (pairs.len() > 1).then_some(against),
            weights: StoredWeights {
                intercept: -sign * header.rho[machine],
                ..weights
            },
            sigmoid: sigmoid.map(|(slope, offset)| (*slope, sign * offset + 0.0)),
        });
    }
    Ok(Imported {
        features: features_json,
        feature_count: features,
        loss: Some(match labels.task {
            Some(REGRESSION) => "epsilon_insensitive",
            _ => "hinge",
        }),
        intercept_used: labels.task != Some(NOVELTY),
        options: origin(&header, &labels),
        heads,
        landmarks,
        labels,
    })
}

/// Refuses more factors than a model should have in memory.
fn check_size(header: &LibsvmHeader) -> Result<(), Failure> {
    let (vectors, pairs) = (header.counts.iter().sum::<usize>(), header.rho.len());
    if vectors.saturating_mul(pairs) <= MOST_FACTORS {
        return Ok(());
    }
    Err(invalid(format!(
        "{vectors} support vectors for {pairs} pairs of classes are too many"
    ))
    .detail(format!("Together they would have more than {MOST_FACTORS} factors."))
    .hint("Train a model of each class against the rest: svm_train(…, options => '{\"multiclass\": \"one_vs_rest\"}')"))
}

/// Features of the rows, the index 0 of sparse ones included.
fn feature_count(vectors: &SupportVectors, form: FeatureForm) -> u64 {
    let largest = u64::from(vectors.largest_index());
    match form {
        FeatureForm::Array => largest.max(1),
        FeatureForm::Sparse | FeatureForm::Libsvm => largest + 1,
    }
}

/// The number of a feature of this index.
fn feature(index: u32, form: FeatureForm) -> u32 {
    index - u32::from(form == FeatureForm::Array)
}

/// The support vectors as rows.
fn rows(vectors: &SupportVectors, form: FeatureForm, features: u64) -> Result<Rows, Failure> {
    let count = vectors.len();
    let dense = features.saturating_mul(count as u64) <= MOST_DENSE;
    let mean_entries = vectors.entries() as f64 / count.max(1) as f64;
    let width = match form {
        FeatureForm::Array if !dense => {
            return Err(invalid(format!(
                "{count} support vectors of arrays with {features} elements are too large"
            ))
            .hint("features => 'sparse' or 'libsvm' take what they hold alone"))
        }
        FeatureForm::Array => features as usize,
        _ if dense => Rows::suitable_width(0, features as usize, mean_entries),
        _ => 0,
    };
    let mut rows = Rows::new(width);
    let mut entries = Vec::new();
    for at in 0..count {
        check_for_interrupts();
        entries.clear();
        let own = vectors.of(at);
        let numbered = own
            .iter()
            .map(|[index, bits]| [feature(*index, form), *bits]);
        entries.room(own.len())?.extend(numbered);
        rows.push(&[], &entries)?;
    }
    Ok(rows)
}

/// Their factors in the machine of these two classes, `sign` times; of other classes they have none.
fn factors(
    vectors: &SupportVectors,
    counts: &[usize],
    [first, second]: [usize; 2],
    sign: f64,
) -> StoredWeights {
    let mut weights = WeightFolding::of_factors(0.0);
    let mut end = 0;
    for (class, count) in counts.iter().enumerate() {
        let begin = end;
        end += count;
        let column = match class {
            _ if class == first => second - 1,
            _ if class == second => first,
            _ => {
                (begin..end).for_each(|_| weights.push(0.0));
                continue;
            }
        };
        (begin..end).for_each(|at| weights.push(sign * vectors.factor(at, column)));
    }
    weights.finish()
}

/// The weights of a linear machine of two classes.
fn summed(
    vectors: &SupportVectors,
    form: FeatureForm,
    sign: f64,
) -> Result<StoredWeights, Failure> {
    let mut terms: Vec<(u32, f64)> = Vec::new();
    terms.room(vectors.entries())?;
    for at in 0..vectors.len() {
        check_for_interrupts();
        let factor = vectors.factor(at, 0);
        let own = vectors.of(at).iter();
        terms.extend(own.map(|[index, bits]| {
            let value = f64::from(f32::from_bits(*bits));
            (feature(*index, form), sign * factor * value)
        }));
    }
    // of one feature in the order of the file, so that the sum is the same each time
    terms.sort_by_key(|(feature, _)| *feature);
    terms.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 += later.1;
        }
        same
    });
    if terms.iter().any(|(_, weight)| !weight.is_finite()) {
        return Err(invalid("the weights are out of range".to_owned()).hint("Scale the features."));
    }
    StoredWeights::of_entries(&terms, feature_count(vectors, form)).map_err(Failure::from)
}

/// What is kept of the file.
fn origin(header: &LibsvmHeader, labels: &ImportedLabels) -> serde_json::Value {
    json!({"libsvm": {
        // as LIBLINEAR names the loss
        "solver_type": "L2R_L1LOSS_SVC_DUAL",
        "bias": 1.0,
        "labels": header.labels,
        "classes": labels.names,
    }})
}
