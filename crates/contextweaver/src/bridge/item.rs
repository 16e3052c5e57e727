//! Turns a plan into items of a compiled context.

use weaver_types::Label;

use super::plan::InjectionPlan;
use crate::compile::ContextItem;

/// One item of a compiled context, made from an entry of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompiledContextItem {
    /// `pack:<pack>/<entry>`.
    pub id: String,
    /// The id of the pack.
    pub pack: String,
    /// The version of the pack.
    pub version: String,
    /// The id of the entry within the pack.
    pub entry: String,
    /// The text that is shown.
    pub text: String,
    /// The tokens of the text; `None` only if they could not be counted, and no plan shows such an item.
    pub tokens: Option<usize>,
    /// The label of the pack.
    pub label: Label,
    /// Where the pack came from.
    pub source: String,
    /// Whether the item must be shown.
    pub required: bool,
}

impl From<CompiledContextItem> for ContextItem {
    /// A document item with the label of the pack; pack and source become metadata.
    fn from(item: CompiledContextItem) -> Self {
        Self::doc(item.id, item.text)
            .with_label(item.label)
            .with_metadata("pack", item.pack)
            .with_metadata("pack_version", item.version)
            .with_metadata("source", item.source)
    }
}

/// The items of a plan in the order in which they are shown, with their labels, sources and token
/// counts.
///
/// ```
/// use contextweaver::bridge::{
///     ContextEnvelope, ContextInjector, DecisionResolver, DecisionSpec, Pack, PackStore,
///     injection_plan_to_compiled_items,
/// };
/// use contextweaver::text::token::CharsPerFour;
///
/// let mut resolver = DecisionResolver::new();
/// let key = "support.context.injection.v1";
/// resolver.declare(DecisionSpec::new(key, 400).with_required_pack("support.macros"))?;
/// let mut store = PackStore::new();
/// store.add(Pack::new("support.macros", "vault/macros.md").with_entry("tone", "Be brief."))?;
///
/// let spec = resolver.resolve(key)?;
/// let injector = ContextInjector::new(&CharsPerFour);
/// let plan = injector.build_plan(spec, &ContextEnvelope::default(), &store)?;
/// let items = injection_plan_to_compiled_items(&plan);
/// assert_eq!((items[0].id.as_str(), items[0].text.as_str()), ("pack:support.macros/tone", "Be brief."));
/// # Ok::<(), contextweaver::bridge::BridgeError>(())
/// ```
#[must_use]
pub fn injection_plan_to_compiled_items(plan: &InjectionPlan) -> Vec<CompiledContextItem> {
    plan.items.clone()
}

pub(super) fn entry_id(pack: &str, entry: &str) -> String {
    format!("{pack}/{entry}")
}
