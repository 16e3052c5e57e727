//! Documents at their limits, over them, and made to be slow. What is over is refused in under 100
//! ms; everything else is answered in under a second.

use std::fmt::Write as _;
use std::time::Duration;

use weaver_benches::Failure;
use weaver_benches::rules::{CONTRACTS, KEYS, NOW, document};
use weaver_benches::scenario::Scenario;
use weaver_policy::{
    DocumentSource, DocumentSources, MAX_DOCUMENT_BYTES, MAX_DOCUMENT_DEPTH, MAX_DOCUMENT_ENTRIES,
    PolicySet,
};

use crate::measure::{median, millis, timed};

const RUNS: usize = 3;
const REFUSED: Duration = Duration::from_millis(100);
const ANSWERED: Duration = Duration::from_secs(1);

/// What must come of a document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpectedResult {
    Accepted,
    /// Over a limit, with this code; an empty one stands for any.
    Over(&'static str),
    /// Within all limits, but wrong.
    Wrong,
}

struct Case {
    name: &'static str,
    wanted: ExpectedResult,
    kind: &'static str,
    text: String,
}

/// Loads each document; false where one is answered otherwise or too late.
pub fn run() -> Result<bool, Failure> {
    let mut good = true;
    println!("{:<46}{:>10}{:>12}{:>10}  answer", "document", "bytes", "ms", "at most");
    for case in cases()? {
        let mut times = Vec::new();
        let mut answer = String::new();
        for _ in 0..RUNS {
            let (result, time) = timed(|| load(&case));
            times.push(time);
            answer = match result {
                Ok(_) => "accepted".to_owned(),
                Err(error) => {
                    let code = error.findings().first().map_or("", |finding| finding.code);
                    format!("{} findings, {code}", error.findings().len())
                }
            };
        }
        let (right, most) = match case.wanted {
            ExpectedResult::Accepted => (answer == "accepted", ANSWERED),
            ExpectedResult::Over(code) => (answer != "accepted" && answer.ends_with(code), REFUSED),
            ExpectedResult::Wrong => (answer != "accepted", ANSWERED),
        };
        let time = median(times);
        let fine = right && time < most;
        good &= fine;
        println!(
            "{:<46}{:>10}{:>12.1}{:>10.0}  {answer}{}",
            case.name,
            case.text.len(),
            millis(time),
            millis(most),
            if fine { "" } else { "  NOT AS IT MUST BE" }
        );
    }
    Ok(good)
}

fn load(case: &Case) -> Result<PolicySet, weaver_policy::LoadError> {
    let policy = CONTRACTS.replace("contracts", "policy");
    let pick = |kind, other| if case.kind == kind { case.text.as_str() } else { other };
    let sources = DocumentSources {
        policy: DocumentSource::unsigned("policy.toml", pick("policy", &policy)),
        contracts: DocumentSource::unsigned("contracts.toml", pick("contracts", CONTRACTS)),
        keys: DocumentSource::unsigned("keys.toml", pick("keys", KEYS)),
    };
    PolicySet::load_unsigned_development(&sources, NOW)
}

fn head(kind: &str) -> String {
    CONTRACTS.replace("contracts", kind)
}

/// The text with a comment that makes it exactly this long.
fn padded(mut text: String, bytes: usize) -> String {
    text.push_str("\n# ");
    let missing = bytes.saturating_sub(text.len());
    text.extend(std::iter::repeat_n('x', missing));
    text
}

fn rules(count: usize) -> String {
    let mut out = head("policy");
    for place in 0..count {
        let _ = write!(
            out,
            "[[rules]]\nname = \"rule-{place}\"\nmatch = {{ capability = \"ns{place}.*\" }}\neffect = \"allow\"\n"
        );
    }
    out
}

fn contracts(count: usize) -> String {
    let mut out = head("contracts");
    for place in 0..count {
        let _ = write!(out, "[capabilities.\"ns{place}.*\"]\neffects = \"read_local\"\n");
    }
    out
}

fn filled(kind: &str, before: &str, unit: &str, after: &str) -> String {
    let mut out = head(kind);
    out.push_str(before);
    let room = MAX_DOCUMENT_BYTES.saturating_sub(out.len() + after.len());
    out.push_str(&unit.repeat(room / unit.len()));
    out.push_str(after);
    out
}

/// A rule whose match is `levels` deep: the document, `rules`, its item and `match` are four.
fn deep(levels: usize) -> String {
    let nots = "not = { ".repeat(levels.saturating_sub(4));
    let ends = " }".repeat(levels.saturating_sub(4));
    format!(
        "{}[[rules]]\nname = \"deep\"\neffect = \"allow\"\nmatch = {{ {nots}agent = \"a\"{ends} }}\n",
        head("policy")
    )
}

fn cases() -> Result<Vec<Case>, Failure> {
    let mut all = Vec::new();
    let mut add = |name, wanted, kind, text| all.push(Case { name, wanted, kind, text });
    accepted(&mut add)?;
    over(&mut add);
    wrong(&mut add);
    Ok(all)
}

type Add<'a> = &'a mut dyn FnMut(&'static str, ExpectedResult, &'static str, String);

fn accepted(add: Add<'_>) -> Result<(), Failure> {
    let workload = document(&Scenario::new(MAX_DOCUMENT_ENTRIES))?;
    add("20,000 rules of the workload", ExpectedResult::Accepted, "policy", workload);
    add("20,000 rules", ExpectedResult::Accepted, "policy", rules(MAX_DOCUMENT_ENTRIES));
    let whole = padded(rules(MAX_DOCUMENT_ENTRIES), MAX_DOCUMENT_BYTES);
    add("20,000 rules, 4 MiB", ExpectedResult::Accepted, "policy", whole);
    add(
        "20,000 contracts by pattern",
        ExpectedResult::Accepted,
        "contracts",
        contracts(MAX_DOCUMENT_ENTRIES),
    );
    add("match 32 deep", ExpectedResult::Accepted, "policy", deep(MAX_DOCUMENT_DEPTH));
    Ok(())
}

fn over(add: Add<'_>) {
    let large = padded(rules(MAX_DOCUMENT_ENTRIES), MAX_DOCUMENT_BYTES + 1);
    add("4 MiB and a byte", ExpectedResult::Over("policy.too_large"), "policy", large);
    let many = ExpectedResult::Over("policy.too_many");
    add("20,001 rules", many, "policy", rules(MAX_DOCUMENT_ENTRIES + 1));
    add("20,001 contracts", many, "contracts", contracts(MAX_DOCUMENT_ENTRIES + 1));
    let hosts = filled("policy", "trusted_hosts = [", "\"a\",", "]\n");
    add("a million trusted hosts, 4 MiB", many, "policy", hosts);
    let deepest = ExpectedResult::Over("");
    add(
        "match 33 deep",
        ExpectedResult::Over("policy.too_deep"),
        "policy",
        deep(MAX_DOCUMENT_DEPTH + 1),
    );
    add("4 MiB of opened lists", deepest, "policy", filled("policy", "x = ", "[", ""));
    add("4 MiB of opened tables", deepest, "policy", filled("policy", "x = ", "{a=", "1"));
    add("a dotted key of 4 MiB", deepest, "policy", filled("policy", "", "a.", "a = 1"));
    add("a dotted header of 4 MiB", deepest, "policy", filled("policy", "[", "a.", "a]"));
}

fn wrong(add: Add<'_>) {
    let unknown = filled("policy", "x = [", "{a=1},", "]");
    add("one line of 4 MiB under an unknown key", ExpectedResult::Wrong, "policy", unknown);
    let mut keys = head("policy");
    let mut place = 0_usize;
    while keys.len() < MAX_DOCUMENT_BYTES - 32 {
        let _ = writeln!(keys, "unknown_key_{place} = 1");
        place += 1;
    }
    add("4 MiB of unknown keys", ExpectedResult::Wrong, "policy", keys);
    let line = filled("policy", "rules = [", "{nam=1},", "]");
    add("wrong rules on one line of 4 MiB", ExpectedResult::Wrong, "policy", line);
    add(
        "a text of 4 MiB",
        ExpectedResult::Wrong,
        "policy",
        filled("policy", "id2 = \"", "x", "\""),
    );
    add(
        "4 MiB of empty lines, then an error",
        ExpectedResult::Wrong,
        "policy",
        filled("policy", "", "\n", "="),
    );
    add(
        "a pattern of 4 MiB of stars",
        ExpectedResult::Wrong,
        "contracts",
        filled("contracts", "[capabilities.\"", "*", "\"]"),
    );
}
