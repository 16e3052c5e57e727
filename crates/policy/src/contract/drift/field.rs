//! Compares the fields of two versions of a capability, except for the schemas' contents.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_types::{AllowedAgents, Capability, CapabilityDraft, SinkKind};

use super::schema::{self, SchemaSide};
use super::{Drift, DriftClass};
use crate::critical;

use DriftClass::{AuthorityWidening, Breaking, Compatible, Documentation};

pub(super) fn compare(before: &Capability, after: &Capability, drift: &mut Drift) {
    let (a, b) = (before.spec(), after.spec());
    compare_texts(a, b, drift);
    compare_authority(a, b, drift);
    compare_input(a, b, drift);
    compare_output(a, b, drift);
    compare_execution(a, b, drift);
    if a.upstream_digest.is_some() != b.upstream_digest.is_some() {
        drift.add("upstream", "described by somebody else", AuthorityWidening);
    } else if drift.is_empty() && a.upstream_digest != b.upstream_digest {
        drift.add("upstream", "annotations or instructions of the server changed", Documentation);
    } else if drift.is_empty() && before.fingerprint() != after.fingerprint() {
        drift.add("schemas", "written otherwise, with the same meaning", Documentation);
    }
}

fn compare_texts(a: &CapabilityDraft, b: &CapabilityDraft, drift: &mut Drift) {
    if a.id != b.id {
        drift.add("id", "id changed", AuthorityWidening);
    }
    if a.name != b.name {
        drift.add("name", "name changed", Documentation);
    }
    if a.title != b.title {
        drift.add("title", "title changed", Documentation);
    }
    if a.description != b.description {
        drift.add("description", "description changed", Documentation);
    }
}

/// Compares the fields that decide who may call it, and which rules apply.
fn compare_authority(a: &CapabilityDraft, b: &CapabilityDraft, drift: &mut Drift) {
    if !b.effects.within(a.effects) {
        drift.add("effects", "effects widened", AuthorityWidening);
    } else if a.effects != b.effects {
        drift.add("effects", "effects claimed to be lower", AuthorityWidening);
    }
    compare_sets(PERMISSIONS, &a.permissions, &b.permissions, drift);
    compare_sets(SCOPES, &a.identity_scopes, &b.identity_scopes, drift);
    compare_sets(TAGS, &a.tags, &b.tags, drift);
    compare_sets(SENSITIVITY, &a.sensitivity, &b.sensitivity, drift);
    match (&a.agents, &b.agents) {
        (AllowedAgents::Any, AllowedAgents::Only(_)) => {
            drift.add("agents", "agents restricted", Breaking);
        }
        (AllowedAgents::Only(_), AllowedAgents::Any) => {
            drift.add("agents", "open to every agent", AuthorityWidening);
        }
        (AllowedAgents::Only(a), AllowedAgents::Only(b)) => compare_sets(AGENTS, a, b, drift),
        (AllowedAgents::Any, AllowedAgents::Any) => {}
    }
}

/// How additions to a set and removals from it are reported.
struct SetChangeLabels {
    path: &'static str,
    added: (&'static str, DriftClass),
    removed: (&'static str, DriftClass),
}

const PERMISSIONS: SetChangeLabels = SetChangeLabels {
    path: "permissions",
    added: ("permission added", Breaking),
    removed: ("permission no longer needed", AuthorityWidening),
};
const SCOPES: SetChangeLabels = SetChangeLabels {
    path: "identity_scopes",
    added: ("identity scope added", AuthorityWidening),
    removed: ("identity scope no longer needed", Compatible),
};
const TAGS: SetChangeLabels = SetChangeLabels {
    path: "tags",
    added: ("tag added", AuthorityWidening),
    removed: ("tag removed", AuthorityWidening),
};
const SENSITIVITY: SetChangeLabels = SetChangeLabels {
    path: "sensitivity",
    added: ("sensitive data added", Breaking),
    removed: ("sensitive data no longer declared", AuthorityWidening),
};
const AGENTS: SetChangeLabels = SetChangeLabels {
    path: "agents",
    added: ("agent added", AuthorityWidening),
    removed: ("agent removed", Breaking),
};
const FIELDS: SetChangeLabels = SetChangeLabels {
    path: "allowed_fields",
    added: ("shown field added", AuthorityWidening),
    removed: ("shown field removed", Breaking),
};

fn compare_sets<T: Ord>(
    change: SetChangeLabels,
    a: &BTreeSet<T>,
    b: &BTreeSet<T>,
    drift: &mut Drift,
) {
    let SetChangeLabels { path, added, removed } = change;
    b.difference(a).for_each(|_| drift.add(path, added.0, added.1));
    a.difference(b).for_each(|_| drift.add(path, removed.0, removed.1));
}

fn compare_input(a: &CapabilityDraft, b: &CapabilityDraft, drift: &mut Drift) {
    match (&a.input_schema, &b.input_schema) {
        (Some(before), Some(after)) => {
            schema::compare(before, after, SchemaSide::Input, drift);
            report_new_critical_arguments(before, after, drift);
        }
        (None, Some(_)) => drift.add("input", "input schema added", Breaking),
        (Some(_), None) => drift.add("input", "input schema removed", AuthorityWidening),
        (None, None) => {}
    }
}

/// Reports new critical arguments: those that name a receiver, a destination, an object or an
/// amount.
fn report_new_critical_arguments(before: &Value, after: &Value, drift: &mut Drift) {
    let found = |schema| critical::arguments(Some(schema), SinkKind::ExternalSend);
    let (before, after) = (found(before), found(after));
    for pointer in after.difference(&before) {
        let path = format!("input{pointer}");
        drift.add(&path, "critical argument added", AuthorityWidening);
    }
}

fn compare_output(a: &CapabilityDraft, b: &CapabilityDraft, drift: &mut Drift) {
    match (&a.output_schema, &b.output_schema) {
        (Some(before), Some(after)) => schema::compare(before, after, SchemaSide::Output, drift),
        (None, Some(_)) => drift.add("output", "output schema added", Compatible),
        (Some(_), None) => drift.add("output", "output schema removed", Breaking),
        (None, None) => {}
    }
    match (a.allowed_fields.is_empty(), b.allowed_fields.is_empty()) {
        (true, false) => drift.add("allowed_fields", "shown fields restricted", Breaking),
        (false, true) => drift.add("allowed_fields", "every field shown", AuthorityWidening),
        _ => compare_sets(FIELDS, &a.allowed_fields, &b.allowed_fields, drift),
    }
}

fn compare_execution(a: &CapabilityDraft, b: &CapabilityDraft, drift: &mut Drift) {
    if !a.idempotent && b.idempotent {
        drift.add("idempotent", "claims that it can be repeated", AuthorityWidening);
    } else if a.idempotent != b.idempotent {
        drift.add("idempotent", "no longer says that it can be repeated", Compatible);
    }
    if b.max_retries > a.max_retries {
        drift.add("max_retries", "more attempts", AuthorityWidening);
    } else if b.max_retries < a.max_retries {
        drift.add("max_retries", "fewer attempts", Compatible);
    }
    if b.timeout_ms > a.timeout_ms {
        drift.add("timeout_ms", "longer timeout", Compatible);
    } else if b.timeout_ms < a.timeout_ms {
        drift.add("timeout_ms", "shorter timeout", Breaking);
    }
}
