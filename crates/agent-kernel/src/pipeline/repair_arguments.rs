//! Repairs the arguments of a call before anything is decided.

use serde_json::Value;
use weaver_policy::PolicySet;
use weaver_types::CapabilityRequest;

use crate::kernel::Kernel;
use crate::repair::{RepairedArguments, Repairs, repaired_arguments};

impl Kernel {
    /// The repaired arguments of a call; `None` when they are used unchanged.
    pub(crate) fn repair_arguments(
        &self,
        policy: &PolicySet,
        request: &CapabilityRequest,
        arguments: Option<&Value>,
    ) -> Option<RepairedArguments> {
        let (repairs, arguments) = (self.context.settings.repairs, arguments?);
        if repairs == Repairs::none() {
            return None;
        }
        let entry = self.context.registry.get(&request.capability_id)?;
        let capability = entry.effective(policy).ok()?;
        repaired_arguments(repairs, &capability, &entry.arguments, arguments)
    }
}
