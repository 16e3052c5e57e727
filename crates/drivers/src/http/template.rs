//! From the arguments of a call to an address: what a call brings fills places and moves nothing.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use reqwest::Url;
use serde_json::{Map, Value};

use super::host::{self, HostRule, MAX_URL};
use super::{OperationError, Refusal};

/// The most entries of a list that become parts of an address.
const MAX_ITEMS: usize = 256;

/// An address with places for arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Template {
    /// One argument is the whole address.
    Whole(String),
    /// The host is fixed.
    Fixed { origin: String, path: Vec<Segment>, query: Vec<Parameter> },
}

/// What stands between two slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    Literal(String),
    /// One value with literals around it; several segments for [`Kind::Spread`].
    Value {
        before: String,
        place: ArgumentPlace,
        after: String,
    },
}

/// What stands between two `&`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Parameter {
    Literal(String),
    Value { key: String, place: ArgumentPlace },
}

/// A literal or a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Literal(String),
    Place(ArgumentPlace),
}

/// A place for an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArgumentPlace {
    pub(super) name: String,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `{name}`.
    Required,
    /// `{name?}`: left out where the call has none.
    Optional,
    /// `{name...}`: several segments, or a parameter for each entry of a list.
    Spread,
}

impl Item {
    /// Reads `literal`, `{name}`, `{name?}`, `{name...}`.
    pub(super) fn parse(text: &str) -> Result<Self, OperationError> {
        let Some(inner) = text.strip_prefix('{') else {
            return if text.contains(['{', '}']) {
                Err(OperationError::placeholder(text))
            } else {
                Ok(Self::Literal(text.to_owned()))
            };
        };
        let inner = inner.strip_suffix('}').ok_or_else(|| OperationError::placeholder(text))?;
        let (name, kind) = match (inner.strip_suffix("..."), inner.strip_suffix('?')) {
            (Some(name), _) => (name, Kind::Spread),
            (None, Some(name)) => (name, Kind::Optional),
            (None, None) => (inner, Kind::Required),
        };
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        if name.is_empty() || !name.bytes().all(plain) {
            return Err(OperationError::placeholder(text));
        }
        Ok(Self::Place(ArgumentPlace { name: name.to_owned(), kind }))
    }

    pub(super) fn place(&self) -> Option<&ArgumentPlace> {
        match self {
            Self::Place(place) => Some(place),
            Self::Literal(_) => None,
        }
    }
}

impl Template {
    pub(super) fn parse(text: &str) -> Result<Self, OperationError> {
        if let Ok(Item::Place(ArgumentPlace { name, kind: Kind::Required })) = Item::parse(text) {
            return Ok(Self::Whole(name));
        }
        let bad = |why: &'static str| OperationError::Url { why };
        let (scheme, rest) = text.split_once("://").ok_or(bad("it is no http or https url"))?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
        if authority.contains(['{', '}']) {
            return Err(bad("the host of a template is fixed; one argument may be the whole url"));
        }
        let origin = format!("{scheme}://{authority}");
        let base = host::read(&format!("{origin}/")).map_err(|_| bad("its host is not valid"))?;
        let origin = base.as_str().trim_end_matches('/').to_owned();
        if rest.contains('#') {
            return Err(bad("a fragment is never sent; remove it"));
        }
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let path = path.strip_prefix('/').unwrap_or(path);
        let path = path.split('/').map(segment).collect::<Result<Vec<_>, _>>()?;
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let query = pairs.map(parameter).collect::<Result<Vec<_>, _>>()?;
        let template = Self::Fixed { origin, path, query };
        template.check()?;
        Ok(template)
    }

    /// A template whose literals are not what would be requested means something else than it says.
    fn check(&self) -> Result<(), OperationError> {
        let mut given = Map::new();
        for place in self.places() {
            let value = match place.kind {
                Kind::Spread => Value::from(vec!["x"]),
                Kind::Required | Kind::Optional => Value::from("x"),
            };
            given.insert(place.name.clone(), value);
        }
        let why = "its path or query is not in its normal form; write what is sent";
        self.fill(&given, &mut BTreeSet::new()).map_err(|_| OperationError::Url { why })?;
        Ok(())
    }

    /// The places, as often as they stand there.
    pub(super) fn places(&self) -> Vec<&ArgumentPlace> {
        match self {
            Self::Whole(_) => Vec::new(),
            Self::Fixed { path, query, .. } => path
                .iter()
                .filter_map(|segment| match segment {
                    Segment::Value { place, .. } => Some(place),
                    Segment::Literal(_) => None,
                })
                .chain(query.iter().filter_map(|parameter| match parameter {
                    Parameter::Value { place, .. } => Some(place),
                    Parameter::Literal(_) => None,
                }))
                .collect(),
        }
    }

    /// The host of a template that has one.
    pub(super) fn host(&self) -> Option<HostRule> {
        match self {
            Self::Whole(_) => None,
            Self::Fixed { origin, .. } => {
                Url::parse(origin).ok().and_then(|url| HostRule::of(&url))
            }
        }
    }

    /// Puts the arguments of a call in their places. What comes out has the host, the path and the
    /// query that were put together here, or it is refused.
    pub(super) fn fill<'a>(
        &'a self,
        arguments: &Map<String, Value>,
        used: &mut BTreeSet<&'a str>,
    ) -> Result<Url, Refusal> {
        let (origin, path, query) = match self {
            Self::Whole(name) => {
                used.insert(name);
                let value = arguments.get(name).ok_or_else(|| missing(name))?;
                let text = value.as_str().ok_or_else(|| invalid(name, "is no text"))?;
                return host::read(text);
            }
            Self::Fixed { origin, path, query } => (origin, path, query),
        };
        let mut whole = String::new();
        for segment in path {
            write_segment(segment, arguments, &mut whole, used)?;
        }
        let mut asked = String::new();
        for parameter in query {
            write_parameter(parameter, arguments, &mut asked, used)?;
        }
        let mut text = format!("{origin}{whole}");
        if !asked.is_empty() {
            let _ = write!(text, "?{asked}");
        }
        if text.len() > MAX_URL {
            return Err(Refusal::Url("it is too long"));
        }
        let url = Url::parse(&text).map_err(|_| Refusal::Url("it is no url"))?;
        let meant = url.as_str().starts_with(&format!("{origin}/"))
            && url.path() == whole
            && url.query().unwrap_or_default() == asked
            && url.fragment().is_none();
        if meant { Ok(url) } else { Err(Refusal::Url("its parts are not those of the template")) }
    }
}

fn segment(text: &str) -> Result<Segment, OperationError> {
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
    match Item::parse(middle)? {
        Item::Place(place)
            if !after.contains(['{', '}'])
                && place.kind != Kind::Optional
                && (place.kind == Kind::Required || (before.is_empty() && after.is_empty())) =>
        {
            Ok(Segment::Value { before: before.to_owned(), place, after: after.to_owned() })
        }
        _ => Err(OperationError::placeholder(text)),
    }
}

fn parameter(text: &str) -> Result<Parameter, OperationError> {
    if !text.contains(['{', '}']) {
        return Ok(Parameter::Literal(text.to_owned()));
    }
    let (key, value) = text.split_once('=').ok_or_else(|| OperationError::placeholder(text))?;
    match Item::parse(value)? {
        Item::Place(place) if !key.is_empty() && !key.contains(['{', '}']) => {
            Ok(Parameter::Value { key: key.to_owned(), place })
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
    let (before, place, after) = match segment {
        Segment::Literal(text) => {
            let _ = write!(out, "/{text}");
            return Ok(());
        }
        Segment::Value { before, place, after } => (before, place, after),
    };
    used.insert(&place.name);
    let value = arguments.get(&place.name).filter(|value| !value.is_null());
    let value = value.ok_or_else(|| missing(&place.name))?;
    for text in segments_of(place, value)? {
        if text.contains(['/', '\\']) || text.chars().any(char::is_control) {
            return Err(invalid(&place.name, "holds a slash, a backslash or a control character"));
        }
        let whole = format!("{before}{}{after}", encoded(&text));
        if matches!(whole.as_str(), "" | "." | "..") {
            return Err(invalid(&place.name, "would be no segment of a path, or lead out of it"));
        }
        let _ = write!(out, "/{whole}");
    }
    Ok(())
}

/// One segment, or for a spread one those between the slashes of a text or the entries of a list.
fn segments_of(place: &ArgumentPlace, value: &Value) -> Result<Vec<String>, Refusal> {
    let list = match (place.kind, value) {
        (Kind::Spread, Value::String(text)) => text.split('/').map(str::to_owned).collect(),
        (Kind::Spread, Value::Array(list)) => {
            list.iter().map(|entry| text(&place.name, entry)).collect::<Result<Vec<_>, _>>()?
        }
        _ => vec![text(&place.name, value)?],
    };
    if list.is_empty() || list.len() > MAX_ITEMS {
        return Err(invalid(&place.name, "has no entry, or too many"));
    }
    Ok(list)
}

fn write_parameter<'a>(
    parameter: &'a Parameter,
    arguments: &Map<String, Value>,
    out: &mut String,
    used: &mut BTreeSet<&'a str>,
) -> Result<(), Refusal> {
    let (key, place) = match parameter {
        Parameter::Literal(text) => {
            let and = if out.is_empty() { "" } else { "&" };
            let _ = write!(out, "{and}{text}");
            return Ok(());
        }
        Parameter::Value { key, place } => (key, place),
    };
    let mut push = |value: &str| {
        let and = if out.is_empty() { "" } else { "&" };
        let _ = write!(out, "{and}{key}={value}");
    };
    used.insert(&place.name);
    match (arguments.get(&place.name).filter(|value| !value.is_null()), place.kind) {
        (None, Kind::Required) => return Err(missing(&place.name)),
        (None, Kind::Optional | Kind::Spread) => {}
        (Some(Value::Array(list)), Kind::Spread) if list.len() > MAX_ITEMS => {
            return Err(invalid(&place.name, "has too many entries"));
        }
        (Some(Value::Array(list)), Kind::Spread) => {
            for entry in list {
                push(&encoded(&text(&place.name, entry)?));
            }
        }
        (Some(value), _) => push(&encoded(&text(&place.name, value)?)),
    }
    Ok(())
}

/// The text of a plain value.
pub(super) fn text(name: &str, value: &Value) -> Result<String, Refusal> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err(invalid(name, "is neither text nor a number, true or false"))
        }
    }
}

/// Every byte but letters, digits and `-._~` as `%XX`: nothing in it separates anything.
fn encoded(text: &str) -> String {
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

pub(super) fn missing(name: &str) -> Refusal {
    invalid(name, "is missing")
}

pub(super) fn invalid(name: &str, what: &'static str) -> Refusal {
    Refusal::Argument { name: name.escape_debug().take(80).collect(), what }
}

#[cfg(test)]
mod tests;
