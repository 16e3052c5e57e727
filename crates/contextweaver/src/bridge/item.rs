//! What a plan comes to: items for a compiled context.

use weaver_types::Label;

use super::plan::InjectionPlan;
use crate::compile::ContextItem;

/// One item of a compiled context that came out of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompiledContextItem {
    /// `pack:<pack>/<entry>`.
    pub id: String,
    /// The pack.
    pub pack: String,
    /// Its version.
    pub version: String,
    /// The entry within it.
    pub entry: String,
    /// What is shown.
    pub text: String,
    /// Its tokens; `None` only where they could not be counted, which no plan shows.
    pub tokens: Option<usize>,
    /// The label of the pack.
    pub label: Label,
    /// Where the pack came from.
    pub source: String,
    /// Whether it must be shown.
    pub required: bool,
}

impl From<CompiledContextItem> for ContextItem {
    /// A document of the compiler, under the same label; pack and source are its metadata.
    fn from(item: CompiledContextItem) -> Self {
        Self::doc(item.id, item.text)
            .with_label(item.label)
            .with_metadata("pack", item.pack)
            .with_metadata("pack_version", item.version)
            .with_metadata("source", item.source)
    }
}

/// The items of a plan, in the order in which they are shown: labels, sources and counts carry
/// over.
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
/// resolver.declare(DecisionSpec::new(key, 400).requires("support.macros"))?;
/// let mut store = PackStore::new();
/// store.add(Pack::new("support.macros", "vault/macros.md").with("tone", "Be brief."))?;
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
