//! An argument of a tool.

use serde_json::Value;
use weaver_types::JsonPointer;

/// An argument, or a member of one, as its schema declares it.
pub(super) struct Argument<'s> {
    pub(super) name: &'s str,
    /// The words of its name.
    pub(super) words: Vec<String>,
    pub(super) at: JsonPointer,
    /// How many arguments it lies in.
    pub(super) depth: usize,
    /// Whether a call has to give it; a member counts by the object that it lies in.
    pub(super) required: bool,
    /// Whether the schema lists it as required; it lists none where it has no such list.
    pub(super) listed_as_required: bool,
    pub(super) schema: &'s Value,
}

impl Argument<'_> {
    /// What its schema says of it; empty if it says nothing.
    pub(super) fn description(&self) -> &str {
        self.schema.get("description").and_then(Value::as_str).unwrap_or_default()
    }

    /// The texts that its schema lets one choose from; empty where it takes any.
    pub(super) fn choices(&self) -> Vec<String> {
        let listed = self.schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        let any = self.schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        let in_any = any.filter_map(|one| one.get("enum")?.as_array()).flatten();
        listed.chain(in_any).filter_map(|one| one.as_str().map(str::to_owned)).collect()
    }

    /// Whether it takes a text or a list, as far as the schema tells.
    pub(super) fn may_be_text(&self) -> bool {
        let is_untold = self.schema.get("type").is_none() && self.schema.get("anyOf").is_none();
        is_untold || self.is_of_type("string") || self.is_of_type("array")
    }

    fn is_of_type(&self, kind: &str) -> bool {
        match self.schema.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
            Some(one) => one == kind,
            None => {
                let any = self.schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
                any.into_iter().any(|one| one.get("type").is_some_and(|one| one == kind))
            }
        }
    }

    /// Whether it is a switch.
    pub(super) fn is_boolean(&self) -> bool {
        self.is_of_type("boolean")
    }

    /// Whether it is a text.
    pub(super) fn is_text(&self) -> bool {
        self.is_of_type("string")
    }

    /// Whether the schema lists its values.
    pub(super) fn is_listed(&self) -> bool {
        self.schema.get("enum").is_some()
    }

    /// Whether the schema declares members of it.
    pub(super) fn has_members(&self) -> bool {
        let of = |schema: &Value| schema.get("properties").is_some_and(Value::is_object);
        of(self.schema) || self.schema.get("items").is_some_and(of)
    }
}
