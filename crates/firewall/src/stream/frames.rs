//! Turns chunks into frames, each within its budget, and all of them together within the same
//! budget.

use serde_json::Value;
use weaver_types::{
    Frame, Handle, RawChunk, RawContent, RawResult, ResponseMode, ResultStatus, Warning,
};

use super::pending_rows::{PendingRow, PendingRows};
use super::row_window::RowWindow;
use super::stream_collector::StreamCollector;
use super::text_lines::LineSplitter;
use crate::budget::Reservation;
use crate::firewall::Firewall;
use crate::frame::{compose_frame, json_bytes, json_chars};
use crate::redact::Redactor;
use crate::spec::{EffectiveLimits, FrameSpec};

/// Characters reserved for the last frame beyond its smallest form: the handle, and the warnings
/// about the stream.
const END_FRAME_CHARS: usize = 1_000;
/// What surrounds the warnings of a frame that has any.
const WARNINGS_WRAPPER: &str = r#""warnings":,"#;
/// Tokens reserved for the last frame.
const END_FRAME_TOKENS: u32 = 500;
/// A part is worth its own frame if it has at least one eighth of the whole budget.
const MIN_PART_DIVISOR: usize = 8;
/// Rows from which on a smaller part is worth its own frame, too.
const MIN_PART_ROWS: usize = 10;

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// All chunks arrived.
    Complete,
    /// The time limit was reached first.
    TimedOut,
    /// It broke off with an error.
    Failed,
    /// The caller cancelled it.
    Cancelled,
}

impl StreamEnd {
    /// The kind of the warning in the last frame; `None` for a complete stream.
    fn warning_kind(self) -> Option<&'static str> {
        match self {
            Self::Complete => None,
            Self::TimedOut => Some("stream_timed_out"),
            Self::Failed => Some("stream_failed"),
            Self::Cancelled => Some("stream_cancelled"),
        }
    }
}

/// Builds the frames of one stream.
///
/// As a table, rows and redacted lines are shown as they arrive; as a summary or a handle, only the
/// last frame shows anything. The JSON of all frames together has at most `max_chars` characters
/// (at least [`Firewall::min_chars`] and a handle), at most `max_rows` rows, and no more tokens
/// than were reserved. What exceeds these limits is counted. Pieces of text are redacted as one
/// text, and so are the strings of each field in consecutive rows: a row waits until nothing that
/// follows can turn what it shows into a value.
///
/// Raw mode shows each chunk unredacted, as [`Firewall::frame`] does, limited by the tokens alone.
#[derive(Debug)]
pub struct FrameStream<'a> {
    firewall: Firewall,
    /// The redactor for rows that were redacted before.
    second_pass: Redactor,
    spec: FrameSpec<'a>,
    mode: ResponseMode,
    /// Characters reserved for the last frame.
    end_frame_chars: usize,
    reservation: Option<Reservation>,
    pending: PendingRows,
    collector: StreamCollector,
    chars_left: usize,
    min_part_chars: usize,
    parts: u64,
    chunks: u64,
    /// No further part fits.
    is_full: bool,
    omitted_chunks: u64,
}

impl<'a> FrameStream<'a> {
    /// A stream whose frames follow this spec, and this reservation if tokens are counted. The
    /// spec's handle is ignored; the last frame gets its own.
    #[must_use]
    pub fn new(firewall: &Firewall, spec: FrameSpec<'a>, reservation: Option<Reservation>) -> Self {
        let limits = EffectiveLimits::from_spec(&spec);
        let firewall = firewall.with_disclosure(spec.disclosure());
        let mode = match limits.mode {
            _ if spec.strict => ResponseMode::HandleOnly,
            // The whole result is not known while parts are built, so its parts are rows.
            ResponseMode::Auto => ResponseMode::Table,
            mode => mode,
        };
        Self {
            end_frame_chars: END_FRAME_CHARS + spec.capability.id().as_str().len(),
            mode,
            reservation,
            pending: pending_rows(&firewall, &limits),
            second_pass: firewall.redactor().for_redacted_text(),
            firewall,
            collector: StreamCollector::default(),
            chars_left: limits.chars,
            min_part_chars: limits.chars / MIN_PART_DIVISOR,
            parts: 0,
            chunks: 0,
            is_full: false,
            omitted_chunks: 0,
            spec: FrameSpec { handle: None, mode, ..spec },
        }
    }

    /// Takes a chunk; returns a part when there is enough to show, the first one immediately.
    pub fn push(&mut self, chunk: RawChunk) -> Option<Frame> {
        self.chunks = self.chunks.saturating_add(1);
        let frame = match self.mode {
            ResponseMode::Raw => self.unredacted_part(&chunk),
            ResponseMode::Table => {
                self.pending.push(&chunk);
                self.next_part()
            }
            ResponseMode::Auto | ResponseMode::Summary | ResponseMode::HandleOnly => None,
        };
        self.collector.push(chunk);
        frame
    }

    /// The result received so far, to be stored. If it has more than
    /// [`MAX_COLLECTED_BYTES`](crate::MAX_COLLECTED_BYTES) bytes, only its head, with the finding
    /// `stream_cut`.
    #[must_use]
    pub fn take_result(&mut self) -> RawResult {
        std::mem::take(&mut self.collector).into_raw()
    }

    /// Tokens of all parts so far; 0 if tokens are not counted.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.reservation.as_ref().map_or(0, Reservation::counted)
    }

    /// How many parts were built.
    #[must_use]
    pub fn parts(&self) -> u64 {
        self.parts
    }

    /// How many chunks arrived.
    #[must_use]
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    /// The last frame, and the reservation with all frames counted. `whole` is what
    /// [`FrameStream::take_result`] returned; the handle refers to it.
    #[must_use]
    pub fn end(
        mut self,
        end: StreamEnd,
        whole: &RawResult,
        handle: Option<&Handle>,
    ) -> (Frame, Option<Reservation>) {
        if self.mode == ResponseMode::Table {
            self.pending.finish();
        }
        let mut reserved = self.reservation.take();
        let warnings = self.end_warnings(end);
        let spec = FrameSpec { handle, ..self.spec.clone() };
        let first = self.end_frame(whole, &spec, &warnings);
        let mut frame = match &mut reserved {
            Some(reserved) => {
                reserved.fit(first, &spec, |spec| Some(self.end_frame(whole, spec, &warnings)))
            }
            None => first,
        };
        frame.status = match end {
            StreamEnd::Complete => frame.status,
            _ if self.chunks > 0 => ResultStatus::Partial,
            _ => ResultStatus::Error,
        };
        (frame, reserved)
    }

    fn end_frame(
        &self,
        whole: &RawResult,
        spec: &FrameSpec<'_>,
        end_warnings: &[Warning],
    ) -> Frame {
        let reserved_chars = json_bytes(&end_warnings) + WARNINGS_WRAPPER.len();
        let mut spec = spec.clone();
        let chars =
            self.chars_left.min(usize::try_from(spec.budget.max_chars).unwrap_or(usize::MAX));
        spec.budget.max_chars = saturating_u32(chars.saturating_sub(reserved_chars));
        spec.budget.max_rows =
            spec.budget.max_rows.min(saturating_u32(self.pending.remaining_rows()));
        let shows_rest = spec.mode == ResponseMode::Table
            && !(self.pending.is_binary() && self.parts == 0 && self.pending.rows().is_empty());
        let mut frame = if shows_rest || spec.mode == ResponseMode::Raw {
            self.table_frame(whole, &spec)
        } else {
            self.firewall.frame(whole, &spec)
        };
        merge_warnings(&mut frame.warnings, end_warnings);
        frame
    }

    /// A frame of everything not shown yet, with the status and provenance of `result`.
    fn table_frame(&self, result: &RawResult, spec: &FrameSpec<'_>) -> Frame {
        let limits = EffectiveLimits::from_spec(spec);
        compose_frame(self.firewall.redactor(), result, spec, &limits, |renderer, draft| {
            for row in self.pending.rows() {
                draft.rows.extend(match row {
                    PendingRow::Value(value) => renderer.row(value, 1),
                    PendingRow::Masked(value) => renderer.redacted_row(&self.second_pass, value, 1),
                    PendingRow::Line(line) => renderer.line(line),
                });
            }
        })
    }

    /// The warnings about the stream as a whole.
    fn end_warnings(&self, end: StreamEnd) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut push = |kind: String, count: u64| {
            if count > 0 {
                warnings.push(Warning { kind, count });
            }
        };
        for (kind, count) in self.pending.counts() {
            push(format!("redacted_{kind}"), count);
        }
        push("fields_not_joined".to_owned(), self.pending.unjoined());
        push("rows_omitted".to_owned(), self.pending.omitted());
        push("chunks_omitted".to_owned(), self.omitted_chunks);
        let ends_in_partial_char =
            self.pending.is_binary() && self.parts > 0 || self.pending.is_broken();
        push("bytes_withheld".to_owned(), ends_in_partial_char.into());
        if let Some(word) = end.warning_kind() {
            push(word.to_owned(), 1);
        }
        if json_bytes(&warnings) > END_FRAME_CHARS / 2 {
            let count =
                warnings.iter().fold(0_u64, |sum, warning| sum.saturating_add(warning.count));
            let word = end.warning_kind().unwrap_or("content_omitted").to_owned();
            warnings = vec![Warning { kind: word, count }];
        }
        warnings
    }

    /// A part with all pending rows, if it is worth a frame and fits.
    fn next_part(&mut self) -> Option<Frame> {
        let is_worth_a_frame = self.parts == 0
            || self.pending.size() >= self.min_part_chars
            || self.pending.rows().len() >= MIN_PART_ROWS;
        if self.is_full || self.pending.rows().is_empty() || !is_worth_a_frame {
            return None;
        }
        let min_chars = self.firewall.min_chars(&self.spec);
        let available_chars = self.chars_left.saturating_sub(min_chars + self.end_frame_chars);
        if available_chars < min_chars + self.min_part_chars.min(self.pending.size()) {
            self.is_full = true;
            return None;
        }
        let mut spec = self.spec.clone();
        spec.budget.max_chars = saturating_u32(available_chars);
        spec.budget.max_rows =
            spec.budget.max_rows.min(saturating_u32(self.pending.remaining_rows()));
        let mut frame = self.table_frame(&RawResult::json(Value::Null), &spec);
        frame.is_final = false;
        if !self.try_count(&frame) {
            return None;
        }
        self.pending.mark_shown(frame.table.len());
        self.parts += 1;
        self.chars_left = self.chars_left.saturating_sub(json_chars(&frame));
        Some(frame)
    }

    fn unredacted_part(&mut self, chunk: &RawChunk) -> Option<Frame> {
        if self.is_full {
            self.omitted_chunks = self.omitted_chunks.saturating_add(1);
            return None;
        }
        let content = match chunk.clone() {
            RawChunk::Json(value) => RawContent::Json(value),
            RawChunk::Text(text) => RawContent::Text(text),
            RawChunk::Bytes(bytes) => match String::from_utf8(bytes) {
                Ok(text) => RawContent::Text(text),
                Err(error) => RawContent::Binary {
                    media_type: "application/octet-stream".to_owned(),
                    bytes: error.into_bytes(),
                },
            },
        };
        let raw = RawResult { content, ..RawResult::text("") };
        let mut frame = self.firewall.frame(&raw, &self.spec);
        frame.is_final = false;
        if !self.try_count(&frame) {
            self.omitted_chunks = self.omitted_chunks.saturating_add(1);
            return None;
        }
        self.parts += 1;
        Some(frame)
    }

    /// Counts a part if tokens are counted and it fits.
    fn try_count(&mut self, frame: &Frame) -> bool {
        let Some(reserved) = &mut self.reservation else { return true };
        let fits = reserved.try_count(frame, END_FRAME_TOKENS);
        if fits {
            // The part is sent now, so it is charged whatever happens to the rest of the stream.
            reserved.charge_counted();
        }
        self.is_full |= !fits;
        fits
    }
}

fn pending_rows(firewall: &Firewall, limits: &EffectiveLimits) -> PendingRows {
    let names = limits.field_name_classifier().with_disclosure(firewall.redactor().disclosure());
    let rows = RowWindow::new(firewall.shared_redactor(), names);
    PendingRows::new(LineSplitter::new(firewall.stream_redactor()), rows, limits.rows)
}

/// Adds warnings, merging those of the same kind.
fn merge_warnings(warnings: &mut Vec<Warning>, added: &[Warning]) {
    for more in added {
        match warnings.iter_mut().find(|warning| warning.kind == more.kind) {
            Some(warning) => warning.count = warning.count.saturating_add(more.count),
            None => warnings.push(more.clone()),
        }
    }
    warnings.sort_by(|a, b| a.kind.cmp(&b.kind));
}

fn saturating_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
