//! `weaver keys`.

use std::path::Path;

use serde_json::json;
use weaver_gateway::secret::{KeyFile, Passphrase};
use weaver_types::{KeyId, OsRandom};

use super::args::Keys;
use super::shared_args::PassphraseArgs;
use super::{Exit, Failure, output};
use crate::output::OutputFormat;

pub(super) fn run(args: Keys) -> Result<Exit, Failure> {
    match args {
        Keys::New { out, id, passphrase, output } => {
            create_key(&out, &id, &passphrase, output.format())
        }
        Keys::Passphrase { file, passphrase, new_passphrase_fd, output } => {
            change_passphrase(&file, &passphrase, new_passphrase_fd, output.format())
        }
        Keys::Show { file, output } => show_key(&file, output.format()),
    }
}

fn create_key(
    path: &Path,
    id: &str,
    from: &PassphraseArgs,
    format: OutputFormat,
) -> Result<Exit, Failure> {
    let id = KeyId::parse(id).map_err(|error| {
        Failure::new(Exit::Usage, error.code(), error)
            .with_next_step("name the key, for example `--id root`")
    })?;
    if path.exists() {
        // Checked before the passphrase is asked for; writing refuses an existing file as well.
        let file = path.display().to_string();
        return Err(weaver_gateway::secret::SecretError::Exists { file }.into());
    }
    let passphrase = new_passphrase(from.passphrase_fd)?;
    let (file, _) = KeyFile::generate(id, &passphrase, &OsRandom)?;
    file.write_new(path)?;
    print_key(path, &file, format)?;
    if format == OutputFormat::Text {
        let public = file.public();
        output::text(&format!(
            "\nThe private key is encrypted under your passphrase; without it the key is lost.\n\
             As the root of trust, in weaver.toml:\n  [trust]\n  root = \"{public}\"\n"
        ))?;
    }
    Ok(Exit::Ok)
}

fn new_passphrase(descriptor: Option<u32>) -> Result<Passphrase, Failure> {
    Ok(match descriptor {
        Some(fd) => Passphrase::from_descriptor(fd)?.check_length()?,
        None => Passphrase::ask_new()?,
    })
}

/// Encrypts the key under another passphrase. The current one is checked before a new one is asked
/// for.
fn change_passphrase(
    path: &Path,
    from: &PassphraseArgs,
    new_descriptor: Option<u32>,
    format: OutputFormat,
) -> Result<Exit, Failure> {
    let file = KeyFile::read(path)?;
    let current = match from.passphrase_fd {
        Some(fd) => Passphrase::from_descriptor(fd)?,
        None => Passphrase::ask(&format!("Current passphrase of {}: ", path.display()))?,
    };
    file.open(&current)?;
    let changed = file.with_passphrase(&current, &new_passphrase(new_descriptor)?, &OsRandom)?;
    changed.replace(path)?;
    print_key(path, &changed, format)?;
    if format == OutputFormat::Text {
        output::text(
            "\nThe passphrase is changed. Copies of the file keep the old one: delete them.\n",
        )?;
    }
    Ok(Exit::Ok)
}

fn show_key(path: &Path, format: OutputFormat) -> Result<Exit, Failure> {
    print_key(path, &KeyFile::read(path)?, format)?;
    Ok(Exit::Ok)
}

fn print_key(path: &Path, file: &KeyFile, format: OutputFormat) -> Result<(), Failure> {
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
