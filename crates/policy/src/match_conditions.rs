//! The conditions under which a rule or a rate limit applies.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use weaver_types::{
    Confidentiality, Impact, Integrity, Operation, Rung, SafetyClass, SafetyMode, SinkKind, World,
};

use crate::argument::ArgumentPredicate;
use crate::field_condition::{Condition, FieldCondition, FieldConditionMut, SensitivityCondition};
use crate::name_condition::NameCondition;
use crate::pattern::Pattern;
use crate::time_window::TimeWindow;

/// A field of match conditions, apart from its condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MatchField {
    /// Its name, such as `impact`.
    pub name: &'static str,
    /// Its key in a document, such as `effects.impact`.
    pub key: &'static str,
    /// Whether it concerns only the capability.
    pub of_capability: bool,
    /// How many keywords it has; 0 for a field that does not list keywords.
    pub(crate) keyword_count: usize,
}

/// Declares the fields of [`MatchConditions`] in one place: the struct, the list of its fields, and
/// the values of a query that they are compared with.
///
/// A row is a field with the type of its condition. `in` names the table of a document that holds
/// the key. `applicability.rs` gives the values, and does not compile without a value for each field.
macro_rules! match_conditions {
    (
        capability { $($(#[$capability_doc:meta])* $capability:ident $(in $capability_table:ident)?: $capability_form:ty,)* }
        call { $($(#[$call_doc:meta])* $call:ident $(in $call_table:ident)?: $call_form:ty,)* }
    ) => {
        /// A conjunction of conditions: every non-empty field must hold. An empty field imposes no
        /// condition. Without any conditions, they apply to everything.
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
        pub struct MatchConditions {
            $(
                $(#[$capability_doc])*
                #[serde(skip_serializing_if = "Condition::is_unset")]
                pub $capability: $capability_form,
            )*
            $(
                $(#[$call_doc])*
                #[serde(skip_serializing_if = "Condition::is_unset")]
                pub $call: $call_form,
            )*
            /// Conditions on the arguments, all of which hold; unknown while the arguments are missing.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub arguments: Vec<ArgumentPredicate>,
            /// At least one of these holds.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub any: Vec<MatchConditions>,
            /// This does not hold.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub not: Option<Box<MatchConditions>>,
            /// This does not hold either. Same as `not`; meant for exceptions to a rule.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub unless: Option<Box<MatchConditions>>,
        }

        /// The values of a capability that conditions are compared with.
        #[derive(Clone, Copy)]
        pub(crate) struct CapabilityValues<'q> {
            $(pub(crate) $capability: <$capability_form as Condition>::Value<'q>,)*
        }

        /// The values of a call, apart from its capability and its arguments.
        #[derive(Clone, Copy)]
        pub(crate) struct CallValues<'q> {
            $(pub(crate) $call: <$call_form as Condition>::Value<'q>,)*
        }

        impl MatchConditions {
            /// The fields whose value every query has, in the order of [`Self::fields`].
            pub(crate) const FIELDS: &'static [MatchField] = &[
                $(MatchField {
                    name: stringify!($capability),
                    key: concat!($(stringify!($capability_table), ".",)? stringify!($capability)),
                    of_capability: true,
                    keyword_count: <$capability_form as Condition>::KEYWORD_COUNT,
                },)*
                $(MatchField {
                    name: stringify!($call),
                    key: concat!($(stringify!($call_table), ".",)? stringify!($call)),
                    of_capability: false,
                    keyword_count: <$call_form as Condition>::KEYWORD_COUNT,
                },)*
            ];

            /// The conditions on single fields, also the empty ones. The conditions on arguments and
            /// the nested conditions are not among them.
            pub fn fields(&self) -> impl Iterator<Item = (MatchField, FieldCondition<'_>)> {
                let conditions = [$(self.$capability.form(),)* $(self.$call.form(),)*];
                Self::FIELDS.iter().copied().zip(conditions)
            }

            /// Like [`Self::fields`], to be changed.
            pub(crate) fn fields_mut(
                &mut self,
            ) -> impl Iterator<Item = (MatchField, FieldConditionMut<'_>)> {
                let conditions = [$(self.$capability.form_mut(),)* $(self.$call.form_mut(),)*];
                Self::FIELDS.iter().copied().zip(conditions)
            }

            /// Whether a capability meets the top-level conditions on capabilities.
            pub(crate) fn are_met_by_capability(&self, values: &CapabilityValues<'_>) -> bool {
                $(self.$capability.is_met_by(values.$capability))&&*
            }

            /// Whether a call meets the top-level conditions on calls.
            pub(crate) fn are_met_by_call(&self, values: &CallValues<'_>) -> bool {
                $(self.$call.is_met_by(values.$call))&&*
            }
        }

        /// The keywords that a query meets, as bits for each field, in the order of
        /// [`MatchConditions::FIELDS`].
        pub(crate) fn keyword_bits(
            capability: &CapabilityValues<'_>,
            call: &CallValues<'_>,
        ) -> impl Iterator<Item = u64> {
            [
                $(<$capability_form as Condition>::keyword_bits(capability.$capability),)*
                $(<$call_form as Condition>::keyword_bits(call.$call),)*
            ]
            .into_iter()
        }
    };
}

match_conditions! {
    capability {
        /// The capability's id matches one of these patterns.
        capability: Vec<Pattern>,
        /// Its impact is one of these.
        impact in effects: BTreeSet<Impact>,
        /// Its reach is one of these.
        world in effects: BTreeSet<World>,
        /// Its class is one of these.
        class: BTreeSet<SafetyClass>,
        /// Its rung is one of these.
        rung: BTreeSet<Rung>,
        /// Its sink kind is one of these.
        sink: BTreeSet<SinkKind>,
        /// Conditions on its tags.
        tags: NameCondition,
        /// Its sensitivity is one of these.
        sensitivity: BTreeSet<SensitivityCondition>,
    }
    call {
        /// The request's intent matches one of these patterns. A request without an intent does not
        /// match.
        intent: Vec<Pattern>,
        /// The request's scope has each of these names, with a matching value.
        scope: BTreeMap<String, Pattern>,
        /// The run mode is one of these.
        mode: BTreeSet<SafetyMode>,
        /// The run's confidentiality is one of these.
        confidentiality in label: BTreeSet<Confidentiality>,
        /// The run's integrity is one of these.
        integrity in label: BTreeSet<Integrity>,
        /// The principal's id matches one of these patterns.
        principal: Vec<Pattern>,
        /// Conditions on the principal's roles.
        roles: NameCondition,
        /// The principal has each of these attributes, with a matching value.
        attributes: BTreeMap<String, Pattern>,
        /// The agent's id matches one of these patterns. A call without an agent does not match.
        agent: Vec<Pattern>,
        /// The time is in this window.
        time: Option<TimeWindow>,
        /// The operation is one of these.
        operation: BTreeSet<Operation>,
    }
}

/// The fields of a call that its log entry has. The entry names the capability and the principal, so
/// what the documents say of these is known too.
const LOGGED_FIELDS: [&str; 4] = ["principal", "agent", "time", "operation"];

impl MatchConditions {
    /// Weakens the conditions to those that the log can answer: those on the capability, the
    /// principal's id, the agent, the time and the operation, and the roles if they are known. The
    /// result applies to every call to which the full conditions may have applied.
    pub(crate) fn restricted_to_logged_fields(&self, roles_are_known: bool) -> Self {
        let mut out = self.clone();
        for (field, condition) in out.fields_mut() {
            let is_logged = field.of_capability
                || LOGGED_FIELDS.contains(&field.name)
                || (field.name == "roles" && roles_are_known);
            if !is_logged {
                condition.clear();
            }
        }
        out.arguments.clear();
        for alternative in &mut out.any {
            *alternative = alternative.restricted_to_logged_fields(roles_are_known);
        }
        // Under a negation, dropping a condition would exclude more calls, so an exclusion is
        // dropped as a whole unless the log answers all of it.
        out.not = out.not.filter(|one| one.is_logged(roles_are_known));
        out.unless = out.unless.filter(|one| one.is_logged(roles_are_known));
        out
    }

    /// Whether the log answers all of these conditions.
    fn is_logged(&self, roles_are_known: bool) -> bool {
        self.restricted_to_logged_fields(roles_are_known) == *self
    }

    /// Whether these conditions ask for more of the capability than its id.
    pub(crate) fn read_capability(&self) -> bool {
        let reads_more = |(field, condition): (MatchField, FieldCondition<'_>)| {
            field.of_capability && field.name != "capability" && !condition.is_empty()
        };
        self.fields().any(reads_more) || self.nested().any(Self::read_capability)
    }

    /// The directly nested conditions, under `any`, `not` and `unless`.
    pub fn nested(&self) -> impl Iterator<Item = &MatchConditions> {
        let excluded = [&self.not, &self.unless].into_iter().flatten().map(|one| &**one);
        self.any.iter().chain(excluded)
    }
}
