//! Describes events in sentences. They may contain untrusted text unescaped: whoever displays a
//! sentence escapes it.

use serde_json::Value;
use weaver_types::EventKind;

use super::story::StoryAspect;
use crate::query::EventFacts;

/// The story parts that one event contributes, in order.
pub(super) fn sentences(facts: &EventFacts) -> Vec<(StoryAspect, String)> {
    let Some(kind) = facts.kind() else {
        return vec![(StoryAspect::Other, "an event that this build cannot read".to_owned())];
    };
    if facts.payload.is_none() {
        return vec![(StoryAspect::Other, format!("{kind}; what it said is pruned"))];
    }
    match kind {
        EventKind::RunStarted => vec![(StoryAspect::Run, run(facts))],
        EventKind::RunReplaced => vec![(StoryAspect::Run, replacement(facts))],
        EventKind::Routed => vec![(StoryAspect::Shortlist, shortlist(facts))],
        EventKind::Refused => {
            let asked_for = facts.text(&["arguments", "text"]);
            let asked_for = asked_for.map(|text| format!("\nwith {text}")).unwrap_or_default();
            let decision = (StoryAspect::Decision, format!("{}{asked_for}", decision(facts)));
            goal(facts).into_iter().chain([decision]).collect()
        }
        EventKind::Intent => intent(facts),
        EventKind::Outcome | EventKind::OutcomeUnknown => outcome(facts),
        EventKind::Late => vec![(StoryAspect::Other, late(facts))],
        EventKind::HandleResolved => vec![(StoryAspect::View, view(facts))],
        EventKind::SignalRaised => {
            vec![(StoryAspect::Signal, format!("signals: {}", kinds(facts)))]
        }
        EventKind::ClientAdded | EventKind::ClientRotated | EventKind::ClientRemoved => {
            vec![(StoryAspect::Other, client_token(kind, facts))]
        }
        EventKind::GatewayEnded => {
            let why = text_or_unknown(facts, &["fields", "reason"]);
            vec![(StoryAspect::Other, format!("the gateway ended: {why}"))]
        }
        _ if facts.request().is_some() => vec![(StoryAspect::Approval, approval(kind, facts))],
        _ => vec![(StoryAspect::Other, kind.to_string())],
    }
}

fn text_or_unknown<'f>(facts: &'f EventFacts, path: &[&str]) -> &'f str {
    facts.text(path).unwrap_or("?")
}

fn run(facts: &EventFacts) -> String {
    let intent = facts.text(&["intent"]).map(|intent| format!(", for: {intent}"));
    let client = facts.client().map(|client| format!(" of {client}")).unwrap_or_default();
    let token = facts.http_client().map(|name| format!(" (client token {name})"));
    format!(
        "the run of {}{} through agent {}{client} in mode {}{}",
        text_or_unknown(facts, &["principal"]),
        token.unwrap_or_default(),
        text_or_unknown(facts, &["run_agent"]),
        text_or_unknown(facts, &["safety_mode"]),
        intent.unwrap_or_default()
    )
}

fn client_token(kind: EventKind, facts: &EventFacts) -> String {
    let field = |name: &str| facts.text(&["fields", name]);
    let what = match kind {
        EventKind::ClientAdded => "was made",
        EventKind::ClientRotated => "was replaced",
        _ => "was taken back",
    };
    let (name, principal) = (field("name").unwrap_or("?"), field("principal").unwrap_or("?"));
    let by = field("by").map(|by| format!(" by {by}")).unwrap_or_default();
    let until = field("expires").map(|end| format!(", until {end}")).unwrap_or_default();
    let why = field("reason").map(|why| format!(": {why}")).unwrap_or_default();
    format!("the token of client {name}, as {principal}, {what}{by}{until}{why}")
}

fn replacement(facts: &EventFacts) -> String {
    format!(
        "in place of run {}, with the strictest label: {}",
        text_or_unknown(facts, &["replaces"]),
        text_or_unknown(facts, &["problem"])
    )
}

fn late(facts: &EventFacts) -> String {
    let how = match facts.payload.as_ref().and_then(|payload| payload.get("success")) {
        Some(Value::Bool(true)) => "a result",
        _ => "an error",
    };
    format!(
        "after its time was over, {} brought {how}; it was thrown away",
        text_or_unknown(facts, &["capability"])
    )
}

fn texts(values: Option<&Vec<Value>>) -> String {
    let texts: Vec<&str> = values.into_iter().flatten().filter_map(Value::as_str).collect();
    if texts.is_empty() { "nothing".to_owned() } else { texts.join(", ") }
}

fn shortlist(facts: &EventFacts) -> String {
    let shown = texts(facts.list(&["shortlist"]));
    format!("for \"{}\" the model was shown: {shown}", text_or_unknown(facts, &["goal"]))
}

fn goal(facts: &EventFacts) -> Option<(StoryAspect, String)> {
    let mut sentence = Vec::new();
    if let Some(goal) = facts.text(&["goal"]) {
        sentence.push(format!("goal: {goal}"));
    }
    if let Some(text) = facts.text(&["justification", "text"]) {
        let source = text_or_unknown(facts, &["justification", "source"]);
        sentence.push(format!("justified by the {source}: {text}"));
    }
    (!sentence.is_empty()).then(|| (StoryAspect::Goal, sentence.join("; ")))
}

fn decision(facts: &EventFacts) -> String {
    let (who, what) =
        (text_or_unknown(facts, &["principal"]), text_or_unknown(facts, &["capability"]));
    let (verdict, reason) =
        (text_or_unknown(facts, &["verdict"]), text_or_unknown(facts, &["reason"]));
    let mut sentence = format!("{verdict}: {what} for {who} ({reason})");
    if let Some((verdict, reason)) = facts.not_enforced() {
        sentence.push_str(&format!("\nnot enforced; enforced, it would be {verdict} ({reason})"));
    }
    for check in facts.list(&["checks"]).into_iter().flatten() {
        let text = |name| check.get(name).and_then(Value::as_str).unwrap_or("?");
        let (check, verdict, reason) = (text("check"), text("verdict"), text("reason"));
        sentence.push_str(&format!("\n{check}: {verdict}, {reason}: {}", text("detail")));
    }
    let (told, all) =
        (facts.list(&["checks"]).map_or(0, Vec::len), facts.number(&["checks_total"]));
    if let Some(more) = all.and_then(|all| all.checked_sub(told as u64)).filter(|more| *more > 0) {
        sentence.push_str(&format!("\nand {more} more checks that are not recorded one by one"));
    }
    sentence.push_str(&format!(
        "\npolicy {} ({})",
        text_or_unknown(facts, &["policy"]),
        text_or_unknown(facts, &["origin"])
    ));
    sentence
}

fn intent(facts: &EventFacts) -> Vec<(StoryAspect, String)> {
    let mut parts: Vec<(StoryAspect, String)> = goal(facts).into_iter().collect();
    parts.push((StoryAspect::Decision, decision(facts)));
    if let Some(released) = facts.at_path(&["released_by"]) {
        let people = texts(released.get("people").and_then(Value::as_array));
        let by = released.get("request").or_else(|| released.get("standing"));
        let by = by.and_then(Value::as_str).unwrap_or("?");
        parts.push((StoryAspect::Approval, format!("released by {people} in {by}")));
    }
    parts.push((
        StoryAspect::Token,
        format!("its one-time permit {} was used", text_or_unknown(facts, &["token"])),
    ));
    let arguments =
        match (facts.text(&["arguments", "text"]), facts.number(&["arguments", "bytes"])) {
            (Some(text), _) => format!("with {text}"),
            (None, Some(bytes)) => format!("with {bytes} bytes of arguments, not recorded"),
            (None, None) => "without arguments".to_owned(),
        };
    let driver = text_or_unknown(facts, &["driver"]);
    parts.push((StoryAspect::Execution, format!("handed to {driver} {arguments}")));
    parts
}

fn outcome(facts: &EventFacts) -> Vec<(StoryAspect, String)> {
    let outcome = facts.outcome().unwrap_or("?");
    let mut sentence = match facts.number(&["latency_us"]) {
        Some(micros) => format!("{outcome} after {}", format_duration(micros)),
        None => outcome.to_owned(),
    };
    if let Some(retries) = facts.number(&["retries"]).filter(|retries| *retries > 0) {
        sentence.push_str(&format!(", {retries} attempts repeated"));
    }
    if let Some(reason) = facts.reason() {
        sentence.push_str(&format!(" ({reason})"));
    }
    if let Some(error) = facts.text(&["error_message"]) {
        sentence.push_str(&format!(": {error}"));
    }
    let mut parts = vec![(StoryAspect::Result, sentence)];
    if facts.at_path(&["frame"]).is_some_and(Value::is_object) {
        parts.push((StoryAspect::Shown, shown(facts, &["frame"])));
    }
    parts
}

/// What the model saw of a result.
fn shown(facts: &EventFacts, place: &[&str]) -> String {
    let path_to = |name: &'static str| [place, &[name]].concat();
    let number = |name| facts.number(&path_to(name)).unwrap_or_default();
    let mut sentence = match facts.text(&path_to("mode")) {
        Some(mode) => format!("the model saw, in mode {mode}: "),
        None => "the model saw: ".to_owned(),
    };
    sentence.push_str(&format!("{} rows, {} facts", number("rows"), number("facts")));
    if let Some(bytes) = facts.number(&path_to("bytes")) {
        sentence.push_str(&format!(", {bytes} bytes"));
    }
    if let Some(tokens) = facts.number(&["run", "prompt_tokens"]) {
        sentence.push_str(&format!(", {tokens} tokens"));
    }
    if let Some((confidentiality, integrity)) = facts.label() {
        sentence.push_str(&format!("; {confidentiality}, {integrity}"));
    }
    for warning in facts.list(&path_to("warnings")).into_iter().flatten() {
        let kind = warning.get("kind").and_then(Value::as_str).unwrap_or("?");
        let count = warning.get("count").and_then(Value::as_u64).unwrap_or(1);
        sentence.push_str(&format!("\n{kind}: {count}"));
    }
    if let Some(commit) = facts.text(&path_to("commit")) {
        sentence.push_str(&format!("\ncommitment {commit}"));
    }
    if let Some(handle) = facts.handle() {
        sentence.push_str(&format!("\nthe whole lies behind {handle}"));
    }
    sentence
}

fn view(facts: &EventFacts) -> String {
    let who = text_or_unknown(facts, &["principal"]);
    let verdict = text_or_unknown(facts, &["verdict"]);
    format!("{who} looked further ({verdict}): {}", shown(facts, &[]))
}

fn kinds(facts: &EventFacts) -> String {
    let signals = ["signals", "aside", "failed"].into_iter().filter_map(|name| facts.list(&[name]));
    let text: Vec<String> = signals
        .flatten()
        .map(|signal| {
            let text = |name| signal.get(name).and_then(Value::as_str).unwrap_or_default();
            format!("{} {} {}", text("source"), text("kind"), text("severity"))
        })
        .collect();
    text.join("; ")
}

fn approval(kind: EventKind, facts: &EventFacts) -> String {
    let request = facts.request().unwrap_or("?");
    let by = facts.text(&["by"]).map(str::to_owned);
    let by = by.or_else(|| facts.list(&["people"]).map(|people| texts(Some(people))));
    let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
    let words = facts.text(&["words"]).map(|words| format!(": {words}")).unwrap_or_default();
    let waited = facts
        .at_path(&["opened_at"])
        .and_then(Value::as_i64)
        .zip(facts.at())
        .filter(|_| kind != EventKind::ApprovalRequested)
        .and_then(|(opened, at)| u64::try_from(at.micros().saturating_sub(opened)).ok())
        .map(|micros| format!(", after {}", format_duration(micros)))
        .unwrap_or_default();
    let reason = facts.reason().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let detail = facts.text(&["detail"]).map(|text| format!("\n{text}")).unwrap_or_default();
    match kind {
        EventKind::ApprovalRequested => {
            let holds: Vec<&str> = facts.reasons().into_iter().collect();
            format!("requested in {request}, for {}", holds.join(", "))
        }
        EventKind::ApprovalEndorsed | EventKind::ApprovalGranted => {
            let (done, needed) = (facts.list(&["agreed"]).map(Vec::len), facts.number(&["needed"]));
            let quorum = match (done, needed) {
                (Some(done), Some(needed)) => format!(", {done} of {needed}"),
                _ => String::new(),
            };
            let what = if kind == EventKind::ApprovalGranted { "granted" } else { "endorsed" };
            format!("{what}{by}{quorum}{waited}{words}")
        }
        EventKind::ApprovalRejected => {
            let code = text_or_unknown(facts, &["code"]);
            format!("a signed file{by} did not count ({code}){detail}")
        }
        _ => {
            let what = kind.as_str().rsplit('.').next().unwrap_or_default().to_owned();
            format!("{what}{by}{waited}{reason}{words}{detail}")
        }
    }
}

/// A duration in a suitable unit.
fn format_duration(micros: u64) -> String {
    match micros {
        0..10_000 => format!("{micros} us"),
        10_000..10_000_000 => format!("{} ms", micros / 1_000),
        10_000_000..7_200_000_000 => format!("{} s", micros / 1_000_000),
        _ => format!("{} min", micros / 60_000_000),
    }
}
