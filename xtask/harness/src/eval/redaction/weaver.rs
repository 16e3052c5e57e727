//! Runs `weaver redact --json` as a user would.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use xshell::Shell;

use crate::{build, workspace};

/// A masked span, in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskedSpan {
    pub start: usize,
    pub end: usize,
    pub kind: String,
    pub rule: String,
}

/// The redaction of one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub text: String,
    pub spans: Vec<MaskedSpan>,
}

/// The `weaver` command.
pub struct Weaver {
    program: PathBuf,
    input: PathBuf,
}

impl Weaver {
    /// The command that was named, or one that is built now.
    pub fn find(sh: &Shell, named: Option<PathBuf>) -> Result<Self> {
        let program = build::find_weaver(sh, named.as_deref(), true)?;
        let target = workspace::metadata()?.target_directory.into_std_path_buf();
        let folder = target.join("eval");
        fs::create_dir_all(&folder)?;
        Ok(Self { program, input: folder.join(format!("redaction-{}.jsonl", std::process::id())) })
    }

    /// The redactions of these texts, in order.
    pub fn redact<'t>(
        &self,
        texts: impl Iterator<Item = &'t str>,
        options: &[&str],
    ) -> Result<Vec<Answer>> {
        let mut lines = String::new();
        let mut count = 0;
        for (id, text) in texts.enumerate() {
            lines.push_str(&json!({ "id": id, "text": text }).to_string());
            lines.push('\n');
            count += 1;
        }
        fs::write(&self.input, lines)?;
        let mut command = Command::new(&self.program);
        command.args(["redact", "--json"]).args(options).arg(&self.input);
        let output = command.output();
        let output = output.with_context(|| format!("cannot start {}", self.program.display()))?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("`weaver redact` failed: {}", errors.trim());
        }
        let answers = String::from_utf8(output.stdout)?;
        let answers: Vec<Answer> = answers.lines().map(parse_answer).collect::<Result<_>>()?;
        if answers.len() != count {
            bail!("{count} texts got {} answers", answers.len());
        }
        Ok(answers)
    }
}

impl Drop for Weaver {
    fn drop(&mut self) {
        // If this fails, a file is left in the build folder; the next run uses another name.
        let _ = fs::remove_file(&self.input);
    }
}

fn parse_answer(line: &str) -> Result<Answer> {
    let value: Value = serde_json::from_str(line).context("an answer is not JSON")?;
    let text = value["text"].as_str().context("an answer has no text")?.to_owned();
    let spans = value["spans"].as_array().context("an answer has no spans")?;
    let spans = spans.iter().map(|span| {
        let offset = |key: &str| span[key].as_u64().and_then(|n| usize::try_from(n).ok());
        let word = |key: &str| span[key].as_str().unwrap_or_default().to_owned();
        let (start, end) = offset("start").zip(offset("end")).context("a span has no offsets")?;
        Ok(MaskedSpan { start, end, kind: word("type"), rule: word("rule") })
    });
    Ok(Answer { text, spans: spans.collect::<Result<_>>()? })
}
