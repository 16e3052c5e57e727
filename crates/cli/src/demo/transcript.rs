//! Prints the demo: as text for people, or one line of JSON a step.

use std::io::{self, Write};

use serde_json::{Value, json};
use weaver_text::escape;
use weaver_trace_store::verify::VerificationReport;
use weaver_types::{ReasonCode, Verdict};

use super::DemoError;
use super::documents::utf8;
use super::folder::DemoFolder;
use super::step::Step;
use crate::output::OutputFormat;

/// The longest summary, in characters.
const MAX_SUMMARY_CHARS: usize = 320;

/// Prints the steps of the demo to one output.
pub(super) struct Transcript<'w> {
    out: &'w mut dyn Write,
    format: OutputFormat,
    colour: bool,
    steps: u32,
}

impl<'w> Transcript<'w> {
    /// A transcript in one of the two formats. Colour is for text on a terminal.
    pub(super) fn new(out: &'w mut dyn Write, format: OutputFormat, colour: bool) -> Self {
        Self { out, format, colour, steps: 0 }
    }

    /// Prints what is about to happen.
    pub(super) fn open(&mut self, folder: &DemoFolder) -> Result<(), DemoError> {
        if self.format == OutputFormat::Json {
            return Ok(());
        }
        let stays = if folder.is_kept() { "which stays" } else { "which is removed at the end" };
        let text = format!(
            "A scripted agent at a support desk, and Weaver between it and its tools.\n\
             Real processes and real files in {}, {stays}.\n",
            escape::line(&folder.dir().display().to_string()),
        );
        self.lines(&text)
    }

    /// Prints one step.
    pub(super) fn step(&mut self, step: &Step) -> Result<(), DemoError> {
        self.steps = self.steps.saturating_add(1);
        let summary = escape::line(&escape::shorten(&step.summary, MAX_SUMMARY_CHARS)).into_owned();
        if self.format == OutputFormat::Json {
            return self.line(&json!({
                "step": step.name,
                "number": self.steps,
                "tool": step.tool,
                "wants": step.wants,
                "verdict": step.verdict,
                "reason": step.reasons.first(),
                "reasons": step.reasons,
                "summary": summary,
            }));
        }
        let tool =
            step.tool.map(|tool| self.paint("2", &format!("  [{tool}]"))).unwrap_or_default();
        let mut text = format!("\n{:>2}  {}{tool}\n", self.steps, self.paint("1", step.wants));
        if let Some(verdict) = step.verdict {
            text.push_str(&format!(
                "    {}{}\n",
                self.verdict(verdict),
                reasons_text(&step.reasons)
            ));
        }
        text.push_str(&format!("    {summary}\n"));
        self.lines(&text)
    }

    /// Prints the end, with the next commands.
    pub(super) fn close(
        &mut self,
        folder: &DemoFolder,
        report: &VerificationReport,
        passphrase: Option<&str>,
    ) -> Result<(), DemoError> {
        let kept = if folder.is_kept() { Some(KeptFolder::of(folder)?) } else { None };
        if self.format == OutputFormat::Json {
            let head = &report.head;
            return self.line(&json!({
                "step": "end",
                "ok": true,
                "steps": self.steps,
                "head": { "log": head.log, "size": head.size, "root": head.root },
                "kept": kept.as_ref().map(|kept| kept.json(passphrase)),
            }));
        }
        match kept {
            Some(kept) => self.lines(&kept.text(passphrase)),
            None => self.lines(
                "\nTo keep the configuration, the signed documents and the log to go on with:\n    \
                 weaver demo --keep DIR\n",
            ),
        }
    }

    fn verdict(&self, verdict: Verdict) -> String {
        let colour = match verdict {
            Verdict::Allow => "32",
            Verdict::Ask => "36",
            Verdict::Hold => "33",
            Verdict::Deny => "31",
        };
        self.paint(colour, &verdict.as_str().to_uppercase())
    }

    fn paint(&self, style: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{style}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn line(&mut self, value: &Value) -> Result<(), DemoError> {
        self.lines(&format!("{value}\n"))
    }

    fn lines(&mut self, text: &str) -> Result<(), DemoError> {
        let written: io::Result<()> =
            self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        written.map_err(DemoError::Output)
    }
}

/// The reason codes with their meanings.
fn reasons_text(reasons: &[String]) -> String {
    let mut text = String::new();
    for code in reasons {
        let meaning = ReasonCode::parse(code).map_or("", ReasonCode::meaning);
        let lead = if text.is_empty() { "  " } else { "\n          and " };
        text.push_str(&format!("{lead}{code}: {meaning}"));
    }
    text
}

/// What a kept folder contains, and the commands to go on with.
struct KeptFolder {
    dir: String,
    commands: Vec<(&'static str, String)>,
}

impl KeptFolder {
    fn of(folder: &DemoFolder) -> Result<Self, DemoError> {
        let program = std::env::current_exe().ok();
        let weaver = program.as_deref().and_then(|path| path.to_str()).unwrap_or("weaver");
        let weaver = shell_quote(weaver);
        let config = shell_quote(utf8(&folder.config())?);
        let store = shell_quote(utf8(&folder.ledger())?);
        let policy = shell_quote(utf8(&folder.documents().join("policy.toml"))?);
        let key = shell_quote(utf8(&folder.keys().join("root.key"))?);
        let commands = vec![
            ("check", format!("{weaver} check --config {config}")),
            ("serve", format!("{weaver} serve --config {config}")),
            ("verify", format!("{weaver} trace verify --store {store}")),
            ("sign", format!("{weaver} sign {policy} --key {key}")),
        ];
        Ok(Self { dir: utf8(folder.dir())?.to_owned(), commands })
    }

    fn json(&self, passphrase: Option<&str>) -> Value {
        let commands: serde_json::Map<String, Value> =
            self.commands.iter().map(|(name, line)| ((*name).to_owned(), json!(line))).collect();
        json!({ "dir": self.dir, "passphrase": passphrase, "commands": commands })
    }

    fn text(&self, passphrase: Option<&str>) -> String {
        let mut text = format!(
            "\nKept in {}: weaver.toml, policy/ (signed documents), keys/ (encrypted), files/, \
             .weaver/ (the log and the state)\n\nPassphrase of the keys, shown this once:\n    {}\n\nTo go on:\n",
            escape::line(&self.dir),
            passphrase.unwrap_or_default(),
        );
        for (_, command) in &self.commands {
            text.push_str(&format!("    {command}\n"));
        }
        text
    }
}

/// Quotes a word for a shell's command line.
fn shell_quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:=@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript_of(format: OutputFormat, colour: bool) -> String {
        let mut out = Vec::new();
        let step = Step {
            name: "send",
            tool: Some("files.send_message"),
            wants: "to send",
            verdict: Some(Verdict::Hold),
            reasons: vec!["floor_hold".to_owned(), "untrusted_influence".to_owned()],
            summary: format!("a\u{1b}[31mb\n{}", "x".repeat(1000)),
        };
        Transcript::new(&mut out, format, colour).step(&step).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_is_bounded_escaped_and_without_colour_unless_asked() {
        let text = transcript_of(OutputFormat::Text, false);
        assert!(!text.contains('\u{1b}') && text.len() < 800, "{text}");
        assert!(text.contains("HOLD  floor_hold: The tool reaches outside"), "{text}");
        assert!(text.contains("and untrusted_influence: "), "{text}");
        assert!(transcript_of(OutputFormat::Text, true).contains("\u{1b}[33mHOLD\u{1b}[0m"));
    }

    #[test]
    fn json_is_one_line_without_colour() {
        let text = transcript_of(OutputFormat::Json, true);
        assert_eq!(text.lines().count(), 1);
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&line["verdict"], &line["reason"]), (&json!("hold"), &json!("floor_hold")));
        assert_eq!(line["number"], 1);
    }

    #[test]
    fn words_of_a_command_line_stay_words() {
        assert_eq!(shell_quote("/a/b.toml"), "/a/b.toml");
        assert_eq!(shell_quote("/a b/it's"), "'/a b/it'\\''s'");
    }
}
