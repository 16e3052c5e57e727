//! `weaver keys`.

use std::path::Path;

use serde_json::json;
use weaver_gateway::secret::{KeyFile, Passphrase};
use weaver_types::{KeyId, OsRandom};

use super::args::Keys;
use super::shared_args::PassphraseFrom;
use super::{Exit, Failure, output};
use crate::output::OutputFormat;

pub(super) fn run(args: Keys) -> Result<Exit, Failure> {
    match args {
        Keys::New { out, id, passphrase, output } => new(&out, &id, &passphrase, output.format()),
        Keys::Show { file, output } => show(&file, output.format()),
    }
}

fn new(
    path: &Path,
    id: &str,
    from: &PassphraseFrom,
    format: OutputFormat,
) -> Result<Exit, Failure> {
    let id = KeyId::parse(id).map_err(|error| {
        Failure::new(Exit::Usage, error.code(), error).next("name the key, for example `--id root`")
    })?;
    if path.exists() {
        // Said before a passphrase is asked; writing refuses it once more.
        let file = path.display().to_string();
        return Err(weaver_gateway::secret::SecretError::Exists { file }.into());
    }
    let passphrase = match from.passphrase_fd {
        Some(fd) => Passphrase::from_descriptor(fd)?.long_enough()?,
        None => Passphrase::ask_new()?,
    };
    let (file, _) = KeyFile::generate(id, &passphrase, &OsRandom)?;
    file.write_new(path)?;
    print(path, &file, format)?;
    if format == OutputFormat::Text {
        let public = file.public();
        output::text(&format!(
            "\nThe private key is encrypted under your passphrase; without it the key is lost.\n\
             As the root of trust, in weaver.toml:\n  [trust]\n  root = \"{public}\"\n"
        ))?;
    }
    Ok(Exit::Ok)
}

fn show(path: &Path, format: OutputFormat) -> Result<Exit, Failure> {
    print(path, &KeyFile::read(path)?, format)?;
    Ok(Exit::Ok)
}

fn print(path: &Path, file: &KeyFile, format: OutputFormat) -> Result<(), Failure> {
    let (id, public, path) = (file.id(), file.public(), path.display());
    if format == OutputFormat::Json {
        let value =
            json!({ "file": path.to_string(), "id": id.as_str(), "public": public.to_string() });
        output::json(&value)?;
    } else {
        output::text(&format!("file    {path}\nname    {id}\npublic  {public}\n"))?;
    }
    Ok(())
}
