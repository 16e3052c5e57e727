//! `weaver trace export`.

use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use weaver_gateway::clients::{FilePermissions, NewFile, write_new_file};
use weaver_gateway::secret::KeyFile;
use weaver_policy::signing_key_id;
use weaver_trace_store::export::{self, bundle, write};
use weaver_trace_store::query::EventFilter;
use weaver_types::signature::{DocumentKind, Envelope};
use weaver_types::{Clock as _, SystemClock};

use super::args::{Export, ExportFormat};
use super::log::{Log, export_failure, parse_filter};
use crate::{Exit, Failure};

impl ExportFormat {
    fn store_format(self) -> export::ExportFormat {
        match self {
            Self::Jsonl => export::ExportFormat::Jsonl,
            Self::Bundle => export::ExportFormat::Bundle,
            Self::Otlp => export::ExportFormat::Otlp,
            Self::Csv => export::ExportFormat::Csv,
            Self::Actions => export::ExportFormat::Actions,
            Self::Runs => export::ExportFormat::Runs,
        }
    }
}

pub(super) fn run(args: &Export) -> Result<Exit, Failure> {
    let filter = parse_filter(&args.terms)?;
    if args.key.is_some() && args.form != ExportFormat::Bundle {
        let message = "only a bundle is signed";
        return Err(Failure::new(Exit::Usage, "export.unsigned", message)
            .with_next_step("leave out --key, or ask for --as bundle"));
    }
    let mut log = Log::open(&args.store)?;
    if filter.has_field_terms() {
        log.update_index()?;
    }
    let store = &args.store.ledger.store;
    let failed = |error| export_failure(store, error);
    let Some(path) = &args.out else {
        let mut out = BufWriter::new(io::stdout().lock());
        write(&log.reader, log.lookup(), &filter, args.form.store_format(), &mut out)
            .map_err(failed)?;
        out.flush()?;
        return Ok(Exit::Ok);
    };
    if let Some(key) = &args.key {
        return export_signed_bundle(args, &log, &filter, path, key);
    }
    let unwritable = |error: io::Error| write_failure(path, &error);
    let mut out =
        BufWriter::new(NewFile::create(path, FilePermissions::OwnerOnly).map_err(unwritable)?);
    write(&log.reader, log.lookup(), &filter, args.form.store_format(), &mut out)
        .map_err(failed)?;
    let file = out.into_inner().map_err(|error| unwritable(error.into_error()))?;
    file.commit().map_err(unwritable)?;
    Ok(Exit::Ok)
}

/// Writes a bundle and, next to it, the envelope that signs its canonical bytes.
fn export_signed_bundle(
    args: &Export,
    log: &Log,
    filter: &EventFilter,
    path: &Path,
    key: &Path,
) -> Result<Exit, Failure> {
    let key_file = KeyFile::read(key)?;
    let (bundle, _) = bundle(&log.reader, log.lookup(), filter)
        .map_err(|error| export_failure(&args.store.ledger.store, error))?;
    let bytes = bundle.to_bytes().map_err(format_failure)?;
    let key = args.passphrase.unlock(key, &key_file)?;
    let id = signing_key_id(&key.public()).map_err(format_failure)?;
    let now = SystemClock::default().now();
    let digest = DocumentKind::Bundle.digest(&bytes);
    let envelope = Envelope::sign(DocumentKind::Bundle, digest, id, &key, now.micros())
        .map_err(format_failure)?;
    let envelope = envelope.to_json().map_err(format_failure)?;
    let signature_path = path.with_added_extension("sig");
    for (path, text) in [(path, bytes.as_slice()), (&signature_path, envelope.as_bytes())] {
        write_new(path, &[text, b"\n"].concat())?;
    }
    Ok(Exit::Ok)
}

/// Writes a new file for this user alone, because records are confidential.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_new_file(path, bytes).map_err(|error| write_failure(path, &error))
}

fn write_failure(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Usage, "export.write", format!("{}: {error}", path.display()))
        .with_next_step("name a new file in a folder that you may write to")
}

fn format_failure(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Internal, "export.form", error)
}
