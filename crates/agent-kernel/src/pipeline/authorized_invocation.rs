//! A call between its decision and its recorded end.

use serde_json::Value;
use weaver_types::{
    CallId, CapabilityRequest, Constraints, Decision, Label, ResponseMode, Timestamp, TokenClaims,
};

use super::evaluate::Target;
use super::progress::ProgressOutlet;
use super::resume::HoldRelease;
use super::token_allotment::TokenAllotment;
use crate::budget_reservation::BudgetReservation;
use crate::call_stream::Outlet;
use crate::caller::Caller;
use crate::masked_arguments::ArgumentMasks;

/// A call that has passed every check and waits for its commit. Boxed: it moves through every later
/// stage.
pub(crate) struct AuthorizedInvocation<'a> {
    pub(crate) caller: Caller<'a>,
    pub(crate) request: &'a CapabilityRequest,
    pub(crate) call: CallId,
    pub(crate) claims: &'a TokenClaims,
    pub(crate) target: Target,
    pub(crate) decision: Decision,
    /// The limits of the token, of the request and of the decision.
    pub(crate) limits: Constraints,
    pub(crate) mode: ResponseMode,
    pub(crate) arguments: &'a Value,
    /// The masks that stood in them, where there were any.
    pub(crate) masks: Option<&'a ArgumentMasks>,
    /// The label of the stored result: the worst that the call can bring.
    pub(crate) worst: Label,
    /// What was repaired in them.
    pub(crate) repaired: Option<&'a Value>,
    /// What released it, to be used up with its intent.
    pub(crate) released: Option<Box<HoldRelease>>,
    /// What it may take of its session.
    pub(crate) share: TokenAllotment,
    /// When it was counted, right before its commit.
    pub(crate) counted: Timestamp,
    /// What it has set aside of its run's budget.
    pub(crate) reservation: Option<BudgetReservation>,
    /// Who has its token.
    pub(crate) holder: TokenHolder,
    /// Where its result is shown as it comes; `None` for a call that is answered in one.
    pub(crate) outlet: Option<Outlet>,
    /// Where its progress goes; `None` where nobody asked for it, or its driver does not tell.
    pub(crate) progress: Option<ProgressOutlet>,
}

/// Who has the token of a call, and could present it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TokenHolder {
    /// The host. A record keeps it from being used twice, also after a restart.
    #[default]
    Host,
    /// Nobody but the kernel, which granted it for this call and drops it with it. Its intent is all
    /// that has to be written.
    Kernel,
}

impl AuthorizedInvocation<'_> {
    /// How much may be shown: the mode asked for, or the stricter one of a constraint.
    pub(crate) fn effective_mode(&self) -> ResponseMode {
        let asked = self.limits.mode.map_or(self.mode, |mode| mode.max(self.mode));
        asked.max(self.share.floor())
    }
}
