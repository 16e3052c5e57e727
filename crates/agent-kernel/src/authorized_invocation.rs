//! A call between its decision and its recorded end.

use serde_json::Value;
use weaver_types::{
    CallId, CapabilityRequest, Constraints, Decision, Label, ResponseMode, Timestamp, TokenClaims,
};

use crate::approval::hold_release::HoldRelease;
use crate::budget_reservation::BudgetReservation;
use crate::call_stream::StreamOutlet;
use crate::caller::Caller;
use crate::decision_point::CallTarget;
use crate::masked_arguments::ArgumentMasks;
use crate::progress::ProgressOutlet;
use crate::token_allotment::TokenAllotment;

/// A call that passed every check and waits for its commit. Boxed: it moves through every later
/// stage.
pub(crate) struct AuthorizedInvocation<'a> {
    pub(crate) caller: Caller<'a>,
    pub(crate) request: &'a CapabilityRequest,
    pub(crate) call: CallId,
    pub(crate) claims: &'a TokenClaims,
    pub(crate) target: CallTarget,
    pub(crate) decision: Decision,
    /// The joined limits of the token, the request and the decision.
    pub(crate) limits: Constraints,
    pub(crate) mode: ResponseMode,
    pub(crate) arguments: &'a Value,
    /// The masks in the arguments, if there are any.
    pub(crate) masks: Option<&'a ArgumentMasks>,
    /// The label of the stored result: the worst that the call can bring.
    pub(crate) worst_label: Label,
    /// The repairs that were made to the arguments.
    pub(crate) repairs: Option<&'a Value>,
    /// The release that is consumed with the intent.
    pub(crate) release: Option<Box<HoldRelease>>,
    /// The session tokens that the call may use.
    pub(crate) token_allotment: TokenAllotment,
    /// When the call was counted for the rate limits, right before its commit.
    pub(crate) counted_at: Timestamp,
    /// The reservation from the run's budget.
    pub(crate) reservation: Option<BudgetReservation>,
    /// Who holds the token of the call.
    pub(crate) token_holder: TokenHolder,
    /// Where a streamed result is shown; `None` for a call that is answered as a whole.
    pub(crate) stream_outlet: Option<StreamOutlet>,
    /// Where progress goes; `None` when nobody asked for it or the driver reports none.
    pub(crate) progress: Option<ProgressOutlet>,
}

/// Who holds the token of a call and could present it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TokenHolder {
    /// The host. A record prevents a second use, even after a restart.
    #[default]
    Host,
    /// Only the kernel, which granted it for this call and drops it with the call. The intent is
    /// all that has to be written.
    Kernel,
}

impl AuthorizedInvocation<'_> {
    /// The requested mode, or the stricter one of a constraint or of the session.
    pub(crate) fn effective_mode(&self) -> ResponseMode {
        let mode = self.limits.mode.map_or(self.mode, |mode| mode.max(self.mode));
        mode.max(self.token_allotment.min_mode())
    }
}
