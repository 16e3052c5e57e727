//! Reads the corpus: texts with the positions of their values.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A labelled span, in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledSpan {
    pub start: usize,
    pub end: usize,
    pub kind: String,
}

/// One text.
#[derive(Clone, Debug, Default)]
pub struct Case {
    pub text: String,
    pub spans: Vec<LabelledSpan>,
    /// Spans that count neither as right nor as wrong.
    pub ignore: Vec<LabelledSpan>,
    pub source: String,
    pub rule: String,
    /// Whether its values are beyond what is scored; they are reported separately.
    pub optional: bool,
}

/// A text that hides a value.
#[derive(Clone, Debug)]
pub struct Evasion {
    pub text: String,
    pub value: String,
    /// How the value is hidden.
    pub kind: String,
    /// The type of the value, as in labels; empty if unknown.
    pub value_type: String,
}

/// All cases of one folder.
#[derive(Debug, Default)]
pub struct Corpus {
    pub cases: Vec<Case>,
    pub evasions: Vec<Evasion>,
}

impl Corpus {
    /// Reads every file of the folder, in the order of their names.
    ///
    /// # Errors
    /// If a line cannot be read; names file and line.
    pub fn read(folder: &Path, split: Option<&str>) -> Result<Self> {
        let mut files: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(folder)? {
            files.push(entry?.path());
        }
        files.sort();
        let mut corpus = Self::default();
        for file in files {
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if !(name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")) {
                continue;
            }
            for (number, line) in read_text(&file)?.lines().enumerate() {
                corpus
                    .add(line, split)
                    .with_context(|| format!("{}:{}", file.display(), number + 1))?;
            }
        }
        Ok(corpus)
    }

    /// The texts of the cases.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.cases.iter().map(|case| case.text.as_str())
    }

    fn add(&mut self, line: &str, split: Option<&str>) -> Result<()> {
        if line.trim().is_empty() {
            return Ok(());
        }
        let value: Value = serde_json::from_str(line)?;
        if value.get("must_not_leak").is_some() {
            self.evasions.push(Evasion {
                text: text_field(&value, "text")?,
                value: text_field(&value, "must_not_leak")?,
                kind: text_field(&value, "kind")?,
                value_type: value["type"].as_str().unwrap_or_default().to_owned(),
            });
        } else if split.is_none_or(|wanted| value["split"] == wanted) {
            self.cases.push(parse_case(&value)?);
        }
        Ok(())
    }
}

fn parse_case(value: &Value) -> Result<Case> {
    Ok(Case {
        text: text_field(value, "text")?,
        spans: labelled_spans(value, "spans")?,
        ignore: labelled_spans(value, "ignore")?,
        source: text_field(value, "source")?,
        rule: value["rule"].as_str().unwrap_or_default().to_owned(),
        optional: value["optional"].as_bool().unwrap_or(false),
    })
}

fn labelled_spans(value: &Value, key: &str) -> Result<Vec<LabelledSpan>> {
    let list = value[key].as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|place| parse_span(place).with_context(|| format!("`{key}`"))).collect()
}

fn parse_span(place: &Value) -> Result<LabelledSpan> {
    let offset = |key: &str| {
        let number = place[key].as_u64().with_context(|| format!("no `{key}`"))?;
        usize::try_from(number).context("too large")
    };
    let gold = LabelledSpan {
        start: offset("start")?,
        end: offset("end")?,
        kind: text_field(place, "type")?,
    };
    if gold.start >= gold.end {
        bail!("a span ends before it begins");
    }
    Ok(gold)
}

fn text_field(value: &Value, key: &str) -> Result<String> {
    value[key].as_str().map(str::to_owned).with_context(|| format!("no `{key}`"))
}

/// The text of a file, decompressed if necessary.
fn read_text(file: &Path) -> Result<String> {
    let shown = || format!("cannot read {}", file.display());
    if file.extension().is_none_or(|extension| extension != "gz") {
        return fs::read_to_string(file).with_context(shown);
    }
    let output = Command::new("gzip").arg("-dc").arg(file).output().with_context(shown)?;
    if !output.status.success() {
        bail!("{}: {}", shown(), String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_and_evasions_are_read_from_every_file() {
        let dir = tempfile::tempdir().unwrap();
        let case = r#"{"id":1,"text":"a b","spans":[{"start":2,"end":3,"type":"X"}],"source":"s","rule":"r","split":"dev"}"#;
        let evasion = r#"{"id":2,"text":"b","must_not_leak":"a","kind":"k","type":"X"}"#;
        fs::write(dir.path().join("dev.jsonl"), format!("{case}\n")).unwrap();
        fs::write(dir.path().join("evasion.jsonl"), format!("{evasion}\n\n")).unwrap();
        fs::write(dir.path().join("notes.txt"), "not read").unwrap();
        let corpus = Corpus::read(dir.path(), None).unwrap();
        assert_eq!((corpus.cases.len(), corpus.evasions.len()), (1, 1));
        assert_eq!(corpus.cases[0].spans[0].kind, "X");
        assert!(Corpus::read(dir.path(), Some("test")).unwrap().cases.is_empty());
        fs::write(dir.path().join("bad.jsonl"), "\n{\"text\":1}\n").unwrap();
        let error = format!("{:#}", Corpus::read(dir.path(), None).unwrap_err());
        assert!(error.contains("bad.jsonl:2") && error.contains("`text`"), "{error}");
    }
}
