//! What a call takes of its session's tokens: set aside before it, charged with what was shown,
//! given back when nothing was.

use weaver_firewall::{FrameSpec, Reservation, Session, SessionBudget};
use weaver_types::{
    Check, Contribution, Frame, Operation, ReasonCode, ResponseMode, RunBudget, Verdict,
};

use crate::cached_run::{CachedRun, RunSlot, lock};
use crate::kernel::Kernel;

/// What counts tokens where no session says how.
const PLAIN: &str = "chars4";
/// Tokens beside the characters of a frame: its names, its handle, its label.
const AROUND: u64 = 256;

impl Kernel {
    /// How many tokens a frame in this mode may come to. Of a raw one only what is left is known.
    pub(super) fn tokens_of_a_frame(&self, slot: &RunSlot, mode: ResponseMode) -> u64 {
        if mode == ResponseMode::Raw {
            return u64::from(u32::MAX);
        }
        let session = self.session_of(slot).flatten().map(|session| session.reservation());
        let budget = self.settings.frame_budget;
        let own = match mode {
            ResponseMode::Auto => u64::from(budget.max_tokens),
            _ => u64::from(budget.max_chars) / 4,
        };
        session.map_or_else(|| own + AROUND, u64::from)
    }

    /// The session of a run, where the settings bound one; nothing at all when the run's state is
    /// unusable.
    fn session_of(&self, slot: &RunSlot) -> Option<Option<Session>> {
        match self.settings.session {
            None => Some(None),
            Some(_) => lock(slot).map(|run| run.session().cloned()),
        }
    }
}

/// The share of one call. Empty where the settings bound no session.
#[derive(Default)]
pub(crate) struct TokenAllotment {
    reserved: Option<Reservation>,
    floor: Option<ResponseMode>,
    /// Whether the session made the mode stricter than it was asked for.
    escalated: bool,
}

impl TokenAllotment {
    /// Sets tokens aside for a call that asks for this mode; at most `cap`, where its run has set
    /// so many aside. Where no session counts, a counter of four characters a token does.
    pub(crate) fn reserve(
        &mut self,
        kernel: &Kernel,
        slot: &RunSlot,
        asked: ResponseMode,
        cap: Option<u64>,
    ) -> Result<(), Box<Contribution>> {
        let Some(session) = kernel.session_of(slot) else {
            let detail = "the run's state is unusable";
            let reason = ReasonCode::InternalError;
            return Err(Box::new(Contribution::new(Check::System, Verdict::Deny, reason, detail)));
        };
        let cap = cap.map(|cap| u32::try_from(cap).unwrap_or(u32::MAX));
        let Some(session) = session else {
            if let Some(cap) = cap {
                let budget = SessionBudget::named(PLAIN).map_err(|_| uncounted())?;
                self.reserved = budget.with_total(cap).open(0).reserve_at_most(cap);
            }
            return Ok(());
        };
        let reserved = match cap {
            Some(cap) => session.reserve_at_most(session.reservation().min(cap)),
            None => session.reserve(),
        };
        let Some(reserved) = reserved else {
            let (total, used) = (session.total(), session.used());
            return Err(Box::new(exhausted(used, total)));
        };
        let mode = reserved.mode(asked);
        self.escalated = mode != asked;
        self.floor = Some(mode);
        self.reserved = Some(reserved);
        Ok(())
    }

    /// The least strict mode that is left.
    pub(crate) fn floor(&self) -> ResponseMode {
        self.floor.unwrap_or(ResponseMode::Raw)
    }

    /// A word for the frame when the session made its mode stricter.
    pub(crate) fn finding(&self) -> Option<&'static str> {
        self.escalated.then_some("session_budget_low")
    }

    /// Tokens that are set aside.
    pub(crate) fn held(&self) -> u64 {
        self.reserved.as_ref().map_or(0, |reserved| reserved.tokens().into())
    }

    /// What was set aside, to be charged as a stream goes on.
    pub(crate) fn take(&mut self) -> Option<Reservation> {
        self.reserved.take()
    }

    /// The same, when the stream is over.
    pub(crate) fn put(&mut self, reserved: Option<Reservation>) {
        self.reserved = reserved;
    }

    /// True where the session is bounded.
    pub(crate) fn is_bounded(&self) -> bool {
        self.reserved.is_some()
    }

    /// The frame, or a smaller one that fits what is left; counts it.
    pub(crate) fn fit(
        &mut self,
        first: Frame,
        spec: &FrameSpec<'_>,
        again: impl FnMut(&FrameSpec<'_>) -> Option<Frame>,
    ) -> Frame {
        match &mut self.reserved {
            Some(reserved) => reserved.fit(first, spec, again),
            None => first,
        }
    }

    /// Tokens of what was shown.
    pub(crate) fn tokens(&self) -> u64 {
        self.reserved.as_ref().map_or(0, Reservation::counted)
    }

    /// Charges what was shown, now that it is recorded.
    pub(crate) fn settle(self) {
        if let Some(reserved) = self.reserved {
            reserved.settle();
        }
    }
}

/// The refusal of a call or a view whose run may give out no more tokens.
pub(crate) fn spent(
    run: &CachedRun,
    budget: &RunBudget,
    operation: Operation,
) -> Option<Contribution> {
    if let Some(session) = run.session().filter(|session| session.used() >= session.total()) {
        return Some(exhausted(session.used(), session.total()));
    }
    // For a call, this cap is looked at with the others.
    let used = run.state().meters.prompt_tokens;
    let over = budget.max_prompt_tokens.is_some_and(|cap| used >= cap);
    (over && operation == Operation::View).then(|| {
        let (detail, reason) =
            ("the run's cap `max_prompt_tokens` is used up", ReasonCode::BudgetExceeded);
        Contribution::new(Check::Limit, Verdict::Deny, reason, detail)
    })
}

fn uncounted() -> Box<Contribution> {
    let detail = "tokens cannot be counted";
    Box::new(Contribution::new(Check::System, Verdict::Deny, ReasonCode::InternalError, detail))
}

fn exhausted(used: u32, total: u32) -> Contribution {
    let detail = if used >= total {
        format!("all {total} tokens of the session are used up; begin another run")
    } else {
        format!("calls under way hold what is left of the session's {total} tokens; try again")
    };
    let reason = ReasonCode::SessionBudgetExhausted;
    Contribution::new(Check::Limit, Verdict::Deny, reason, detail)
}

#[cfg(test)]
mod tests {
    use weaver_firewall::FrameBudget;
    use weaver_policy::{Contracts, Policy, PolicySet};
    use weaver_types::RunId;

    use super::*;
    use crate::registry::Registry;
    use crate::settings::Settings;

    fn kernel(session: Option<SessionBudget>) -> Kernel {
        let policy = PolicySet::from_code(Policy::new("p"), Contracts::new("c")).unwrap();
        let frame_budget =
            FrameBudget { max_tokens: 900, max_chars: 4_000, ..FrameBudget::default() };
        let settings = Settings { frame_budget, session, ..Settings::default() };
        Kernel::builder(Registry::new(), policy).with_settings(settings).open().unwrap()
    }

    fn slot(kernel: &Kernel) -> RunSlot {
        let run = RunId::parse("run_1").unwrap();
        kernel.runs.slot(&run, kernel.ledger.as_ref()).unwrap()
    }

    fn session(total: u32) -> SessionBudget {
        SessionBudget::named("chars4").unwrap().with_total(total)
    }

    #[test]
    fn a_frame_may_come_to_what_bounds_its_mode_and_what_is_around_it() {
        let plain = kernel(None);
        let bounded = kernel(Some(session(50_000).with_reservation(700)));
        for (mode, own, with_session) in [
            (ResponseMode::Raw, 4_294_967_295, 4_294_967_295),
            (ResponseMode::Auto, 900 + 256, 700),
            (ResponseMode::Table, 1_000 + 256, 700),
            (ResponseMode::Summary, 1_000 + 256, 700),
            (ResponseMode::HandleOnly, 1_000 + 256, 700),
        ] {
            assert_eq!(plain.tokens_of_a_frame(&slot(&plain), mode), own, "{mode:?}");
            assert_eq!(bounded.tokens_of_a_frame(&slot(&bounded), mode), with_session, "{mode:?}");
        }
    }

    #[test]
    fn a_run_that_gave_out_all_its_tokens_is_told_so() {
        let reason = |kernel: &Kernel, cap, operation| {
            let budget = RunBudget { max_prompt_tokens: cap, ..RunBudget::unlimited() };
            let slot = slot(kernel);
            let run = lock(&slot).unwrap();
            spent(&run, &budget, operation).map(|said| (said.reason, said.detail))
        };
        let plain = kernel(None);
        assert_eq!(reason(&plain, None, Operation::View), None);
        assert_eq!(reason(&plain, Some(1), Operation::View), None);
        let used_up = "the run's cap `max_prompt_tokens` is used up".to_owned();
        let over = Some((ReasonCode::BudgetExceeded, used_up));
        assert_eq!(reason(&plain, Some(0), Operation::View), over);
        assert_eq!(reason(&plain, Some(0), Operation::Invoke), None, "it is looked at elsewhere");

        let bounded = kernel(Some(session(1_000)));
        let charge = |tokens| {
            let slot = slot(&bounded);
            lock(&slot).unwrap().session().unwrap().charge(tokens);
        };
        charge(999);
        assert_eq!(reason(&bounded, None, Operation::Invoke), None);
        charge(1);
        let detail = "all 1000 tokens of the session are used up; begin another run".to_owned();
        let over = Some((ReasonCode::SessionBudgetExhausted, detail));
        for operation in [Operation::View, Operation::Invoke] {
            assert_eq!(reason(&bounded, None, operation), over);
        }
    }

    #[test]
    fn tokens_that_are_held_and_tokens_that_are_used_are_told_apart() {
        let detail = |used| exhausted(used, 10).detail;
        assert!(detail(9).starts_with("calls under way hold what is left"), "{}", detail(9));
        assert!(detail(10).starts_with("all 10 tokens"), "{}", detail(10));
        assert!(detail(11).starts_with("all 10 tokens"), "{}", detail(11));
    }

    #[test]
    fn a_call_has_its_share_of_what_is_there_and_says_when_its_mode_got_stricter() {
        let taken = |kernel: &Kernel, cap| {
            let mut share = TokenAllotment::default();
            let done = share.reserve(kernel, &slot(kernel), ResponseMode::Table, cap);
            done.map(|()| (share.is_bounded(), share.held(), share.floor(), share.finding()))
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
            lock(&slot).unwrap().session().unwrap().charge(tokens);
        };
        charge(49_000);
        let (held, _, mode, finding) = taken(&low, None).unwrap();
        assert!(held && mode > ResponseMode::Table, "{mode:?}");
        assert_eq!(finding, Some("session_budget_low"));
        charge(1_000);
        assert_eq!(taken(&low, None), Err(ReasonCode::SessionBudgetExhausted));
    }
}
