//! The commands of the operator's page do what it says.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::client::{Client, folder};
use crate::guide::files;
use crate::http::Web;
use crate::support::{Folder, HEAD, weaver, weaver_with};

/// The commands of the page: the lines of its blocks of commands, in their order.
fn commands(page: &str) -> Vec<&str> {
    let blocks = page.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let lines = blocks.flat_map(str::lines);
    lines
        .map(|line| line.strip_prefix("$ ").unwrap_or_else(|| panic!("no command: {line}")))
        .collect()
}

#[test]
fn the_commands_of_the_operators_page_run_in_their_order() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/operating.md");
    let page = fs::read_to_string(page).unwrap();
    let commands = commands(&page);
    assert!(commands.len() >= 16, "{commands:?}");
    // Logging in needs a server; `login` has tests of its own.
    let others =
        page.split("```sh\n").skip(1).flat_map(|rest| rest.split("```").next().unwrap().lines());
    for line in others {
        assert!(line.starts_with("weaver login") || line.starts_with("weaver logout"), "{line}");
    }
    let profile = "[profiles.code]\nmode = \"proxy\"\nservers = [\"good\"]\n";
    let folder = folder(&[("good", "good")], profile, "");
    let config = folder.arg("weaver.toml");
    let mut client = Client::shim(&folder, &["--profile", "code", "--label", "desk"]).shaken();
    assert!(client.tools().iter().any(|tool| tool["name"] == "good__people"), "a proxy's view");
    let program = Path::new(env!("CARGO_BIN_EXE_weaver")).parent().unwrap();
    let search_path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for command in commands {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(folder.path("")).env("PATH", &search_path);
        shell.env("HOME", folder.path("home")).env("BACKUP", folder.path("elsewhere"));
        let run = shell.output().unwrap();
        assert!(run.status.success(), "{command}: {run:?}");
        let told = String::from_utf8_lossy(&run.stdout);
        if command == "weaver status" && told.contains("desk") {
            assert!(told.contains("good: ready"), "{told}");
        }
    }
    client.end();
    weaver(&["stop", "--config", &config]);
}

#[test]
fn the_operators_page_requires_a_role_as_it_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/operating.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("\n### Require a role\n").unwrap();
    let section = section.split("\n### ").next().unwrap();
    let (_, requests) = section.split_once("```jsonl\n").unwrap();
    let (requests, _) = requests.split_once("```").unwrap();
    let folder = Folder::new();
    let rules = files(section).remove("policy.toml").unwrap();
    let unrestricted: Vec<&str> =
        rules.lines().filter(|line| !line.starts_with("require")).collect();
    let contracts = "[capabilities.\"files.read_text_file\"]\neffects = \"read_local\"\n\
                     [capabilities.\"files.write_file\"]\neffects = \"write_local\"\n";
    folder.append("policy/contracts.toml", contracts);
    let decide = |rules: &str| -> Vec<Value> {
        folder.write("draft.toml", &format!("kind = \"policy\"\n{HEAD}{rules}"));
        let [policy, contracts] = [folder.arg("draft.toml"), folder.arg("policy/contracts.toml")];
        let run = weaver_with(
            &["policy", "decide", "--policy", &policy, "--contracts", &contracts],
            requests,
        );
        assert_eq!(run.code, 0, "{run:?}");
        run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let decisions = decide(&rules);
    assert_eq!(decisions.len(), 4);
    for decision in decisions {
        assert_eq!(decision["verdict"], decision["id"], "{decision}");
        let reason = if decision["id"] == "allow" { "rule_allow" } else { "missing_role" };
        assert_eq!(decision["primary"], reason, "{decision}");
    }
    assert!(decide(&unrestricted.join("\n")).iter().all(|decision| decision["verdict"] == "allow"));
}

/// The cells of the first column of a table below a heading, where they are in backticks.
fn first_column<'p>(page: &'p str, heading: &str) -> Vec<&'p str> {
    let (_, section) = page.split_once(heading).unwrap();
    let rows = section.lines().take_while(|line| !line.starts_with("## "));
    let cells = rows.filter_map(|row| row.strip_prefix("| `")?.split(" | ").next());
    cells.flat_map(|cell| cell.split(['`', ',', ' '])).filter(|word| !word.is_empty()).collect()
}

#[test]
fn the_operators_page_has_every_metric() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/operating.md");
    let page = fs::read_to_string(page).unwrap();
    let mut listed = first_column(&page, "\n## Metrics\n");
    listed.sort_unstable();
    let web = Web::prepared("good", "", None);
    let told = web.get("/metrics");
    let mut names: Vec<&str> =
        told.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    names.sort_unstable();
    assert_eq!(listed, names);
}

#[test]
fn a_service_is_written_once_and_tells_its_manager_when_it_is_ready() {
    use std::os::unix::net::UnixDatagram;

    let folder = folder(&[("good", "good")], "", "");
    let config = folder.arg("weaver.toml");
    let service = |verb: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weaver"));
        command.args(["service", verb, "--config", &config]).env("HOME", folder.path("home"));
        command.output().unwrap()
    };
    assert!(service("install").status.success() && service("install").status.success());
    let file = |kind: &str| folder.path(&format!("home/.config/systemd/user/weaver.{kind}"));
    let [unit, socket] = ["service", "socket"].map(|kind| fs::read_to_string(file(kind)).unwrap());
    let [unit_path, socket_path] =
        ["service", "socket"].map(|kind| file(kind).display().to_string());
    let shown = format!("# {unit_path}\n{unit}\n# {socket_path}\n{socket}");
    assert_eq!(String::from_utf8(service("show").stdout).unwrap(), shown);
    let address = folder.arg(".weaver/ledger.db.run/d.sock");
    assert!(socket.contains(&format!("\nListenStream={address}\n")), "{socket}");
    for kind in ["service", "socket"] {
        let own = fs::read(file(kind)).unwrap();
        fs::write(file(kind), "[Unit]\n").unwrap();
        assert!(!service("install").status.success(), "somebody's own file stays");
        fs::write(file(kind), own).unwrap();
    }
    assert!(service("uninstall").status.success());
    assert!(!file("service").exists() && !file("socket").exists());
    assert!(!service("uninstall").status.success(), "there is none any more");
    for (kind, foreign) in
        [("service", b"[Unit]\nDescription=mine\n".to_vec()), ("socket", vec![255, 254])]
    {
        fs::write(file(kind), &foreign).unwrap();
        for verb in ["install", "uninstall"] {
            let run = service(verb);
            assert!(!run.status.success(), "{verb}: {run:?}");
            assert_eq!(fs::read(file(kind)).unwrap(), foreign, "{verb}");
        }
        fs::remove_file(file(kind)).unwrap();
    }
    let notify = folder.path("notify");
    let socket = UnixDatagram::bind(&notify).unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    let mut daemon = Command::new(env!("CARGO_BIN_EXE_weaver"))
        .args(["daemon", "--config", &config])
        .env("NOTIFY_SOCKET", &notify)
        .spawn()
        .unwrap();
    let mut told = [0; 64];
    let length = socket.recv(&mut told).unwrap();
    assert_eq!(&told[..length], b"READY=1");
    assert_eq!(weaver(&["stop", "--config", &config]).code, 0);
    assert!(daemon.wait().unwrap().success());
}
