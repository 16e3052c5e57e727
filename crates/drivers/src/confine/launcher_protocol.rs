//! The messages between launcher and caller, version 3: the request as an argument, the report as a
//! line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{AllowedPaths, ConfineError, Confinement, EnforcedConfinement, FileAccess};

/// The version of both messages.
const VERSION: u32 = 3;
/// The longest report.
pub(crate) const MAX_REPORT_BYTES: u64 = 64 * 1024;
/// The beginning of a report.
const REPORT_PREFIX: &str = "weaver-launch ";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    v: u32,
    confinement: Confinement,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    v: u32,
    outcome: Result<EnforcedConfinement, ReportedFailure>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportedFailure {
    code: String,
    message: String,
}

/// Encodes the request as the launcher's argument.
pub(super) fn write_request(confinement: &Confinement) -> Result<String, ConfineError> {
    let mut confinement = confinement.clone();
    confinement.denied = absolute(&confinement.denied)?;
    if let FileAccess::Only(AllowedPaths { read, write, execute, .. }) = &mut confinement.files {
        for paths in [read, write, execute] {
            *paths = absolute(paths)?;
        }
    }
    serde_json::to_string(&Request { v: VERSION, confinement })
        .map_err(|error| ConfineError::Form { reason: error.to_string() })
}

/// Makes the paths absolute, because the child may have another working directory.
pub(super) fn absolute(paths: &BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>, ConfineError> {
    let absolute = |path: &PathBuf| {
        std::path::absolute(path)
            .map_err(|error| ConfineError::Path { path: path.clone(), reason: error.to_string() })
    };
    paths.iter().map(absolute).collect()
}

/// Fails if a path is relative.
pub(super) fn check_absolute<'a>(
    paths: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), ConfineError> {
    match paths.into_iter().any(|path| path.is_relative()) {
        true => Err(ConfineError::Form { reason: "a path is relative".to_owned() }),
        false => Ok(()),
    }
}

/// Parses a request.
pub(super) fn read_request(text: &str) -> Result<Confinement, ConfineError> {
    let wrong = |reason: String| ConfineError::Form { reason };
    let Request { v, confinement } =
        serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    if v != VERSION {
        return Err(wrong(format!("version {v} is asked, {VERSION} is spoken")));
    }
    check_absolute(&confinement.denied)?;
    if let FileAccess::Only(AllowedPaths { read, write, execute, .. }) = &confinement.files {
        check_absolute([read, write, execute].into_iter().flatten())?;
    }
    Ok(confinement)
}

/// Encodes a report as one line.
pub(super) fn write_report(outcome: Result<&EnforcedConfinement, &ConfineError>) -> String {
    let outcome = outcome.cloned().map_err(|error| ReportedFailure {
        code: error.code().to_owned(),
        message: error.to_string(),
    });
    // Serialising such a value does not fail; an empty text would be refused as a missing report.
    let json = serde_json::to_string(&Report { v: VERSION, outcome }).unwrap_or_default();
    format!("{REPORT_PREFIX}{json}\n")
}

/// Parses the first line of a launcher's standard error.
pub(crate) fn read_report(
    line: &[u8],
    launcher: &Path,
) -> Result<EnforcedConfinement, ConfineError> {
    let silent = || ConfineError::NoReport { launcher: launcher.display().to_string() };
    let wrong = |reason: String| ConfineError::Form { reason };
    let text = std::str::from_utf8(line).map_err(|_| silent())?;
    let text = text.strip_prefix(REPORT_PREFIX).and_then(|text| text.strip_suffix('\n'));
    let Report { v, outcome } =
        serde_json::from_str(text.ok_or_else(silent)?).map_err(|error| wrong(error.to_string()))?;
    if v != VERSION {
        return Err(wrong(format!("version {v} is told, {VERSION} is understood")));
    }
    outcome.map_err(|ReportedFailure { code, message }| ConfineError::from_report(&code, message))
}

#[cfg(test)]
mod tests {
    use super::super::{EnforcementMode, NetworkAccess, Protection, ResourceLimits, SiblingAccess};
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        for files in [
            FileAccess::AllButDenied,
            FileAccess::only().read("/a").write("/b").execute("/c"),
            FileAccess::Only(AllowedPaths { system: false, ..AllowedPaths::default() }),
        ] {
            let asked = Confinement {
                files,
                sibling_access: SiblingAccess::Open,
                network: NetworkAccess::None,
                limits: ResourceLimits {
                    processes: Some(4),
                    file_size: Some(1 << 40),
                    ..ResourceLimits::default()
                },
                user: Some("nobody".to_owned()),
                isolated: true,
                enforcement_mode: EnforcementMode::BestEffort,
                ..Confinement::denying(["/d", "/e/f"])
            };
            assert_eq!(read_request(&write_request(&asked).unwrap()), Ok(asked));
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let good = write_request(&Confinement::denying(["/d"])).unwrap();
        for bad in [
            String::new(),
            good.replace("\"v\":3", "\"v\":2"),
            good.replace("\"isolated\"", "\"isolatet\""),
            good.replace("\"/d\"", "\"d\""),
            good.replace("{\"v\"", "{\"more\":1,\"v\""),
        ] {
            assert_eq!(read_request(&bad).unwrap_err().code(), "confine.form", "{bad}");
        }
    }

    /// The form of version 3.
    #[test]
    fn the_request_of_version_3_stays_as_it_is() {
        let golden = r#"{"v":3,"confinement":{"denied":["/d"],"sibling_access":"closed","files":{"only":{"read":["/r"],"write":[],"execute":[],"system":true}},"network":"host","limits":{"address_space":null,"cpu_seconds":9,"open_files":null,"processes":null,"file_size":null},"user":null,"isolated":false,"enforcement_mode":"strict"}}"#;
        let asked = Confinement {
            files: FileAccess::only().read("/r"),
            limits: ResourceLimits { cpu_seconds: Some(9), ..ResourceLimits::default() },
            ..Confinement::denying(["/d"])
        };
        assert_eq!(write_request(&asked).unwrap(), golden);
    }

    #[test]
    fn a_report_is_a_line_that_nothing_else_is() {
        let program = Path::new("/bin/x");
        let told = EnforcedConfinement {
            landlock: 7,
            protections: BTreeSet::from([Protection::Files]),
            lacking: BTreeSet::from([Protection::Network]),
        };
        let line = write_report(Ok(&told));
        assert_eq!(
            line,
            "weaver-launch {\"v\":3,\"outcome\":{\"Ok\":{\"landlock\":7,\"protections\":[\"files\"],\"lacking\":[\"network\"]}}}\n"
        );
        assert_eq!(read_report(line.as_bytes(), program), Ok(told));
        let error = ConfineError::Denied { path: PathBuf::from("/s") };
        let read = read_report(write_report(Err(&error)).as_bytes(), program).unwrap_err();
        assert_eq!((read.code(), read.to_string()), (error.code(), error.to_string()));
        let cut = line.trim_end();
        for bad in ["", "weaver-launch", "hello\n", cut, "weaver-launch {\"v\":1}\n"] {
            assert!(read_report(bad.as_bytes(), program).is_err(), "{bad}");
        }
        let unknown = line.replace("[\"files\"]", "[\"fires\"]");
        assert_eq!(read_report(unknown.as_bytes(), program).unwrap_err().code(), "confine.form");
    }
}
