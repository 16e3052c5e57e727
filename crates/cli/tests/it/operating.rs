//! The commands of the operator's page do what it says.

use std::fs;
use std::path::Path;

use crate::client::{Client, folder};
use crate::support::weaver;

#[test]
fn the_commands_of_the_operators_page_run_in_their_order() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/operating.md");
    let page = fs::read_to_string(page).unwrap();
    let commands: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("$ weaver ")).collect();
    assert!(commands.len() >= 8, "{commands:?}");
    let profile = "[profiles.code]\nmode = \"proxy\"\nservers = [\"good\"]\n";
    let folder = folder(&[("good", "good")], profile, "");
    let config = folder.arg("weaver.toml");
    let mut serve = std::process::Command::new(env!("CARGO_BIN_EXE_weaver"));
    serve.args(["serve", "--config", &config, "--profile", "code", "--label", "desk"]);
    let mut client = Client::start_as(serve).shaken();
    assert!(client.tools().iter().any(|tool| tool["name"] == "good__people"), "a proxy's view");
    for command in commands {
        let words = command.split(' ').chain(["--config", &config]);
        let run = weaver(&words.collect::<Vec<_>>());
        assert_eq!(run.code, 0, "weaver {command}: {run:?}");
        if command == "status" {
            assert!(run.out.contains("desk") && run.out.contains("good: ready"), "{run:?}");
        }
    }
    client.end();
}

#[test]
fn a_service_is_written_once_and_tells_its_manager_when_it_is_ready() {
    use std::os::unix::net::UnixDatagram;
    use std::process::Command;

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
    assert_eq!(format!("{unit}\n{socket}").as_bytes(), service("show").stdout);
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
