//! `weaver approve grant` and `weaver approve deny`.

use std::time::Duration;

use serde_json::json;
use weaver_agent_kernel::OpenApproval;
use weaver_policy::approval::{
    Phase, Rejection, Resolution, ResolutionVerdict, SignedResolution, verify_resolution,
};

use super::approval_records;
use super::approval_store::{ApprovalStore, now};
use super::args::AnswerArgs;
use super::rejections::refused;
use super::show::ShownRequest;
use super::signer::Signer;
use super::{confirm, inbox, outcome, screen};
use crate::{Exit, Failure, output};

pub(super) fn grant(args: &AnswerArgs) -> Result<Exit, Failure> {
    run(args, ResolutionVerdict::Granted, "Let this call happen, once?")
}

pub(super) fn deny(args: &AnswerArgs) -> Result<Exit, Failure> {
    run(args, ResolutionVerdict::Denied, "Refuse this call?")
}

fn run(args: &AnswerArgs, verdict: ResolutionVerdict, question: &str) -> Result<Exit, Failure> {
    let place = ApprovalStore::open(&args.from)?;
    let inbox = place.inbox()?;
    let now = now();
    let open = approval_records::open(&place, &args.id, now)?;
    let person = Signer::find(&args.sign, &place, now)?;
    may_answer(&place, &person, &open, verdict)?;
    let shown = ShownRequest::of(&place, &open, now)?;
    if args.digest.as_ref().is_some_and(|wanted| *wanted != shown.digest.to_string()) {
        return Err(refused(&Rejection::RequestChanged));
    }
    confirm::ask(&args.sign, &shown.text, question)?;
    let key = person.unlock(&args.sign)?;
    // Time has passed while somebody read: the request may have ended.
    let now = super::approval_store::now();
    let open = approval_records::open(&place, &args.id, now)?;
    let malformed = |error| Failure::new(Exit::Invalid, "approve.unreadable", error);
    let mut resolution = Resolution::new(&open.request, verdict, &*person.name, now)
        .map_err(|error| malformed(error.to_string()))?;
    resolution.reason = args.reason.clone().unwrap_or_default();
    if resolution.digest != shown.digest {
        return Err(refused(&Rejection::RequestChanged));
    }
    let signed = resolution.sign(&key).map_err(|error| malformed(error.to_string()))?;
    if let Some(keys) = place.keys() {
        // The very check that the gateway makes.
        verify_resolution(keys, &open.request, &open.state, &signed, place.moment(now))
            .map_err(|rejection| refused(&rejection))?;
    }
    let bytes = signed.to_json().map_err(|error| malformed(error.to_string()))?;
    let size = place.size()?;
    let file = inbox::drop(inbox, open.request.id.as_str(), &bytes)?;
    if args.wait > 0 {
        let patience = Duration::from_secs(args.wait);
        outcome::wait(&place, &file, &signed.resolution, size, patience)?;
    }
    report(args, &open, &signed, &file)
}

/// What can be said before a passphrase is asked for.
fn may_answer(
    place: &ApprovalStore,
    person: &Signer,
    open: &OpenApproval,
    verdict: ResolutionVerdict,
) -> Result<(), Failure> {
    let said = open.state.votes().contains_key(&person.name);
    let refusal = match (open.state.phase(), verdict) {
        (Phase::Requested, ResolutionVerdict::Granted) if said => Some(Rejection::Replayed),
        (Phase::Requested, _) | (Phase::Granted, ResolutionVerdict::Denied) => None,
        _ => Some(Rejection::AlreadyResolved),
    };
    let refusal = refusal.or_else(|| {
        let approver = person.approver(place)?;
        approver.may_answer(&person.name, &open.request, now()).err()
    });
    refusal.map_or(Ok(()), |rejection| Err(refused(&rejection)))
}

fn report(
    args: &AnswerArgs,
    open: &OpenApproval,
    signed: &SignedResolution,
    file: &std::path::Path,
) -> Result<Exit, Failure> {
    let said = &signed.resolution;
    let granted = said.verdict == ResolutionVerdict::Granted;
    let agreed = open.state.votes().len() + usize::from(granted);
    if args.sign.output.json {
        let value = json!({
            "ok": true,
            "request": said.request,
            "verdict": said.verdict,
            "digest": said.digest,
            "approver": said.approver,
            "at": said.at.rfc3339(),
            "agreed": agreed,
            "needed": open.needed(),
            "taken_in": args.wait > 0,
            "file": file.display().to_string(),
        });
        output::line(&screen::json(&value))?;
        return Ok(Exit::Ok);
    }
    let word = if granted { output::good("granted") } else { output::bad("denied") };
    let name = screen::line(&said.approver, 80);
    let next = match open.needed().saturating_sub(agreed) {
        _ if !granted && args.wait > 0 => "the request has ended".to_owned(),
        _ if !granted => "the gateway verifies it and ends the request".to_owned(),
        0 => "once the gateway has verified it, the same call, made again with the same arguments \
              before the deadline, goes through once"
            .to_owned(),
        1 => "one more person must agree".to_owned(),
        more => format!("{more} more people must agree"),
    };
    output::text(&format!(
        "{word} by {name}, signed over {}\n{}\n  next: {next}\n  `weaver approve show {}` tells \
         whether it was taken in\n",
        said.digest,
        file.display(),
        said.request,
    ))?;
    Ok(Exit::Ok)
}
