//! Reads the project's own texts, `xtask/harness/data/redaction/*.txt`: one text a line, with its
//! values marked as `⟦PHONE:030 7784 1290⟧`, and line feeds and tabs written as `\n`
//! and `\t`. A text without a mark is a negative, of which nothing may be masked. Each file is a
//! set.
//!
//! A third of the texts is held back, by a hash of the line, unless the file says `# split: half`, or
//! `# split: tuned to` or `# split: held back` for all. Errors in texts that are held back are never
//! shown, so that rules are not fitted to them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::corpus::{Case, LabelledSpan};
use super::score::HARD_NEGATIVE;

const OPEN: char = '⟦';
const CLOSE: char = '⟧';

/// Which texts of a file are held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Split {
    Third,
    Half,
    TunedTo,
    HeldBack,
}

impl Split {
    /// The split that the comments at the start of a file declare.
    fn of(file: &str) -> Result<Self> {
        let comments = file.lines().take_while(|line| line.starts_with("# "));
        match comments.filter_map(|line| line.strip_prefix("# split: ")).next() {
            None => Ok(Self::Third),
            Some("half") => Ok(Self::Half),
            Some("tuned to") => Ok(Self::TunedTo),
            Some("held back") => Ok(Self::HeldBack),
            Some(other) => bail!("`{other}` is no split: `half`, `tuned to` or `held back`"),
        }
    }

    fn holds_back(self, line: &str) -> bool {
        match self {
            Self::Third => fnv1a(line).is_multiple_of(3),
            Self::Half => fnv1a(line).is_multiple_of(2),
            Self::TunedTo => false,
            Self::HeldBack => true,
        }
    }
}

/// A text of a set.
#[derive(Debug)]
pub struct MarkedText {
    /// The name of its file.
    pub set: String,
    /// Whether rules must not be tuned to it.
    pub is_held_back: bool,
    pub case: Case,
}

/// Reads every set, in the order of their names.
///
/// # Errors
/// If a line cannot be read; names file and line.
pub fn read(folder: &Path) -> Result<Vec<MarkedText>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()));
    let mut files = entries?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.sort();
    let mut texts = Vec::new();
    for file in files {
        let set = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let text = fs::read_to_string(&file)?;
        let split = Split::of(&text).with_context(|| file.display().to_string())?;
        let lines = text.lines().enumerate().skip_while(|(_, line)| line.starts_with("# "));
        for (number, line) in lines {
            let case =
                parse_line(line).with_context(|| format!("{}:{}", file.display(), number + 1))?;
            let case = Case { rule: set.to_owned(), ..case };
            let is_held_back = split.holds_back(line);
            texts.push(MarkedText { set: set.to_owned(), is_held_back, case });
        }
    }
    Ok(texts)
}

/// The text of a line, and the spans of its values.
fn parse_line(line: &str) -> Result<Case> {
    let line = line.replace("\\n", "\n").replace("\\t", "\t");
    let (mut text, mut spans) = (String::new(), Vec::new());
    let mut rest = line.as_str();
    while let Some((before, marked)) = rest.split_once(OPEN) {
        let (marked, after) = marked.split_once(CLOSE).context("a mark does not end")?;
        let (kind, value) = marked.split_once(':').context("a mark has no type")?;
        text.push_str(before);
        let start = text.chars().count();
        text.push_str(value);
        spans.push(LabelledSpan { start, end: text.chars().count(), kind: kind.to_owned() });
        rest = after;
    }
    text.push_str(rest);
    if text.is_empty() || text.contains([OPEN, CLOSE]) {
        bail!("no text, or a mark that does not begin");
    }
    let source = if spans.is_empty() { HARD_NEGATIVE } else { "own" };
    Ok(Case { text, spans, source: source.to_owned(), ..Case::default() })
}

/// FNV-1a with 64 bits.
fn fnv1a(line: &str) -> u64 {
    line.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_give_the_places_of_values() {
        let read = parse_line("é ⟦EMAIL:a@b.cd⟧,\\n⟦IP:10.0.0.5⟧").unwrap();
        assert_eq!(read.text, "é a@b.cd,\n10.0.0.5");
        let places: Vec<_> = read.spans.iter().map(|s| (s.start, s.end, s.kind.as_str())).collect();
        assert_eq!(places, [(2, 8, "EMAIL"), (10, 18, "IP")]);
        assert_eq!(parse_line("nothing").unwrap().source, HARD_NEGATIVE);
        for wrong in ["", "⟦IP:10.0.0.5", "10.0.0.5⟧", "⟦10.0.0.5⟧"] {
            assert!(parse_line(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_file_says_which_texts_are_held_back() {
        let split = |text: &str| Split::of(text).ok();
        assert_eq!(split("# cards\nx"), Some(Split::Third));
        assert_eq!(split("# cards\n# split: tuned to\nx"), Some(Split::TunedTo));
        assert_eq!(split("# split: held back\nx"), Some(Split::HeldBack));
        assert_eq!(split("# split: half\nx"), Some(Split::Half));
        assert_eq!(split("# split: some\nx"), None);
        assert_eq!(split("x\n# split: held back"), Some(Split::Third));
        assert!(Split::HeldBack.holds_back("x") && !Split::TunedTo.holds_back("x"));
        assert!((0..9).any(|n| Split::Third.holds_back(&n.to_string())));
    }

    #[test]
    fn the_sets_are_large_and_a_part_of_them_is_held_back() {
        let texts =
            read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/data/redaction"))).unwrap();
        let negatives = texts.iter().filter(|text| text.case.spans.is_empty()).count();
        let held = texts.iter().filter(|text| text.is_held_back).count();
        assert!(texts.len() >= 600 && negatives * 9 >= texts.len() * 4, "{negatives}");
        assert!((texts.len() / 12..texts.len() / 2).contains(&held), "{held}");
    }
}
