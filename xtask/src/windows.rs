//! `cargo xtask windows`: builds the command for Windows and runs what every system must pass, under
//! Wine.
//!
//! Wine is not Windows. What passes here compiles for Windows and uses its calls as they are
//! documented; a Windows machine has the last word (`.github/workflows/ci.yml`).

use anyhow::{Result, bail};
use cargo_metadata::camino::Utf8PathBuf;
use xshell::{Shell, cmd};

use crate::{process, workspace};

const TARGET: &str = "x86_64-pc-windows-gnu";
const LINKER: &str = "x86_64-w64-mingw32-gcc";

/// `ProcessPrng`, by the call that came before it.
const RANDOM_NUMBERS: &str = r"
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) {
    while (length > 0) {
        ULONG part = length > 0x10000000 ? 0x10000000 : (ULONG)length;
        if (!RtlGenRandom(data, part)) return FALSE;
        data += part;
        length -= part;
    }
    return TRUE;
}
";

/// Options of `windows`.
#[derive(clap::Args)]
pub struct Args {
    /// Only build, without running anything.
    #[arg(long)]
    pub build: bool,
    /// Only the tests whose names contain this.
    pub name: Option<String>,
}

/// Build `weaver.exe` and run the tests of the Windows calls, and those that every system passes.
///
/// # Errors
/// If a tool is missing, or something does not build or pass.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    if cfg!(windows) {
        bail!("this is for other systems; here `cargo test -p weaver-cli --test portable` does it");
    }
    ensure_tools(sh, args)?;
    let build =
        WindowsBuild { sh, folder: workspace::metadata()?.target_directory.join("windows") };
    sh.create_dir(build.wine_prefix())?;
    build.cargo(&["build", "-p", "weaver-cli", "--bin", "weaver"], &[])?;
    if args.build {
        return Ok(());
    }
    let name: Vec<&str> = args.name.as_deref().into_iter().collect();
    build.complete_wine()?;
    build.cargo(&["test", "-p", "weaver-windows", "--lib"], &name)?;
    // One test after the other: each starts a gateway with several processes.
    let one_by_one: Vec<&str> = name.iter().copied().chain(["--test-threads", "1"]).collect();
    build.cargo(&["test", "-p", "weaver-cli", "--test", "portable"], &one_by_one)
}

/// A build for Windows, in a target folder of its own.
struct WindowsBuild<'a> {
    sh: &'a Shell,
    folder: Utf8PathBuf,
}

impl WindowsBuild<'_> {
    /// The settings and programs of Wine, apart from those of its user.
    fn wine_prefix(&self) -> Utf8PathBuf {
        self.folder.join("wine")
    }

    /// Makes the settings, with the library of random numbers that Wine lacks before version 9.
    fn complete_wine(&self) -> Result<()> {
        let system = self.wine_prefix().join("drive_c/windows/system32");
        if !system.exists() {
            let boot = cmd!(self.sh, "wineboot --init").env("WINEPREFIX", self.wine_prefix());
            process::run(boot.env("WINEDEBUG", "-all"))?;
        }
        let library = system.join("bcryptprimitives.dll");
        if !library.exists() {
            let source = self.folder.join("bcryptprimitives.c");
            self.sh.write_file(&source, RANDOM_NUMBERS)?;
            cmd!(self.sh, "{LINKER} -shared -o {library} {source} -ladvapi32").run()?;
        }
        Ok(())
    }

    /// Runs cargo; `more` goes to the test program.
    fn cargo(&self, words: &[&str], more: &[&str]) -> Result<()> {
        let command = process::cargo(self.sh)
            .args(words)
            .args(["--target", TARGET, "--target-dir", self.folder.as_str()])
            .env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER", LINKER)
            .env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine")
            .env("WINEPREFIX", self.wine_prefix())
            // Wine says little of itself.
            .env("WINEDEBUG", "-all");
        process::run(if more.is_empty() { command } else { command.arg("--").args(more) })
    }
}

/// Installs the target, and names the packages of what else is missing.
fn ensure_tools(sh: &Shell, args: &Args) -> Result<()> {
    let has =
        |program: &str| cmd!(sh, "{program} --version").quiet().ignore_stderr().read().is_ok();
    let mut packages = Vec::new();
    if !has(LINKER) {
        packages.push("gcc-mingw-w64-x86-64");
    }
    if !args.build && !has("wine") {
        packages.push("wine64");
    }
    if !packages.is_empty() {
        bail!("this needs `apt-get install {}`", packages.join(" "));
    }
    let installed = cmd!(sh, "rustup target list --installed").quiet().read()?;
    if !installed.lines().any(|line| line == TARGET) {
        cmd!(sh, "rustup target add {TARGET}").run()?;
    }
    Ok(())
}
