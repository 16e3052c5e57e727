//! Fills a URL template with arguments, which cannot change its structure.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use reqwest::Url;
use serde_json::{Map, Value};

use super::host::{self, HostRule, MAX_URL};
use super::{OperationError, Refusal};
use crate::placeholder::{self, NO_SCALAR, Placeholder, PlaceholderKind};

/// The most entries of a list argument.
const MAX_ITEMS: usize = 256;

/// A URL with placeholders for arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UrlTemplate {
    /// One argument is the whole URL.
    WholeUrl(String),
    /// The host is fixed.
    FixedHost { origin: String, path: Vec<Segment>, query: Vec<Parameter> },
}

/// A path segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    Literal(String),
    /// One value with literals around it; several segments for [`PlaceholderKind::Spread`].
    Value {
        before: String,
        placeholder: Placeholder,
        after: String,
    },
}

/// A query parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Parameter {
    Literal(String),
    Value { key: String, placeholder: Placeholder },
}

/// A literal, or a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LiteralOrPlaceholder {
    Literal(String),
    Placeholder(Placeholder),
}

impl LiteralOrPlaceholder {
    /// Parses `literal`, `{name}`, `{name?}` or `{name...}`.
    pub(super) fn parse(text: &str) -> Result<Self, OperationError> {
        let Some(inner) = text.strip_prefix('{') else {
            return if text.contains(['{', '}']) {
                Err(OperationError::placeholder(text))
            } else {
                Ok(Self::Literal(text.to_owned()))
            };
        };
        let placeholder = Placeholder::parse(inner);
        placeholder.map(Self::Placeholder).ok_or_else(|| OperationError::placeholder(text))
    }

    pub(super) fn placeholder(&self) -> Option<&Placeholder> {
        match self {
            Self::Placeholder(placeholder) => Some(placeholder),
            Self::Literal(_) => None,
        }
    }
}

impl UrlTemplate {
    pub(super) fn parse(text: &str) -> Result<Self, OperationError> {
        if let Ok(LiteralOrPlaceholder::Placeholder(Placeholder {
            name,
            kind: PlaceholderKind::Required,
        })) = LiteralOrPlaceholder::parse(text)
        {
            return Ok(Self::WholeUrl(name));
        }
        let bad = |why: &'static str| OperationError::Url { why };
        let (scheme, rest) = text.split_once("://").ok_or(bad("it is not an http or https url"))?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
        if authority.contains(['{', '}']) {
            return Err(bad("the host of a template is fixed; one argument may be the whole url"));
        }
        let origin = format!("{scheme}://{authority}");
        let base =
            host::parse_url(&format!("{origin}/")).map_err(|_| bad("its host is not valid"))?;
        let origin = base.as_str().trim_end_matches('/').to_owned();
        if rest.contains('#') {
            return Err(bad("a fragment is never sent; remove it"));
        }
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let path = path.strip_prefix('/').unwrap_or(path);
        let path = path.split('/').map(parse_segment).collect::<Result<Vec<_>, _>>()?;
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let query = pairs.map(parse_parameter).collect::<Result<Vec<_>, _>>()?;
        let template = Self::FixedHost { origin, path, query };
        template.check_normal_form()?;
        Ok(template)
    }

    /// Rejects a template whose literals are not in normal form, because another URL than the
    /// written one would be requested.
    fn check_normal_form(&self) -> Result<(), OperationError> {
        let mut arguments = Map::new();
        for placeholder in self.placeholders() {
            let value = match placeholder.kind {
                PlaceholderKind::Spread => Value::from(vec!["x"]),
                PlaceholderKind::Required | PlaceholderKind::Optional => Value::from("x"),
            };
            arguments.insert(placeholder.name.clone(), value);
        }
        let why = "its path or query is not in its normal form; write what is sent";
        self.fill(&arguments, &mut BTreeSet::new()).map_err(|_| OperationError::Url { why })?;
        Ok(())
    }

    /// All placeholders, including repeated ones.
    pub(super) fn placeholders(&self) -> Vec<&Placeholder> {
        match self {
            Self::WholeUrl(_) => Vec::new(),
            Self::FixedHost { path, query, .. } => path
                .iter()
                .filter_map(|segment| match segment {
                    Segment::Value { placeholder, .. } => Some(placeholder),
                    Segment::Literal(_) => None,
                })
                .chain(query.iter().filter_map(|parameter| match parameter {
                    Parameter::Value { placeholder, .. } => Some(placeholder),
                    Parameter::Literal(_) => None,
                }))
                .collect(),
        }
    }

    /// The host, if it is fixed.
    pub(super) fn host(&self) -> Option<HostRule> {
        match self {
            Self::WholeUrl(_) => None,
            Self::FixedHost { origin, .. } => {
                Url::parse(origin).ok().and_then(|url| HostRule::from_url(&url))
            }
        }
    }

    /// Fills the placeholders with the arguments of a call. The parsed URL must have exactly the
    /// host, path and query that were assembled here: any difference means that an argument changed
    /// the structure, and is refused.
    pub(super) fn fill<'a>(
        &'a self,
        arguments: &Map<String, Value>,
        used: &mut BTreeSet<&'a str>,
    ) -> Result<Url, Refusal> {
        let (origin, path, query) = match self {
            Self::WholeUrl(name) => {
                used.insert(name);
                let value = arguments.get(name).ok_or_else(|| missing_argument(name))?;
                let text = value.as_str().ok_or_else(|| invalid_argument(name, "is not text"))?;
                return host::parse_url(text);
            }
            Self::FixedHost { origin, path, query } => (origin, path, query),
        };
        let mut path_text = String::new();
        for segment in path {
            write_segment(segment, arguments, &mut path_text, used)?;
        }
        let mut query_text = String::new();
        for parameter in query {
            write_parameter(parameter, arguments, &mut query_text, used)?;
        }
        let mut text = format!("{origin}{path_text}");
        if !query_text.is_empty() {
            let _ = write!(text, "?{query_text}");
        }
        if text.len() > MAX_URL {
            return Err(Refusal::Url("it is too long"));
        }
        let url = Url::parse(&text).map_err(|_| Refusal::Url("it is not a URL"))?;
        let is_unchanged = url.as_str().starts_with(&format!("{origin}/"))
            && url.path() == path_text
            && url.query().unwrap_or_default() == query_text
            && url.fragment().is_none();
        if is_unchanged {
            Ok(url)
        } else {
            Err(Refusal::Url("its parts are not those of the template"))
        }
    }
}

fn parse_segment(text: &str) -> Result<Segment, OperationError> {
    let Some(open) = text.find('{') else {
        return if text.contains('}') {
            Err(OperationError::placeholder(text))
        } else {
            Ok(Segment::Literal(text.to_owned()))
        };
    };
    let close = text.find('}').ok_or_else(|| OperationError::placeholder(text))?;
    let parts = (text.get(..open), text.get(open..=close), text.get(close.saturating_add(1)..));
    let (Some(before), Some(middle), Some(after)) = parts else {
        return Err(OperationError::placeholder(text));
    };
    match LiteralOrPlaceholder::parse(middle)? {
        LiteralOrPlaceholder::Placeholder(placeholder)
            if !after.contains(['{', '}'])
                && placeholder.kind != PlaceholderKind::Optional
                && (placeholder.kind == PlaceholderKind::Required
                    || (before.is_empty() && after.is_empty())) =>
        {
            Ok(Segment::Value { before: before.to_owned(), placeholder, after: after.to_owned() })
        }
        _ => Err(OperationError::placeholder(text)),
    }
}

fn parse_parameter(text: &str) -> Result<Parameter, OperationError> {
    if !text.contains(['{', '}']) {
        return Ok(Parameter::Literal(text.to_owned()));
    }
    let (key, value) = text.split_once('=').ok_or_else(|| OperationError::placeholder(text))?;
    match LiteralOrPlaceholder::parse(value)? {
        LiteralOrPlaceholder::Placeholder(placeholder)
            if !key.is_empty() && !key.contains(['{', '}']) =>
        {
            Ok(Parameter::Value { key: key.to_owned(), placeholder })
        }
        _ => Err(OperationError::placeholder(text)),
    }
}

fn write_segment<'a>(
    segment: &'a Segment,
    arguments: &Map<String, Value>,
    out: &mut String,
    used: &mut BTreeSet<&'a str>,
) -> Result<(), Refusal> {
    let (before, placeholder, after) = match segment {
        Segment::Literal(text) => {
            let _ = write!(out, "/{text}");
            return Ok(());
        }
        Segment::Value { before, placeholder, after } => (before, placeholder, after),
    };
    used.insert(&placeholder.name);
    let value = arguments.get(&placeholder.name).filter(|value| !value.is_null());
    let value = value.ok_or_else(|| missing_argument(&placeholder.name))?;
    for text in segments_of(placeholder, value)? {
        if text.contains(['/', '\\']) || text.chars().any(char::is_control) {
            return Err(invalid_argument(
                &placeholder.name,
                "holds a slash, a backslash or a control character",
            ));
        }
        let segment_text = format!("{before}{}{after}", percent_encode(&text));
        if matches!(segment_text.as_str(), "" | "." | "..") {
            return Err(invalid_argument(
                &placeholder.name,
                "would be no segment of a path, or lead out of it",
            ));
        }
        let _ = write!(out, "/{segment_text}");
    }
    Ok(())
}

/// One segment; for a spread placeholder, the parts of a text between slashes or the entries of a
/// list.
fn segments_of(placeholder: &Placeholder, value: &Value) -> Result<Vec<String>, Refusal> {
    let list = match (placeholder.kind, value) {
        (PlaceholderKind::Spread, Value::String(text)) => {
            text.split('/').map(str::to_owned).collect()
        }
        (PlaceholderKind::Spread, Value::Array(list)) => list
            .iter()
            .map(|entry| scalar_text(&placeholder.name, entry))
            .collect::<Result<Vec<_>, _>>()?,
        _ => vec![scalar_text(&placeholder.name, value)?],
    };
    if list.is_empty() || list.len() > MAX_ITEMS {
        return Err(invalid_argument(&placeholder.name, "has no entry, or too many"));
    }
    Ok(list)
}

fn write_parameter<'a>(
    parameter: &'a Parameter,
    arguments: &Map<String, Value>,
    out: &mut String,
    used: &mut BTreeSet<&'a str>,
) -> Result<(), Refusal> {
    let (key, placeholder) = match parameter {
        Parameter::Literal(text) => {
            let separator = if out.is_empty() { "" } else { "&" };
            let _ = write!(out, "{separator}{text}");
            return Ok(());
        }
        Parameter::Value { key, placeholder } => (key, placeholder),
    };
    let mut push = |value: &str| {
        let separator = if out.is_empty() { "" } else { "&" };
        let _ = write!(out, "{separator}{key}={value}");
    };
    used.insert(&placeholder.name);
    match (arguments.get(&placeholder.name).filter(|value| !value.is_null()), placeholder.kind) {
        (None, PlaceholderKind::Required) => return Err(missing_argument(&placeholder.name)),
        (None, PlaceholderKind::Optional | PlaceholderKind::Spread) => {}
        (Some(Value::Array(list)), PlaceholderKind::Spread) if list.len() > MAX_ITEMS => {
            return Err(invalid_argument(&placeholder.name, "has too many entries"));
        }
        (Some(Value::Array(list)), PlaceholderKind::Spread) => {
            for entry in list {
                push(&percent_encode(&scalar_text(&placeholder.name, entry)?));
            }
        }
        (Some(value), _) => push(&percent_encode(&scalar_text(&placeholder.name, value)?)),
    }
    Ok(())
}

/// A scalar value as text.
pub(super) fn scalar_text(name: &str, value: &Value) -> Result<String, Refusal> {
    placeholder::scalar_text(value).ok_or_else(|| invalid_argument(name, NO_SCALAR))
}

/// Percent-encodes every byte except letters, digits and `-._~`, so that nothing in it is a
/// delimiter.
fn percent_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte.into());
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

pub(super) fn missing_argument(name: &str) -> Refusal {
    invalid_argument(name, "is missing")
}

pub(super) fn invalid_argument(name: &str, what: &'static str) -> Refusal {
    Refusal::Argument { name: name.escape_debug().take(80).collect(), what }
}

#[cfg(test)]
mod tests;
