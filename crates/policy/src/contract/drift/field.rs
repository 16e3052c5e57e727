//! The fields of a capability, one by one.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_types::{Agents, Capability, CapabilityDraft, SinkKind};

use super::schema::{self, SchemaSide};
use super::{Drift, DriftClass};
use crate::critical;

use DriftClass::{AuthorityWidening, Breaking, Compatible, Documentation};

pub(super) fn compare(before: &Capability, after: &Capability, drift: &mut Drift) {
    let (a, b) = (before.spec(), after.spec());
    texts(a, b, drift);
    authority(a, b, drift);
    input(a, b, drift);
    output(a, b, drift);
    execution(a, b, drift);
    if a.upstream_digest.is_some() != b.upstream_digest.is_some() {
        drift.add("upstream", "described by somebody else", AuthorityWidening);
    } else if drift.is_empty() && a.upstream_digest != b.upstream_digest {
        drift.add("upstream", "annotations or instructions of the server changed", Documentation);
    } else if drift.is_empty() && before.fingerprint() != after.fingerprint() {
        drift.add("schemas", "written otherwise, with the same meaning", Documentation);
    }
}

fn texts(a: &CapabilityDraft, b: &CapabilityDraft, drift: &mut Drift) {
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

/// What decides who may call it, and under which rules.
fn authority(a: &CapabilityDraft, b: &CapabilityDraft, drift: &mut Drift) {
    if !b.effects.within(a.effects) {
        drift.add("effects", "effects widened", AuthorityWidening);
    } else if a.effects != b.effects {
        drift.add("effects", "effects claimed to be lower", AuthorityWidening);
    }
    set(PERMISSIONS, &a.permissions, &b.permissions, drift);
    set(SCOPES, &a.identity_scopes, &b.identity_scopes, drift);
    set(TAGS, &a.tags, &b.tags, drift);
    set(SENSITIVITY, &a.sensitivity, &b.sensitivity, drift);
    match (&a.agents, &b.agents) {
        (Agents::Any, Agents::Only(_)) => {
            drift.add("agents", "agents restricted", Breaking);
        }
        (Agents::Only(_), Agents::Any) => {
            drift.add("agents", "open to every agent", AuthorityWidening);
        }
        (Agents::Only(a), Agents::Only(b)) => set(AGENTS, a, b, drift),
        (Agents::Any, Agents::Any) => {}
    }
}

/// How an addition to a set and a removal from it are reported.
struct SetChange {
    place: &'static str,
    added: (&'static str, DriftClass),
    removed: (&'static str, DriftClass),
}

const PERMISSIONS: SetChange = SetChange {
    place: "permissions",
    added: ("permission added", Breaking),
    removed: ("permission no longer needed", AuthorityWidening),
};
const SCOPES: SetChange = SetChange {
    place: "identity_scopes",
    added: ("identity scope added", AuthorityWidening),
    removed: ("identity scope no longer needed", Compatible),
};
const TAGS: SetChange = SetChange {
    place: "tags",
    added: ("tag added", AuthorityWidening),
    removed: ("tag removed", AuthorityWidening),
};
const SENSITIVITY: SetChange = SetChange {
    place: "sensitivity",
    added: ("sensitive data added", Breaking),
    removed: ("sensitive data no longer declared", AuthorityWidening),
};
const AGENTS: SetChange = SetChange {
    place: "agents",
    added: ("agent added", AuthorityWidening),
    removed: ("agent removed", Breaking),
};
const FIELDS: SetChange = SetChange {
    place: "allowed_fields",
    added: ("shown field added", AuthorityWidening),
    removed: ("shown field removed", Breaking),
};

fn set<T: Ord>(change: SetChange, a: &BTreeSet<T>, b: &BTreeSet<T>, drift: &mut Drift) {
    let SetChange { place, added, removed } = change;
    b.difference(a).for_each(|_| drift.add(place, added.0, added.1));
    a.difference(b).for_each(|_| drift.add(place, removed.0, removed.1));
}

fn input(a: &CapabilityDraft, b: &CapabilityDraft, drift: &mut Drift) {
    match (&a.input_schema, &b.input_schema) {
        (Some(before), Some(after)) => {
            schema::compare(before, after, SchemaSide::Input, drift);
            new_arguments(before, after, drift);
        }
        (None, Some(_)) => drift.add("input", "input schema added", Breaking),
        (Some(_), None) => drift.add("input", "input schema removed", AuthorityWidening),
        (None, None) => {}
    }
}

/// A new argument by which is said to whom, where, which or how much.
fn new_arguments(before: &Value, after: &Value, drift: &mut Drift) {
    let found = |schema| critical::arguments(Some(schema), SinkKind::ExternalSend);
    let (before, after) = (found(before), found(after));
    for pointer in after.difference(&before) {
        let place = format!("input{pointer}");
        drift.add(&place, "critical argument added", AuthorityWidening);
    }
}

fn output(a: &CapabilityDraft, b: &CapabilityDraft, drift: &mut Drift) {
    match (&a.output_schema, &b.output_schema) {
        (Some(before), Some(after)) => schema::compare(before, after, SchemaSide::Output, drift),
        (None, Some(_)) => drift.add("output", "output schema added", Compatible),
        (Some(_), None) => drift.add("output", "output schema removed", Breaking),
        (None, None) => {}
    }
    match (a.allowed_fields.is_empty(), b.allowed_fields.is_empty()) {
        (true, false) => drift.add("allowed_fields", "shown fields restricted", Breaking),
        (false, true) => drift.add("allowed_fields", "every field shown", AuthorityWidening),
        _ => set(FIELDS, &a.allowed_fields, &b.allowed_fields, drift),
    }
}

fn execution(a: &CapabilityDraft, b: &CapabilityDraft, drift: &mut Drift) {
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
