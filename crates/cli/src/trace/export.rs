//! `weaver trace export`.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use weaver_gateway::secret::{KeyFile, Passphrase};
use weaver_policy::root_key_id;
use weaver_trace_store::export::{Form, bundle, write};
use weaver_trace_store::query::Filter;
use weaver_types::signature::{Envelope, Kind};
use weaver_types::{Clock as _, SystemClock};

use super::args::{Export, ExportForm};
use super::log::{Log, filter, not_exported};
use crate::{Exit, Failure};

impl ExportForm {
    fn form(self) -> Form {
        match self {
            Self::Jsonl => Form::Jsonl,
            Self::Bundle => Form::Bundle,
            Self::Otlp => Form::Otlp,
            Self::Csv => Form::Csv,
            Self::Actions => Form::Actions,
            Self::Runs => Form::Runs,
        }
    }
}

pub(super) fn run(args: &Export) -> Result<Exit, Failure> {
    let filter = filter(&args.terms)?;
    if args.key.is_some() && args.form != ExportForm::Bundle {
        let message = "only a bundle is signed";
        return Err(Failure::new(Exit::Usage, "export.unsigned", message)
            .next("leave out --key, or ask for --as bundle"));
    }
    let mut log = Log::open(&args.store)?;
    if filter.names_fields() {
        log.prepare()?;
    }
    let store = &args.store.store;
    let failed = |error| not_exported(store, error);
    let Some(path) = &args.out else {
        let mut out = BufWriter::new(io::stdout().lock());
        write(&log.reader, log.lookup(), &filter, args.form.form(), &mut out).map_err(failed)?;
        out.flush()?;
        return Ok(Exit::Ok);
    };
    if let Some(key) = &args.key {
        return signed(args, &log, &filter, path, key);
    }
    let mut out = BufWriter::new(create(path)?);
    write(&log.reader, log.lookup(), &filter, args.form.form(), &mut out).map_err(failed)?;
    out.flush().map_err(|error| unwritable(path, &error))?;
    Ok(Exit::Ok)
}

/// Writes a bundle, and beside it the envelope that signs its canonical bytes.
fn signed(
    args: &Export,
    log: &Log,
    filter: &Filter,
    path: &Path,
    key: &Path,
) -> Result<Exit, Failure> {
    let key_file = KeyFile::read(key)?;
    let (bundle, _) = bundle(&log.reader, log.lookup(), filter)
        .map_err(|error| not_exported(&args.store.store, error))?;
    let bytes = bundle.to_bytes().map_err(internal)?;
    let passphrase = match args.passphrase.passphrase_fd {
        Some(fd) => Passphrase::from_descriptor(fd)?,
        None => Passphrase::ask(&format!("Passphrase of {}: ", key.display()))?,
    };
    let key = key_file.open(&passphrase)?;
    let id = root_key_id(&key.public()).map_err(internal)?;
    let now = SystemClock::default().now();
    let digest = Kind::Bundle.digest(&bytes);
    let envelope =
        Envelope::sign(Kind::Bundle, digest, id, &key, now.micros()).map_err(internal)?;
    let envelope = envelope.to_json().map_err(internal)?;
    let beside = beside(path);
    for (path, text) in [(path, bytes.as_slice()), (&beside, envelope.as_bytes())] {
        write_new(path, &[text, b"\n"].concat())?;
    }
    Ok(Exit::Ok)
}

/// Writes a new file for this user alone.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    create(path)?.write_all(bytes).map_err(|error| unwritable(path, &error))
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".sig");
    PathBuf::from(name)
}

/// A new file for this user alone: what is recorded is nobody else's.
fn create(path: &Path) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Usage, "export.write", format!("{}: {error}", path.display()))
        .next("name a new file in a folder that you may write to")
}

fn internal(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Internal, "export.form", error)
}
