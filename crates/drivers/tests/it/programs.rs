//! Programs as drivers, under the kernel.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;
use weaver_agent_kernel::Invocation;
use weaver_drivers::process::{OutputForm, ProcessConfig, ProcessDriver};

use crate::kernel::{through_kernel, within};
use crate::support::runtime;

fn call(config: ProcessConfig, arguments: Value) -> Invocation {
    let runtime = runtime();
    let driver = ProcessDriver::new(config, runtime.handle().clone()).unwrap();
    through_kernel(driver, &arguments)
}

/// Whether it went well, and everything that is shown of it.
fn shown(config: ProcessConfig, arguments: Value) -> (bool, String) {
    let result = call(config, arguments).result.unwrap();
    (result.success, format!("{result:?}"))
}

fn shell(script: &str) -> ProcessConfig {
    ProcessConfig::new("/bin/sh").with_args(["-c", script])
}

#[test]
fn arguments_are_items_and_nothing_is_expanded() {
    let config = ProcessConfig::new("printf").with_args(["<%s>", "{a}", "{b}"]);
    let (success, text) = shown(config, json!({"a": "x $HOME; id", "b": "*"}));
    assert!(success && text.contains("<x $HOME; id><*>"), "{text}");
}

#[test]
fn an_argument_that_looks_like_an_option_never_reaches_the_program() {
    let folder = TempDir::new().unwrap();
    let mark = folder.path().join("mark");
    let config = ProcessConfig::new("touch").with_args([mark.to_str().unwrap(), "{name}"]);
    let (success, text) = shown(config, json!({"name": "--help"}));
    assert!(!success && text.contains("as an option does"), "{text}");
    assert!(!mark.exists());
}

#[test]
fn exit_codes_mean_what_the_configuration_says() {
    let script = "echo out; echo oops >&2; exit 3";
    let (success, text) = shown(shell(script), json!({}));
    assert!(!success && text.contains("oops") && text.contains("exit_code"), "{text}");
    let lenient = ProcessConfig { success: [0, 3].into(), ..shell(script) };
    let (success, text) = shown(lenient, json!({}));
    assert!(success && text.contains("out") && !text.contains("oops"), "{text}");
    let (success, text) = shown(shell("kill -9 $$"), json!({}));
    assert!(!success && text.contains("lost"), "{text}");
}

#[test]
fn output_is_bounded_and_that_is_said() {
    let config = ProcessConfig { output_bytes: 10, ..shell("echo abcdefghijklmnopqrstuvwxyz") };
    let (success, text) = shown(config, json!({}));
    assert!(success && text.contains("abcdefghij") && !text.contains("klm"), "{text}");
    assert!(text.contains("cut: 10 of 27 bytes"), "{text}");
    // An endless one ends with its time, and takes no memory until then.
    let endless = ProcessConfig { output_bytes: 10, ..shell("while :; do echo x; done") };
    let runtime = runtime();
    let driver = ProcessDriver::new(endless, runtime.handle().clone()).unwrap();
    assert!(!within(300, driver, &json!({})).result.unwrap().success);
}

#[test]
fn output_is_json_where_the_configuration_says_so() {
    let json_of = |script| ProcessConfig { output: OutputForm::Json, ..shell(script) };
    let (success, text) = shown(json_of("echo '{\"answer\": 42}'"), json!({}));
    assert!(success && text.contains("answer"), "{text}");
    let (success, text) = shown(json_of("echo '{'"), json!({}));
    assert!(!success, "{text}");
}

#[test]
fn standard_input_and_environment_are_what_is_named() {
    let config = ProcessConfig { stdin: Some("text".to_owned()), ..shell("cat") };
    let (success, text) = shown(config, json!({"text": "from the call"}));
    assert!(success && text.contains("from the call"), "{text}");
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let mut config = shell("env");
    config.env.insert("OWN".to_owned(), "mine".to_owned());
    let (success, text) = shown(config, json!({}));
    assert!(success && text.contains("OWN=mine") && !text.contains("CARGO_"), "{text}");
}

#[test]
fn a_program_that_cannot_start_was_certainly_not_called() {
    let (success, text) = shown(ProcessConfig::new("/nowhere/no-program"), json!({}));
    assert!(!success && text.contains("cannot start"), "{text}");
}

/// What a program started is killed with it, when its time is over and when it has ended.
#[cfg(target_os = "linux")]
#[test]
fn nothing_of_a_program_stays_behind() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("pid");
    let gone = || {
        let pid = fs::read_to_string(&file).unwrap().trim().to_owned();
        let stat = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let alive = || stat().rsplit_once(')').is_some_and(|(_, rest)| !rest.starts_with(" Z"));
        (0..400).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(25));
            !alive()
        })
    };
    let start = format!("sleep 300 & echo $! > {}", file.display());
    let runtime = runtime();
    for (script, limit) in [(format!("{start}; wait"), 500), (start.clone(), 20_000)] {
        let driver = ProcessDriver::new(shell(&script), runtime.handle().clone()).unwrap();
        let result = within(limit, driver, &json!({})).result.unwrap();
        assert_eq!(result.success, script == start, "{result:?}");
        assert!(gone());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_is_confined_by_the_launcher() {
    use weaver_drivers::confine::Confinement;
    use weaver_drivers::mcp::ChildConfinement;

    let folder = TempDir::new().unwrap();
    let [state, other] = ["state", "other"].map(|name| folder.path().join(name));
    for path in [&state, &other] {
        fs::create_dir(path).unwrap();
        fs::write(path.join("file"), "guarded words").unwrap();
    }
    let confinement = Confinement::denying([&state]);
    let launcher = crate::confine::launcher();
    let possible = launcher.probe(&confinement).is_ok();
    for (path, readable) in [(&other, possible), (&state, false)] {
        let confined = ChildConfinement {
            launcher: launcher.clone(),
            confinement: confinement.clone(),
            setting: None,
        };
        let mut config = ProcessConfig::new("cat").with_args([path.join("file").to_str().unwrap()]);
        config.confinement = Some(confined);
        let (success, text) = shown(config, json!({}));
        assert_eq!(success, readable, "{text}");
        assert_eq!(text.contains("guarded words"), readable, "{text}");
    }
}
