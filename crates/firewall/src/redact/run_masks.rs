//! The masks that a redactor writes in a run, and what leads back from them to values.

use std::sync::Arc;

use serde_json::{Number, Value};
use weaver_types::ValueFamily;

use super::engine::{DISCLOSED_VALUE_RULE, PERSONAL_FIELD_RULE, SECRET_FIELD_RULE};
use super::field_names::HiddenBy;
use super::mask_table::{
    DisclosedValues, MaskTable, ResolvedArguments, ValueForm, ValueSource, ValueToMask,
};
use super::mask_table_version::MaskTableVersion;
use super::secrets::{self, SecretKind};
use super::{Counts, Disclosure, Redactor};

/// The masks of a run, as they apply to one result.
#[derive(Debug, Clone)]
pub(super) struct RunMasks {
    pub(super) table: Arc<MaskTable>,
    pub(super) source: Option<Arc<ValueSource>>,
    /// Values that calls have received before.
    pub(super) disclosed_values: Option<Arc<DisclosedValues>>,
    /// Which text that looks like a mask is masked.
    pub(super) lookalikes: Lookalikes,
    /// Whether disclosed values are recognised, and every value gets the plain mask.
    pub(super) plain: bool,
}

/// Which text that looks like a mask is masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookalikes {
    /// All of it: only this redactor writes masks.
    All,
    /// All but the plain mask, which a driver may have written and which stands for nothing.
    AllButPlain,
    /// None: the text was redacted with the same masks.
    None,
}

impl Redactor {
    /// This redactor with the masks of a run, for values from this source.
    pub(crate) fn with_masks(&self, table: Arc<MaskTable>, source: Option<ValueSource>) -> Self {
        let (disclosed_values, source) = (table.disclosed_values(), source.map(Arc::new));
        let lookalikes = Lookalikes::All;
        let masks = Some(RunMasks { table, source, disclosed_values, lookalikes, plain: false });
        Self { masks, ..self.clone() }
    }

    /// This redactor, which also recognises the values of a run that were disclosed to calls. It
    /// masks them plainly: a question of a server is a call too, in which a mask would resolve.
    pub(crate) fn with_disclosed_values(&self, table: Arc<MaskTable>) -> Self {
        let masks = self.with_masks(table, None).masks;
        let masks = masks.map(|m| RunMasks { lookalikes: Lookalikes::None, plain: true, ..m });
        Self { masks, ..self.clone() }
    }

    /// This redactor with the plain mask for every value.
    pub(crate) fn without_masks(&self) -> Self {
        Self { masks: None, ..self.clone() }
    }

    /// This redactor for text that was redacted before: the masks in it are kept.
    pub(crate) fn for_redacted_text(&self) -> Self {
        self.with_lookalikes(Lookalikes::None)
    }

    /// This redactor for text that a driver may have redacted: plain masks in it are kept.
    pub(crate) fn for_driver_text(&self) -> Self {
        self.with_lookalikes(Lookalikes::AllButPlain)
    }

    pub(super) fn with_lookalikes(&self, lookalikes: Lookalikes) -> Self {
        let masks = self.masks.clone().map(|masks| RunMasks { lookalikes, ..masks });
        Self { masks, ..self.clone() }
    }

    /// The masks that lead back to values, if it writes such.
    pub(super) fn numbered_masks(&self) -> Option<&RunMasks> {
        self.masks.as_ref().filter(|masks| !masks.plain)
    }

    /// True if masks lead back to values, and so differ between runs.
    pub(crate) fn has_masks(&self) -> bool {
        self.numbered_masks().is_some()
    }

    /// The masks that it would write; `None` for the plain mask, which is the same in every run.
    pub(crate) fn mask_table_version(&self) -> Option<MaskTableVersion> {
        let RunMasks { table, disclosed_values, .. } = self.masks.as_ref()?;
        Some(MaskTableVersion::new(table, disclosed_values.as_ref()))
    }

    pub(super) fn disclosed_values(&self) -> Option<&DisclosedValues> {
        self.masks.as_ref().and_then(|masks| masks.disclosed_values.as_deref())
    }

    /// The mask of a value that a rule found; `None` if there is no table or it is full.
    pub(super) fn mask_for(&self, rule: usize, form: ValueForm, text: &str) -> Option<String> {
        let RunMasks { table, disclosed_values, .. } = self.numbered_masks()?;
        if rule == DISCLOSED_VALUE_RULE {
            return table.mask_disclosed(text, disclosed_values.as_deref()?);
        }
        let family = match rule {
            PERSONAL_FIELD_RULE => ValueFamily::Personal,
            _ => self.engine()?.family(rule),
        };
        self.mask_value(ValueToMask { kind: self.kind_of_rule(rule), family, form, text })
    }

    /// The mask of a value. Personal data in which a secret is found counts as a secret: its mask
    /// goes only where that of the secret alone may go.
    pub(super) fn mask_value(&self, value: ValueToMask<'_>) -> Option<String> {
        let RunMasks { table, source, .. } = self.numbered_masks()?;
        let mut value = value.without_quotes();
        let is_personal = value.family == ValueFamily::Personal;
        if is_personal && table.would_add(&value) && self.has_secret(value) {
            value.family = ValueFamily::Secret;
        }
        table.mask(&value, source.as_deref())
    }

    /// True if something of the value stays hidden where all personal data may be seen.
    pub(super) fn has_secret(&self, value: ValueToMask<'_>) -> bool {
        let Some(value) = value.to_json() else { return true };
        let shown = self.without_masks().with_disclosure(Disclosure::Personal);
        shown.redact_value(&value, &mut Counts::new()) != value
    }

    /// The mask of a value that is hidden because of its field name. If a rule recognises the whole
    /// value, the mask has that rule's kind.
    pub(crate) fn mask_field(&self, value: &Value, by: HiddenBy) -> Option<String> {
        self.numbered_masks()?;
        let token;
        let (form, text) = match value {
            Value::String(text) => (ValueForm::Text, text.as_str()),
            other => {
                token = other.to_string();
                (ValueForm::Json, token.as_str())
            }
        };
        if form == ValueForm::Text
            && let [span] = self.value_spans(text).as_slice()
            && span.range == (0..text.len())
        {
            return Some(self.redact_text(text, &mut Counts::new()).into_owned());
        }
        let (kind, family) = (self.kind_of_rule(SECRET_FIELD_RULE), by.family());
        self.mask_value(ValueToMask { kind, family, form, text })
    }

    /// The mask of a text that is a secret because its field has a name of this kind.
    pub(crate) fn mask_named_secret(&self, text: &str, name: SecretKind) -> Option<String> {
        let (kind, family) = (Arc::from(secrets::kind_of_value(name)), ValueFamily::Secret);
        self.mask_value(ValueToMask { kind: &kind, family, form: ValueForm::Text, text })
    }

    /// The mask of a number that is a JSON value.
    pub(crate) fn mask_number(&self, number: &Number) -> Option<String> {
        let text = number.to_string();
        let rule = match self.detect_in_short_text(&text).as_slice() {
            [one] => one.rule,
            _ => SECRET_FIELD_RULE,
        };
        self.mask_for(rule, ValueForm::Json, &text)
    }

    /// True for a mask of this run in text that was redacted before.
    pub(crate) fn is_mask_of_run(&self, text: &str) -> bool {
        let is_own = |masks: &RunMasks| {
            masks.lookalikes == Lookalikes::None && masks.table.contains_mask(text)
        };
        text.starts_with('[') && self.numbered_masks().is_some_and(is_own)
    }

    /// Called when the value of the last mask turns out to continue: the mask must not resolve to a
    /// part of it.
    pub(super) fn forget_value(&self, mask: &str) {
        if let Some(masks) = &self.masks {
            masks.table.forget_value(mask);
        }
    }

    /// True if values were disclosed to calls.
    pub(crate) fn has_disclosed_values(&self) -> bool {
        self.disclosed_values().is_some()
    }

    /// True if the whole text, such as a number, is a value that was disclosed.
    pub(crate) fn is_disclosed_value(&self, text: &str) -> bool {
        self.disclosed_values().is_some_and(|known| known.contains(text))
    }

    /// Replaces masks in arguments by their values.
    pub(crate) fn resolve(&self, arguments: &Value) -> ResolvedArguments {
        let is_kind = |kind: &[u8]| self.engine().is_some_and(|engine| engine.is_known_kind(kind));
        match &self.masks {
            Some(masks) => masks.table.resolve(arguments, &is_kind),
            None => MaskTable::new().resolve(arguments, &is_kind),
        }
    }
}
