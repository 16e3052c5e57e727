//! The payload of a `log.pruned` event.

use serde_json::{Value, json};
use weaver_types::EventKind;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Batch, LedgerError, MAX_BATCH_PRUNE};

/// The version of the note, in its field `v`.
pub const PRUNING_NOTE_VERSION: u64 = 1;
/// The longest name of whoever pruned, in characters.
pub const MAX_PRUNED_BY_CHARS: usize = 200;

/// Why payloads were removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PruneReason {
    /// They were old enough.
    Age,
    /// They belonged to a principal.
    Principal,
    /// They had a tag.
    Tag,
    /// They were of an event kind.
    Kind,
}

weaver_types::words! {
    PruneReason: "The stable text.",
    all "All of them.",
    parse "Parses the stable text.";
    Age = "age", Principal = "principal", Tag = "tag", Kind = "kind",
}

/// The payload of a `log.pruned` event: canonical JSON with the fields `v`, `ranges`, `reason`,
/// `by`.
///
/// The event is never pruned itself, so it must not reveal what was to be forgotten: `reason` says
/// that a principal was the reason, not which one, and `by` is who removed the payloads.
///
/// ```
/// use weaver_trace_store::prune::{PruningNote, PruneReason};
///
/// let note = PruningNote::new(vec![7, 4, 5], PruneReason::Age, "operator")?;
/// assert_eq!(note.ranges(), [(4, 5), (7, 7)]);
/// let bytes = note.to_bytes()?;
/// assert_eq!(bytes, br#"{"by":"operator","ranges":[[4,5],[7,7]],"reason":"age","v":1}"#);
/// assert_eq!(PruningNote::parse(&bytes)?, note);
/// # Ok::<(), weaver_trace_store::prune::PruningNoteError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruningNote {
    ranges: Vec<(u64, u64)>,
    reason: PruneReason,
    by: String,
}

/// Bytes or values that are not a note of this version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PruningNoteError {
    /// The bytes are not the canonical JSON of a note.
    #[error("the note on pruned payloads is not in its canonical form")]
    Form,
    /// A field is missing, malformed or unknown.
    #[error("field `{0}` of the note on pruned payloads is missing, unknown or malformed")]
    Field(&'static str),
    /// A later version.
    #[error(
        "the note on pruned payloads has version {found}, this build knows up to {PRUNING_NOTE_VERSION}"
    )]
    Newer {
        /// The version found.
        found: u64,
    },
}

impl PruningNoteError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Form => "pruned.form",
            Self::Field(_) => "pruned.field",
            Self::Newer { .. } => "pruned.newer",
        }
    }
}

impl PruningNote {
    /// A note that names these events, given in any order.
    ///
    /// # Errors
    /// [`PruningNoteError::Field`], when there are none or more than [`MAX_BATCH_PRUNE`], when one
    /// is named twice, or when `by` is empty, longer than [`MAX_PRUNED_BY_CHARS`] or contains
    /// control characters.
    pub fn new(
        mut seqs: Vec<u64>,
        reason: PruneReason,
        by: impl Into<String>,
    ) -> Result<Self, PruningNoteError> {
        seqs.sort_unstable();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for seq in seqs {
            match ranges.last_mut() {
                Some((_, last)) if *last == seq => return Err(PruningNoteError::Field("ranges")),
                Some((_, last)) if last.checked_add(1) == Some(seq) => *last = seq,
                _ => ranges.push((seq, seq)),
            }
        }
        Self { ranges, reason, by: by.into() }.validated()
    }

    /// First and last of each range of events, ascending, with a gap between any two.
    #[must_use]
    pub fn ranges(&self) -> &[(u64, u64)] {
        &self.ranges
    }

    /// The reason.
    #[must_use]
    pub fn reason(&self) -> PruneReason {
        self.reason
    }

    /// Who removed them.
    #[must_use]
    pub fn by(&self) -> &str {
        &self.by
    }

    /// The number of events it names.
    #[must_use]
    pub fn count(&self) -> u64 {
        let lengths = self.ranges.iter().map(|(first, last)| last.saturating_sub(*first));
        lengths.fold(0, |sum, length| sum.saturating_add(length).saturating_add(1))
    }

    /// Whether it names this event.
    #[must_use]
    pub fn names(&self, seq: u64) -> bool {
        let after = self.ranges.partition_point(|(first, _)| *first <= seq);
        let before = after.checked_sub(1).and_then(|index| self.ranges.get(index));
        before.is_some_and(|(_, last)| seq <= *last)
    }

    /// The canonical bytes.
    ///
    /// # Errors
    /// [`PruningNoteError::Form`], when a number lies beyond 2^53.
    pub fn to_bytes(&self) -> Result<Vec<u8>, PruningNoteError> {
        let note = json!({
            "v": PRUNING_NOTE_VERSION,
            "ranges": self.ranges,
            "reason": self.reason.as_str(),
            "by": self.by,
        });
        canonical::to_bytes(&note, Profile::Record).map_err(|_| PruningNoteError::Form)
    }

    /// Parses the canonical bytes, and nothing else.
    ///
    /// # Errors
    /// [`PruningNoteError`], when they are not what [`PruningNote::to_bytes`] writes.
    pub fn parse(bytes: &[u8]) -> Result<Self, PruningNoteError> {
        let note = canonical::parse(bytes, Profile::Record).map_err(|_| PruningNoteError::Form)?;
        let version = note.get("v").and_then(Value::as_u64).ok_or(PruningNoteError::Field("v"))?;
        if version > PRUNING_NOTE_VERSION {
            return Err(PruningNoteError::Newer { found: version });
        }
        let text =
            |name| note.get(name).and_then(Value::as_str).ok_or(PruningNoteError::Field(name));
        let ranges = note.get("ranges").and_then(Value::as_array);
        let ranges = ranges.ok_or(PruningNoteError::Field("ranges"))?.iter().map(range);
        let note = Self {
            ranges: ranges.collect::<Option<_>>().ok_or(PruningNoteError::Field("ranges"))?,
            reason: PruneReason::parse(text("reason")?).ok_or(PruningNoteError::Field("reason"))?,
            by: text("by")?.to_owned(),
        }
        .validated()?;
        if note.to_bytes()? == bytes { Ok(note) } else { Err(PruningNoteError::Form) }
    }

    fn validated(self) -> Result<Self, PruningNoteError> {
        let most = u64::try_from(MAX_BATCH_PRUNE).unwrap_or(u64::MAX);
        let mut before = None;
        for (first, last) in &self.ranges {
            let apart = before.is_none_or(|before: u64| *first > before.saturating_add(1));
            if first > last || !apart {
                return Err(PruningNoteError::Field("ranges"));
            }
            before = Some(*last);
        }
        if self.ranges.is_empty() || self.count() > most {
            return Err(PruningNoteError::Field("ranges"));
        }
        let long = self.by.chars().count() > MAX_PRUNED_BY_CHARS;
        if self.by.is_empty() || long || self.by.chars().any(char::is_control) {
            return Err(PruningNoteError::Field("by"));
        }
        Ok(self)
    }
}

fn range(value: &Value) -> Option<(u64, u64)> {
    match value.as_array()?.as_slice() {
        [first, last] => Some((first.as_u64()?, last.as_u64()?)),
        _ => None,
    }
}

/// The events that a batch prunes, sorted. Refused unless its notes name exactly these.
pub(crate) fn pruned_by_batch(batch: &Batch) -> Result<Vec<u64>, LedgerError> {
    let refuse = |what: String| Err(LedgerError::Malformed(what));
    let mut noted = Vec::new();
    for event in batch.events.iter().filter(|event| event.kind == EventKind::Pruned) {
        let note = PruningNote::parse(&event.payload)
            .map_err(|error| LedgerError::Malformed(error.to_string()))?;
        noted.extend(note.ranges.iter().flat_map(|(first, last)| *first..=*last));
        if noted.len() > MAX_BATCH_PRUNE {
            return refuse(format!("it prunes more than {MAX_BATCH_PRUNE} events"));
        }
    }
    if batch.prune.len() > MAX_BATCH_PRUNE {
        let count = batch.prune.len();
        return refuse(format!("it prunes {count} events, at most {MAX_BATCH_PRUNE}"));
    }
    let mut prune = batch.prune.clone();
    prune.sort_unstable();
    noted.sort_unstable();
    if prune != noted {
        return refuse(
            "its events of the kind log.pruned do not name exactly what it prunes".to_owned(),
        );
    }
    if prune.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
        return refuse("it prunes an event twice".to_owned());
    }
    Ok(prune)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_is_read() {
        let note = PruningNote::new(vec![0, 1, 2, 9], PruneReason::Tag, "a").unwrap();
        let text = String::from_utf8(note.to_bytes().unwrap()).unwrap();
        assert_eq!(text, r#"{"by":"a","ranges":[[0,2],[9,9]],"reason":"tag","v":1}"#);
        assert_eq!(PruningNote::parse(text.as_bytes()).unwrap(), note);
        assert_eq!(note.count(), 4);
        let named: Vec<u64> = (0..12).filter(|seq| note.names(*seq)).collect();
        assert_eq!(named, [0, 1, 2, 9]);
        for (from, to) in [
            ("[[0,2],[9,9]]", "[]"),
            ("[[0,2],[9,9]]", "[[9,9],[0,2]]"),
            ("[[0,2],[9,9]]", "[[0,2],[2,9]]"),
            ("[[0,2],[9,9]]", "[[0,2],[3,9]]"),
            ("[[0,2],[9,9]]", "[[0,2,3]]"),
            ("[[0,2],[9,9]]", "[[2,0]]"),
            ("[[0,2],[9,9]]", "[[0,1024]]"),
            ("[[0,2],[9,9]]", "[[0,9007199254740991]]"),
            ("\"tag\"", "\"whim\""),
            ("\"a\"", "\"\""),
            ("\"a\"", "\"a\\n\""),
            ("\"v\":1", "\"v\":0"),
            ("\"v\":1", "\"v\":1,\"w\":1"),
            ("\"v\":1", "\"v\": 1"),
        ] {
            assert!(PruningNote::parse(text.replace(from, to).as_bytes()).is_err(), "{to}");
        }
        let newer = text.replace("\"v\":1", "\"v\":2");
        assert_eq!(PruningNote::parse(newer.as_bytes()), Err(PruningNoteError::Newer { found: 2 }));
    }

    #[test]
    fn a_note_has_bounds() {
        let most = u64::try_from(MAX_BATCH_PRUNE).unwrap();
        assert!(PruningNote::new((0..most).collect(), PruneReason::Age, "a").is_ok());
        assert!(PruningNote::new((0..=most).collect(), PruneReason::Age, "a").is_err());
        assert!(PruningNote::new(Vec::new(), PruneReason::Age, "a").is_err());
        assert!(PruningNote::new(vec![3, 3], PruneReason::Age, "a").is_err());
        assert!(
            PruningNote::new(vec![3], PruneReason::Age, "x".repeat(MAX_PRUNED_BY_CHARS + 1))
                .is_err()
        );
    }
}
