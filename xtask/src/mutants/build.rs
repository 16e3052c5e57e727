//! Builds a copy of the workspace in which one crate contains its mutants, with its tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use xshell::{Cmd, Shell, cmd};

use super::listing::Mutant;
use super::schemata::{SWITCH_MODULE, SWITCH_MODULE_NAME, SwitchedFile, with_switches};
use crate::process;

/// The folder of the copy, and the folder of its build.
const COPY_FOLDER: &str = "target/mutants/source";
const TARGET_FOLDER: &str = "target/mutants/build";

/// Without optimisation, running the tests would take longer than building them.
const PROFILE_OVERRIDES: &str = "
[profile.dev.package.weaver-policy]
opt-level = 1
[profile.dev.package.weaver-agent-kernel]
opt-level = 1
[profile.dev.package.weaver-firewall]
opt-level = 1
";

/// A crate with all of its mutants that compile.
pub struct Build {
    compiled: BTreeSet<usize>,
    /// The test programs, and the folder that they run in.
    pub programs: Vec<PathBuf>,
    pub folder: PathBuf,
}

impl Build {
    /// Copies the workspace, inserts the mutants, removes those that do not compile, and builds the
    /// tests.
    pub fn of(sh: &Shell, name: &str, mutants: &[Mutant]) -> Result<Self> {
        let copy = sh.current_dir().join(COPY_FOLDER);
        copy_sources(sh, &copy, name)?;
        let mut by_file: BTreeMap<&str, Vec<&Mutant>> = BTreeMap::new();
        for mutant in mutants {
            by_file.entry(&mutant.file).or_default().push(mutant);
        }
        let package = format!("weaver-{name}");
        let remembered = sh.current_dir().join(format!("target/mutants/{name}-not-compiled.txt"));
        let names = fs::read_to_string(&remembered).unwrap_or_default();
        let names: BTreeSet<&str> = names.lines().collect();
        let not_compiled = |mutant: &&Mutant| names.contains(mutant.name.as_str());
        let mut without: BTreeSet<usize> =
            mutants.iter().filter(not_compiled).map(|mutant| mutant.id).collect();
        let switched = loop {
            let files = write_sources(sh, &copy, name, &by_file, &without)?;
            let check = cargo(sh, &copy, "check").args(["--lib", "--package", &package]);
            let (messages, compiles) = cargo_messages(check)?;
            if compiles {
                break files;
            }
            let before = without.len();
            for error in messages.iter().filter_map(|message| message.get("message")) {
                without.extend(blamed_mutants(error, &files));
            }
            if without.len() == before {
                bail!(
                    "{package} does not compile, and no mutant is to blame:\n{}",
                    rendered_errors(&messages)
                );
            }
            eprintln!("{name}: {} mutants do not compile", without.len());
        };
        let names = mutants.iter().filter(|mutant| without.contains(&mutant.id));
        let names: String = names.map(|mutant| format!("{}\n", mutant.name)).collect();
        fs::write(&remembered, names)?;
        let tests = cargo(sh, &copy, "test").args(["--tests", "--no-run", "--package", &package]);
        let (messages, compiles) = cargo_messages(tests)?;
        if !compiles {
            bail!("the tests of {package} do not compile:\n{}", rendered_errors(&messages));
        }
        let folder = copy.join("crates").join(name);
        let own = |message: &&Value| {
            let manifest = message.get("manifest_path").and_then(Value::as_str);
            manifest.is_some_and(|path| Path::new(path) == folder.join("Cargo.toml"))
        };
        let program = |message: &Value| Some(PathBuf::from(message.get("executable")?.as_str()?));
        let programs = messages.iter().filter(own).filter_map(program).collect();
        let compiled = switched.into_values().flat_map(|file| file.placed).collect();
        Ok(Self { compiled, programs, folder })
    }

    /// Whether a mutant is in the programs.
    pub fn contains(&self, mutant: usize) -> bool {
        self.compiled.contains(&mutant)
    }
}

/// Copies all files that git knows, except the sources of this crate, which are written with their
/// mutants.
fn copy_sources(sh: &Shell, copy: &Path, name: &str) -> Result<()> {
    let listed = cmd!(sh, "git ls-files --cached --others --exclude-standard").quiet().read()?;
    let sources = format!("crates/{name}/src/");
    let tests = format!("crates/{name}/tests/it/main.rs");
    let _ = fs::remove_dir_all(copy.join(&sources));
    for file in
        listed.lines().filter(|file| !file.starts_with(&sources) && Path::new(file).is_file())
    {
        let mut content = fs::read(file).with_context(|| format!("cannot read {file}"))?;
        if file == "Cargo.toml" {
            content = relaxed_manifest(&String::from_utf8(content)?).into_bytes();
        }
        if file == tests {
            // A test may include a source file, which then needs the switch module.
            content.extend(
                format!("use weaver_{}::{SWITCH_MODULE_NAME};\n", name.replace('-', "_")).bytes(),
            );
        }
        write_changed(&copy.join(file), &content)?;
    }
    Ok(())
}

/// The workspace manifest without the lints that mutants would violate.
fn relaxed_manifest(text: &str) -> String {
    let lints = "missing_docs = \"allow\"\narithmetic_overflow = \"allow\"\n\
                 unconditional_panic = \"allow\"";
    text.replacen("missing_docs = \"deny\"", lints, 1) + PROFILE_OVERRIDES
}

/// Writes a file only if its content changed, because cargo compares file times.
fn write_changed(path: &Path, content: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes the sources of the crate with their mutants; the result is keyed by the path from the
/// root.
fn write_sources(
    sh: &Shell,
    copy: &Path,
    name: &str,
    by_file: &BTreeMap<&str, Vec<&Mutant>>,
    without: &BTreeSet<usize>,
) -> Result<BTreeMap<String, SwitchedFile>> {
    let folder = format!("crates/{name}/src");
    let listed = cmd!(sh, "git ls-files --cached --others --exclude-standard {folder}").quiet();
    let mut out = BTreeMap::new();
    for file in listed.read()?.lines().filter(|file| Path::new(file).is_file()) {
        let source = fs::read_to_string(file)?;
        let none = Vec::new();
        let mutants = by_file.get(file).unwrap_or(&none);
        let mut text = source.clone();
        if !mutants.is_empty() {
            let switched =
                with_switches(&source, mutants, without).with_context(|| file.to_owned())?;
            text.clone_from(&switched.text);
            out.insert(file.to_owned(), switched);
        }
        if file == format!("{folder}/lib.rs") {
            text.push_str(SWITCH_MODULE);
        }
        write_changed(&copy.join(file), text.as_bytes())?;
    }
    Ok(out)
}

fn cargo<'s>(sh: &'s Shell, copy: &Path, verb: &str) -> Cmd<'s> {
    let target = sh.current_dir().join(TARGET_FOLDER);
    let manifest = copy.join("Cargo.toml");
    process::cargo(sh)
        .env("CARGO_TARGET_DIR", target)
        .args([verb, "--all-features", "--message-format=json", "--manifest-path"])
        .arg(manifest)
}

/// The JSON messages of cargo, and whether it succeeded.
fn cargo_messages(command: Cmd<'_>) -> Result<(Vec<Value>, bool)> {
    let output = command.ignore_status().quiet().output()?;
    let lines = String::from_utf8_lossy(&output.stdout);
    let messages = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Ok((messages, output.status.success()))
}

/// The mutants that may have caused an error: those at its primary span, else those at its other
/// spans.
fn blamed_mutants(error: &Value, files: &BTreeMap<String, SwitchedFile>) -> Vec<usize> {
    if error.get("level").and_then(Value::as_str) != Some("error") {
        return Vec::new();
    }
    let spans = error.get("spans").and_then(Value::as_array).into_iter().flatten();
    let mut spans: Vec<&Value> = spans.collect();
    spans.sort_by_key(|span| span.get("is_primary").and_then(Value::as_bool) != Some(true));
    let of_span = |span: &&Value| {
        let mut span = *span;
        // A span inside a macro is mapped to where the macro is used.
        while let Some(outer) = span.pointer("/expansion/span") {
            span = outer;
        }
        let at = |field: &str| usize::try_from(span.get(field)?.as_u64()?).ok();
        let range: Range<usize> = at("byte_start")?..at("byte_end")?;
        let file = files.get(span.get("file_name")?.as_str()?)?;
        Some(file.blamed_mutants(&range).to_vec()).filter(|mutants| !mutants.is_empty())
    };
    spans.iter().find_map(of_span).unwrap_or_default()
}

/// The first errors, as the compiler renders them.
fn rendered_errors(messages: &[Value]) -> String {
    let errors = messages.iter().filter_map(|message| message.get("message"));
    let errors = errors.filter(|error| error.get("level").and_then(Value::as_str) == Some("error"));
    let texts = errors.filter_map(|error| error.get("rendered").and_then(Value::as_str));
    texts.take(5).collect()
}
