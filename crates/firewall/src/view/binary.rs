//! The view of bytes that are not text: what they are, and how many.

use std::borrow::Cow;

use serde_json::{Value, json};
use weaver_types::RawContent;

use super::view_result::ViewResult;
use crate::content::Content;

/// File signatures: offset, bytes, and media type.
const MAGIC: &[(usize, &[u8], &str)] = &[
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"\0\0\x01\0", "image/vnd.microsoft.icon"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftyp", "video/mp4"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar"),
    (257, b"ustar", "application/x-tar"),
    (0, b"\x7fELF", "application/x-elf"),
    (0, b"MZ", "application/vnd.microsoft.portable-executable"),
    (0, b"\xcf\xfa\xed\xfe", "application/x-mach-binary"),
    (0, b"\0asm", "application/wasm"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"PAR1", "application/vnd.apache.parquet"),
    (0, b"ARROW1", "application/vnd.apache.arrow.file"),
    (0, b"Obj\x01", "application/avro"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"ID3", "audio/mpeg"),
    (8, b"WAVE", "audio/wav"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"wOF2", "font/woff2"),
];

/// The names of the views.
pub(super) const NAMES: &[Cow<'static, str>] = &[Cow::Borrowed("type")];

/// The media type according to the file signature.
pub(super) fn media_type(bytes: &[u8]) -> &'static str {
    let is = |at: &usize, magic: &[u8]| {
        at.checked_add(magic.len()).and_then(|end| bytes.get(*at..end)) == Some(magic)
    };
    let found = MAGIC.iter().find(|(at, magic, _)| is(at, magic));
    found.map_or("application/octet-stream", |(_, _, media_type)| media_type)
}

/// The declared type, the detected type, the size, and the keyed name of the stored bytes. The name
/// is equal for equal bytes but useless for guessing them.
pub(super) fn render(raw: &RawContent, digest: Option<&str>) -> ViewResult<'static> {
    let mut out = match raw {
        RawContent::Binary { media_type: declared, bytes } => json!({
            "media_type": crate::content::media_type(declared),
            "detected": media_type(bytes),
            "byte_size": bytes.len(),
        }),
        RawContent::Json(_) | RawContent::Rows(_) | RawContent::Text(_) => json!({}),
    };
    if let (Some(digest), Value::Object(map)) = (digest, &mut out) {
        map.insert("digest".to_owned(), Value::from(digest));
    }
    ViewResult::unrestricted(Content::Json(Cow::Owned(out)))
}
