//! `weaver approve grant` and `weaver approve deny`.

use std::time::Duration;

use serde_json::json;
use weaver_agent_kernel::OpenApproval;
use weaver_policy::approval::{
    Phase, Rejection, Resolution, ResolutionVerdict, SignedResolution, verify_resolution,
};

use super::approval_records::{self, ApprovalRecord};
use super::approval_store::{ApprovalStore, now};
use super::args::AnswerArgs;
use super::rejections::rejection_failure;
use super::show::ShownRequest;
use super::signer::Signer;
use super::{confirm, inbox, outcome, terminal_text};
use crate::{Exit, Failure, output};

pub(super) fn grant(args: &AnswerArgs) -> Result<Exit, Failure> {
    answer(args, ResolutionVerdict::Granted, "Let this call happen, once?")
}

pub(super) fn deny(args: &AnswerArgs) -> Result<Exit, Failure> {
    answer(args, ResolutionVerdict::Denied, "Refuse this call?")
}

fn answer(args: &AnswerArgs, verdict: ResolutionVerdict, question: &str) -> Result<Exit, Failure> {
    let store = ApprovalStore::open(&args.from)?;
    let inbox = store.inbox()?;
    let now = now();
    let open = approval_records::find_open(&store, &args.id, now)?;
    let person = Signer::find(&args.sign, &store, now)?;
    check_may_answer(&store, &person, &open, verdict)?;
    let shown = ShownRequest::of(&store, &open, now)?;
    if args.digest.as_ref().is_some_and(|expected| *expected != shown.digest.to_string()) {
        return Err(rejection_failure(&Rejection::RequestChanged));
    }
    confirm::ask(&args.sign, &shown.text, question)?;
    let key = person.unlock(&args.sign)?;
    // The request may have ended while the person was reading it.
    let now = super::approval_store::now();
    let open = approval_records::find_open(&store, &args.id, now)?;
    let malformed = |error| Failure::new(Exit::Invalid, "approve.unreadable", error);
    let mut resolution = Resolution::new(&open.request, verdict, &*person.name, now)
        .map_err(|error| malformed(error.to_string()))?;
    resolution.reason = args.reason.clone().unwrap_or_default();
    if resolution.digest != shown.digest {
        return Err(rejection_failure(&Rejection::RequestChanged));
    }
    let signed = resolution.sign(&key).map_err(|error| malformed(error.to_string()))?;
    if let Some(keys) = store.keys() {
        // The same check that the gateway makes.
        verify_resolution(keys, &open.request, &open.state, &signed, store.receipt_time(now))
            .map_err(|rejection| rejection_failure(&rejection))?;
    }
    let bytes = signed.to_json().map_err(|error| malformed(error.to_string()))?;
    let size = store.log_size()?;
    let file = inbox::submit(inbox, open.request.id.as_str(), &bytes)?;
    let accepted = match args.wait {
        0 => None,
        wait => {
            let timeout = Duration::from_secs(wait);
            Some(outcome::wait_until_accepted(&store, &file, &signed.resolution, size, timeout)?)
        }
    };
    print_answer(args, &open, &signed, &file, accepted.as_ref())
}

/// The checks that need no passphrase.
fn check_may_answer(
    store: &ApprovalStore,
    person: &Signer,
    open: &OpenApproval,
    verdict: ResolutionVerdict,
) -> Result<(), Failure> {
    let has_answered = open.state.votes().contains_key(&person.name);
    let refusal = match (open.state.phase(), verdict) {
        (Phase::Requested, ResolutionVerdict::Granted) if has_answered => Some(Rejection::Replayed),
        (Phase::Requested, _) | (Phase::Granted, ResolutionVerdict::Denied) => None,
        _ => Some(Rejection::AlreadyResolved),
    };
    let refusal = refusal.or_else(|| {
        let approver = person.approver(store)?;
        approver.check_may_answer(&person.name, &open.request, now()).err()
    });
    refusal.map_or(Ok(()), |rejection| Err(rejection_failure(&rejection)))
}

fn print_answer(
    args: &AnswerArgs,
    open: &OpenApproval,
    signed: &SignedResolution,
    file: &std::path::Path,
    accepted: Option<&ApprovalRecord>,
) -> Result<Exit, Failure> {
    let resolution = &signed.resolution;
    let granted = resolution.verdict == ResolutionVerdict::Granted;
    let agreed = open.state.votes().len() + usize::from(granted);
    if args.sign.output.json {
        let value = json!({
            "ok": true,
            "request": resolution.request,
            "verdict": resolution.verdict,
            "digest": resolution.digest,
            "approver": resolution.approver,
            "at": resolution.at.rfc3339(),
            "agreed": agreed,
            "needed": open.required_approvers(),
            "taken_in": accepted.is_some(),
            "file": file.display().to_string(),
        });
        output::line(&terminal_text::escape_json(&value))?;
        return Ok(Exit::Ok);
    }
    let word = if granted { output::good("granted") } else { output::bad("denied") };
    let name = terminal_text::escape_line(&resolution.approver, 80);
    let next = match open.required_approvers().saturating_sub(agreed) {
        _ if !granted && accepted.is_some() => "the request has ended".to_owned(),
        _ if !granted => "the gateway verifies it and ends the request".to_owned(),
        0 => match accepted {
            Some(ApprovalRecord::Ended(_)) => "nothing; the call was made".to_owned(),
            Some(_) => "the call goes through once: by itself if its client waits for it, or else \
                        made again with the same arguments before the deadline"
                .to_owned(),
            None => "once the gateway has verified it, the same call, made again with the same \
                     arguments before the deadline, goes through once"
                .to_owned(),
        },
        1 => "one more person must agree".to_owned(),
        more => format!("{more} more people must agree"),
    };
    let digest = resolution.digest;
    let state = match accepted {
        Some(_) => format!("  the gateway has taken it in\n  next: {next}\n"),
        None => format!(
            "{}\n  next: {next}\n  `weaver approve show {}` tells whether it was taken in\n",
            file.display(),
            resolution.request,
        ),
    };
    output::text(&format!("{word} by {name}, signed over {digest}\n{state}"))?;
    Ok(Exit::Ok)
}
