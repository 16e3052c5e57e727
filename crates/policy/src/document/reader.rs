//! A parsed document with the positions of its values and the findings about it.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable};
use weaver_types::Digest;
use weaver_types::signature::Kind;

use super::node::Node;
use super::{MAX_BYTES, MAX_DEPTH, canonical, outline};
use crate::error::{Finding, LoadError, MAX_FINDINGS};

/// How much of a foreign text a message repeats, in characters.
const MAX_REPEATED: usize = 80;

/// A text as it may be shown in a message: escaped and cut.
pub(super) fn shown(text: &str) -> String {
    weaver_text::escape::line(text).chars().take(MAX_REPEATED).collect()
}

/// The text of a document within its limit, with the syntax tree over it.
pub(super) struct DocumentText<'a> {
    file: &'a str,
    toml: &'a str,
    root: Spanned<DeTable<'a>>,
}

impl<'a> DocumentText<'a> {
    /// Parses the text.
    pub(super) fn new(file: &'a str, toml: &'a str) -> Result<Self, LoadError> {
        if toml.len() > MAX_BYTES {
            return Err(LoadError::whole(
                file,
                "policy.too_large",
                format!("the document has {} bytes, the limit is {MAX_BYTES}", toml.len()),
                "split it or remove what is not needed",
            ));
        }
        if let Some(excess) = outline::limit_exceeded(toml) {
            let span = Some(excess.at..excess.at);
            let (message, remedy) = (excess.message.to_owned(), excess.remedy.to_owned());
            let finding =
                LineIndex::new(file, toml).finding(span, None, excess.code, message, remedy);
            return Err(LoadError::new(vec![finding]));
        }
        let root = DeTable::parse(toml).map_err(|error| {
            LoadError::new(vec![LineIndex::new(file, toml).finding(
                error.span(),
                None,
                "policy.syntax",
                format!("not TOML: {}", shown(error.message())),
                "correct the syntax here".to_owned(),
            )])
        })?;
        Ok(Self { file, toml, root })
    }
}

/// Where lines begin, to turn offsets into lines and columns.
struct LineIndex<'t> {
    file: &'t str,
    toml: &'t str,
    lines: Vec<usize>,
}

impl<'t> LineIndex<'t> {
    fn new(file: &'t str, toml: &'t str) -> Self {
        let ends = toml.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        Self { file, toml, lines: std::iter::once(0).chain(ends).collect() }
    }

    fn place(&self, offset: usize) -> (usize, usize) {
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        let column = self.toml.get(start..offset).map_or(0, |text| text.chars().count()) + 1;
        (line, column)
    }

    fn finding(
        &self,
        span: Option<Range<usize>>,
        key: Option<String>,
        code: &'static str,
        message: String,
        remedy: String,
    ) -> Finding {
        let (line, column) = span.map(|span| self.place(span.start)).unzip();
        let key = key.filter(|key| !key.is_empty());
        Finding { file: self.file.to_owned(), line, column, key, code, message, remedy }
    }
}

/// One step of the way to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathStep {
    /// Into a table.
    Key(String),
    /// Into a list.
    Index(usize),
}

/// A parsed document and its findings.
pub(super) struct DocumentReader<'t> {
    lines: LineIndex<'t>,
    root: &'t Spanned<DeTable<'t>>,
    json: Option<Vec<u8>>,
    findings: Vec<Finding>,
}

impl<'t> DocumentReader<'t> {
    /// Checks the depth and writes the canonical form.
    pub(super) fn open(text: &'t DocumentText<'_>) -> Result<Self, LoadError> {
        let lines = LineIndex::new(text.file, text.toml);
        let mut reader = Self { lines, root: &text.root, json: None, findings: Vec::new() };
        match canonical::bytes(&text.root, MAX_DEPTH) {
            Ok(json) => reader.json = Some(json),
            Err(refusal) => {
                reader.report(
                    Some(refusal.span),
                    "",
                    refusal.code,
                    refusal.message,
                    refusal.remedy,
                );
                return Err(LoadError::new(reader.findings));
            }
        }
        Ok(reader)
    }

    /// The digest of the document as one of that kind.
    pub(super) fn digest(&self, kind: Kind) -> Option<Digest> {
        self.json.as_ref().map(|json| kind.digest(json))
    }

    /// The whole document.
    pub(super) fn root(&self) -> Node<'t> {
        Node::table(self.root.get_ref(), self.root.span(), String::new())
    }

    /// Notes what is wrong at a place.
    pub(super) fn report(
        &mut self,
        span: Option<Range<usize>>,
        key: &str,
        code: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        if self.findings.len() < MAX_FINDINGS {
            let key = Some(key.to_owned());
            let finding = self.lines.finding(span, key, code, message.into(), remedy.into());
            self.findings.push(finding);
        }
    }

    /// The place of what the steps lead to, or of the last step that exists.
    pub(super) fn locate(&self, steps: &[PathStep]) -> Range<usize> {
        let mut span = self.root.span();
        let mut table = Some(self.root.get_ref());
        let mut list: Option<&DeArray<'_>> = None;
        for step in steps {
            let (key_span, value) = match step {
                PathStep::Key(name) => {
                    let Some((key, value)) = table.and_then(|t| t.get_key_value(name.as_str()))
                    else {
                        break;
                    };
                    (key.span(), value)
                }
                PathStep::Index(index) => {
                    let Some(value) = list.and_then(|l| l.get(*index)) else { break };
                    (value.span(), value)
                }
            };
            span = key_span;
            table = value.get_ref().as_table();
            list = value.get_ref().as_array();
        }
        span
    }

    /// How much was noted so far.
    pub(super) fn noted(&self) -> usize {
        self.findings.len()
    }

    /// Everything that was noted.
    pub(super) fn into_findings(self) -> Vec<Finding> {
        self.findings
    }
}
