//! Each help fits a screen and shows examples, and each example works.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::newcomer::Home;
use crate::support::{Run, until, weaver};

/// The rows and columns that a terminal has which nobody made larger.
const ROWS: usize = 24;
const COLUMNS: usize = 80;
/// No help is longer.
const MOST_ROWS: usize = 40;

/// A command without `weaver`, and its help.
struct Help {
    command: Vec<String>,
    text: String,
}

impl Help {
    fn name(&self) -> String {
        self.command.join(" ")
    }

    /// The command lines below `Example:` or `Examples:`.
    fn examples(&self) -> Vec<String> {
        let mut lines = self.text.lines().skip_while(|line| !line.starts_with("Example"));
        lines.next();
        let indented: Vec<&str> = lines.take_while(|line| line.starts_with("  ")).collect();
        let text = indented.join("\n").replace("\\\n", "");
        text.lines()
            .map(|line| {
                line.split("  ").filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
            })
            .collect()
    }
}

/// The commands that a help lists.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

fn walk(command: Vec<String>, out: &mut Vec<Help>) {
    let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
    let run = weaver(&words);
    assert_eq!(run.code, 0, "{words:?}: {run:?}");
    // Alone, it lists the commands by what they are for; `weaver help` has all of them.
    let below = if command.is_empty() { listed(&weaver(&["help"]).out) } else { listed(&run.out) };
    out.push(Help { command: command.clone(), text: run.out });
    for name in below {
        walk(command.iter().cloned().chain([name]).collect(), out);
    }
}

fn all() -> Vec<Help> {
    let mut out = Vec::new();
    walk(Vec::new(), &mut out);
    assert!(out.len() > 80, "{}", out.len());
    out
}

#[test]
fn each_help_fits_a_screen_and_shows_an_example() {
    let helps = all();
    let mut long = Vec::new();
    for help in &helps {
        let (name, rows) = (help.name(), help.text.trim_end().lines().count());
        let columns = help.text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(columns <= COLUMNS, "{name}: {columns} columns\n{}", help.text);
        assert!(rows <= MOST_ROWS, "{name}: {rows} rows\n{}", help.text);
        assert!(!help.examples().is_empty(), "{name}\n{}", help.text);
        if rows > ROWS {
            long.push(name);
        }
    }
    assert!(long.len() <= 18, "more than a few need a second look: {long:?}");
}

#[test]
fn the_root_names_every_command() {
    let root = weaver(&["--help"]).out;
    for command in listed(&weaver(&["help"]).out) {
        let known = root.split(|c: char| !c.is_alphanumeric() && c != '-').any(|w| w == command);
        assert!(known, "{command}\n{root}");
    }
}

/// A gateway that has been used, with the files that examples name.
pub(crate) struct Workbench {
    home: Home,
    ids: Vec<Id>,
}

/// An id that is there, for what stands for it in the examples of a command.
struct Id {
    command: &'static str,
    stands: &'static str,
    id: String,
}

const FILES: [(&str, &str); 12] = [
    ("tools.jsonl", "{\"id\": \"files.read_note\"}\n{\"id\": \"files.delete_note\"}\n"),
    (
        "tools.json",
        r#"{"tools": [{"name": "close_ticket", "description": "Closes a ticket.",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}}}]}"#,
    ),
    (
        "before.json",
        r#"{"tools": [{"name": "close_ticket", "description": "Closes one ticket.",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}}}]}"#,
    ),
    (
        "cases.toml",
        "[[cases]]\nname = \"a reader reads\"\ncapability = \"files.read_note\"\n\
         principal = { id = \"demo\" }\nexpect = { verdict = \"allow\" }\n",
    ),
    (
        "requests.jsonl",
        "{\"id\": \"1\", \"capability\": \"files.read_note\", \"principal\": {\"id\": \"demo\"}}\n",
    ),
    (
        "one.json",
        "{\"id\": \"1\", \"capability\": \"files.read_note\", \"principal\": {\"id\": \"demo\"}}\n",
    ),
    (
        "events.jsonl",
        "{\"id\": \"a\", \"kind\": \"user_turn\", \"text\": \"Which invoices are open?\"}\n",
    ),
    ("app.log", "mail to ana@example.com\n"),
    ("texts.jsonl", "{\"id\": \"1\", \"text\": \"mail to ana@example.com\"}\n"),
    ("answer.json", "[{\"id\": 1, \"state\": \"open\"}]\n"),
    (
        "tasks.jsonl",
        "{\"id\": \"t\", \"prompt\": \"read it\", \"steps\": [{\"tool\": \"files.read_note\", \
         \"args\": {\"name\": \"welcome\"}, \"output\": \"hello\"}]}\n",
    ),
    (
        "ours.toml",
        "[[rule]]\nid = \"badge\"\ntype = \"badge\"\nanchors = [\"badge-\"]\n\
         pattern = 'badge-([0-9]{6})\\b'\nmasks = [[\"badge-123456 in\", \"123456\"]]\n\
         keeps = [\"badge-12\"]\n",
    ),
];

impl Workbench {
    pub(crate) fn new() -> Self {
        let home = Home::new();
        home.with_cursor();
        let bin = home.path("bin");
        fs::create_dir_all(&bin).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_weaver"), bin.join("weaver")).unwrap();
        let demo = home.ok(&["demo", "--keep", home.path("bench").to_str().unwrap()]);
        let (_, after) = demo.out.split_once("shown this once:").unwrap();
        home.write("pass", after.split_whitespace().next().unwrap());
        let mut bench = Self { home, ids: Vec::new() };
        bench.write_files();
        let record = |query: &str| bench.ok(&format!("weaver trace list --json {query}")).out;
        let all = record("--limit 1000");
        let ids = [
            ("weaver allow", "call_0123…", first(&record("reason:explicit_deny_rule"), "call_")),
            ("weaver", "call_0123…", first(&record("event:call.outcome"), "call_")),
            ("weaver", "run_0123…", first(&all, "run_")),
            ("weaver", "apr_0123…", first(&all, "apr_")),
        ];
        bench.ids = ids.map(|(command, stands, id)| Id { command, stands, id }).into();
        bench
    }

    /// The files that examples name, and facts that contradict each other.
    fn write_files(&self) {
        for (name, text) in FILES {
            self.home.write(&format!("bench/{name}"), text);
        }
        let copy = |from: &str, to: &str| {
            let to = self.bench().join(to);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(self.bench().join(from), to).unwrap();
        };
        for (from, to) in [("root", "root"), ("owner", "owner"), ("root", "log"), ("owner", "next")]
        {
            copy(&format!("keys/{from}.key"), &format!("{to}.key"));
        }
        copy("policy/policy.toml", "draft.toml");
        for name in ["policy.toml", "contracts.toml", "keys.toml"] {
            copy(&format!("policy/{name}"), &format!("old/{name}"));
            copy(&format!("policy/{name}"), &format!("new/{name}"));
        }
        self.ok(&signed(
            "weaver approve standing grant --capability 'files.*' --principal demo --uses 20 \
             --expires 7d --out mail.json --key owner.key",
        ));
        self.ok("weaver memory put plan may --kind fact --source ana");
        self.ok("weaver memory put plan june --kind fact --source bo");
    }

    fn bench(&self) -> PathBuf {
        self.home.path("bench")
    }

    fn command(&self, line: &str) -> Command {
        let mut command = self.home.command(Path::new("/bin/sh"));
        let path = format!("{}:/usr/bin:/bin", self.home.path("bin").display());
        let at_home = BEGIN.iter().any(|begin| line.starts_with(begin));
        command.current_dir(if at_home { self.home.path("work") } else { self.bench() });
        command.args(["-c", line]).env("PATH", path).env("EDITOR", "true").stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, line: &str) -> Run {
        Run::new(self.command(line).output().unwrap())
    }

    fn ok(&self, line: &str) -> Run {
        let run = self.run(line);
        assert_eq!(run.code, 0, "{line}: {run:?}");
        run
    }

    /// An example with the ids that are there, and with a passphrase where one is asked for.
    pub(crate) fn filled(&self, example: &str) -> String {
        let ids = self.ids.iter().filter(|id| example.starts_with(id.command));
        signed(&ids.fold(example.to_owned(), |line, id| line.replace(id.stands, &id.id)))
    }

    /// Starts a command that goes on until it is stopped.
    fn started(&self, line: &str) -> Child {
        let mut child = self.command(line).spawn().unwrap();
        until(line, || {
            assert!(child.try_wait().unwrap().is_none(), "{line} ended by itself");
            self.run("weaver status").code == 0
        });
        child
    }
}

/// The line with what a person would type.
fn signed(line: &str) -> String {
    let mut line = line.to_owned();
    let opens_key = line.contains("--key ") || line.contains("keys new");
    if opens_key && (line.contains("weaver approve") || line.contains("weaver feedback")) {
        line.push_str(" --yes");
    }
    if line.contains("keys passphrase") {
        line.push_str(" --passphrase-fd 3 3< ../pass --new-passphrase-fd 4 4< ../pass");
    }
    if opens_key {
        line.push_str(" --passphrase-fd 3 3< ../pass");
    }
    line
}

/// The first id of a kind in the text of events.
fn first(text: &str, prefix: &str) -> String {
    let mut words = text.split('"').filter(|word| word.starts_with(prefix));
    words.next().unwrap_or_else(|| panic!("no {prefix}: {text}")).to_owned()
}

/// How an example ends where a demo has less than it needs.
struct Ending {
    example: &'static str,
    code: i32,
    why: &'static str,
}

const fn ends(example: &'static str, code: i32, why: &'static str) -> Ending {
    Ending { example, code, why }
}

/// The others end with 0.
const ENDS: &[Ending] = &[
    ends("weaver init", 2, "it asks on a terminal"),
    ends("weaver update files --timeout 300", 7, "the newcomer has no such server"),
    ends("weaver remove notes --dry-run", 7, "the newcomer has no such server"),
    ends("weaver remove notes", 7, "the newcomer has no such server"),
    ends("weaver review", 2, "it asks on a terminal"),
    ends("weaver review files", 2, "it asks on a terminal"),
    ends("weaver review --set files.read_file=reads", 7, "the demo has no such tool"),
    ends("weaver posture observe", 2, "it asks on a terminal"),
    ends("weaver allow call_0123…", 1, "untrusted data came before each denied call"),
    ends("weaver allow call_0123… --json", 1, "untrusted data came before each denied call"),
    ends("weaver login tracker", 7, "the demo has no such server"),
    ends("weaver logout tracker", 7, "the demo has no such server"),
    ends("weaver approve revoke apr_0123… --key owner.key", 8, "the demo has no operator"),
    ends("weaver approve clock --key owner.key", 8, "the demo has no operator"),
    ends(
        "weaver feedback record call_0123… --wrong --key owner.key",
        8,
        "the demo has no operator",
    ),
    ends("weaver approve standing show std_0123…", 7, "no gateway has taken one in"),
    ends(
        "weaver approve standing revoke std_0123… --key owner.key",
        7,
        "no gateway has taken one in",
    ),
    ends("weaver approve standing sign mail.json --key owner.key", 9, "its only person has signed"),
    ends("weaver approve end-run --current --key owner.key", 7, "no run is under way"),
];

/// The commands of a newcomer, who stands in no folder with a configuration.
const BEGIN: [&str; 4] = ["weaver init", "weaver update", "weaver connect", "weaver disconnect"];

#[test]
fn each_example_works() {
    let bench = Workbench::new();
    let helps = all();
    let mut seen = BTreeSet::new();
    let examples = helps.iter().flat_map(Help::examples);
    let (keys, others): (Vec<String>, Vec<String>) = examples
        .filter(|example| seen.insert(example.clone()))
        .partition(|example| example.starts_with("weaver trace key"));
    let mut wrong = Vec::new();
    let mut daemon: Option<Child> = None;
    // The held call of the demo ends with its client's run, as soon as another gateway starts.
    let answers = ["weaver approve grant", "weaver approve deny", "weaver approve revoke"];
    let answers_it = |example: &String| answers.iter().any(|one| example.starts_with(one));
    let (answers, others): (Vec<String>, Vec<String>) = others.into_iter().partition(answers_it);
    // A key that has ended signs nothing more.
    for example in answers.iter().chain(&others).chain(&keys) {
        if example.starts_with("weaver daemon") {
            daemon = Some(bench.started(example));
            continue;
        }
        let run = bench.run(&bench.filled(example));
        if example == "weaver stop" {
            let mut child = daemon.take().unwrap();
            assert!(child.wait().unwrap().success(), "the daemon ends as it was told to");
        }
        if example.starts_with("weaver serve") || example == "weaver logs" {
            bench.run("weaver stop");
        }
        let ending = ENDS.iter().find(|ending| ending.example == example.as_str());
        let (code, why) = ending.map_or((0, ""), |ending| (ending.code, ending.why));
        if run.code != code {
            let said: String = format!("{}{}", run.err, run.out).chars().take(400).collect();
            wrong.push(format!("{example}: ended with {}, not {code} ({why})\n{said}", run.code));
        }
    }
    assert!(wrong.is_empty(), "{} examples:\n{}", wrong.len(), wrong.join("\n"));
    let unknown: Vec<&str> = ENDS
        .iter()
        .map(|ending| ending.example)
        .filter(|one| !answers.iter().chain(&others).any(|example| example == one))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
