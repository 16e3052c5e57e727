//! Prints decisions, results and the log.

use std::collections::BTreeMap;

use serde_json::Value;
use weaver_stack::trace::entry::EventHeader;
use weaver_stack::trace::{MemoryLedger, verify};
use weaver_stack::types::ledger::Ledger;
use weaver_stack::types::{CallId, Decision, Remedy, Verdict};

use crate::Failure;

/// Prints a heading.
pub fn print_section(title: &str) {
    println!("\n{title}\n{}", "-".repeat(title.chars().count()));
}

/// Prints indented lines.
pub fn print_indented(lines: &str) {
    for line in lines.lines() {
        println!("{}", format!("  {line}").trim_end());
    }
}

/// Prints the verdict with its reason, and what the host does next.
pub fn print_decision(decision: &Decision) {
    println!("  {}: {}", decision.verdict().as_str().to_uppercase(), decision.primary_reason());
    println!("    {}", decision.detail());
    let next = match decision.verdict() {
        Verdict::Allow => "go on".to_owned(),
        Verdict::Ask => decision
            .obstacles()
            .next()
            .map_or_else(String::new, |obstacle| remedy_text(&obstacle.discharge)),
        Verdict::Hold => "wait until somebody with the authority releases it".to_owned(),
        Verdict::Deny => "final: do not try again".to_owned(),
    };
    println!("    host: {next}");
}

fn remedy_text(remedy: &Remedy) -> String {
    match remedy {
        Remedy::Justification { min_chars, .. } => {
            format!("let a person confirm and say why in {min_chars} characters or more")
        }
        Remedy::Arguments => "correct the arguments".to_owned(),
        Remedy::Approval => "ask for an approval".to_owned(),
        Remedy::Wait { retry_after_ms } => format!("try again after {retry_after_ms} ms"),
        Remedy::Nothing => "nothing repairs it".to_owned(),
    }
}

/// Prints every event of the ledger, one a line, and what its verification proves. Calls are
/// numbered in the order in which the log names them.
///
/// # Errors
/// If the ledger cannot be read or does not verify.
pub fn print_ledger(ledger: &MemoryLedger) -> Result<(), Failure> {
    let mut calls: BTreeMap<CallId, usize> = BTreeMap::new();
    for event in ledger.events(0, 1_000)? {
        let header = EventHeader::parse(&event.header)?;
        let payload: Value = serde_json::from_slice(event.payload.as_deref().unwrap_or(b"{}"))?;
        let call = header.call.map_or_else(String::new, |call| {
            let next = calls.len() + 1;
            format!("call {}", calls.entry(call).or_insert(next))
        });
        let line = format!(
            "{:2}  {:18} {call:7} {}",
            event.seq,
            header.kind.as_str(),
            event_summary(&payload)
        );
        println!("  {}", line.trim_end());
    }
    let report = verify::verify(ledger, None)?;
    for sentence in report.proven() {
        println!("  verified: {sentence}");
    }
    Ok(())
}

/// What an event is about: its capability, its verdict or outcome, and its reason.
fn event_summary(payload: &Value) -> String {
    if let Some(shortlist) = payload.get("shortlist").and_then(Value::as_array) {
        return shortlist.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
    }
    let word = |key: &str| payload.get(key).and_then(Value::as_str);
    let success = payload.get("success").and_then(Value::as_bool);
    let end = success.map(|success| if success { "success" } else { "failure" });
    let words = [word("capability"), word("verdict"), end, word("reason")];
    words.into_iter().flatten().collect::<Vec<_>>().join("  ")
}
