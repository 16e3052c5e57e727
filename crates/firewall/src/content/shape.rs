//! Recognises the shape of a result.

use std::borrow::Cow;

use serde_json::{Map, Value};
use weaver_types::{JsonRows, RawContent};

use super::rows::Rows;
use crate::redact::{Counts, Redactor};
use crate::tabular;

/// The longest text that is parsed as JSON, in bytes.
const MAX_JSON_TEXT: usize = 4 * 1024 * 1024;
/// The most fields an object may have besides its list if that list counts as its rows.
const MAX_SIBLINGS: usize = JsonRows::MAX_SIBLINGS;
/// The longest media type that is shown.
const MAX_MEDIA_TYPE: usize = 100;
/// The most digits of a media type, as in `application/vnd.3gpp2.bcmcsinfo+xml` or `iso-8859-15`.
const MAX_DIGITS: usize = 8;

/// Reads the rows of a text, if it is a table.
type ReadRows = fn(&str) -> Option<Vec<Value>>;

/// The parsed content of a result.
pub(crate) enum Content<'a> {
    Json(Cow<'a, Value>),
    Rows(JsonRows),
    Text(&'a str),
    Binary { media_type: String, len: usize },
}

impl<'a> Content<'a> {
    /// Parses content; a text that is one whole JSON object or array becomes JSON.
    pub(crate) fn read(raw: &'a RawContent) -> Self {
        match raw {
            RawContent::Json(Value::String(text)) => match parse_json_document(text) {
                Some(value) => Self::Json(Cow::Owned(value)),
                None => Self::Text(text),
            },
            RawContent::Json(value) => Self::Json(Cow::Borrowed(value)),
            RawContent::Rows(rows) => Self::Rows(rows.clone()),
            RawContent::Text(text) => match parse_json_document(text) {
                Some(value) => Self::Json(Cow::Owned(value)),
                None => Self::Text(text),
            },
            RawContent::Binary { media_type: declared, bytes } => {
                Self::Binary { media_type: media_type(declared), len: bytes.len() }
            }
        }
    }

    /// Like [`Content::read`], but also turns text in a tabular format into rows.
    pub(crate) fn read_tabular(raw: &'a RawContent) -> Self {
        Self::read_with(raw, tabular::rows)
    }

    /// Like [`Content::read`], but also turns text into rows that an excerpt may show as a table.
    pub(crate) fn read_excerpted(raw: &'a RawContent) -> Self {
        Self::read_with(raw, tabular::rows_of_data)
    }

    fn read_with(raw: &'a RawContent, rows: ReadRows) -> Self {
        match Self::read(raw) {
            Self::Text(text) => Self::tabular_or_text(text, rows),
            Self::Binary { .. } => match raw {
                RawContent::Binary { bytes, .. } => crate::tabular::printable_text(bytes)
                    .map_or_else(|| Self::read(raw), |text| Self::from_text(text, rows)),
                _ => Self::read(raw),
            },
            content => content,
        }
    }

    /// Parses a text: as JSON, as rows, or as plain text.
    pub(crate) fn from_text(text: &'a str, rows: ReadRows) -> Self {
        match parse_json_document(text) {
            Some(value) => Self::Json(Cow::Owned(value)),
            None => Self::tabular_or_text(text, rows),
        }
    }

    fn tabular_or_text(text: &'a str, rows: ReadRows) -> Self {
        match rows(text) {
            Some(rows) => Self::Json(Cow::Owned(Value::Array(rows))),
            None => Self::Text(text),
        }
    }

    pub(crate) fn shape(&self) -> Shape<'_> {
        match self {
            Self::Json(value) => Shape::of_value(value),
            Self::Rows(rows) => Shape::of_rows(rows),
            Self::Text(text) => Shape::Text(text),
            Self::Binary { media_type, len } => Shape::Binary { media_type, len: *len },
        }
    }
}

fn parse_json_document(text: &str) -> Option<Value> {
    let text = text.trim();
    let opens = text.starts_with('{') || text.starts_with('[');
    (opens && text.len() <= MAX_JSON_TEXT).then(|| serde_json::from_str(text).ok())?
}

/// The shape of a result, as summaries and tables see it.
#[derive(Clone)]
pub(crate) enum Shape<'a> {
    /// A list with objects in it (other items may be among them), with the fields around it if it
    /// was wrapped in an object.
    Rows {
        rows: Rows<'a>,
        wrapper_fields: Vec<(&'a str, &'a Value)>,
    },
    /// A list without objects.
    List(&'a [Value]),
    Object(&'a Map<String, Value>),
    Scalar(&'a Value),
    Text(&'a str),
    Binary {
        media_type: &'a str,
        len: usize,
    },
}

impl<'a> Shape<'a> {
    fn of_value(value: &'a Value) -> Self {
        match value {
            Value::Array(items) if items.iter().any(Value::is_object) => {
                Self::Rows { rows: items.as_slice().into(), wrapper_fields: Vec::new() }
            }
            Value::Array(items) => Self::List(items),
            Value::Object(map) => unwrap_rows(map).unwrap_or(Self::Object(map)),
            Value::String(text) => Self::Text(text),
            other => Self::Scalar(other),
        }
    }

    fn of_rows(rows: &'a JsonRows) -> Self {
        let around = rows.siblings().into_iter().flatten();
        let wrapper_fields = around.map(|(key, value)| (key.as_str(), value)).collect();
        Self::Rows { rows: rows.into(), wrapper_fields }
    }
}

/// The rows of an object that is only a wrapper: one list of objects and a few scalar fields.
fn unwrap_rows(map: &Map<String, Value>) -> Option<Shape<'_>> {
    if map.len() > MAX_SIBLINGS + 1 {
        return None;
    }
    let mut rows = None;
    let mut wrapper_fields = Vec::new();
    for (key, value) in map {
        match value {
            Value::Array(items)
                if rows.is_none() && !items.is_empty() && items.iter().all(Value::is_object) =>
            {
                rows = Some(Rows::from(items.as_slice()));
            }
            Value::Array(_) | Value::Object(_) => return None,
            _ => wrapper_fields.push((key.as_str(), value)),
        }
    }
    rows.map(|rows| Shape::Rows { rows, wrapper_fields })
}

/// How many rows a drill-down can page through; `None` for content without rows.
pub(crate) fn row_count(content: &RawContent) -> Option<usize> {
    match Content::read(content).shape() {
        Shape::Rows { rows, .. } => Some(rows.len()),
        Shape::List(items) => Some(items.len()),
        Shape::Text(text) => Some(text.lines().count()),
        Shape::Object(_) | Shape::Scalar(_) | Shape::Binary { .. } => None,
    }
}

/// A media type that is safe to show: the declared one if it is well formed, no redaction rule
/// matches it, and it has no more digits than media types have. Of its parameters only the
/// character set is kept.
pub(crate) fn media_type(declared: &str) -> String {
    let (essence, parameters) = declared.split_once(';').unwrap_or((declared, ""));
    let charset = parameters.split(';').map(str::trim).find(|one| one.starts_with("charset="));
    let declared = match charset {
        Some(charset) => format!("{}; {charset}", essence.trim()),
        None => essence.trim().to_owned(),
    };
    let digits = declared.bytes().filter(u8::is_ascii_digit).count();
    let (kind, rest) = declared.split_once('/').unwrap_or(("", ""));
    let token = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-_;= ".contains(&b))
    };
    if declared.len() <= MAX_MEDIA_TYPE
        && digits <= MAX_DIGITS
        && token(kind)
        && token(rest)
        && has_no_detections(&declared)
    {
        declared
    } else {
        "application/octet-stream".to_owned()
    }
}

/// True if no redaction rule matches the text.
fn has_no_detections(text: &str) -> bool {
    matches!(Redactor::builtin().redact_text(text, &mut Counts::new()), Cow::Borrowed(_))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wrapper_around_one_list_of_objects_is_rows() {
        let value = json!({"items": [{"a": 1}, {"a": 2}], "next": null, "total": 2});
        let Shape::Rows { rows, wrapper_fields: around } = Shape::of_value(&value) else {
            panic!("no rows")
        };
        assert_eq!((rows.len(), around.len()), (2, 2));
        for other in [json!({"a": [1]}), json!({"a": [{}], "b": {}}), json!({"a": [{}], "b": []})] {
            assert!(matches!(Shape::of_value(&other), Shape::Object(_)), "{other}");
        }
    }

    #[test]
    fn a_wrapper_has_a_few_fields_around_its_list() {
        let around = |count: usize| {
            let mut map: Map<String, Value> =
                (0..count).map(|number| (format!("f{number}"), json!(number))).collect();
            map.insert("rows".to_owned(), json!([{ "a": 1 }]));
            matches!(Shape::of_value(&Value::Object(map)), Shape::Rows { .. })
        };
        assert!(around(0) && around(MAX_SIBLINGS));
        assert!(!around(MAX_SIBLINGS + 1) && !around(MAX_SIBLINGS + 2));
    }

    #[test]
    fn only_whole_documents_in_text_are_json() {
        for (text, json) in [(" [1]\n", true), ("{\"a\":1}", true), ("3", false), ("[1] x", false)]
        {
            let raw = RawContent::Text(text.to_owned());
            assert_eq!(matches!(Content::read(&raw), Content::Json(_)), json, "{text}");
        }
    }

    #[test]
    fn media_types_are_shown_only_when_they_are_some() {
        assert_eq!(
            media_type("text/plain; name=4111111111111111; charset=utf-8"),
            "text/plain; charset=utf-8"
        );
        assert_eq!(media_type("image/4012888888881881"), "application/octet-stream");
        assert_eq!(media_type("image/png"), "image/png");
        assert_eq!(media_type("text/html; charset=utf-8"), "text/html; charset=utf-8");
        let hidden = "image/ghp_x7Kq2mV9tRb4Lw8ZpN3sYd6FhJ1cGu5Ae0Xi";
        assert_eq!(media_type(hidden), "application/octet-stream");
        for bad in [
            "",
            "png",
            "text/password=hunterplover",
            "a/b\u{1b}c",
            "mail bob@corp.com/x",
            &"a/".repeat(200),
        ] {
            assert_eq!(media_type(bad), "application/octet-stream", "{bad}");
        }
    }

    #[test]
    fn bytes_that_are_a_table_are_read_as_rows_where_tables_are_read() {
        let csv = |media_type: &str| RawContent::Binary {
            media_type: media_type.to_owned(),
            bytes: b"name,city\nann,Rome\nbob,Oslo\n".to_vec(),
        };
        for media_type in ["text/csv", "application/octet-stream"] {
            let content = csv(media_type);
            assert!(matches!(Content::read(&content), Content::Binary { len: 28, .. }));
            let Content::Json(rows) = Content::read_tabular(&content) else { panic!("no rows") };
            assert_eq!(rows.as_array().map(Vec::len), Some(2), "{rows}");
        }
        let other = RawContent::Binary { media_type: "image/png".to_owned(), bytes: vec![0xff; 3] };
        assert!(matches!(Content::read_tabular(&other), Content::Binary { len: 3, .. }));
    }
}
