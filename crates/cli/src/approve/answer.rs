//! `weaver approve grant` and `weaver approve deny`.

use std::time::Duration;

use serde_json::json;
use weaver_agent_kernel::OpenApproval;
use weaver_policy::approval::{
    ApprovalRequest, Phase, Rejection, Resolution, ResolutionVerdict, SignedResolution,
    verify_resolution,
};

use super::approval_records::{self, ApprovalRecord};
use super::approval_store::{ApprovalStore, now};
use super::args::AnswerArgs;
use super::rejections::rejection_failure;
use super::show::{RequestDetail, ShownRequest};
use super::signer::Signer;
use super::{confirm, inbox, outcome, show, terminal_text};
use crate::{Exit, Failure, output};

/// How long to wait for a running gateway where the arguments say nothing.
const SHORT_WAIT: Duration = Duration::from_secs(5);
/// The longest arguments of one of several requests, in characters.
const MAX_LINE_CHARS: usize = 1_000;
/// The longest name in a line, in characters.
const MAX_NAME_CHARS: usize = 120;

pub(super) fn grant(args: &AnswerArgs) -> Result<Exit, Failure> {
    answer(args, ResolutionVerdict::Granted)
}

pub(super) fn deny(args: &AnswerArgs) -> Result<Exit, Failure> {
    answer(args, ResolutionVerdict::Denied)
}

fn answer(args: &AnswerArgs, verdict: ResolutionVerdict) -> Result<Exit, Failure> {
    let store = ApprovalStore::open(&args.from)?;
    let inbox = store.inbox()?;
    let now = now();
    let named = named_requests(args, &store)?;
    let person = Signer::find(&args.sign, &store, now)?;
    let requests = match args.all_shown {
        true => waiting_requests(&store, &person, verdict)?,
        false => {
            named.iter().try_for_each(|open| check_may_answer(&store, &person, open, verdict))?;
            named
        }
    };
    let shown: Vec<ShownRequest> = requests
        .iter()
        .map(|open| ShownRequest::of(&store, open, now, RequestDetail::Call))
        .collect::<Result<_, _>>()?;
    if args.digest.as_ref().is_some_and(|expected| *expected != shown_digests(&shown)) {
        return Err(rejection_failure(&Rejection::RequestChanged));
    }
    let text = match shown.as_slice() {
        [one] => one.text.clone(),
        _ => lines_of_several(&requests, &shown)?,
    };
    confirm::ask(&args.sign, &text, &question(verdict, requests.len()))?;
    let key = person.unlock(&args.sign)?;
    // A request may have ended while the person was reading. Then none of them is answered.
    let now = super::approval_store::now();
    let mut signed = Vec::new();
    for (open, shown) in requests.iter().zip(&shown) {
        let open = approval_records::find_open(&store, open.request.id.as_str(), now)?;
        let malformed = |error| Failure::new(Exit::Invalid, "approve.unreadable", error);
        let mut resolution = Resolution::new(&open.request, verdict, &*person.name, now)
            .map_err(|error| malformed(error.to_string()))?;
        resolution.reason = args.reason.clone().unwrap_or_default();
        // A digest is of the request alone, and who took it may have seen less than is shown here.
        resolution.seen_writes = args.digest.is_none().then_some(shown.writes.total);
        if resolution.digest != shown.digest {
            return Err(rejection_failure(&Rejection::RequestChanged));
        }
        let resolution = resolution.sign(&key).map_err(|error| malformed(error.to_string()))?;
        if let Some(keys) = store.keys() {
            // The same check that the gateway makes.
            let at = store.receipt_time(now);
            verify_resolution(keys, &open.request, &open.state, &resolution, at)
                .map_err(|rejection| rejection_failure(&rejection))?;
        }
        let bytes = resolution.to_json().map_err(|error| malformed(error.to_string()))?;
        signed.push((open, resolution, bytes));
    }
    let size = store.log_size()?;
    let mut submitted = Vec::new();
    for (open, signed, bytes) in signed {
        let file = inbox::submit(inbox, open.request.id.as_str(), &bytes)?;
        submitted.push((open, signed, file));
    }
    for (open, signed, file) in &submitted {
        let accepted = wait_until_accepted(args, &store, file, &signed.resolution, size)?;
        print_answer(args, open, signed, file, accepted.as_ref())?;
    }
    Ok(Exit::Ok)
}

/// The digests of what was shown.
fn shown_digests(shown: &[ShownRequest]) -> String {
    shown.iter().map(|one| one.digest.to_string()).collect::<Vec<_>>().join(" ")
}

/// The requests that are named, each once.
fn named_requests(args: &AnswerArgs, store: &ApprovalStore) -> Result<Vec<OpenApproval>, Failure> {
    let mut named: Vec<OpenApproval> = Vec::new();
    for id in &args.ids {
        let open = approval_records::find_answerable(store, id, now())?;
        if !open.request.id.as_str().starts_with(id.as_str()) {
            let (id, now) = (terminal_text::escape_line(id, MAX_NAME_CHARS), &open.request.id);
            if args.sign.yes && args.digest.is_none() {
                let message = format!("{id} was superseded by {now}, which nobody has shown here");
                return Err(Failure::new(Exit::AlreadyAnswered, "approve.superseded", message)
                    .with_next_step(format!("look at it with `weaver approve show {now}`")));
            }
            output::stderr(&format!(
                "{id} was superseded by {now}, which asks about the same call\n"
            ));
        }
        if named.iter().all(|other| other.request.id != open.request.id) {
            named.push(*open);
        }
    }
    Ok(named)
}

/// All requests that wait, of clients that are there, and that this person may answer.
fn waiting_requests(
    store: &ApprovalStore,
    person: &Signer,
    verdict: ResolutionVerdict,
) -> Result<Vec<OpenApproval>, Failure> {
    let now = now();
    let gone = approval_records::gone_runs(store)?;
    let waiting = approval_records::find_all(store, |record| record.status(now) == "requested")?;
    let log = store.log_id()?;
    let open = waiting.into_iter().filter_map(|record| match record {
        ApprovalRecord::Open(open) => Some(*open),
        ApprovalRecord::Ended(_) | ApprovalRecord::Unreadable { .. } => None,
    });
    let open: Vec<OpenApproval> = open
        .filter(|open| open.request.log == log && !gone.contains(&open.request.run))
        .filter(|open| check_may_answer(store, person, open, verdict).is_ok())
        .collect();
    match open.is_empty() {
        true => {
            let message = "nothing waits that this person may answer";
            Err(Failure::new(Exit::NotFound, "approve.nothing_waits", message)
                .with_next_step("`weaver approve list` shows what there is"))
        }
        false => Ok(open),
    }
}

fn question(verdict: ResolutionVerdict, count: usize) -> String {
    match (verdict, count) {
        (ResolutionVerdict::Granted, 1) => "Let this call happen, once?".to_owned(),
        (ResolutionVerdict::Granted, many) => format!("Let these {many} calls happen, once each?"),
        (ResolutionVerdict::Denied, 1) => "Refuse this call?".to_owned(),
        (ResolutionVerdict::Denied, many) => format!("Refuse these {many} calls?"),
    }
}

/// Several requests, each with all its arguments on a line. A request whose arguments are too long
/// for that has to be read and answered alone.
fn lines_of_several(requests: &[OpenApproval], shown: &[ShownRequest]) -> Result<String, Failure> {
    let mut out = String::new();
    let mut listed = String::new();
    for (open, shown) in requests.iter().zip(shown) {
        let writes = shown.writes.text();
        let is_listed = !writes.is_empty() && writes == listed;
        let request = &open.request;
        let arguments = terminal_text::escape_json(&request.arguments);
        let circumstances = circumstances(request);
        let lines = circumstances.lines().chain([arguments.as_str()]);
        if lines.into_iter().any(|line| line.chars().count() > MAX_LINE_CHARS) {
            let message = format!("what is to be read of {} is too long for a line", request.id);
            return Err(Failure::new(Exit::Usage, "approve.too_long", message)
                .with_next_step(format!("answer it alone: weaver approve grant {}", request.id)));
        }
        out.push_str(&format!(
            "{}  {}  {}\n    {arguments}\n{}    {}\n{}    {}\n",
            request.id,
            output::bold(&terminal_text::escape_line(request.capability.as_str(), MAX_NAME_CHARS)),
            terminal_text::escape_line(request.principal.as_str(), MAX_NAME_CHARS),
            circumstances,
            terminal_text::escape_line(&request.detail, MAX_LINE_CHARS),
            if is_listed { "since then  the same calls as above\n" } else { &writes },
            output::dim(&format!("digest: {}", shown.digest)),
        ));
        listed = writes;
    }
    Ok(out)
}

/// A line for each thing that tells apart two calls with the same arguments: the folder, what the
/// run has read, what the agent says, and what has to be as it was.
fn circumstances(request: &ApprovalRequest) -> String {
    let mut out = String::new();
    let mut add = |name: &str, text: &str| {
        if !text.is_empty() {
            // Whole: a line that is too long is not cut, but answered alone.
            let text = terminal_text::escape_line(text, usize::MAX);
            out.push_str(&format!("    {name} {text}\n"));
        }
    };
    add("in", request.folder.as_deref().unwrap_or_default());
    add("has read", &show::read_text(&request.label));
    add("for", &request.intent);
    add("because", request.justification.as_ref().map_or("", |said| &said.text));
    if !request.preconditions.is_empty() {
        add("while", &terminal_text::escape_json(&json!(request.preconditions)));
    }
    out
}

/// Waits for the gateway as long as the arguments say. Where they say nothing and a gateway runs,
/// waits a moment, so that the same call made next goes through; a gateway that takes longer is no
/// failure then.
fn wait_until_accepted(
    args: &AnswerArgs,
    store: &ApprovalStore,
    file: &std::path::Path,
    resolution: &Resolution,
    size: u64,
) -> Result<Option<ApprovalRecord>, Failure> {
    let wait = |timeout| outcome::wait_until_accepted(store, file, resolution, size, timeout);
    match args.wait {
        Some(0) => Ok(None),
        Some(seconds) => wait(Duration::from_secs(seconds)).map(Some),
        None if store.has_running_gateway() => match wait(SHORT_WAIT) {
            Err(_) if file.exists() => Ok(None),
            accepted => accepted.map(Some),
        },
        None => Ok(None),
    }
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
                        made again with the same arguments before the deadline, and before the \
                        agent writes anything else"
                .to_owned(),
            None => "once the gateway has verified it, the same call, made again with the same \
                     arguments before the deadline, and before the agent writes anything else, goes \
                     through once"
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
