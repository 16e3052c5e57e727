//! Verifies an answer to an approval request.

use weaver_types::signature::DocumentKind;

use super::approver_checks::{
    find_approver, find_approver_key, is_requester, require_authority, require_valid_key,
};
use super::{
    APPROVAL_VERSION, ApprovalRequest, ApprovalState, Phase, ReceiptTime, Rejection,
    ResolutionVerdict, SignedResolution, Vote,
};
use crate::keys::Keys;

/// The maximum length of a reason or of an approver's name, in bytes.
const MAX_TEXT_BYTES: usize = 4_096;

/// Verifies an answer to a request that this process opened, and returns a vote for
/// [`ApprovalState::record`]. `state` and `request` must come from this side's own records, never
/// from the sender of the answer.
///
/// The checks, in order: the answer is about this request, and about exactly its content; it is
/// signed by a key of the person it names; the key is valid; the dates are plausible; the person
/// has the authority and is not the requester; the request is open, and this person has not already
/// given this answer.
///
/// # Errors
/// [`Rejection`], the first that applies. In every case, nothing was released.
pub fn verify_resolution(
    keys: &Keys,
    request: &ApprovalRequest,
    state: &ApprovalState,
    signed: &SignedResolution,
    received: ReceiptTime,
) -> Result<Vote, Rejection> {
    check_resolution(keys, request, signed, received)?;
    check_accepts(state, signed)?;
    Ok(Vote::new(signed.clone(), received.now))
}

/// All checks that do not depend on other votes. They run again when a release is created.
pub(super) fn check_resolution(
    keys: &Keys,
    request: &ApprovalRequest,
    signed: &SignedResolution,
    received: ReceiptTime,
) -> Result<(), Rejection> {
    let resolution = &signed.resolution;
    if resolution.v != APPROVAL_VERSION
        || resolution.reason.len() > MAX_TEXT_BYTES
        || resolution.approver.len() > MAX_TEXT_BYTES
    {
        return Err(Rejection::malformed("its version or a text in it is out of bounds"));
    }
    if resolution.request != request.id {
        return Err(Rejection::WrongRequest);
    }
    if resolution.digest != request.digest().map_err(|_| Rejection::RequestChanged)? {
        return Err(Rejection::RequestChanged);
    }
    let approver = find_approver(keys, &resolution.approver)?;
    let key = find_approver_key(approver, signed.envelope.key())?;
    let digest = resolution.signed_digest().map_err(Rejection::invalid_signature)?;
    signed
        .envelope
        .verify(DocumentKind::Resolution, digest, &key.key)
        .map_err(Rejection::invalid_signature)?;
    if signed.envelope.signed_at() != resolution.at.micros() {
        return Err(Rejection::invalid_signature(
            "the signature and the answer bear different dates",
        ));
    }
    require_valid_key(keys, key, resolution.at, received.now)?;
    received.check_date(resolution.at, request.opened_at, request.deadline)?;
    require_authority(approver, &request.authority)?;
    if is_requester(&resolution.approver, Some(approver), &request.principal) {
        return Err(Rejection::Requester);
    }
    Ok(())
}

/// Checks that the request still accepts this answer: a denial until it is consumed, a grant only
/// while it is requested, and each only once per person.
pub(super) fn check_accepts(
    state: &ApprovalState,
    signed: &SignedResolution,
) -> Result<(), Rejection> {
    let resolution = &signed.resolution;
    if resolution.request != *state.request() {
        return Err(Rejection::WrongRequest);
    }
    let earlier_vote = state.vote_by(&resolution.approver);
    if earlier_vote.is_some_and(|vote| vote.resolution() == resolution) {
        return Err(Rejection::Replayed);
    }
    match (state.phase(), resolution.verdict) {
        (Phase::Requested | Phase::Granted, ResolutionVerdict::Denied) => Ok(()),
        (Phase::Requested, ResolutionVerdict::Granted) if earlier_vote.is_some() => {
            Err(Rejection::Replayed)
        }
        (Phase::Requested, ResolutionVerdict::Granted) => Ok(()),
        _ => Err(Rejection::AlreadyResolved),
    }
}
