//! A parsed document with the positions of its values, and the findings about it.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable};
use weaver_types::Digest;
use weaver_types::signature::DocumentKind;

use super::node::Node;
use super::{MAX_DOCUMENT_BYTES, MAX_DOCUMENT_DEPTH, canonical, limit_scan};
use crate::error::{DocumentFinding, LoadError, MAX_FINDINGS};
use crate::pattern::Pattern;

/// The maximum length of foreign text in a message, in characters.
const MAX_EXCERPT_CHARS: usize = 80;
/// The most patterns that a document may take from its named lists, since each use of a list
/// repeats its patterns.
const MAX_LISTED_PATTERNS: usize = 100_000;

/// Escapes and truncates a text for a message.
pub(super) fn excerpt(text: &str) -> String {
    weaver_text::escape::line(text).chars().take(MAX_EXCERPT_CHARS).collect()
}

/// The text of a document within the size limits, and its syntax tree.
pub(super) struct DocumentText<'a> {
    file: &'a str,
    toml: &'a str,
    root: Spanned<DeTable<'a>>,
}

impl<'a> DocumentText<'a> {
    /// Checks the limits and parses the text.
    pub(super) fn new(file: &'a str, toml: &'a str) -> Result<Self, LoadError> {
        if toml.len() > MAX_DOCUMENT_BYTES {
            return Err(LoadError::for_file(
                file,
                "policy.too_large",
                format!("the document has {} bytes, the limit is {MAX_DOCUMENT_BYTES}", toml.len()),
                "split it or remove what is not needed",
            ));
        }
        if let Some(excess) = limit_scan::limit_exceeded(toml) {
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
                format!("not TOML: {}", excerpt(error.message())),
                "correct the syntax here".to_owned(),
            )])
        })?;
        Ok(Self { file, toml, root })
    }
}

/// The offsets of line starts, to convert offsets into lines and columns.
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

    fn line_and_column(&self, offset: usize) -> (usize, usize) {
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
    ) -> DocumentFinding {
        let (line, column) = span.map(|span| self.line_and_column(span.start)).unzip();
        let key = key.filter(|key| !key.is_empty());
        DocumentFinding { file: self.file.to_owned(), line, column, key, code, message, remedy }
    }
}

/// One step of the path to a value.
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
    findings: Vec<DocumentFinding>,
    /// The named lists of patterns.
    lists: BTreeMap<String, Vec<Pattern>>,
    /// How many patterns were taken from lists.
    listed_patterns: usize,
}

impl<'t> DocumentReader<'t> {
    /// Checks the depth and writes the canonical form.
    pub(super) fn open(text: &'t DocumentText<'_>) -> Result<Self, LoadError> {
        let lines = LineIndex::new(text.file, text.toml);
        let mut reader = Self {
            lines,
            root: &text.root,
            json: None,
            findings: Vec::new(),
            lists: BTreeMap::new(),
            listed_patterns: 0,
        };
        match canonical::canonical_bytes(&text.root, MAX_DOCUMENT_DEPTH) {
            Ok(json) => reader.json = Some(json),
            Err(failure) => {
                reader.report(
                    Some(failure.span),
                    "",
                    failure.code,
                    failure.message,
                    failure.remedy,
                );
                return Err(LoadError::new(reader.findings));
            }
        }
        Ok(reader)
    }

    /// The digest of the document, as a document of this kind.
    pub(super) fn digest(&self, kind: DocumentKind) -> Option<Digest> {
        self.json.as_ref().map(|json| kind.digest(json))
    }

    /// The root table.
    pub(super) fn root(&self) -> Node<'t> {
        Node::table(self.root.get_ref(), self.root.span(), String::new())
    }

    /// Reports a finding at a position.
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

    /// Defines a named list of patterns.
    pub(super) fn define_list(&mut self, name: &str, patterns: Vec<Pattern>) {
        self.lists.insert(name.to_owned(), patterns);
    }

    /// The names of the lists.
    pub(super) fn list_names(&self) -> impl Iterator<Item = &str> {
        self.lists.keys().map(String::as_str)
    }

    /// The patterns of a named list; `None` if there is no such list. All uses are counted.
    pub(super) fn listed_patterns(&mut self, name: &str) -> Option<Vec<Pattern>> {
        let patterns = self.lists.get(name)?;
        self.listed_patterns = self.listed_patterns.saturating_add(patterns.len());
        Some(patterns.clone())
    }

    /// True if so many patterns were taken from lists that no more may be.
    pub(super) fn exceeds_listed_patterns(&self) -> bool {
        self.listed_patterns > MAX_LISTED_PATTERNS
    }

    /// The position of the value at the end of the path, or of the last step that exists.
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

    /// The number of findings so far.
    pub(super) fn finding_count(&self) -> usize {
        self.findings.len()
    }

    /// All findings.
    pub(super) fn into_findings(self) -> Vec<DocumentFinding> {
        self.findings
    }
}
