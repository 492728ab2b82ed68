//! `svm_import`: a model that LIBLINEAR or LIBSVM trained, stored as one of ours. What only a training here would
//! know, its certificate among it, is NULL.

use super::export::Origin;
use super::liblinear::{LiblinearHeader, LiblinearReader};
use super::{libsvm_import, libsvm_model, whole};
use crate::base::errors::{shortened, Code, Failure, OrRaise};
use crate::catalog::rights;
use crate::catalog::spi_failure;
use crate::catalog::whole::StoredRows;
use crate::model::{self, NOVELTY, REGRESSION};
use crate::pg::call::Call;
use crate::pg::check_for_interrupts;
use crate::pg::json::JsonText;
use crate::pg::long_errors::cut_off;
use crate::pg::memory_ends::prepared;
use crate::request::required;
use crate::storing::heads::HeadRow;
use crate::storing::together::RowsOfVersion;
use crate::storing::{chunks, versions};
use crate::targets::labels::{NOVEL_AND_USUAL, SIDES};
use crate::training::weights::{StoredWeights, WeightFolding};
use pgrx::datum::DatumWithOid;
use pgrx::prelude::*;
use pgrx::spi::SpiError;
use pgrx::{pg_sys, JsonB};
use pgsvm_core::kernels::Rows;
use pgsvm_core::memory::gathered;
use pgsvm_core::{Pairs, Scaling};
use serde_json::{json, Value};

/// What logistic regression says of a decision: 1 / (1 + exp(-decision)).
const LOGISTIC: (f64, f64) = (-1.0, 0.0);

/// `svm_import(name, content, features, classes) -> text`: the model's name.
#[pg_extern(sql = false)]
fn svm_import(
    name: Option<&str>,
    content: Option<&str>,
    features: Option<&str>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> String {
    let _prepared = prepared();
    let import = || {
        rights::check_writable("svm_import()")?;
        let content = required(content, "content")?;
        // SAFETY: PostgreSQL's argument; the declaration has `classes` as jsonb.
        let classes: Option<JsonText> = unsafe { Call::of(fcinfo).get("classes") };
        let schema = model::schema_of_call(fcinfo);
        match model::text::is_one(content) {
            true => whole::import(&schema, name, content, classes.is_some()),
            false => import_file(&schema, name, content, features, classes.as_ref()),
        }
    };
    cut_off(import).or_raise()
}

/// A model of another program's, read.
pub struct Imported {
    /// The feature set, as models store it.
    pub features: Value,
    pub feature_count: u64,
    pub loss: Option<&'static str>,
    pub intercept_used: bool,
    /// What is kept of the file.
    pub options: Value,
    pub labels: ImportedLabels,
    pub heads: Vec<ImportedHead>,
    /// Of a kernel machine.
    pub landmarks: Option<Rows>,
}

/// A head of it.
pub struct ImportedHead {
    /// The class of the positive side, and of pairs that of the negative one, as places in the order of the file.
    pub class: usize,
    pub against: Option<usize>,
    pub weights: StoredWeights,
    /// Slope and offset, where decisions have probabilities.
    pub sigmoid: Option<(f64, f64)>,
}

/// Stores the model of a file of LIBLINEAR's or LIBSVM's as a new version of the model `name`.
fn import_file(
    schema: &str,
    name: Option<&str>,
    content: &str,
    features: Option<&str>,
    classes: Option<&JsonText>,
) -> Result<String, Failure> {
    let name = required(name, "name")?;
    let form = FeatureForm::of(required(features, "features")?)?;
    rights::check_name(name).map_err(|failure| failure.hint("name => 'name'"))?;
    rights::check_owner(schema, name, "Choose another name: name => 'name'")?;
    let imported = match libsvm_model::is_one(content) {
        true => libsvm_import::read(content, form, classes)?,
        false => read_liblinear(content, form, classes)?,
    };
    store(schema, name, &imported)?;
    Ok(name.to_owned())
}

/// What a file of LIBLINEAR's says.
fn read_liblinear(
    content: &str,
    form: FeatureForm,
    classes: Option<&JsonText>,
) -> Result<Imported, Failure> {
    let mut reader = LiblinearReader::new(content);
    let header = reader.header()?;
    let labels = match (header.regresses(), header.is_of_one_class()) {
        (true, _) => ImportedLabels::of_sides(classes)?,
        (_, true) => ImportedLabels::of_one_class(classes)?,
        (false, false) => ImportedLabels::of(&header.labels, classes)?,
    };
    let weights = read_heads(&mut reader, &header, &labels, form)?;
    let sigmoid = (header.loss() == Some("logistic")).then_some(LOGISTIC);
    let heads = labels.heads().iter().zip(weights);
    let heads = gathered(heads.map(|(class, weights)| ImportedHead {
        class: *class,
        against: None,
        weights,
        sigmoid,
    }))?;
    Ok(Imported {
        features: json!({"parts": [form.part(header.features)]}),
        feature_count: heads[0].weights.features,
        loss: header.loss(),
        intercept_used: header.bias >= 0.0,
        options: origin(&header, &labels),
        labels,
        heads,
        landmarks: None,
    })
}

/// What the rows will hold for the file's features.
#[derive(Clone, Copy, PartialEq)]
pub enum FeatureForm {
    Sparse,
    Libsvm,
    Array,
}

impl FeatureForm {
    fn of(word: &str) -> Result<Self, Failure> {
        match word {
            "sparse" => Ok(Self::Sparse),
            "libsvm" => Ok(Self::Libsvm),
            "array" => Ok(Self::Array),
            _ => Err(invalid(format!("unknown features '{}'", shortened(word)))
                .hint("features => 'sparse' or 'libsvm' or 'array'")),
        }
    }

    /// The part of a feature set, as models store it.
    pub fn part(self, features: u64) -> Value {
        match self {
            Self::Sparse => json!({
                "kind": "sparse",
                "index": "idx", "index_type": "integer[]", "value": "val", "value_type": "real[]",
            }),
            Self::Libsvm => json!({"kind": "libsvm", "name": "features", "type": "text"}),
            Self::Array => json!({
                "kind": "array", "name": "features", "type": "double precision[]", "length": features,
            }),
        }
    }

    /// Weights of a head, with those of the features before the file's first: index 0, which no file has.
    fn folding(self, scaling: &Scaling) -> WeightFolding<'_> {
        let mut weights = WeightFolding::new(scaling, 0.0);
        if self != Self::Array {
            weights.push(0.0);
        }
        weights
    }
}

/// The labels of the file as the model has them.
pub struct ImportedLabels {
    type_name: &'static str,
    /// In the order of the file.
    pub names: Vec<String>,
    /// Ascending, as places in the order of the file.
    order: Vec<usize>,
    /// What svm_version says of the task, where it is not to tell classes apart.
    pub task: Option<&'static str>,
}

impl ImportedLabels {
    /// Those of a number to predict: the file's weights speak for what is above.
    pub fn of_sides(classes: Option<&JsonText>) -> Result<Self, Failure> {
        Self::of_no_label(classes, ("a number", "double precision"), SIDES, REGRESSION)
    }

    /// Those of one class: the file's weights speak for what is usual.
    pub fn of_one_class(classes: Option<&JsonText>) -> Result<Self, Failure> {
        Self::of_no_label(classes, ("novelties", "text"), NOVEL_AND_USUAL, NOVELTY)
    }

    fn of_no_label(
        classes: Option<&JsonText>,
        (predicted, type_name): (&str, &'static str),
        [negative, positive]: [&str; 2],
        task: &'static str,
    ) -> Result<Self, Failure> {
        if classes.is_some() {
            return Err(invalid(format!(
                "classes is for labels, and the file predicts {predicted}"
            ))
            .hint("Leave classes out"));
        }
        Ok(Self {
            type_name,
            names: vec![positive.to_owned(), negative.to_owned()],
            order: vec![1, 0],
            task: Some(task),
        })
    }

    /// Whole numbers, or what `classes` calls them.
    pub fn of(file: &[i32], classes: Option<&JsonText>) -> Result<Self, Failure> {
        let mut order: Vec<usize> = (0..file.len()).collect();
        let Some(classes) = classes else {
            order.sort_by_key(|place| file[*place]);
            return Ok(Self {
                type_name: "integer",
                names: file.iter().map(i32::to_string).collect(),
                order,
                task: None,
            });
        };
        let classes = classes
            .parse()
            .map_err(|error| invalid(format!("classes cannot be read: {error}")))?;
        let names = file.iter();
        let names: Vec<_> = names
            .map(|label| class_name(&classes, *label))
            .collect::<Result<_, _>>()?;
        order.sort_by_key(|place| names[*place].as_bytes());
        match order.windows(2).find(|two| names[two[0]] == names[two[1]]) {
            None => Ok(Self {
                type_name: "text",
                names,
                order,
                task: None,
            }),
            Some(twice) => Err(invalid(format!(
                "classes gives two labels the name \"{}\"",
                names[twice[0]]
            ))),
        }
    }

    /// The class of each head's positive side, as places in the order of the file.
    pub fn heads(&self) -> &[usize] {
        match self.order.as_slice() {
            [_, positive] => core::slice::from_ref(positive),
            all => all,
        }
    }

    /// The classes of the sides of each of these pairs, first the positive one, as places in the order of the file.
    pub fn sides<'a>(&'a self, pairs: &'a Pairs) -> impl Iterator<Item = (usize, usize)> + 'a {
        let two = pairs.len() == 1;
        (0..pairs.len()).map(move |head| {
            let [first, second] = pairs.sides(head).map(|class| self.order[class]);
            // of two classes alone the larger label is the positive one
            if two {
                (second, first)
            } else {
                (first, second)
            }
        })
    }
}

pub fn invalid(message: String) -> Failure {
    Failure::new(Code::ERRCODE_INVALID_PARAMETER_VALUE, message)
}

/// What `classes` calls a label of the file.
fn class_name(classes: &Value, label: i32) -> Result<String, Failure> {
    let name = classes.get(label.to_string()).and_then(Value::as_str);
    name.map(str::to_owned).ok_or_else(|| {
        invalid(format!("classes has no name for label {label}"))
            .hint(format!("classes => '{{\"{label}\": \"name\", …}}'"))
    })
}

/// The weights and intercepts of the model's heads.
fn read_heads(
    reader: &mut LiblinearReader<'_>,
    header: &LiblinearHeader,
    labels: &ImportedLabels,
    form: FeatureForm,
) -> Result<Vec<StoredWeights>, Failure> {
    let scaling = Scaling::default();
    let places = labels.heads();
    let mut heads: Vec<_> = places.iter().map(|_| form.folding(&scaling)).collect();
    let (columns, lines) = (header.columns(), header.lines());
    let mut line = Vec::new();
    for at in 0..header.features {
        check_for_interrupts();
        reader.weights(columns, lines - at, &mut line)?;
        for (head, place) in heads.iter_mut().zip(places) {
            head.push(weight_for(*place, &line, labels));
        }
    }
    let mut heads: Vec<_> = heads.into_iter().map(WeightFolding::finish).collect();
    if header.bias >= 0.0 {
        reader.weights(columns, 1, &mut line)?;
        for (head, place) in heads.iter_mut().zip(places) {
            head.intercept = weight_for(*place, &line, labels) * header.bias;
        }
    }
    for head in &mut heads {
        head.intercept -= header.rho.unwrap_or(0.0);
    }
    reader.finish()?;
    Ok(heads)
}

/// What a line says for the label at `place` against the rest.
fn weight_for(place: usize, line: &[f64], labels: &ImportedLabels) -> f64 {
    match line {
        // of two classes the weight speaks for the first label
        [weight] if place == 0 => *weight,
        [weight] => -weight,
        // or each label has one
        [first, second] if labels.names.len() == 2 && place == 0 => first - second,
        [first, second] if labels.names.len() == 2 => second - first,
        weights => weights[place],
    }
}

fn store(schema: &str, name: &str, imported: &Imported) -> Result<(), Failure> {
    let (model, version, id) = Spi::connect_mut(|client| {
        let (model, version) = versions::next_version(client, schema, name)?;
        let columns = version_columns(model, version, imported);
        let (names, values): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let places: Vec<_> = (1..=names.len()).map(|place| format!("${place}")).collect();
        let insert = format!(
            "INSERT INTO {schema}.svm_version ({}) VALUES ({}) RETURNING id",
            names.join(", "),
            places.join(", ")
        );
        let row = client.update(&insert, None, &values)?;
        let id = row.first().get_one::<i64>()?.expect("id is NOT NULL");
        Ok((model, version, id))
    })
    .map_err(spi_failure)?;
    insert_heads(schema, id, imported).map_err(spi_failure)?;
    let weights = imported.heads.iter().map(|head| &head.weights);
    chunks::insert_weights(schema, id, weights).map_err(spi_failure)?;
    if let Some(rows) = &imported.landmarks {
        chunks::insert_landmarks(schema, id, rows).map_err(spi_failure)?;
    }
    versions::deploy(schema, model, version)
}

fn version_columns<'a>(
    model: i64,
    version: i32,
    imported: &Imported,
) -> Vec<(&'static str, DatumWithOid<'a>)> {
    let labels = &imported.labels;
    let ascending = labels.order.iter().map(|at| labels.names[*at].clone());
    vec![
        ("model_id", model.into()),
        ("stored_rows", JsonB(stored_rows(imported)).into()),
        ("version", version.into()),
        ("features", JsonB(imported.features.clone()).into()),
        (
            "label_column",
            match labels.task {
                Some(NOVELTY) => String::new(),
                _ => "label".to_owned(),
            }
            .into(),
        ),
        ("label_type", labels.type_name.to_owned().into()),
        ("label_values", ascending.collect::<Vec<_>>().into()),
        ("task", labels.task.map(str::to_owned).into()),
        ("nulls", "error".to_owned().into()),
        ("loss", imported.loss.map(str::to_owned).into()),
        ("scale", "none".to_owned().into()),
        ("solver", "imported".to_owned().into()),
        ("intercept_used", imported.intercept_used.into()),
        ("intercept", imported.heads[0].weights.intercept.into()),
        ("feature_count", (imported.feature_count as i64).into()),
        ("stop_reason", "imported".to_owned().into()),
        ("options", JsonB(imported.options.clone()).into()),
    ]
}

/// How many rows the version gets in the tables of heads, weights and landmarks.
fn stored_rows(imported: &Imported) -> Value {
    let heads = imported.heads.iter();
    let chunks = heads.map(|head| head.weights.chunks.len()).sum();
    StoredRows::to_json(&[
        ("svm_head", imported.heads.len()),
        ("svm_weight", chunks),
        (
            "svm_landmark",
            imported.landmarks.as_ref().map_or(0, Rows::len),
        ),
    ])
}

/// What is kept of the file.
fn origin(header: &LiblinearHeader, labels: &ImportedLabels) -> Value {
    let origin = Origin {
        solver_type: header.solver.clone(),
        bias: header.bias,
        labels: header.labels.clone(),
        classes: labels.names.clone(),
    };
    json!({"liblinear": origin})
}

fn insert_heads(schema: &str, version_id: i64, imported: &Imported) -> Result<(), SpiError> {
    let label = |place: usize| imported.labels.names[place].as_str();
    let mut rows = RowsOfVersion::of(schema, version_id);
    for (number, head) in (0..).zip(&imported.heads) {
        rows.put(HeadRow {
            number,
            class: label(head.class),
            against: head.against.map(label),
            intercept: head.weights.intercept,
            sigmoid: head.sigmoid,
            ..HeadRow::default()
        })?;
    }
    rows.finish()
}
