//! Reports the progress of a running call to its caller.

use std::future::Future;

use weaver_types::ResponseMode;

use super::CallExecutor;
use crate::authorized_invocation::AuthorizedInvocation;
use crate::progress::{ProgressOutlet, ProgressThrottle};

impl CallExecutor {
    /// Awaits `work`, which executes the call, and forwards the driver's progress to the caller;
    /// the last report is forwarded before this returns.
    ///
    /// The model sees no raw output (I-01): a message passes through the same redactor and masks as
    /// the run's frames, with personal data always masked, as in errors. It is cut to one short
    /// line without hidden characters. In the modes that show no text (`summary`, `handle_only`) it
    /// is left out. The run has taken on the label of such messages with the intent, before any is
    /// shown.
    pub(super) async fn with_progress<F: Future>(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        work: F,
    ) -> F::Output {
        let Some(outlet) = &invocation.progress else { return work.await };
        // Boxed: few calls report progress, and every call's future would be larger otherwise.
        Box::pin(self.forward_while(invocation, outlet, work)).await
    }

    async fn forward_while<F: Future>(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        outlet: &ProgressOutlet,
        work: F,
    ) -> F::Output {
        let firewall = self.results.result_firewall(invocation, None);
        let shows_texts = invocation.effective_mode() <= ResponseMode::Table;
        let redactor = shows_texts.then_some(firewall.as_ref());
        let show = |update| outlet.forward(update, redactor);
        ProgressThrottle::default()
            .forward_while(work, &outlet.slot, show, self.context.timer.as_ref())
            .await
    }
}
