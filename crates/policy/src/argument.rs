//! Conditions on the arguments of a call, each on the value at one place.

mod host;
mod number;
mod path;
mod path_search;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value};
use weaver_types::Pointer;

use crate::pattern::Pattern;
use crate::provenance::{ValueOrigin, ValueOrigins};
use crate::truth::Truth;

/// The most texts in one test, and the longest of them in bytes.
const MAX_LIST: usize = 1_000;
const MAX_TEXT: usize = 4_096;

/// A condition on the value at one place of the arguments. Every test that is there must hold; a
/// test of a list holds when one of the list does. A value of another type than a test speaks of
/// does not fit it.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawPredicate")]
pub struct ArgumentPredicate {
    /// The place.
    pub at: Pointer,
    /// Whether there is a value at all, also null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub present: Option<bool>,
    /// The value is this one; numbers are compared as numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// The value is one of these.
    #[serde(rename = "in", skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Value>,
    /// The number is at least this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Number>,
    /// The number is at most this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Number>,
    /// The text begins with one of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prefix: Vec<String>,
    /// The text ends with one of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suffix: Vec<String>,
    /// The whole text fits one of these patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub glob: Vec<Pattern>,
    /// The text is a path inside one of these folders, once `.` and `..` are resolved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inside: Vec<String>,
    /// Whether the value holds paths, at whatever depth. A text is a path by the name of its field
    /// ([`critical::names_path`](crate::critical::names_path)), or when it begins as paths do; text
    /// for people is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds_paths: Option<bool>,
    /// The value holds paths, and each is inside one of these folders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths_inside: Vec<String>,
    /// The value holds a path that fits one of these patterns; so does what is nested too deep to be
    /// looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub any_path: Vec<Pattern>,
    /// The text is a URL whose host, or a host name which, is one of these; `*.` before a name
    /// stands for the names below it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<String>,
    /// The least number of characters or items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u32>,
    /// The greatest number of characters or items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u32>,
    /// The value was found in one of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub provenance: Vec<ValueOrigin>,
}

/// Why an argument predicate is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the condition at `{at}`: {problem}")]
pub struct ArgumentError {
    /// The place that the condition speaks of.
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
    /// A condition on this place without any test, to be filled; as it is it would be refused.
    #[must_use]
    pub fn at(at: Pointer) -> Self {
        Self {
            at,
            present: None,
            equals: None,
            one_of: Vec::new(),
            min: None,
            max: None,
            prefix: Vec::new(),
            suffix: Vec::new(),
            glob: Vec::new(),
            inside: Vec::new(),
            holds_paths: None,
            paths_inside: Vec::new(),
            any_path: Vec::new(),
            domains: Vec::new(),
            min_length: None,
            max_length: None,
            provenance: Vec::new(),
        }
    }

    /// Whether the condition holds for these arguments. A test of provenance does not: it needs
    /// to know where values came from.
    #[must_use]
    pub fn holds(&self, arguments: &Value) -> bool {
        self.evaluate(Some(arguments), None) == Truth::Yes
    }

    /// Whether the condition holds; unknown without arguments, and where only the origin of the
    /// value is open.
    #[must_use]
    pub fn evaluate(&self, arguments: Option<&Value>, origins: Option<&dyn ValueOrigins>) -> Truth {
        let Some(arguments) = arguments else { return Truth::Unknown };
        let Some(value) = self.at.find(arguments) else {
            return Truth::from(self.present == Some(false));
        };
        if self.present == Some(false) || !self.fits(value) {
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

    fn fits(&self, value: &Value) -> bool {
        self.equals.as_ref().is_none_or(|wanted| number::same(wanted, value))
            && (self.one_of.is_empty() || self.one_of.iter().any(|one| number::same(one, value)))
            && self.min.as_ref().is_none_or(|min| number::at_least(value, min))
            && self.max.as_ref().is_none_or(|max| number::at_most(value, max))
            && self.fits_text(value)
            && self.fits_paths(value)
            && self.fits_length(value)
    }

    fn fits_text(&self, value: &Value) -> bool {
        let all = [&self.prefix, &self.suffix, &self.inside, &self.domains];
        if self.glob.is_empty() && all.iter().all(|list| list.is_empty()) {
            return true;
        }
        let Value::String(text) = value else { return false };
        (self.prefix.is_empty() || self.prefix.iter().any(|p| text.starts_with(p.as_str())))
            && (self.suffix.is_empty() || self.suffix.iter().any(|s| text.ends_with(s.as_str())))
            && (self.glob.is_empty() || self.glob.iter().any(|pattern| pattern.matches(text)))
            && (self.inside.is_empty() || self.inside.iter().any(|root| path::inside(text, root)))
            && (self.domains.is_empty() || host::among(text, &self.domains))
    }

    fn fits_paths(&self, value: &Value) -> bool {
        let holds_paths = || path_search::holds_paths(&self.at, value);
        let all_inside = || path_search::all_inside(&self.at, value, &self.paths_inside);
        let any_fits = || path_search::any_fits(&self.at, value, &self.any_path);
        self.holds_paths.is_none_or(|wanted| holds_paths() == wanted)
            && (self.paths_inside.is_empty() || all_inside())
            && (self.any_path.is_empty() || any_fits())
    }

    fn fits_length(&self, value: &Value) -> bool {
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

    /// Checks what the form alone does not say.
    ///
    /// # Errors
    /// [`ArgumentError`]: no test, tests that exclude each other, a folder or a name that cannot
    /// be compared with, or more than is bearable.
    pub fn check(&self) -> Result<(), ArgumentError> {
        let problem = self.problem();
        problem.map_or(Ok(()), |problem| {
            Err(ArgumentError { at: self.at.as_str().to_owned(), problem })
        })
    }

    fn problem(&self) -> Option<&'static str> {
        let bare = Self { present: None, ..self.clone() } == Self::at(self.at.clone());
        let texts = [&self.prefix, &self.suffix, &self.inside, &self.paths_inside, &self.domains];
        let patterns = [self.glob.len(), self.any_path.len()];
        let lists = [self.one_of.len(), self.provenance.len()].into_iter().chain(patterns);
        if bare && self.present.is_none() {
            return Some("it tests nothing");
        }
        if !bare && self.present == Some(false) {
            return Some("what is absent has nothing to test");
        }
        let of_paths = !self.paths_inside.is_empty() || !self.any_path.is_empty();
        if self.holds_paths == Some(false) && of_paths {
            return Some("a value without paths has none to look at");
        }
        if lists.chain(texts.map(Vec::len)).any(|len| len > MAX_LIST) {
            return Some("a list has more than 1000 entries");
        }
        if texts.iter().any(|list| list.iter().any(|t| t.is_empty() || t.len() > MAX_TEXT)) {
            return Some("a text is empty or has more than 4096 bytes");
        }
        if !self.inside.iter().chain(&self.paths_inside).all(|root| path::is_root(root)) {
            return Some("a folder holds `..`, a backslash or a hidden character");
        }
        if !self.domains.iter().all(|domain| host::is_entry(domain)) {
            return Some("an entry of `domains` is no host name in lower-case ASCII");
        }
        let crossed =
            |min: &Number, max: &Number| !number::at_most(&Value::Number(min.clone()), max);
        if self.min.as_ref().zip(self.max.as_ref()).is_some_and(|(min, max)| crossed(min, max))
            || self.min_length.zip(self.max_length).is_some_and(|(min, max)| min > max)
        {
            return Some("the least is greater than the most");
        }
        None
    }
}

/// The form of a predicate in JSON, before it was checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPredicate {
    at: Pointer,
    #[serde(default, deserialize_with = "present_value")]
    present: Option<bool>,
    #[serde(default, deserialize_with = "present_value")]
    equals: Option<Value>,
    #[serde(default, rename = "in")]
    one_of: Vec<Value>,
    #[serde(default, deserialize_with = "present_value")]
    min: Option<Number>,
    #[serde(default, deserialize_with = "present_value")]
    max: Option<Number>,
    #[serde(default)]
    prefix: Vec<String>,
    #[serde(default)]
    suffix: Vec<String>,
    #[serde(default)]
    glob: Vec<Pattern>,
    #[serde(default)]
    inside: Vec<String>,
    #[serde(default, deserialize_with = "present_value")]
    holds_paths: Option<bool>,
    #[serde(default)]
    paths_inside: Vec<String>,
    #[serde(default)]
    any_path: Vec<Pattern>,
    #[serde(default)]
    domains: Vec<String>,
    #[serde(default, deserialize_with = "present_value")]
    min_length: Option<u32>,
    #[serde(default, deserialize_with = "present_value")]
    max_length: Option<u32>,
    #[serde(default)]
    provenance: Vec<ValueOrigin>,
}

/// A value that is present, also null: leaving a test out and testing for null are not the same.
fn present_value<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    value: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

impl TryFrom<RawPredicate> for ArgumentPredicate {
    type Error = ArgumentError;

    fn try_from(raw: RawPredicate) -> Result<Self, ArgumentError> {
        let out = Self {
            at: raw.at,
            present: raw.present,
            equals: raw.equals,
            one_of: raw.one_of,
            min: raw.min,
            max: raw.max,
            prefix: raw.prefix,
            suffix: raw.suffix,
            glob: raw.glob,
            inside: raw.inside,
            holds_paths: raw.holds_paths,
            paths_inside: raw.paths_inside,
            any_path: raw.any_path,
            domains: raw.domains,
            min_length: raw.min_length,
            max_length: raw.max_length,
            provenance: raw.provenance,
        };
        out.check()?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests;
