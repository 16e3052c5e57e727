//! State that mounts cover: what is made beside it is within reach, and it is not. Real processes
//! on this kernel; where it cannot cover, the tests hold that nothing beside the state is open.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use serde_json::json;
use tempfile::TempDir;
use weaver_drivers::McpDriver;
use weaver_drivers::confine::{
    Confinement, CoverRefreshError, EnforcementMode, FileAccess, Protection, RunningChild,
    SiblingAccess, adopt_orphans,
};
use weaver_drivers::mcp::{CallOutcome, Endpoint, StdioConfig, Upstream, UpstreamConfig};

use crate::confine::{assert_refused, confined, launcher, said};
use crate::fixture::{FOLDER, VARIABLE};
use crate::kernel::through_kernel;
use crate::support::{LONG, config, connect_with, request};

const SECRET: &str = "the secret of the state";

/// A folder with state in a folder and in a file, below a folder that everybody may write.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(TempDir::new().unwrap());
        for name in ["home/work/.state/ledger.db", "home/work/config.toml"] {
            fs::create_dir_all(place.path(name).parent().unwrap()).unwrap();
            fs::write(place.path(name), SECRET).unwrap();
        }
        fs::write(place.path("home/work/data.json"), "data").unwrap();
        for name in ["", "home", "home/work", "home/work/.state", "home/work/config.toml"] {
            fs::set_permissions(place.path(name), fs::Permissions::from_mode(0o777)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn confinement(&self) -> Confinement {
        Confinement {
            sibling_access: SiblingAccess::Open,
            enforcement_mode: EnforcementMode::BestEffort,
            ..Confinement::denying([
                self.path("home/work/.state"),
                self.path("home/work/config.toml"),
                self.path("home/work/keys"),
            ])
        }
    }
}

/// Whether this user's children get their state covered here.
fn covers(confinement: &Confinement, user: User) -> bool {
    shell(Some(confinement), user, "true").1.contains("\"mounts\"")
}

#[derive(Clone, Copy, PartialEq)]
enum User {
    /// Who runs the tests.
    Same,
    /// Somebody without any right, if the tests run as root.
    Nobody,
}

/// What a shell puts out, confined or not, and the launcher's line.
fn shell(confinement: Option<&Confinement>, user: User, script: &str) -> (String, String) {
    let argv = ["/bin/sh", "-c", script];
    let mut command = match confinement {
        Some(confinement) => launcher().command(&argv, confinement).unwrap(),
        None => {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            command
        }
    };
    if user == User::Nobody && rustix::process::getuid().is_root() {
        command.uid(65534).gid(65534);
    }
    let output = command.current_dir("/").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[tokio::test]
async fn what_is_made_beside_covered_state_is_within_reach_and_the_state_is_not() {
    let place = Place::new();
    let to = |name: &str| place.path(&format!("home/work/{name}"));
    symlink(to(".state"), place.path("link")).unwrap();
    let config = fs::metadata(to("config.toml")).unwrap().ino();
    let connection = connect_with(confined(place.confinement())).await.unwrap();
    let enforced = connection.enforced().unwrap();
    println!("{enforced}");
    let covered = enforced.protections.contains(&Protection::Mounts);
    // util-linux asks the same kernel for the same.
    let own = Command::new("unshare").args(["-m", "mount", "--make-rslave", "/"]).status();
    assert!(covered || !own.is_ok_and(|status| status.success()), "this kernel can cover");
    if !enforced.protections.contains(&Protection::Files) {
        return;
    }
    // Made by others after the start: a neighbour, and more state.
    fs::write(to("later.json"), "later").unwrap();
    fs::write(to(".state/later.db"), SECRET).unwrap();
    let beside = [
        json!({"do": "read", "at": to("later.json")}),
        json!({"do": "list", "at": to("")}),
        json!({"do": "make", "at": to("made.json")}),
        json!({"do": "move", "at": to("made.json"), "to": to("moved.json")}),
        json!({"do": "folder", "at": to("folder")}),
        json!({"do": "make", "at": to("folder/made.json")}),
    ];
    for asked in beside {
        let outcome = said(&connection, asked.clone()).await;
        assert_eq!(outcome == "done", covered, "{asked}: {outcome}");
    }
    let parent = std::process::id();
    let root = |name: &str| format!("/proc/{parent}/root{}", to(name).display());
    let refused = [
        json!({"do": "read", "at": to(".state/ledger.db")}),
        json!({"do": "read", "at": to(".state/later.db")}),
        json!({"do": "read", "at": place.path("link/ledger.db")}),
        json!({"do": "read", "at": to("config.toml")}),
        json!({"do": "read", "at": root(".state/ledger.db")}),
        json!({"do": "read", "at": root("config.toml")}),
        json!({"do": "write", "at": to("config.toml")}),
        json!({"do": "write", "at": to(".state/ledger.db")}),
        json!({"do": "write", "at": to(".state/forged")}),
        json!({"do": "link", "at": to(".state/ledger.db"), "to": to("linked.db")}),
        json!({"do": "link", "at": to("config.toml"), "to": to("linked.toml")}),
        json!({"do": "cut", "at": to("config.toml")}),
        json!({"do": "cut", "at": to(".state/ledger.db")}),
    ];
    assert_refused(&connection, &refused).await;
    // What would bring other files into the place of the state.
    let forging = [
        json!({"do": "remove", "at": to("config.toml")}),
        json!({"do": "move", "at": to("data.json"), "to": to("config.toml")}),
        json!({"do": "move", "at": to("config.toml"), "to": to("other.toml")}),
        json!({"do": "move", "at": to(".state"), "to": to("other")}),
        json!({"do": "move", "at": place.path("home/work"), "to": place.path("home/other")}),
        json!({"do": "move", "at": place.path("home"), "to": place.path("other")}),
    ];
    for asked in forging {
        let outcome = said(&connection, asked.clone()).await;
        println!("{asked}: {outcome}");
        assert_ne!(outcome, "done", "{asked}");
    }
    assert_eq!(fs::metadata(to("config.toml")).unwrap().ino(), config, "it is still the same file");
}

/// Every way that is known to get below a mount, as root and as an ordinary user.
#[test]
fn no_child_takes_the_covers_away() {
    let place = Place::new();
    let folder = place.path("home/work");
    let folder = folder.display();
    let look = format!("cat {folder}/.state/ledger.db {folder}/config.toml");
    let parent = std::process::id();
    for user in [User::Same, User::Nobody] {
        let (free, _) = shell(None, user, &look);
        assert_eq!(free.matches(SECRET).count(), 2, "the test shows nothing: {free}");
        let asked = place.confinement();
        println!("covered: {}", covers(&asked, user));
        for way in [
            look.clone(),
            format!(
                "umount {folder}/.state; umount {folder}/.state; umount {folder}/config.toml; {look}"
            ),
            format!("umount -l {folder}; umount -l {folder}/config.toml; {look}"),
            format!(
                "unshare -Urm sh -c 'umount -l {folder}/.state; umount -l {folder}/config.toml; {look}'"
            ),
            format!(
                "unshare -Urm sh -c 'mkdir /tmp/weaver-alias-$$; mount --bind {folder} /tmp/weaver-alias-$$; cat /tmp/weaver-alias-$$/.state/ledger.db /tmp/weaver-alias-$$/config.toml'; rmdir /tmp/weaver-alias-*"
            ),
            format!("nsenter -t {parent} -m {look}"),
            format!("nsenter -t {parent} -U -m --preserve-credentials {look}"),
            format!(
                "cat /proc/{parent}/root{folder}/config.toml /proc/{parent}/cwd/../config.toml"
            ),
            format!("cd {folder}/.state && cat ledger.db; cat {folder}/.state/../.state/ledger.db"),
        ] {
            let (out, err) = shell(Some(&asked), user, &way);
            assert!(!out.contains(SECRET), "{way}: {out} {err}");
        }
    }
}

/// A child that was started in the state itself does not stay below the mount.
#[test]
fn a_working_directory_in_the_state_is_left() {
    let place = Place::new();
    let mut command =
        launcher().command(&["/bin/sh", "-c", "cat ledger.db"], &place.confinement()).unwrap();
    let output = command.current_dir(place.path("home/work/.state")).output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stdout).contains(SECRET), "{output:?}");
}

/// What made the mounts is not left to the child.
#[test]
fn no_child_keeps_the_right_to_mount() {
    let place = Place::new();
    for user in [User::Same, User::Nobody] {
        let script = "grep -E 'Cap(Eff|Bnd|Prm|Amb)|NoNewPrivs' /proc/self/status";
        let (text, told) = shell(Some(&place.confinement()), user, script);
        println!("{told}");
        for line in text.lines().filter(|line| line.starts_with("Cap")) {
            let held = u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap();
            let covered = told.contains("\"mounts\"");
            let bound = line.starts_with("CapBnd") && !covered;
            assert!(bound || held & (1 << 21) == 0, "{text}");
        }
        assert!(text.contains("NoNewPrivs:\t1"), "{text}");
    }
}

/// A link could be replaced by another one, so nothing beside it is opened.
#[test]
fn a_link_among_the_state_closes_its_folder_as_before() {
    let place = Place::new();
    fs::rename(place.path("home/work/config.toml"), place.path("home/config.toml")).unwrap();
    symlink(place.path("home/config.toml"), place.path("home/work/config.toml")).unwrap();
    let folder = place.path("home/work");
    let folder = folder.display();
    let script = format!(
        "cat {folder}/config.toml; rm {folder}/config.toml; echo {SECRET} > {folder}/new; cat {folder}/new"
    );
    let (out, told) = shell(Some(&place.confinement()), User::Same, &script);
    assert!(!told.contains("\"mounts\"") && !out.contains(SECRET), "{told} {out}");
    assert!(place.path("home/work/config.toml").is_symlink());
}

/// A link anywhere on the way to a file decides what the host reads there: also one in a folder that
/// is not above the state, and one in the target of another.
#[test]
fn no_link_on_the_way_to_the_state_is_pointed_elsewhere() {
    let place = Place::new();
    for name in ["released/first", "ways", "deeper"] {
        fs::create_dir_all(place.path(name)).unwrap();
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(0o777)).unwrap();
    }
    let config = place.path("home/work/config.toml");
    fs::rename(&config, place.path("released/first/config.toml")).unwrap();
    let ways = [("deeper/all", "../released"), ("ways/current", "../deeper/all/first")];
    for (link, target) in ways {
        symlink(target, place.path(link)).unwrap();
    }
    symlink(place.path("ways/current/config.toml"), &config).unwrap();
    let script = |link: &str| {
        format!(
            "cd {}; mkdir -p mine/first; echo forged > mine/config.toml; \
             cp mine/config.toml mine/first; ln -sfn ../`basename $PWD`/mine {link}; \
             rm -f {link}; ln -s ../`basename $PWD`/mine {link}; echo tried",
            place.path(link).parent().unwrap().display(),
            link = link.rsplit('/').next().unwrap(),
        )
    };
    for user in [User::Same, User::Nobody] {
        for (link, target) in ways {
            let (out, told) = shell(Some(&place.confinement()), user, &script(link));
            assert!(out.contains("tried"), "{out} {told}");
            if told.contains("\"files\"") {
                assert_eq!(
                    fs::read_link(place.path(link)).unwrap(),
                    PathBuf::from(target),
                    "{told}"
                );
                assert_eq!(fs::read_to_string(&config).unwrap(), SECRET);
            }
        }
    }
    shell(None, User::Nobody, &script("ways/current"));
    assert_eq!(fs::read_to_string(&config).unwrap(), "forged\n", "the test shows nothing");
}

/// Whoever does not look after replaced files keeps the folders closed.
#[test]
fn mounts_are_made_only_where_they_are_wanted() {
    let place = Place::new();
    let asked = Confinement { sibling_access: SiblingAccess::Closed, ..place.confinement() };
    assert!(!covers(&asked, User::Same));
}

/// A tool that repeats what the system said, and does not call it an error.
#[test]
fn a_refusal_that_a_server_calls_a_result_has_failed_and_says_what_is_closed() {
    let place = Place::new();
    let mut asked = confined(Confinement {
        files: FileAccess::only().read(place.path("home")),
        sibling_access: SiblingAccess::Open,
        ..Confinement::denying([place.path("home/work/.state")])
    });
    if let Endpoint::Stdio(StdioConfig { confinement: Some(confined), .. }) = &mut asked.endpoint {
        confined.setting = Some("`write` under `[mcpServers.x.confine]`".to_owned());
    }
    let free = config("plain");
    let called = |upstream: UpstreamConfig, text: &str| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let upstream = Arc::new(Upstream::new(upstream));
        let driver = McpDriver::new(upstream, "say", runtime.handle().clone());
        through_kernel(driver, &json!({ "text": text })).result.unwrap().success
    };
    let refusal = "Database error: attempt to write a readonly database";
    if launcher().probe(&asked.confinement().unwrap().confinement).is_err() {
        return;
    }
    assert!(!called(asked.clone(), refusal), "a confined server");
    assert!(called(free, refusal), "nothing is confined, so it is the server's word");
    assert!(called(asked, "The guide says: permission denied"), "an ordinary text");
}

/// Puts a new file in the place of the configuration, as editors and renewals of certificates do.
fn replace(place: &Place, name: &str) {
    fs::write(place.path("home/work/next"), SECRET).unwrap();
    fs::rename(place.path("home/work/next"), place.path(&format!("home/work/{name}"))).unwrap();
}

/// What a call of the server's says of an attempt.
async fn tried(upstream: &Upstream, asked: serde_json::Value) -> String {
    let Ok(CallOutcome::Complete(reply)) = upstream.call(request("attempt", asked)).await else {
        panic!("the server is there");
    };
    reply.value()["said"].as_str().unwrap().to_owned()
}

/// A server that mounts confine; `None` where this kernel makes none.
async fn covered_server(place: &Place) -> Option<Arc<Upstream>> {
    let upstream = Arc::new(Upstream::new(confined(place.confinement())));
    let path = place.path("home/work/config.toml");
    assert_ne!(tried(&upstream, json!({"do": "read", "at": path})).await, "done");
    let enforced = upstream.enforced().await.unwrap();
    enforced.protections.contains(&Protection::Mounts).then_some(upstream)
}

#[tokio::test]
async fn a_file_that_is_replaced_is_covered_while_a_call_is_in_progress() {
    let place = Place::new();
    let Some(upstream) = covered_server(&place).await else { return };
    let held = {
        let upstream = Arc::clone(&upstream);
        tokio::spawn(async move { upstream.call(request("hold", json!({}))).await })
    };
    // Another place that has the same mounts, one whose mounts are a copy, and one that left.
    let script = "unshare -Um --propagation unchanged sleep 600 & setsid sleep 600 & echo started";
    assert_eq!(tried(&upstream, json!({"do": "shell", "at": script})).await, "started\n");
    for name in ["config.toml", "keys"] {
        replace(&place, name);
        let path = place.path(&format!("home/work/{name}"));
        let mine = json!({"do": "read", "at": path});
        assert_eq!(tried(&upstream, mine.clone()).await, "done", "the test shows nothing");
        upstream.cover_replaced_files(&place.confinement().denied).await.unwrap();
        for what in ["read", "write", "cut", "remove", "keep"] {
            let outcome = tried(&upstream, json!({"do": what, "at": path})).await;
            assert_ne!(outcome, "done", "{what} {name}");
        }
        // Once more changes nothing.
        upstream.cover_replaced_files(&place.confinement().denied).await.unwrap();
        assert_ne!(tried(&upstream, mine).await, "done");
        assert_eq!(fs::read_to_string(&path).unwrap(), SECRET);
    }
    let beside = json!({"do": "make", "at": place.path("home/work/made")});
    assert_eq!(tried(&upstream, beside).await, "done");
    // What belongs to the state only now is hidden too.
    let mut denied = place.confinement().denied;
    denied.insert(place.path("home/work/data.json"));
    upstream.cover_replaced_files(&denied).await.unwrap();
    let late = json!({"do": "read", "at": place.path("home/work/data.json")});
    assert_ne!(tried(&upstream, late).await, "done");
    assert!(!held.is_finished());
    let released = upstream.call(request("release", json!({}))).await;
    assert!(released.is_ok() && held.await.unwrap().is_ok(), "{released:?}");
    upstream.close().await;
}

/// A process that made a copy of the mounts sees the new file in it, unless that is covered too.
#[tokio::test]
async fn a_copy_of_the_mounts_is_covered_too() {
    let place = Place::new();
    let Some(upstream) = covered_server(&place).await else { return };
    let (config, folder) = (place.path("home/work/config.toml"), place.path("home/work"));
    // It reads the file when it may, and writes down what came of it.
    let script = format!(
        "cd {}; unshare -Um --propagation unchanged sh -c 'echo > there; while ! test -e go; do sleep 0.02; done; \
         cat {} > seen; echo > looked' 2> /dev/null & echo started",
        folder.display(),
        config.display(),
    );
    assert_eq!(tried(&upstream, json!({"do": "shell", "at": script})).await, "started\n");
    let seen = |name: &str| place.path(&format!("home/work/{name}")).exists();
    for _ in 0..200 {
        if seen("there") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    if !seen("there") {
        println!("no user namespaces for the server here");
        return;
    }
    replace(&place, "config.toml");
    upstream.cover_replaced_files(&place.confinement().denied).await.unwrap();
    fs::write(place.path("home/work/go"), "").unwrap();
    while !seen("looked") {
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    assert_eq!(fs::read_to_string(place.path("home/work/seen")).unwrap(), "");
    upstream.close().await;
}

/// Waits for a file that a server makes in the folder of the state.
async fn until_made(place: &Place, name: &str) {
    while !place.path(&format!("home/work/{name}")).exists() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

/// A server may take long until it answers for the first time, and reads files all the while.
#[tokio::test]
async fn a_server_that_has_not_answered_yet_is_covered_too() {
    let place = Place::new();
    if !covers(&place.confinement(), User::Same) {
        return;
    }
    let mut config = confined(place.confinement());
    if let Endpoint::Stdio(stdio) = &mut config.endpoint {
        let folder = place.path("home/work").display().to_string();
        stdio.env.extend([(VARIABLE.to_owned(), "hangs".to_owned()), (FOLDER.to_owned(), folder)]);
    }
    let upstream = Arc::new(Upstream::new(config));
    let connecting = {
        let upstream = Arc::clone(&upstream);
        tokio::spawn(async move { upstream.connection().await.map(drop) })
    };
    until_made(&place, "started").await;
    replace(&place, "config.toml");
    let denied = place.confinement().denied;
    let covered = tokio::time::timeout(LONG, upstream.cover_replaced_files(&denied)).await;
    assert_eq!(covered.expect("nobody waits for its answer"), Ok(()));
    fs::write(place.path("home/work/go"), "").unwrap();
    until_made(&place, "looked").await;
    assert_ne!(fs::read_to_string(place.path("home/work/said")).unwrap(), "done");
    assert!(!connecting.is_finished());
    upstream.kill().await;
}

/// Starts a process that nothing ties to its server any more: with mounts of its own, in a session
/// of its own, without a parent and without a variable. It reads the configuration when it may.
/// Returns its number; `None` where the server cannot make user namespaces.
async fn orphan(place: &Place, upstream: &Upstream) -> Option<u32> {
    let script = format!(
        "cd {}; (unshare -Um --propagation unchanged true || echo > refused; unshare -Um --propagation unchanged setsid sh -c 'env -i /bin/sh -c \"echo \\$\\$ > \
         number; echo > there; while ! test -e go; do sleep 0.02; done; cat config.toml > seen; \
         echo > looked; exec sleep 600\" & exit 0') & echo started",
        place.path("home/work").display(),
    );
    assert_eq!(tried(upstream, json!({"do": "shell", "at": script})).await, "started\n");
    let made = |name: &str| place.path(&format!("home/work/{name}")).exists();
    while !made("there") && !made("refused") {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    if made("refused") {
        println!("no user namespaces for the server here");
        return None;
    }
    let number = fs::read_to_string(place.path("home/work/number")).unwrap();
    let number: u32 = number.trim().parse().unwrap();
    assert!(fs::read(format!("/proc/{number}/environ")).unwrap().is_empty(), "nothing marks it");
    Some(number)
}

/// Waits for the end of a process.
async fn until_ended(process: u32) {
    let runs = || {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
    };
    let ended = async {
        while runs() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONG, ended).await.expect("it has ended");
}

#[tokio::test]
async fn an_orphan_with_mounts_of_its_own_is_covered_and_ends_with_its_server() {
    let place = Place::new();
    let Some(upstream) = covered_server(&place).await else { return };
    let Some(orphan) = orphan(&place, &upstream).await else { return };
    replace(&place, "config.toml");
    upstream.cover_replaced_files(&place.confinement().denied).await.unwrap();
    fs::write(place.path("home/work/go"), "").unwrap();
    until_made(&place, "looked").await;
    assert_eq!(fs::read_to_string(place.path("home/work/seen")).unwrap(), "");
    assert_ne!(tried(&upstream, json!({"do": "disown"})).await, "done");
    upstream.kill().await;
    until_ended(orphan).await;
}

/// Nothing tells any more whose the orphans of a server are that has ended by itself. In a process
/// of its own, because the host adopts what is left behind.
#[test]
fn what_a_server_left_that_ended_by_itself_is_killed() {
    const ADOPTS: &str = "WEAVER_DRIVERS_ADOPTS";
    if std::env::var_os(ADOPTS).is_none() {
        let name = "covering::what_a_server_left_that_ended_by_itself_is_killed";
        let mut own = Command::new(std::env::current_exe().unwrap());
        let status = own.args(["--exact", name, "--nocapture"]).env(ADOPTS, "1").status();
        return assert!(status.unwrap().success());
    }
    adopt_orphans().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let place = Place::new();
        let Some(upstream) = covered_server(&place).await else { return };
        let Some(orphan) = orphan(&place, &upstream).await else { return };
        // Another server is none of what this one left.
        let other = covered_server(&place).await.unwrap();
        assert!(upstream.call(request("crash", json!({}))).await.is_err());
        until_ended(orphan).await;
        let beside = json!({"do": "make", "at": place.path("home/work/made")});
        assert_eq!(tried(&other, beside).await, "done");
        other.kill().await;
    });
}

/// A server that rules alone confine is not in reach of what it was denied, but of what takes its
/// place somewhere else.
#[tokio::test]
async fn a_link_that_leads_to_another_place_ends_a_server_without_mounts() {
    let place = Place::new();
    let config = place.path("home/work/config.toml");
    for name in ["first", "second"] {
        fs::create_dir(place.path(name)).unwrap();
        fs::write(place.path(&format!("{name}/config.toml")), SECRET).unwrap();
    }
    fs::remove_file(&config).unwrap();
    symlink(place.path("first/config.toml"), &config).unwrap();
    let upstream = Upstream::new(confined(place.confinement()));
    assert_ne!(tried(&upstream, json!({"do": "read", "at": config})).await, "done");
    let enforced = upstream.enforced().await.unwrap();
    if !enforced.protections.contains(&Protection::Files) {
        return;
    }
    assert!(!enforced.protections.contains(&Protection::Mounts), "{enforced}");
    let denied = place.confinement().denied;
    assert_eq!(upstream.cover_replaced_files(&denied).await, Ok(()));
    fs::remove_file(&config).unwrap();
    symlink(place.path("second/config.toml"), &config).unwrap();
    assert_eq!(tried(&upstream, json!({"do": "read", "at": config})).await, "done");
    let error = upstream.cover_replaced_files(&denied).await.unwrap_err();
    let second = place.path("second/config.toml").canonicalize().unwrap();
    assert_eq!(error, CoverRefreshError::NewPath { path: second });
    upstream.kill().await;
}

/// What cannot be examined in time is not left running.
#[tokio::test]
async fn a_server_with_more_open_files_than_are_examined_is_an_error() {
    let place = Place::new();
    let Some(upstream) = covered_server(&place).await else { return };
    assert_eq!(tried(&upstream, json!({"do": "crowd", "at": 1200, "files": 600})).await, "done");
    replace(&place, "config.toml");
    let error = upstream.cover_replaced_files(&place.confinement().denied).await.unwrap_err();
    assert_eq!(error, CoverRefreshError::TooMuch);
    upstream.kill().await;
}

#[tokio::test]
async fn who_opened_the_new_file_before_it_was_covered_is_found_out() {
    let place = Place::new();
    let Some(upstream) = covered_server(&place).await else { return };
    replace(&place, "config.toml");
    let path = place.path("home/work/config.toml");
    assert_eq!(tried(&upstream, json!({"do": "keep", "at": path})).await, "done");
    let error = upstream.cover_replaced_files(&place.confinement().denied).await.unwrap_err();
    assert!(
        matches!(&error, CoverRefreshError::Open { path: found, .. } if *found == path),
        "{error}"
    );
    upstream.kill().await;
}

/// A link cannot be covered in a running server.
#[tokio::test]
async fn what_cannot_be_covered_while_a_server_runs_is_an_error() {
    let place = Place::new();
    let Some(upstream) = covered_server(&place).await else { return };
    symlink(place.path("home/work/data.json"), place.path("home/work/keys")).unwrap();
    let error = upstream.cover_replaced_files(&place.confinement().denied).await.unwrap_err();
    assert!(matches!(error, CoverRefreshError::Helper(_)), "{error}");
    upstream.kill().await;
}

/// The folder of signed documents is exchanged as a whole, and its name then leads to another one.
fn exchange_state(place: &Place) {
    let (state, new) = (place.path("home/work/.state"), place.path("home/work/new"));
    fs::create_dir(&new).unwrap();
    fs::write(new.join("ledger.db"), SECRET).unwrap();
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, &new, CWD, &state, RenameFlags::EXCHANGE).unwrap();
    fs::remove_dir_all(&new).unwrap();
}

/// The process that kept state goes on, and reaches the new folder as little as the old one.
#[tokio::test]
async fn a_folder_that_takes_the_place_of_a_covered_one_is_covered_while_the_server_runs() {
    let place = Place::new();
    let Some(upstream) = covered_server(&place).await else { return };
    let denied = place.confinement().denied;
    let to = |name: &str| json!(place.path(&format!("home/work/{name}")));
    for _ in 0..2 {
        exchange_state(&place);
        fs::create_dir_all(place.path("home/work/keys/inner")).unwrap();
        assert_eq!(upstream.cover_replaced_files(&denied).await, Ok(()));
        for path in [".state/ledger.db", "keys/inner"] {
            assert_ne!(tried(&upstream, json!({"do": "read", "at": to(path)})).await, "done");
        }
        for path in [".state/made", "keys/made"] {
            assert_ne!(tried(&upstream, json!({"do": "make", "at": to(path)})).await, "done");
        }
    }
    assert_eq!(tried(&upstream, json!({"do": "make", "at": to("beside")})).await, "done");
    // It was within reach for a moment, and what was opened then is found.
    exchange_state(&place);
    let ledger = place.path("home/work/.state/ledger.db");
    assert_eq!(tried(&upstream, json!({"do": "keep", "at": ledger})).await, "done");
    let error = upstream.cover_replaced_files(&denied).await.unwrap_err();
    assert!(matches!(&error, CoverRefreshError::Open { path, .. } if *path == ledger), "{error}");
    upstream.kill().await;
}

/// A server that has ended needs nothing, and its id may be another process by then.
#[test]
fn a_child_that_has_ended_needs_no_cover() {
    let place = Place::new();
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let running = RunningChild::new(child.id());
    let denied = place.confinement().denied;
    let own = running.cover_replaced_files(&launcher(), &denied).unwrap_err();
    assert_eq!(own, CoverRefreshError::NoMounts, "it has the mounts of this process");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(running.cover_replaced_files(&launcher(), &denied), Ok(()));
}
