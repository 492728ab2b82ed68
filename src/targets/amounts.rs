//! Labels that look like numbers or times to predict rather than like classes, as integers or fractions of many values, amounts of
//! money in text and dates do; and what to type in their place: whether they are above a threshold.

use super::labels::{ascending, classed_by, LabelValue};
use crate::base::errors::{shortened, Code, Failure};
use crate::features::preferred_order;
use pgrx::spi::quote_literal;
use pgsvm_expand::reading::Read;
use pgsvm_expand::Reading;

/// Numbers that are classes without a doubt; rows that one of more classes has at least.
const FEW_CLASSES: usize = 20;
const ROWS_OF_A_CLASS: u64 = 20;

/// What else is predicted of numbers, or of texts that hold them.
const REGRESSION: &str = "To predict the number itself: task => 'regression'";
const REGRESSION_OF_TEXTS: &str = "To predict it as a number, make one of it in a query.";
/// What is made of the values met first.
const ABOVE_MIDDLE: &str =
    "Or predict whether it is above a threshold of yours, here the middle of the values met first.";

/// How values are numbers or times.
#[derive(Clone, Copy)]
enum Amounts {
    Numbers,
    Texts(Read),
}

impl Amounts {
    /// None where some value is neither.
    fn of(values: &[LabelValue]) -> Option<Self> {
        if values.iter().all(|value| value.number().is_some()) {
            return Some(Self::Numbers);
        }
        if !values.iter().all(LabelValue::is_text) {
            return None;
        }
        let texts = values.iter().map(|value| (value.text.as_str(), 1));
        Reading::of(texts, preferred_order()).map(Self::Texts)
    }

    /// What they look like.
    fn word(self) -> &'static str {
        match self {
            Self::Texts(read) if read.reading.is_time() || read.reading == Reading::Clock => {
                "time to predict"
            }
            _ => "number to predict",
        }
    }

    /// Whether so many rows have whole numbers that may be classes.
    fn may_be_classes(self, values: &[LabelValue], rows: u64) -> bool {
        let whole = |number: f64| number.fract() == 0.0 || !number.is_finite();
        let are_whole = match self {
            Self::Numbers => values.iter().all(|it| it.number().is_none_or(whole)),
            Self::Texts(read) => read.may_be_codes,
        };
        are_whole && rows >= ROWS_OF_A_CLASS * values.len() as u64
    }

    /// SQL that says whether a column is above the value in the middle of these.
    fn above_middle(self, column: &str, values: &[LabelValue]) -> Option<String> {
        let reading = match self {
            Self::Numbers => {
                let middle = *ascending(values).get(values.len() / 2)?;
                return Some(format!("{column} > {}", values[middle].text));
            }
            Self::Texts(read) => read.reading,
        };
        let texts = values.iter().map(|value| value.text.as_str());
        let read = texts.filter_map(|text| Some((reading.read(text)?, text)));
        let mut read: Vec<_> = read.collect();
        read.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (number, text) = *read.get(read.len() / 2)?;
        let text = quote_literal(shortened(text));
        let has_names = text.contains(char::is_alphabetic);
        let by_order =
            |order: &str| format!("to_date({column}, '{order}') > to_date({text}, '{order}')");
        Some(match reading {
            Reading::Number => format!(
                "nullif(regexp_replace({column}, '[^0-9.-]', '', 'g'), '')::numeric > {number}"
            ),
            Reading::CommaNumber => format!(
                "nullif(replace(regexp_replace({column}, '[^0-9,-]', '', 'g'), ',', '.'), '')::numeric > {number}"
            ),
            Reading::Dmy if !has_names => by_order("DD.MM.YYYY"),
            Reading::Mdy if !has_names => by_order("MM/DD/YYYY"),
            Reading::Ymd | Reading::Dmy | Reading::Mdy => {
                format!("{column}::timestamp > {text}::timestamp")
            }
            Reading::Clock => format!("{column}::time > {text}::time"),
        })
    }
}

/// What predicts the numbers, without what the training asked for that only classes have.
fn regression(classed: &str) -> String {
    let only_of_classes = ["class_weight", "probability", "loss", "metric"];
    let is_given = |name: &&str| classed.contains(&format!(", {name} => "));
    let given: Vec<_> = only_of_classes.into_iter().filter(is_given).collect();
    match given.is_empty() {
        true => format!("{REGRESSION}."),
        false => format!("{REGRESSION} without {}.", given.join(", ")),
    }
}

/// How to make classes of the numbers, or of the texts, that a column has.
pub fn classes_hint(classed: &str, values: &[LabelValue]) -> String {
    let amounts = Amounts::of(values);
    let make = match amounts {
        Some(Amounts::Numbers) => format!("{} {ABOVE_MIDDLE}", regression(classed)),
        Some(Amounts::Texts(_)) => format!("{REGRESSION_OF_TEXTS} {ABOVE_MIDDLE}"),
        None => "Make classes of them.".to_owned(),
    };
    let one = || ascending(values).get(values.len() / 2).copied();
    let test = |column: &str| match (amounts, one()) {
        (Some(amounts), _) => amounts.above_middle(column, values),
        (None, Some(one)) => {
            let text = quote_literal(shortened(&values[one].text));
            Some(format!("{column} = {text}"))
        }
        (None, None) => None,
    };
    let tested = |column: &str| test(column).unwrap_or_else(|| format!("{column} IS NOT NULL"));
    match classed_by(classed, tested) {
        Some(training) => format!("{make} {training}"),
        None => make,
    }
}

/// What is said of a label column whose `values`, of so many rows, look like no classes: like numbers to predict, many of them,
/// each in few rows or fractions some of them; or like a key, where most rows have one of their own.
pub fn are_doubtful(
    (column, classed): (&str, &str),
    values: &[LabelValue],
    rows: u64,
) -> Option<Failure> {
    if values.len() <= FEW_CLASSES {
        return None;
    }
    let looks = match Amounts::of(values) {
        Some(amounts) if amounts.may_be_classes(values, rows) => return None,
        Some(amounts) => amounts.word(),
        None if are_mostly_alone(values, rows) => "key",
        None => return None,
    };
    let message = format!("label column \"{column}\" looks like a {looks}");
    let failure = Failure::new(Code::ERRCODE_WARNING, message);
    let failure = failure.detail(format!(
        "It has {} values in {rows} rows, and each is a class.",
        values.len()
    ));
    Some(failure.hint(classes_hint(classed, values)))
}

/// What to type besides where so many classes that may be numbers to predict are told apart badly.
pub fn if_to_predict((column, classed): (&str, &str), values: &[LabelValue]) -> Option<String> {
    let amounts = Amounts::of(values).filter(|_| values.len() > FEW_CLASSES)?;
    Some(format!(
        "Is {column} rather a {}? {}",
        amounts.word(),
        classes_hint(classed, values)
    ))
}

/// Whether most of so many rows have a value that no other has.
pub fn are_mostly_alone(values: &[LabelValue], rows: u64) -> bool {
    values.len() as u64 > rows / 2
}
