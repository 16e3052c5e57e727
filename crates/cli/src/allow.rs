//! `weaver allow`: turns one stopped call into a policy rule.

pub(super) mod args;

use serde_json::json;
use weaver_gateway::setup::PolicyRevision;
use weaver_policy::{PolicySet, Rule, TrustedDestination};
use weaver_policy_analysis::history::{CallHistory, RecordedCall};
use weaver_policy_analysis::replay::{self, DraftReplay};
use weaver_policy_analysis::suggest::{self, AllowProposal, AllowScope, NotAllowable};
use weaver_text::escape;
use weaver_types::{Clock as _, SystemClock, Timestamp, Verdict};

use super::init::questions;
use super::policy::{history, replay as draft_replay, signing};
use super::{Exit, Failure, output};
use args::Allow;

/// A rule of one width, the policy text with it, and a replay of the recorded calls under it.
struct CandidateRule {
    width: AllowScope,
    rule: Rule,
    policy_text: String,
    replay: DraftReplay,
}

pub(super) fn run(args: &Allow) -> Result<Exit, Failure> {
    let now = SystemClock::default().now();
    let file = args.config.resolve()?;
    let revision = PolicyRevision::open(&file, now)?;
    let history = history::read_ledger(&revision.config().store_path, args.since, now)?;
    let call = history.find(&args.call).ok_or_else(|| unknown_call(args))?;
    let proposal = suggest::propose_allow_rules(revision.policy(), call).map_err(|error| {
        let next = next_step(&error, call.id.as_str(), call.capability.as_str());
        Failure::new(Exit::Failed, "allow.no_rule", error).with_next_step(next)
    })?;
    if let Some(destination) = &proposal.destination {
        return trust_destination(args, &revision, call, destination);
    }
    if proposal.needs_standing_approval {
        return suggest_standing_approval(args, call, &proposal);
    }
    let candidates = CandidateSearch { args, revision: &revision, history: &history, now }
        .candidates(call, &proposal)?;
    if candidates.is_empty() {
        let message = "no rule of these would make the policy allow the call";
        return Err(Failure::new(Exit::Failed, "allow.no_rule", message)
            .with_next_step(format!("`weaver trace why {}` tells what stopped it", call.id)));
    }
    let is_asked = !args.sign.yes && questions::has_terminal();
    if args.output.json && (args.width.is_none() || !args.sign.yes && !is_asked) {
        let all: Vec<_> = candidates.iter().map(candidate_json).collect();
        output::json(&json!({ "call": call.id, "stopped_by": proposal.stopped_by, "rules": all }))?;
        return Ok(Exit::Ok);
    }
    if !args.output.json {
        output::text(&candidates_text(call, &proposal, &candidates))?;
    }
    let Some(chosen) = choose_candidate(args, &candidates)? else { return Ok(Exit::Ok) };
    let version = args.sign.sign(&revision, &chosen.policy_text, now)?;
    signing::print_signed(&revision, version, args.output.format())
}

/// What to do where no rule would allow a call. What information flow holds depends on what the
/// contract says of the tool.
fn next_step(error: &NotAllowable, call: &str, capability: &str) -> String {
    let why = format!("`weaver trace why {call}` tells all that was said of it");
    match error {
        NotAllowable::Tainted | NotAllowable::TaintedEffects => format!(
            "if the tool only reads on this machine, say so: `weaver review --set {capability}=reads` \
             (or `writes`); {why}"
        ),
        _ => why,
    }
}

fn unknown_call(args: &Allow) -> Failure {
    let call = escape::excerpt(&args.call, 80);
    let message = format!("the log has no call `{call}` in this time");
    Failure::new(Exit::NotFound, "allow.unknown", message)
        .with_next_step("`weaver trace` shows the calls of today; `--since 30d` looks further back")
}

/// What the search for rules works on.
struct CandidateSearch<'a> {
    args: &'a Allow,
    revision: &'a PolicyRevision,
    history: &'a CallHistory,
    now: Timestamp,
}

impl CandidateSearch<'_> {
    /// The widths under which the policy allows the call, each with its replay.
    fn candidates(
        &self,
        call: &RecordedCall,
        proposal: &AllowProposal,
    ) -> Result<Vec<CandidateRule>, Failure> {
        let Self { args, revision, history, now } = self;
        let mut out = Vec::new();
        for (width, rule) in &proposal.rules {
            let exception = suggest::match_text(&rule.matches);
            let rule_text = suggest::rule_text(rule);
            let text = revision.with_rule(&rule_text, &exception, &proposal.stopped_by)?;
            let draft = revision.draft(&text, *now)?;
            if allows_call(&draft, call, *now) {
                let replay = draft_replay::replay_history(&draft, history, args.since, *now);
                out.push(CandidateRule {
                    width: *width,
                    rule: rule.clone(),
                    policy_text: text,
                    replay,
                });
            }
        }
        Ok(out)
    }
}

/// Whether the draft allows this very call.
fn allows_call(draft: &PolicySet, call: &RecordedCall, now: Timestamp) -> bool {
    let report = replay::replay(draft, [call], now, now);
    report.now.allow == 1 && report.judged == 1
}

fn candidate_json(candidate: &CandidateRule) -> serde_json::Value {
    json!({
        "width": candidate.width.as_str(),
        "rule": suggest::rule_text(&candidate.rule),
        "replay": candidate.replay.summary(),
        "allowed_of_held": candidate.replay.allowed_of_held,
        "allowed_of_denied": candidate.replay.allowed_of_denied,
    })
}

fn candidates_text(
    call: &RecordedCall,
    proposal: &AllowProposal,
    candidates: &[CandidateRule],
) -> String {
    let verdict = match call.decision.verdict {
        Verdict::Allow => "allowed",
        Verdict::Ask => "sent back",
        Verdict::Hold => "held",
        Verdict::Deny => "denied",
    };
    let id = escape::line(call.capability.as_str()).into_owned();
    let mut out = format!("{} was {verdict} ({})\n", output::bold(&id), call.decision.reason);
    if !proposal.stopped_by.is_empty() {
        let rules = escape::line(&proposal.stopped_by.join("`, `")).into_owned();
        out.push_str(&format!("an exception goes into rule `{rules}`\n"));
    }
    for (number, candidate) in candidates.iter().enumerate() {
        let what = match candidate.width {
            AllowScope::Same if proposal.free.is_empty() => {
                "the same call, to the letter".to_owned()
            }
            AllowScope::Same => {
                let free = escape::line(&proposal.free.join("`, `")).into_owned();
                format!("the same call; `{free}` may be anything")
            }
            AllowScope::Similar => {
                "calls to places like it; other texts and numbers are free, other \
                                    arguments are not let through"
                    .to_owned()
            }
            AllowScope::Tool => "every call of this tool".to_owned(),
        };
        let width = output::bold(candidate.width.as_str());
        out.push_str(&format!("\n{}  {width}: {what}\n", number + 1));
        for line in suggest::rule_text(&candidate.rule).lines() {
            out.push_str(&format!("   {}\n", escape::line(line)));
        }
        out.push_str(&format!("   {}\n", output::dim(&candidate.replay.summary())));
    }
    out
}

/// The rule of the width that was named, or that the user chooses now; `None` if nobody can be
/// asked.
fn choose_candidate<'c>(
    args: &Allow,
    candidates: &'c [CandidateRule],
) -> Result<Option<&'c CandidateRule>, Failure> {
    if let Some(width) = args.width {
        let widest = candidates.iter().rev().find(|one| one.width <= width);
        if let Some(narrower) = widest.filter(|one| one.width < width) {
            output::stderr(&format!(
                "note: no rule is `{}` and lets this call through; `{}` is taken\n",
                width.as_str(),
                narrower.width.as_str()
            ));
        }
        let named = widest.ok_or_else(|| {
            let message =
                format!("no rule as narrow as `{}` lets this call through", width.as_str());
            Failure::new(Exit::Failed, "allow.width", message)
                .with_next_step(format!("these do: `--width {}`", offered_widths(candidates)))
        })?;
        if !args.sign.yes {
            if !questions::has_terminal() {
                output::stderr("next: sign the policy with this rule by `--yes`\n");
                return Ok(None);
            }
            questions::confirm("Sign the policy with this rule?")?;
        }
        return Ok(Some(named));
    }
    if !questions::has_terminal() {
        let widths = offered_widths(candidates);
        output::stderr(&format!("next: sign one of them with `--width {widths} --yes`\n"));
        return Ok(None);
    }
    loop {
        let answer = questions::ask("\nWhich one? A number, or nothing for none: ")?;
        if answer.is_empty() {
            let failure = Failure::new(Exit::Declined, "allow.declined", "no rule was chosen");
            return Err(failure.with_next_step("nothing was written; `--width` chooses one too"));
        }
        match candidate_of_answer(&answer, candidates) {
            Some(chosen) => return Ok(Some(chosen)),
            None => output::stderr(&format!("Type a number from 1 to {}.\n", candidates.len())),
        }
    }
}

/// The widths of these rules, as an argument names them.
fn offered_widths(candidates: &[CandidateRule]) -> String {
    let widths: Vec<&str> = candidates.iter().map(|one| one.width.as_str()).collect();
    widths.join("|")
}

/// The candidate with this number, counted from 1.
fn candidate_of_answer<'c, T>(answer: &str, candidates: &'c [T]) -> Option<&'c T> {
    candidates.get(answer.parse::<usize>().ok()?.checked_sub(1)?)
}

/// Offers to trust the host. No rule may release a call that untrusted input could have steered,
/// but reading from a trusted destination is allowed.
fn trust_destination(
    args: &Allow,
    revision: &PolicyRevision,
    call: &RecordedCall,
    destination: &TrustedDestination,
) -> Result<Exit, Failure> {
    let text = revision.with_destination(destination)?;
    if args.output.json && !args.sign.yes {
        output::json(&json!({ "call": call.id, "trusted_destination": destination.to_string() }))?;
        return Ok(Exit::Ok);
    }
    if !args.output.json {
        let tool = escape::line(call.capability.as_str()).into_owned();
        output::text(&format!(
            "{} was held: its address could carry away what the agent has read.\n\n\
             {}: every tool that only reads may go there from now on, whatever stands in the \
             address. Say yes where nobody but you and whoever runs {destination} sees what is asked \
             for.\n",
            output::bold(&tool),
            output::bold(&format!("trusted_destinations += \"{destination}\"")),
        ))?;
    }
    if !args.sign.yes {
        if !questions::has_terminal() {
            output::stderr("next: sign the policy with it by `--yes`\n");
            return Ok(Exit::Ok);
        }
        questions::confirm("Sign the policy with this host?")?;
    }
    let version = args.sign.sign(revision, &text, SystemClock::default().now())?;
    signing::print_signed(revision, version, args.output.format())
}

/// Suggests a standing approval. No rule may release what the floor holds; an approval that a
/// person signs in advance can.
fn suggest_standing_approval(
    args: &Allow,
    call: &RecordedCall,
    proposal: &AllowProposal,
) -> Result<Exit, Failure> {
    let command = |rule: &Rule| {
        let arguments = rule.matches.arguments.iter().filter_map(|one| {
            Some(format!(" --argument '{}'", suggest::predicate_text(one)?.replace('\'', "'\\''")))
        });
        format!(
            "weaver approve standing grant --capability '{}' --principal '{}'{} --uses 20 --expires 7d",
            call.capability,
            call.principal,
            arguments.collect::<String>()
        )
    };
    let simple = |rule: &&(AllowScope, Rule)| rule.1.matches.not.is_none();
    let commands: Vec<_> = proposal
        .rules
        .iter()
        .filter(simple)
        .map(|(width, rule)| (width.as_str(), command(rule)))
        .collect();
    if args.output.json {
        let all: Vec<_> = commands
            .iter()
            .map(|(width, command)| json!({ "width": width, "command": command }))
            .collect();
        output::json(&json!({ "call": call.id, "standing_approvals": all }))?;
        return Ok(Exit::Ok);
    }
    let mut out = format!(
        "{} leaves this machine or destroys something, so no rule lets it through. An approval in \
         advance does, for so many calls and so long, signed with your approver's key:\n",
        output::bold(&escape::line(call.capability.as_str()))
    );
    for (width, command) in commands {
        out.push_str(&format!("\n{width}\n  {}\n", escape::line(&command)));
    }
    output::text(&out)?;
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_information_flow_holds_may_be_a_matter_of_the_contract() {
        for held in [NotAllowable::Tainted, NotAllowable::TaintedEffects] {
            let next = next_step(&held, "call_1", "pdf.read");
            assert!(next.contains("`weaver review --set pdf.read=reads`"), "{next}");
        }
        let next = next_step(&NotAllowable::NotStopped, "call_1", "pdf.read");
        assert_eq!(next, "`weaver trace why call_1` tells all that was said of it");
    }

    #[test]
    fn an_answer_is_the_number_of_a_rule() {
        let rules = ["same", "tool"];
        for (answer, chosen) in [
            ("1", Some("same")),
            ("2", Some("tool")),
            ("0", None),
            ("3", None),
            ("-1", None),
            ("yes", None),
            ("", None),
        ] {
            assert_eq!(candidate_of_answer(answer, &rules).copied(), chosen, "{answer}");
        }
    }
}
