//! Which arguments are critical where nobody declared them: those that say to whom, where, which and
//! how much.
//!
//! A declared list counts alone. Without one, the schema is read:
//!
//! | what an argument is | words at the end of its name | critical at |
//! |---|---|---|
//! | a recipient | to, cc, bcc, recipient, participant, attendee, invitee, member, user, channel, list, peer, via, … | every sink |
//! | an e-mail address | email, mail, mailbox | every sink |
//! | a place in a network | url, uri, link, host, domain, server, endpoint, webhook, … | every sink |
//! | a path | path, file, filename, folder, directory, attachment | every sink |
//! | an account | account, iban, bic, card, wallet | every sink |
//! | an amount | amount, price, sum, total, fee, cost, quantity | every sink |
//! | an identifier | id, uuid, key, reference, number, code | every sink |
//! | a secret | password, passphrase, secret, pin, token, credential | every sink |
//! | anything else | but no text for people (subject, body, title, …), no moment (date, time, …), no switch | payment, credential, destructive |
//!
//! A sink without a schema has one critical argument: all of them.

mod declaration;
mod role;

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use weaver_types::{Pointer, SinkKind};

pub(crate) use declaration::{Declaration, declaration};
pub use role::{Role, role};

/// How deep a schema is read.
const MAX_DEPTH: usize = 5;
/// How many schemas are read in one input schema.
const MAX_READ: usize = 512;

/// The critical arguments of a capability that declares none. Nothing is critical where nothing
/// leaves. What is too deep or too large to be read is critical as a whole.
///
/// ```
/// use serde_json::json;
/// use weaver_policy::critical;
/// use weaver_types::{Pointer, SinkKind};
///
/// let schema = json!({ "properties": { "to": { "type": "string" }, "body": { "type": "string" } } });
/// let found = critical::arguments(Some(&schema), SinkKind::ExternalSend);
/// assert_eq!(found, [Pointer::parse("/to")?].into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn arguments(schema: Option<&Value>, sink: SinkKind) -> BTreeSet<Pointer> {
    let mut out = BTreeSet::new();
    if sink == SinkKind::None {
        return out;
    }
    let known = schema.and_then(Value::as_object).filter(|schema| declares_members(schema));
    let Some(root) = known else {
        out.extend(Pointer::parse("").ok());
        return out;
    };
    let mut reader = SchemaReader { root, strict: is_strict(sink), left: MAX_READ, out };
    reader.object(root, "", 0);
    reader.out
}

/// Whether the argument of this name is critical at such a sink, by its name alone.
#[must_use]
pub fn is_critical(name: &str, sink: SinkKind) -> bool {
    match role(name) {
        Role::Text | Role::Moment | Role::Switch => false,
        Role::Other => is_strict(sink),
        _ => sink != SinkKind::None,
    }
}

/// Whether an argument of this name holds a path: a name for files and folders, or for the two ends
/// of a copy.
///
/// ```
/// use weaver_policy::critical::names_path;
///
/// assert!(names_path("repo_path") && names_path("destination") && !names_path("title"));
/// ```
#[must_use]
pub fn names_path(name: &str) -> bool {
    const ENDS: [&str; 6] = ["source", "destination", "target", "dest", "src", "dst"];
    role(name) == Role::Path || ENDS.contains(&name)
}

/// Whether only the user's own words release what flows into it.
#[must_use]
pub fn is_strict(sink: SinkKind) -> bool {
    matches!(sink, SinkKind::Payment | SinkKind::Credential | SinkKind::Destructive)
}

/// Whether a declared place covers this one. Both are given by their parts, unescaped.
#[must_use]
pub fn covers<S: AsRef<str>>(declared: &Pointer, parts: &[S]) -> bool {
    let mut parts = parts.iter();
    declared.as_str().split('/').skip(1).all(|wanted| {
        let found = parts.next().map(AsRef::as_ref);
        wanted == "*" && found.is_some()
            || found.is_some_and(|found| {
                wanted == found || wanted.replace("~1", "/").replace("~0", "~") == found
            })
    })
}

fn declares_members(schema: &Map<String, Value>) -> bool {
    ["properties", "anyOf", "oneOf", "allOf", "$ref"].iter().any(|key| schema.contains_key(*key))
        || schema.get("additionalProperties") == Some(&Value::Bool(false))
        || schema.get("type").is_some_and(|kind| kind == "object") && schema.len() == 1
}

/// Reads a schema for the places that are critical.
struct SchemaReader<'s> {
    root: &'s Map<String, Value>,
    strict: bool,
    left: usize,
    out: BTreeSet<Pointer>,
}

impl<'s> SchemaReader<'s> {
    /// Notes a place; one that cannot be written is covered by all.
    fn mark_critical(&mut self, at: &str) {
        self.out.extend(Pointer::parse(at).or_else(|_| Pointer::parse("")).ok());
    }

    /// Reads the members of an object, and of what it is made of.
    fn object(&mut self, schema: &'s Map<String, Value>, at: &str, depth: usize) {
        if depth > MAX_DEPTH || self.left == 0 {
            return self.mark_critical(at);
        }
        self.left = self.left.saturating_sub(1);
        for (name, member) in
            schema.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let below = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            self.member(name, member, &below, depth);
        }
        self.subschemas(schema, at, depth);
    }

    /// Reads the schemas that this one is made of, and its items.
    fn subschemas(&mut self, schema: &'s Map<String, Value>, at: &str, depth: usize) {
        for key in ["anyOf", "oneOf", "allOf"] {
            for one in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
                if let Some(one) = one.as_object() {
                    self.object(one, at, depth.saturating_add(1));
                }
            }
        }
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            let found = name.strip_prefix('#').and_then(|name| Pointer::parse(name).ok());
            let found = found.and_then(|name| resolve(self.root, name.as_str()));
            match found {
                Some(found) => self.object(found, at, depth.saturating_add(1)),
                None => self.mark_critical(at),
            }
        }
        for key in ["items", "additionalProperties"] {
            if let Some(items) = schema.get(key).and_then(Value::as_object) {
                self.object(items, &format!("{at}/*"), depth.saturating_add(1));
            }
        }
    }

    fn member(&mut self, name: &str, schema: &'s Value, at: &str, depth: usize) {
        let kind = schema.get("type").and_then(Value::as_str);
        let critical = match role(name) {
            Role::Text | Role::Moment | Role::Switch => false,
            Role::Other => self.strict && kind != Some("boolean") && !has_members(schema),
            _ => kind != Some("boolean"),
        };
        match schema.as_object() {
            _ if critical => self.mark_critical(at),
            Some(schema) => self.object(schema, at, depth.saturating_add(1)),
            None => {}
        }
    }
}

fn has_members(schema: &Value) -> bool {
    schema.get("properties").is_some_and(Value::is_object)
        || schema.get("items").is_some_and(has_members)
        || schema.get("$ref").is_some()
}

/// The schema of this place in the whole one.
fn resolve<'s>(root: &'s Map<String, Value>, at: &str) -> Option<&'s Map<String, Value>> {
    let mut names = at.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~"));
    let Some(first) = names.next() else { return Some(root) };
    let first = root.get(&first)?;
    names.try_fold(first, |value, name| value.get(&name))?.as_object()
}

#[cfg(test)]
mod tests;
