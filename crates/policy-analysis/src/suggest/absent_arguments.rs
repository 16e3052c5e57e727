//! Arguments that decide where a call goes and that no call behind a rule had.
//!
//! A rule constrains only the arguments that it names. If `to` is constrained and `cc` is not, a
//! call with a new `cc` goes to anybody. A rule therefore requires that such arguments are absent,
//! as far as they are known: a contract declares them critical, or other calls of the tool had
//! them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weaver_policy::{ArgumentPredicate, MatchConditions};
use weaver_types::{Capability, CapabilityId, JsonPointer};

use super::destination_values::destination_values;
use super::evidence::ToolEvidence;

/// The known arguments of each tool that decide where its calls go.
#[derive(Debug, Default)]
pub(super) struct DestinationArguments(BTreeMap<CapabilityId, BTreeSet<JsonPointer>>);

impl DestinationArguments {
    pub(super) fn of_tools(tools: &BTreeMap<CapabilityId, ToolEvidence>) -> Self {
        let known = |tool: &ToolEvidence| {
            let (sink, effects) = (tool.capability.sink(), tool.capability.spec().effects);
            let mut known = declared_arguments(&tool.capability);
            for example in &tool.examples {
                let values = destination_values(&example.arguments, sink, effects);
                known.extend(values.into_iter().map(|value| value.at));
            }
            known
        };
        let allowed = tools.iter().filter(|(_, tool)| tool.may_be_allowed());
        Self(allowed.map(|(id, tool)| (id.clone(), known(tool))).collect())
    }

    /// The known arguments of these tools that none of these calls has.
    pub(super) fn absent_from<'c>(
        &self,
        calls: impl Iterator<Item = (&'c CapabilityId, &'c Value)> + Clone,
    ) -> BTreeSet<JsonPointer> {
        let known = calls.clone().filter_map(|(tool, _)| self.0.get(tool)).flatten();
        let mut absent: BTreeSet<JsonPointer> = known.cloned().collect();
        for (_, arguments) in calls {
            absent.retain(|at| at.find(arguments).is_none());
        }
        absent
    }
}

/// The arguments that the contract declares critical, one value each. The whole value and the
/// items of lists have no single name that could be absent.
pub(super) fn declared_arguments(capability: &Capability) -> BTreeSet<JsonPointer> {
    let declared = capability.spec().critical_arguments.iter();
    let named = |at: &&JsonPointer| {
        !at.as_str().is_empty() && at.as_str().split('/').all(|part| part != "*")
    };
    declared.filter(named).cloned().collect()
}

/// Requires that these arguments are absent.
pub(super) fn require_absent(matches: &mut MatchConditions, absent: &BTreeSet<JsonPointer>) {
    matches.arguments.extend(
        absent.iter().map(|at| ArgumentPredicate {
            present: Some(false),
            ..ArgumentPredicate::at(at.clone())
        }),
    );
}
