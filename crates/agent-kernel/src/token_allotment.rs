//! The session tokens of a call: reserved before it, charged with what was shown, released when
//! nothing was.

use weaver_firewall::{FrameSpec, Reservation, Session, SessionBudget};
use weaver_types::{
    CheckKind, CheckResult, Frame, Operation, ReasonCode, ResponseMode, RunBudget, Verdict,
};

use crate::cached_run::{CachedRun, RunSlot, lock_run};
use crate::settings::Settings;

/// The token counter when no session defines one: four characters per token.
const FALLBACK_COUNTER: &str = "chars4";
/// Tokens of a frame besides its text: field names, handle, label.
const FRAME_OVERHEAD_TOKENS: u64 = 256;

/// The most tokens that a frame in this mode may have. A raw frame has no bound but the remaining
/// tokens.
pub(crate) fn max_frame_tokens(settings: &Settings, slot: &RunSlot, mode: ResponseMode) -> u64 {
    if mode == ResponseMode::Raw {
        return u64::from(u32::MAX);
    }
    let session =
        bounded_session(settings, slot).flatten().map(|session| session.reservation_tokens());
    let budget = settings.frame_budget;
    let frame_tokens = match mode {
        ResponseMode::Auto => u64::from(budget.max_tokens),
        _ => u64::from(budget.max_chars) / 4,
    };
    session.map_or_else(|| frame_tokens + FRAME_OVERHEAD_TOKENS, u64::from)
}

/// The session of a run, if the settings limit tokens. The outer `None` means that the run's state
/// is unusable.
fn bounded_session(settings: &Settings, slot: &RunSlot) -> Option<Option<Session>> {
    match settings.session {
        None => Some(None),
        Some(_) => lock_run(slot).map(|run| run.session().cloned()),
    }
}

/// The tokens of one call. Empty when the settings limit no session.
#[derive(Default)]
pub(crate) struct TokenAllotment {
    reservation: Option<Reservation>,
    min_mode: Option<ResponseMode>,
    /// Whether the session made the mode stricter than requested.
    mode_was_tightened: bool,
}

impl TokenAllotment {
    /// Reserves tokens for a call in the requested mode; at most `cap`, if the run reserved that
    /// many. Without a session, four characters count as one token.
    pub(crate) fn reserve(
        &mut self,
        settings: &Settings,
        slot: &RunSlot,
        requested_mode: ResponseMode,
        cap: Option<u64>,
    ) -> Result<(), Box<CheckResult>> {
        let Some(session) = bounded_session(settings, slot) else {
            let detail = "the run's state is unusable";
            let reason = ReasonCode::InternalError;
            return Err(Box::new(CheckResult::new(
                CheckKind::System,
                Verdict::Deny,
                reason,
                detail,
            )));
        };
        let cap = cap.map(|cap| u32::try_from(cap).unwrap_or(u32::MAX));
        let Some(session) = session else {
            if let Some(cap) = cap {
                let budget = SessionBudget::from_counter_name(FALLBACK_COUNTER)
                    .map_err(|_| uncountable_denial())?;
                self.reservation = budget.with_total(cap).open(0).reserve_at_most(cap);
            }
            return Ok(());
        };
        let reserved = match cap {
            Some(cap) => session.reserve_at_most(session.reservation_tokens().min(cap)),
            None => session.reserve(),
        };
        let Some(reserved) = reserved else {
            let (total, used) = (session.total(), session.used());
            return Err(Box::new(session_exhausted_denial(used, total)));
        };
        let mode = reserved.mode(requested_mode);
        self.mode_was_tightened = mode != requested_mode;
        self.min_mode = Some(mode);
        self.reservation = Some(reserved);
        Ok(())
    }

    /// The least strict mode that the session allows.
    pub(crate) fn min_mode(&self) -> ResponseMode {
        self.min_mode.unwrap_or(ResponseMode::Raw)
    }

    /// The finding for the frame when the session made its mode stricter.
    pub(crate) fn finding(&self) -> Option<&'static str> {
        self.mode_was_tightened.then_some("session_budget_low")
    }

    /// The reserved tokens.
    pub(crate) fn reserved_tokens(&self) -> u64 {
        self.reservation.as_ref().map_or(0, |reserved| reserved.tokens().into())
    }

    /// Takes the reservation out, for a stream that charges it as it goes on.
    pub(crate) fn take_reservation(&mut self) -> Option<Reservation> {
        self.reservation.take()
    }

    /// Puts the reservation back when the stream is over.
    pub(crate) fn put_back_reservation(&mut self, reserved: Option<Reservation>) {
        self.reservation = reserved;
    }

    /// True when the tokens are limited.
    pub(crate) fn is_bounded(&self) -> bool {
        self.reservation.is_some()
    }

    /// The frame, or a smaller one that fits the remaining tokens; counts its tokens.
    pub(crate) fn fit(
        &mut self,
        first: Frame,
        spec: &FrameSpec<'_>,
        again: impl FnMut(&FrameSpec<'_>) -> Option<Frame>,
    ) -> Frame {
        match &mut self.reservation {
            Some(reserved) => reserved.fit(first, spec, again),
            None => first,
        }
    }

    /// The tokens of what was shown.
    pub(crate) fn shown_tokens(&self) -> u64 {
        self.reservation.as_ref().map_or(0, Reservation::counted)
    }

    /// Charges what was shown, once it is recorded.
    pub(crate) fn charge(self) {
        if let Some(reserved) = self.reservation {
            reserved.settle();
        }
    }
}

/// The denial of a call or an expansion whose run has no tokens left.
pub(crate) fn exhausted_budget_denial(
    run: &CachedRun,
    budget: &RunBudget,
    operation: Operation,
) -> Option<CheckResult> {
    if let Some(session) = run.session().filter(|session| session.used() >= session.total()) {
        return Some(session_exhausted_denial(session.used(), session.total()));
    }
    // For a call, this cap is checked together with the others.
    let used = run.state().meters.prompt_tokens;
    let is_exhausted = budget.max_prompt_tokens.is_some_and(|cap| used >= cap);
    (is_exhausted && operation == Operation::View).then(|| {
        let (detail, reason) =
            ("the run's cap `max_prompt_tokens` is used up", ReasonCode::BudgetExceeded);
        CheckResult::new(CheckKind::Limit, Verdict::Deny, reason, detail)
    })
}

fn uncountable_denial() -> Box<CheckResult> {
    let detail = "tokens cannot be counted";
    Box::new(CheckResult::new(CheckKind::System, Verdict::Deny, ReasonCode::InternalError, detail))
}

fn session_exhausted_denial(used: u32, total: u32) -> CheckResult {
    let detail = if used >= total {
        format!("all {total} tokens of the session are used up; begin another run")
    } else {
        format!("calls under way hold what is left of the session's {total} tokens; try again")
    };
    let reason = ReasonCode::SessionBudgetExhausted;
    CheckResult::new(CheckKind::Limit, Verdict::Deny, reason, detail)
}

#[cfg(test)]
mod tests {
    use weaver_firewall::FrameBudget;
    use weaver_policy::{Contracts, Policy, PolicySet};
    use weaver_types::RunId;

    use super::*;
    use crate::kernel::Kernel;
    use crate::registry::Registry;

    fn kernel(session: Option<SessionBudget>) -> Kernel {
        let policy = PolicySet::from_code(Policy::new("p"), Contracts::new("c")).unwrap();
        let frame_budget =
            FrameBudget { max_tokens: 900, max_chars: 4_000, ..FrameBudget::default() };
        let settings = Settings { frame_budget, session, ..Settings::default() };
        Kernel::builder(Registry::new(), policy).with_settings(settings).open().unwrap()
    }

    fn slot(kernel: &Kernel) -> RunSlot {
        let run = RunId::parse("run_1").unwrap();
        kernel.recorder.slot(&run).unwrap()
    }

    fn session(total: u32) -> SessionBudget {
        SessionBudget::from_counter_name("chars4").unwrap().with_total(total)
    }

    #[test]
    fn a_frame_may_come_to_what_bounds_its_mode_and_what_is_around_it() {
        let plain = kernel(None);
        let bounded = kernel(Some(session(50_000).with_reservation(700)));
        for (mode, frame_tokens, with_session) in [
            (ResponseMode::Raw, 4_294_967_295, 4_294_967_295),
            (ResponseMode::Auto, 900 + 256, 700),
            (ResponseMode::Table, 1_000 + 256, 700),
            (ResponseMode::Summary, 1_000 + 256, 700),
            (ResponseMode::HandleOnly, 1_000 + 256, 700),
        ] {
            assert_eq!(
                max_frame_tokens(&plain.context.settings, &slot(&plain), mode),
                frame_tokens,
                "{mode:?}"
            );
            assert_eq!(
                max_frame_tokens(&bounded.context.settings, &slot(&bounded), mode),
                with_session,
                "{mode:?}"
            );
        }
    }

    #[test]
    fn a_run_that_gave_out_all_its_tokens_is_told_so() {
        let reason = |kernel: &Kernel, cap, operation| {
            let budget = RunBudget { max_prompt_tokens: cap, ..RunBudget::unlimited() };
            let slot = slot(kernel);
            let run = lock_run(&slot).unwrap();
            exhausted_budget_denial(&run, &budget, operation).map(|said| (said.reason, said.detail))
        };
        let plain = kernel(None);
        assert_eq!(reason(&plain, None, Operation::View), None);
        assert_eq!(reason(&plain, Some(1), Operation::View), None);
        let used_up = "the run's cap `max_prompt_tokens` is used up".to_owned();
        let is_exhausted = Some((ReasonCode::BudgetExceeded, used_up));
        assert_eq!(reason(&plain, Some(0), Operation::View), is_exhausted);
        assert_eq!(reason(&plain, Some(0), Operation::Invoke), None, "it is looked at elsewhere");

        let bounded = kernel(Some(session(1_000)));
        let charge = |tokens| {
            let slot = slot(&bounded);
            lock_run(&slot).unwrap().session().unwrap().charge(tokens);
        };
        charge(999);
        assert_eq!(reason(&bounded, None, Operation::Invoke), None);
        charge(1);
        let detail = "all 1000 tokens of the session are used up; begin another run".to_owned();
        let is_exhausted = Some((ReasonCode::SessionBudgetExhausted, detail));
        for operation in [Operation::View, Operation::Invoke] {
            assert_eq!(reason(&bounded, None, operation), is_exhausted);
        }
    }

    #[test]
    fn tokens_that_are_held_and_tokens_that_are_used_are_told_apart() {
        let detail = |used| session_exhausted_denial(used, 10).detail;
        assert!(detail(9).starts_with("calls under way hold what is left"), "{}", detail(9));
        assert!(detail(10).starts_with("all 10 tokens"), "{}", detail(10));
        assert!(detail(11).starts_with("all 10 tokens"), "{}", detail(11));
    }

    #[test]
    fn a_call_has_its_share_of_what_is_there_and_says_when_its_mode_got_stricter() {
        let taken = |kernel: &Kernel, cap| {
            let mut share = TokenAllotment::default();
            let done =
                share.reserve(&kernel.context.settings, &slot(kernel), ResponseMode::Table, cap);
            done.map(|()| {
                (share.is_bounded(), share.reserved_tokens(), share.min_mode(), share.finding())
            })
            .map_err(|said| said.reason)
        };
        let plain = kernel(None);
        assert_eq!(taken(&plain, None), Ok((false, 0, ResponseMode::Raw, None)));
        assert_eq!(taken(&plain, Some(300)), Ok((true, 300, ResponseMode::Raw, None)));
        let bounded = || kernel(Some(session(50_000).with_reservation(700)));
        assert_eq!(taken(&bounded(), None), Ok((true, 700, ResponseMode::Table, None)));
        assert_eq!(taken(&bounded(), Some(300)), Ok((true, 300, ResponseMode::Table, None)));
        let low = bounded();
        let charge = |tokens| {
            let slot = slot(&low);
            lock_run(&slot).unwrap().session().unwrap().charge(tokens);
        };
        charge(49_000);
        let (held, _, mode, finding) = taken(&low, None).unwrap();
        assert!(held && mode > ResponseMode::Table, "{mode:?}");
        assert_eq!(finding, Some("session_budget_low"));
        charge(1_000);
        assert_eq!(taken(&low, None), Err(ReasonCode::SessionBudgetExhausted));
    }
}
