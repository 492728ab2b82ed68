//! Which settings the user gave, in this training or in an earlier one that is not overruled. A version records them, and the next version
//! of the model takes over those that are not given. Pure.
//!
//! How the problem is solved (tolerance, passes, solver, seed) belongs to each training alone.

use crate::base::errors::{shortened, shown, Failure};
use crate::base::text::written;
use crate::catalog::trained_by::{as_arguments, keep_lasting};
use crate::pg::json::JsonText;
use crate::request::kernel::usual_name;
use crate::request::numbers::Numbers;
use crate::request::option_words::AUTO;
use crate::request::options::{is_of_one_training, read_options};
use crate::request::solver::{is_of_distance, HUBER, QUANTILE};
use crate::request::Arguments;
use pgsvm_core::memory::owned;
use serde::Serialize;
use serde_json::{Map, Value};

/// Entries of `features` or `exclude`.
pub type Names = Vec<Option<String>>;

/// The settings that a version takes over.
#[derive(Default)]
pub struct GivenSettings {
    pub features: Option<Names>,
    pub exclude: Option<Names>,
    /// The others, which are short, by the names of their arguments.
    pub others: Map<String, Value>,
    /// Whether the version predicts a number.
    pub regresses: bool,
}

const KERNEL: &str = "kernel";
const KERNEL_PARAMETERS: [&str; 4] = ["gamma", "degree", "coef0", "rank"];

const METRIC: &str = "metric";

const OTHERS: [&str; 16] = [
    // first, as the next ones are its
    KERNEL,
    KERNEL_PARAMETERS[0],
    KERNEL_PARAMETERS[1],
    KERNEL_PARAMETERS[2],
    KERNEL_PARAMETERS[3],
    "scale",
    "intercept",
    "nulls",
    "weight",
    "class_weight",
    "probability",
    "key",
    "loss",
    "c",
    METRIC,
    "options",
];

/// Most bytes of a record: what is longer than all arguments may be together is not recorded.
pub const MOST_BYTES: usize = 1 << 20;

/// The record of what `arguments` give.
pub fn record(arguments: &Arguments) -> Result<Option<JsonText>, Failure> {
    #[derive(Serialize)]
    struct Record<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        features: &'a Option<Names>,
        #[serde(skip_serializing_if = "Option::is_none")]
        exclude: &'a Option<Names>,
        #[serde(flatten)]
        others: Map<String, Value>,
    }
    let record = JsonText::of(&Record {
        features: &arguments.columns.features,
        exclude: &arguments.columns.exclude,
        others: others(arguments)?,
    })?;
    Ok(Some(record).filter(|record| record.as_str().len() <= MOST_BYTES))
}

/// What `arguments` give, but for source, label, features, exclude and model, as a call has it; nothing where that is long.
pub fn typed(arguments: &Arguments) -> Result<String, Failure> {
    const LONGEST: usize = 500;
    let mut all = others(arguments)?;
    let own = &arguments.solving;
    let own = [
        ("solver", own.solver.clone().map(Value::from)),
        ("tolerance", own.tolerance.map(Value::from)),
        ("max_passes", own.max_passes.map(Value::from)),
        ("seed", own.seed.map(Value::from)),
    ];
    let own = own.into_iter();
    all.extend(own.filter_map(|(name, value)| Some((name.to_owned(), value?))));
    fn size(value: &Value) -> usize {
        match value {
            Value::String(text) => text.len(),
            Value::Array(all) => all.len() + all.iter().map(size).sum::<usize>(),
            Value::Object(all) => all.iter().map(|(name, it)| name.len() + size(it)).sum(),
            _ => 0,
        }
    }
    if all.values().map(size).sum::<usize>() > LONGEST {
        return Ok(String::new());
    }
    let all = as_arguments(all).into_iter().map(|it| format!(", {it}"));
    Ok(Some(all.collect::<String>())
        .filter(|all| all.len() <= LONGEST)
        .unwrap_or_default())
}

fn others(arguments: &Arguments) -> Result<Map<String, Value>, Failure> {
    let mut given = Map::new();
    for name in OTHERS {
        if let Some(value) = value(arguments, name)? {
            given.insert(name.to_owned(), value);
        }
    }
    Ok(given)
}

/// Sets those of `before` that `arguments` do not give, and says which, as they are.
pub fn take_over(
    arguments: &mut Arguments,
    mut before: GivenSettings,
) -> Result<Vec<String>, Failure> {
    let now = others(arguments)?;
    keep_lasting(&mut before.others);
    let mut taken_over = take_names(arguments, &mut before);
    forget_other_task(&now, &mut before);
    forget_other_kernel(&now, &mut before.others);
    forget_other_loss(&now, &mut before.others);
    let options = taken_options(arguments, &now, &mut before.others)?;
    for name in OTHERS {
        if let Some(value) = before.others.get(name).filter(|_| !now.contains_key(name)) {
            set(arguments, name, value)?;
            taken_over.push(format!("{name} => {}", words(value)));
        }
    }
    taken_over.extend(options);
    Ok(taken_over)
}

/// Takes out of `before` the parameters of a kernel that is not the one given `now`.
fn forget_other_kernel(now: &Map<String, Value>, before: &mut Map<String, Value>) {
    if now
        .get(KERNEL)
        .is_some_and(|kernel| before.get(KERNEL) != Some(kernel))
    {
        before.retain(|name, _| !KERNEL_PARAMETERS.contains(&name.as_str()));
        if let Some(Value::Object(options)) = before.get_mut("options") {
            for name in ["landmarks", "method", "gammas", "choose"] {
                options.remove(name);
            }
        }
    }
}

/// Takes out of `before` what belongs to another task than the one that is asked for `now`.
fn forget_other_task(now: &Map<String, Value>, before: &mut GivenSettings) {
    let option = |name: &str| now.get("options").and_then(|it| it.get(name));
    let named = option("task").map(|task| task == "regression");
    let loss = now.get("loss").and_then(Value::as_str);
    let by_loss = || loss.map(is_of_distance);
    let by_terms = || {
        let mut terms = ["epsilon", "quantiles"].into_iter();
        terms.find_map(option).map(|_| true)
    };
    let by_intervals = || {
        option("intervals")
            .filter(|it| it.as_bool() == Some(true))
            .map(|_| true)
    };
    let asked = named
        .or_else(by_loss)
        .or_else(by_terms)
        .or_else(by_intervals);
    if asked.is_none_or(|regresses| regresses == before.regresses) {
        return;
    }
    let others = &mut before.others;
    others.retain(|name, _| {
        !["loss", "class_weight", "probability", "key", METRIC].contains(&name.as_str())
    });
    if let Some(Value::Object(options)) = others.get_mut("options") {
        let of_tasks = [
            "task",
            "epsilon",
            "scale_label",
            "quantiles",
            "intervals",
            "truncation",
            "multiclass",
            "classes_by",
            "calibration",
            "duals",
        ];
        options.retain(|name, _| !of_tasks.contains(&name.as_str()));
    }
}

/// The same of what belongs to another loss: the truncation, which means another thing for each, epsilon and quantiles.
fn forget_other_loss(now: &Map<String, Value>, before: &mut Map<String, Value>) {
    let names_quantiles = now
        .get("options")
        .is_some_and(|it| it.get("quantiles").is_some());
    let loss = match now.get("loss").and_then(Value::as_str) {
        None if names_quantiles => QUANTILE,
        None => return,
        Some(loss) => loss,
    };
    if before.get("loss").is_some_and(|before| before == loss) {
        return;
    }
    let was_huber = before.remove("loss").is_some_and(|before| before == HUBER);
    let is_of_quantiles = loss == QUANTILE;
    before.retain(|name, metric| is_of_quantiles || name != METRIC || metric != "pinball");
    if let Some(Value::Object(options)) = before.get_mut("options") {
        options.remove("truncation");
        if !is_of_quantiles {
            options.remove("quantiles");
        }
        if is_of_quantiles || loss == HUBER || was_huber {
            options.remove("epsilon");
        }
    }
}

/// The same of the lists of columns.
fn take_names(arguments: &mut Arguments, before: &mut GivenSettings) -> Vec<String> {
    let mut taken_over = Vec::new();
    if arguments.columns.features.is_some() {
        // of columns that are named another list says nothing
        return taken_over;
    }
    if let (Some(features), Some(excluded)) = (&mut before.features, &arguments.columns.exclude) {
        features.retain(|name| !excluded.contains(name));
    }
    let mut take = |name: &str, now: &mut Option<Names>, before: Option<Names>| {
        if let (None, Some(before)) = (&now, before.filter(|names| !names.is_empty())) {
            taken_over.push(format!("{name} => {}", list_words(&before)));
            *now = Some(before);
        }
    };
    take(
        "features",
        &mut arguments.columns.features,
        before.features.take(),
    );
    take(
        "exclude",
        &mut arguments.columns.exclude,
        before.exclude.take(),
    );
    taken_over
}

/// Puts the options of `before` that are not given to the others, and says which.
fn taken_options(
    arguments: &mut Arguments,
    now: &Map<String, Value>,
    before: &mut Map<String, Value>,
) -> Result<Vec<String>, Failure> {
    let mut options = match read_options(arguments.options.as_ref())? {
        Value::Object(options) => options,
        // which is refused later
        _ => return Ok(Vec::new()),
    };
    let mut taken = match before.remove("options") {
        Some(Value::Object(taken)) => taken,
        _ => Map::new(),
    };
    settle_choices(now, (&options, before), &mut taken);
    let in_force = |name: &str| now.get(name).or_else(|| before.get(name));
    let chooses_gamma = in_force("gamma").is_some_and(Numbers::is_choice)
        || names_choice(&options, "gamma")
        || names_choice(&taken, "gamma");
    // a metric alone has C chosen
    let by_metric = in_force("c").is_none() && in_force(METRIC).is_some();
    let chooses = by_metric
        || in_force("c").is_some_and(Numbers::is_choice)
        || names_choice(&options, "c")
        || names_choice(&taken, "c");
    let chooses_s = [&options, &taken]
        .iter()
        .any(|it| it.get("truncation").is_some_and(|word| word == AUTO));
    let chooses_epsilon = [&options, &taken]
        .iter()
        .find_map(|it| it.get("epsilon"))
        .is_some_and(Numbers::is_choice);
    let probability = in_force("probability") == Some(&Value::Bool(true));
    let intervals = [&options, &taken]
        .iter()
        .find_map(|it| it.get("intervals"))
        .is_some_and(|it| it == true);
    let chooses_others = chooses_gamma || chooses_s || chooses_epsilon;
    let holds_out = chooses || chooses_others || probability || intervals;
    // a metric says by what something is chosen
    let is_fixed = in_force("c").is_some_and(Value::is_number);
    if is_fixed && !(chooses || chooses_others) {
        before.remove(METRIC);
    }
    taken.retain(|name, _| {
        let means_something = match name.as_str() {
            "costs" => chooses,
            "folds" | "fold_column" | "fold_order" => holds_out,
            "calibration" | "classes_by" => probability,
            // an intercept that is given says more than where one was to count
            "intercept" => !now.contains_key("intercept"),
            _ => !is_of_one_training(name),
        };
        means_something && !options.contains_key(name)
    });
    let taken_over = taken.iter().map(|(name, value)| match name.as_str() {
        "task" | "epsilon" => format!("{name} => {}", words(value)),
        _ => format!("option \"{name}\": {}", shown(value)),
    });
    let taken_over = taken_over.collect();
    if !taken.is_empty() {
        options.extend(taken);
        arguments.options = Some(JsonText::of(&Value::Object(options))?);
    }
    Ok(taken_over)
}

/// Whether options say that C or gamma is to be chosen.
fn names_choice(options: &Map<String, Value>, name: &str) -> bool {
    let named = options.get("choose").and_then(Value::as_array);
    named.is_some_and(|all| all.iter().any(|word| word == name))
        || (name == "gamma" && options.contains_key("gammas"))
}

/// Takes out of the options of before what is given `now`, and out of the settings of `before` what the options now choose.
fn settle_choices(
    now: &Map<String, Value>,
    (options, before): (&Map<String, Value>, &mut Map<String, Value>),
    taken: &mut Map<String, Value>,
) {
    let is_fixed = |name: &str| now.get(name).is_some_and(|it| !Numbers::is_choice(it));
    if let Some(Value::Array(words)) = taken.get_mut("choose") {
        words.retain(|word| !word.as_str().is_some_and(is_fixed));
        if words.is_empty() {
            taken.remove("choose");
        }
    }
    for (name, list) in [("c", "costs"), ("gamma", "gammas")] {
        // of a list as an argument and one as an option that of now holds
        if now
            .get(name)
            .is_some_and(|value| value.is_array() || !Numbers::is_choice(value))
        {
            taken.remove(list);
        }
        let is_list = before.get(name).is_some_and(Value::is_array);
        if names_choice(options, name) || (is_list && options.contains_key(list)) {
            before.remove(name);
        }
    }
}

/// A setting as `arguments` give it.
fn value(arguments: &Arguments, name: &str) -> Result<Option<Value>, Failure> {
    let text = |given: &Option<String>| given.clone().map(Value::from);
    Ok(match name {
        "scale" => text(&arguments.scale),
        "intercept" => arguments.intercept.map(Value::from),
        "nulls" => text(&arguments.nulls),
        "weight" => text(&arguments.columns.weight),
        "class_weight" => arguments
            .class_weight
            .as_ref()
            .map(|given| {
                let read = JsonText::read(given).ok();
                read.map_or_else(|| owned(given).map(Value::from), Ok)
            })
            .transpose()?,
        "probability" => arguments.probability.map(Value::from),
        "key" => text(&arguments.columns.key),
        "loss" => text(&arguments.loss),
        METRIC => text(&arguments.choice.metric),
        KERNEL => arguments
            .kernel
            .kind
            .as_deref()
            .map(usual_name)
            .map(Value::from),
        "gamma" => arguments.kernel.gamma.value(),
        "degree" => arguments.kernel.degree.map(Value::from),
        "coef0" => arguments.kernel.coef0.map(Value::from),
        "rank" => arguments.kernel.rank.map(Value::from),
        "c" => arguments.choice.c.value(),
        _ => match read_options(arguments.options.as_ref())? {
            Value::Object(mut options) => {
                options.retain(|name, _| !is_of_one_training(name));
                (!options.is_empty()).then_some(Value::Object(options))
            }
            _ => None,
        },
    })
}

/// Sets a setting; of a kind that it has not, it stays not given.
fn set(arguments: &mut Arguments, name: &str, value: &Value) -> Result<(), Failure> {
    let text = || value.as_str().map(str::to_owned);
    match name {
        "scale" => arguments.scale = text(),
        "intercept" => arguments.intercept = value.as_bool(),
        "nulls" => arguments.nulls = text(),
        "weight" => arguments.columns.weight = text(),
        "class_weight" => {
            arguments.class_weight = Some(match value.as_str() {
                Some(text) => owned(text)?,
                None => written(format_args!("{value}"))?,
            });
        }
        "probability" => arguments.probability = value.as_bool(),
        "key" => arguments.columns.key = text(),
        "loss" => arguments.loss = text(),
        METRIC => arguments.choice.metric = text(),
        KERNEL => arguments.kernel.kind = text(),
        "gamma" => arguments.kernel.gamma = Numbers::of_value(value),
        "degree" => arguments.kernel.degree = small(value),
        "coef0" => arguments.kernel.coef0 = value.as_f64(),
        "rank" => arguments.kernel.rank = small(value),
        "c" => arguments.choice.c = Numbers::of_value(value),
        _ => {}
    }
    Ok(())
}

/// A whole number, where it is one.
fn small(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|number| i32::try_from(number).ok())
}

/// A setting as SQL would give it.
fn words(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::String(text) => format!("'{}'", shortened(text).replace('\'', "''")),
        Value::Object(_) => shown(&format_args!("'{value}'")),
        Value::Array(all) => {
            let all: Vec<String> = all.iter().map(Value::to_string).collect();
            format!("'{{{}}}'", shortened(&all.join(",")))
        }
        other => shown(other),
    }
}

/// A list, of a long one the beginning.
fn list_words(names: &Names) -> String {
    let mut text = String::new();
    for name in names.iter().map(|name| name.as_deref().unwrap_or("NULL")) {
        if text.len() > 200 {
            text.push_str(",…");
            break;
        }
        if !text.is_empty() {
            text.push(',');
        }
        // as an array has an element with signs of its own
        match name.contains([',', '{', '}', '"', '\\']) {
            true => {
                let escaped = shortened(name).replace('\\', "\\\\").replace('"', "\\\"");
                text.push_str(&format!("\"{escaped}\""));
            }
            false => text.push_str(&shortened(name)),
        }
    }
    format!("'{{{}}}'", text.replace('\'', "''"))
}
