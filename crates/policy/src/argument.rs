//! Conditions on the arguments of a call, each on the value at one JSON pointer.

mod change;
mod file_name;
pub(crate) mod harmless_sql;
mod host;
mod number;
pub(crate) mod path;
mod path_search;
mod plain_expression;
mod program_option;
mod reading_action;
mod reading_query;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Number, Value};
use weaver_types::JsonPointer;

use crate::pattern::{FoldedText, Pattern};
use crate::provenance::{ValueOrigin, ValueOrigins};
use crate::truth::Truth;

/// The maximum number of entries in one test, and the maximum length of a text in bytes.
const MAX_LIST_ENTRIES: usize = 1_000;
const MAX_TEXT_BYTES: usize = 4_096;

/// A condition on the value at one JSON pointer into the arguments. Every test that is present must
/// hold; a test with a list holds if one entry of the list matches. A value of the wrong type fails
/// the test.
///
/// ```
/// use serde_json::json;
/// use weaver_policy::ArgumentPredicate;
///
/// let small: ArgumentPredicate = serde_json::from_value(json!({ "at": "/amount", "max": 100 }))?;
/// assert!(small.holds(&json!({ "amount": 100.0 })));
/// assert!(!small.holds(&json!({ "amount": "100" })));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct ArgumentPredicate {
    /// Where the value is.
    pub at: JsonPointer,
    /// Whether there is a value; null is a value.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub present: Option<bool>,
    /// The value equals this one; numbers are compared numerically.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub equals: Option<Value>,
    /// The value is one of these.
    #[serde(rename = "in", default, skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Value>,
    /// The number is at least this.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub min: Option<Number>,
    /// The number is at most this.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub max: Option<Number>,
    /// The text starts with one of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prefix: Vec<String>,
    /// The text ends with one of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suffix: Vec<String>,
    /// The whole text matches one of these patterns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub glob: Vec<Pattern>,
    /// The whole text matches one of these patterns, without regard to case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub glob_any_case: Vec<Pattern>,
    /// The text is a path inside one of these folders, after `.` and `..` are resolved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inside: Vec<String>,
    /// Whether the value contains paths, at any depth. A text is a path because of the name of its
    /// field ([`critical::names_path`](crate::critical::names_path)) or because it starts like one.
    /// Text for people is never a path.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub holds_paths: Option<bool>,
    /// The value contains paths, and each of them is inside one of these folders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths_inside: Vec<String>,
    /// The value contains a path that matches one of these patterns, as it is written or with its
    /// `.` and `..` resolved, without regard to case. Paths that may lead anywhere and values that
    /// are nested too deeply to be searched count as matching.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any_path: Vec<Pattern>,
    /// Whether the text is one SQL statement that only reads, adds rows, changes rows that a
    /// condition names, or adds tables, columns and indexes.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub harmless_sql: Option<bool>,
    /// Whether the text is one SQL statement that only reads, or each text of the list is.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub reading_sql: Option<bool>,
    /// Whether the text is one query of a graph, of documents or of logs (Cypher, SPARQL, KQL, Flux,
    /// XQuery and others) that only reads, or each text of the list is.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub reading_query: Option<bool>,
    /// Whether the text, which says what is done, asks for something to be read or computed, by its
    /// first word; or each text of the list does.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub reading_action: Option<bool>,
    /// Whether the text is one expression that only computes, or each of the list is.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub plain_expression: Option<bool>,
    /// Whether the value holds, at whatever depth, a GraphQL mutation, the beginning of an SQL
    /// statement that changes something, a method of HTTP that does, or an action that takes
    /// something away.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub holds_changes: Option<bool>,
    /// Whether the value holds a text, at whatever depth, that a program would read as an option, since
    /// it begins with `-` or `--` and a letter and does more than choose what is shown; or is a text that
    /// begins with `:`, `.` or `+` or has white space in it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub holds_options: Option<bool>,
    /// The value is an object that has no other members than these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_members: Vec<String>,
    /// The text is a host name that matches one of these, or a URL whose host does; `*.` before a
    /// name stands for its subdomains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<String>,
    /// The minimum number of characters or items.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub min_length: Option<u32>,
    /// The maximum number of characters or items.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub max_length: Option<u32>,
    /// The value comes from one of these origins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provenance: Vec<ValueOrigin>,
}

/// Why an argument predicate is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the condition at `{at}`: {problem}")]
pub struct ArgumentError {
    /// The JSON pointer of the condition.
    pub at: String,
    /// What is wrong.
    pub problem: &'static str,
}

impl ArgumentError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "policy.argument"
    }
}

impl ArgumentPredicate {
    /// A condition on this pointer without any tests, to be filled in. Validation rejects it as it
    /// is.
    #[must_use]
    pub fn at(at: JsonPointer) -> Self {
        Self { at, ..Self::default() }
    }

    /// Whether the condition holds for these arguments. A condition with a provenance test never
    /// does, because the origins of the values are not known here.
    #[must_use]
    pub fn holds(&self, arguments: &Value) -> bool {
        self.evaluate(Some(arguments), None) == Truth::Yes
    }

    /// Evaluates the condition. The result is unknown if the arguments are missing, or if only the
    /// origin of the value is undecided.
    #[must_use]
    pub fn evaluate(&self, arguments: Option<&Value>, origins: Option<&dyn ValueOrigins>) -> Truth {
        let Some(arguments) = arguments else { return Truth::Unknown };
        let Some(value) = self.at.find(arguments) else {
            return Truth::from(self.present == Some(false));
        };
        if self.present == Some(false) || !self.value_matches(value) {
            return Truth::No;
        }
        match (self.provenance.is_empty(), origins) {
            (true, _) => Truth::Yes,
            (false, None) => Truth::Unknown,
            (false, Some(origins)) => {
                let found = origins.origin(&self.at, value);
                Truth::from(found.is_some_and(|found| self.provenance.contains(&found)))
            }
        }
    }

    fn value_matches(&self, value: &Value) -> bool {
        self.equals.as_ref().is_none_or(|wanted| number::values_equal(wanted, value))
            && (self.one_of.is_empty()
                || self.one_of.iter().any(|one| number::values_equal(one, value)))
            && self.min.as_ref().is_none_or(|min| number::is_at_least(value, min))
            && self.max.as_ref().is_none_or(|max| number::is_at_most(value, max))
            && self.text_matches(value)
            && self.paths_match(value)
            && self.members_match(value)
            && self.length_matches(value)
    }

    fn text_matches(&self, value: &Value) -> bool {
        let text = value.as_str();
        // A test that is there fails on what is no text.
        let holds =
            |is_absent: bool, test: &dyn Fn(&str) -> bool| is_absent || text.is_some_and(test);
        let (harmless, reading) = (self.harmless_sql, self.reading_sql);
        holds(self.prefix.is_empty(), &|text| self.prefix.iter().any(|p| text.starts_with(p)))
            && holds(self.suffix.is_empty(), &|text| self.suffix.iter().any(|s| text.ends_with(s)))
            && holds(self.glob.is_empty(), &|text| self.glob.iter().any(|one| one.matches(text)))
            && holds(self.glob_any_case.is_empty(), &|text| {
                matches_any_case(&self.glob_any_case, text)
            })
            && holds(self.inside.is_empty(), &|text| {
                self.inside.iter().any(|root| path::is_inside(text, root))
            })
            && holds(self.domains.is_empty(), &|text| host::matches_any_domain(text, &self.domains))
            && holds(harmless.is_none(), &|text| harmless == Some(harmless_sql::is_harmless(text)))
            && is_as(reading, || each_text_passes(value, harmless_sql::is_reading))
            && is_as(self.reading_query, || reading_query::is_reading(value))
            && is_as(self.reading_action, || reading_action::is_reading(value))
            && is_as(self.plain_expression, || plain_expression::is_plain(value))
            && is_as(self.holds_changes, || Some(change::holds_changes(value)))
            && self.holds_options.is_none_or(|any| program_option::holds_options(value) == any)
    }

    fn paths_match(&self, value: &Value) -> bool {
        let holds_paths = || path_search::holds_paths(&self.at, value);
        let all_paths_inside =
            || path_search::all_paths_inside(&self.at, value, &self.paths_inside);
        let any_path_matches = || path_search::any_path_matches(&self.at, value, &self.any_path);
        self.holds_paths.is_none_or(|wanted| holds_paths() == wanted)
            && (self.paths_inside.is_empty() || all_paths_inside())
            && (self.any_path.is_empty() || any_path_matches())
    }

    fn members_match(&self, value: &Value) -> bool {
        let is_known = |name: &String| self.only_members.contains(name);
        self.only_members.is_empty()
            || value.as_object().is_some_and(|members| members.keys().all(is_known))
    }

    fn length_matches(&self, value: &Value) -> bool {
        if self.min_length.is_none() && self.max_length.is_none() {
            return true;
        }
        let length = match value {
            Value::String(text) => text.chars().count(),
            Value::Array(items) => items.len(),
            _ => return false,
        };
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        self.min_length.is_none_or(|min| length >= u64::from(min))
            && self.max_length.is_none_or(|max| length <= u64::from(max))
    }

    /// Checks constraints beyond the format.
    ///
    /// # Errors
    /// [`ArgumentError`]: there are no tests, tests exclude each other, a folder or host name
    /// cannot be compared, or a limit is exceeded.
    pub fn validate(&self) -> Result<(), ArgumentError> {
        let problem = self.find_problem();
        problem.map_or(Ok(()), |problem| {
            Err(ArgumentError { at: self.at.as_str().to_owned(), problem })
        })
    }

    fn find_problem(&self) -> Option<&'static str> {
        let is_empty_predicate =
            Self { present: None, ..self.clone() } == Self::at(self.at.clone());
        let folders = [&self.inside, &self.paths_inside];
        let names = [&self.prefix, &self.suffix, &self.only_members, &self.domains];
        let texts = || folders.into_iter().chain(names);
        let patterns = [self.glob.len(), self.glob_any_case.len(), self.any_path.len()];
        let lists = [self.one_of.len(), self.provenance.len()].into_iter().chain(patterns);
        if is_empty_predicate && self.present.is_none() {
            return Some("it tests nothing");
        }
        if !is_empty_predicate && self.present == Some(false) {
            return Some("what is absent has nothing to test");
        }
        let tests_paths = !self.paths_inside.is_empty() || !self.any_path.is_empty();
        if self.holds_paths == Some(false) && tests_paths {
            return Some("a value without paths has none to look at");
        }
        if lists.chain(texts().map(Vec::len)).any(|len| len > MAX_LIST_ENTRIES) {
            return Some("a list has more than 1000 entries");
        }
        if texts().any(|list| list.iter().any(|t| t.is_empty() || t.len() > MAX_TEXT_BYTES)) {
            return Some("a text is empty or has more than 4096 bytes");
        }
        if !self.inside.iter().chain(&self.paths_inside).all(|root| path::is_valid_folder(root)) {
            return Some("a folder holds `..`, a backslash or a hidden character");
        }
        if !self.domains.iter().all(|domain| host::is_domain_entry(domain)) {
            return Some("an entry of `domains` is not a host name in lower-case ASCII");
        }
        let is_inverted =
            |min: &Number, max: &Number| !number::is_at_most(&Value::Number(min.clone()), max);
        if self.min.as_ref().zip(self.max.as_ref()).is_some_and(|(min, max)| is_inverted(min, max))
            || self.min_length.zip(self.max_length).is_some_and(|(min, max)| min > max)
        {
            return Some("the least is greater than the most");
        }
        None
    }
}

/// Whether a test is absent, or what is found is what it wants.
fn is_as(wanted: Option<bool>, found: impl FnOnce() -> Option<bool>) -> bool {
    wanted.is_none() || found() == wanted
}

/// Whether a text is one harmless statement of SQL.
pub(crate) fn is_harmless_sql(text: &str) -> bool {
    harmless_sql::is_harmless(text)
}

/// Whether a text says by its first word that something is read or computed.
pub(crate) fn reads_by_first_word(text: &str) -> bool {
    reading_action::reads(text)
}

/// Whether a value, or each of a list, passes a test. Whatever else may hold what is tested does not;
/// `None` for values that hold none.
fn each_passes(value: &Value, test: impl Fn(&Value) -> bool) -> Option<bool> {
    match value {
        Value::String(_) => Some(test(value)),
        Value::Array(items) if !items.is_empty() => Some(items.iter().all(test)),
        Value::Object(members) if !members.is_empty() => Some(false),
        _ => None,
    }
}

/// The same of texts.
fn each_text_passes(value: &Value, test: impl Fn(&str) -> bool) -> Option<bool> {
    each_passes(value, |item| item.as_str().is_some_and(&test))
}

/// Whether a word is in one of these lists of words, whatever its case.
pub(crate) fn is_listed(word: &str, lists: &[&str]) -> bool {
    lists.iter().flat_map(|list| list.split(' ')).any(|known| known.eq_ignore_ascii_case(word))
}

fn matches_any_case(patterns: &[Pattern], text: &str) -> bool {
    let text = FoldedText::of(text);
    patterns.iter().any(|pattern| pattern.matches_any_case(&text))
}

// The derived code is inherent (`remote = "Self"`), so that reading can validate.
impl Serialize for ArgumentPredicate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for ArgumentPredicate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let predicate = Self::deserialize(deserializer)?;
        predicate.validate().map_err(D::Error::custom)?;
        Ok(predicate)
    }
}

/// Deserialises a value that is present, including null, because omitting a test and testing for
/// null are different.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    value: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

#[cfg(test)]
mod tests;
