//! Configurations and signed documents that are broken in many ways: each error names the file, the
//! line, the cause and the next step, and every file stays as it was. Clients' own files are broken in
//! the tests of the gateway's crate.

use std::fs;

use serde_json::Value;

use crate::support::Folder;

const CONFIG: &str = "weaver.toml";
const POLICY: &str = "policy.toml";
const CONTRACTS: &str = "contracts.toml";
const KEYS: &str = "keys.toml";
const SERVER: &str = "[mcpServers.a]\ncommand = \"true\"\n";

/// What stands around the fault.
#[derive(Clone, Copy)]
enum Context {
    /// Nothing: the text is the whole file.
    Nothing,
    /// The head that such a file begins with stands before it.
    Head,
    /// The head, and a server.
    Server,
    /// The head, a server, and the begin of the section of the gateway.
    Gateway,
    /// The head, and the begin of a rule.
    Rule,
    /// The head, and the begin of a contract.
    Contract,
    /// The head comes after it.
    Behind,
}

use Context::{Behind, Contract, Gateway, Head, Nothing, Rule, Server};

/// A broken file: its text, the line of the fault, and words of the cause.
struct Broken {
    file: &'static str,
    context: Context,
    text: &'static str,
    line: u64,
    cause: &'static str,
}

macro_rules! broken {
    ($($name:ident: $file:ident),*) => {$(
        const fn $name(
            context: Context,
            text: &'static str,
            line: u64,
            cause: &'static str,
        ) -> Broken {
            Broken { file: $file, context, text, line, cause }
        }
    )*};
}

broken! { config: CONFIG, policy: POLICY, contracts: CONTRACTS, keys: KEYS }

const FILES: [Broken; 73] = [
    config(Nothing, "[principal\nid = \"x\"", 1, "not TOML: unclosed table, expected `]`"),
    config(Server, "x = 1", 8, "unknown key `x`"),
    config(Server, r#"args = "x""#, 8, "this is text, not a list"),
    config(Server, "args = [1]", 8, "this is a whole number, not text"),
    config(Server, r#"env = ["A"]"#, 8, "this is a list, not a table"),
    config(Server, "env = { A = 1 }", 8, "this is a whole number, not text"),
    config(Head, "[mcpServers.a]\n", 6, "neither `command` nor `url` is given"),
    config(Head, "[mcpServers.a]\ncommand = \"\"", 7, "this is empty"),
    config(Head, "[mcpServers.a]\nurl = \"ftp://x\"", 7, "this is not a server address"),
    config(Head, "[mcpServers.a]\nurl = \"nonsense\"", 7, "this is not a server address"),
    config(Server, r#"url = "https://x""#, 6, "`command` and `url` exclude each other"),
    config(
        Head,
        "[mcpServers.\"A B\"]\ncommand = \"x\"",
        6,
        "`A B` cannot name a server: 1 to 32 of a-z, 0-9, `_`, `-`",
    ),
    config(Server, "initialize_timeout_ms = -1", 8, "-1 is out of range"),
    config(Server, r#"instances = "many""#, 8, "`many` is not known here"),
    config(Gateway, r#"mode = "both""#, 9, "`both` is not known here"),
    config(Gateway, "mode = 1", 9, "this is a whole number, not one of gateway, proxy"),
    config(Gateway, "shortlist = 0", 9, "0 is out of range"),
    config(Gateway, "shortlist = 21", 9, "21 is out of range"),
    config(Gateway, r#"unprefixed = "yes""#, 9, "this is text, not true or false"),
    config(Gateway, r#"execute_tools = "two""#, 9, "`two` is not known here"),
    config(Gateway, r#"sentinels = ["none-such"]"#, 9, "`none-such` is not known here"),
    config(Gateway, "foo = 1", 9, "unknown key `foo`"),
    config(Server, "[gatway]\nmode = \"proxy\"", 8, "unknown key `gatway`"),
    config(Server, "[profiles.\"A\"]\nmode = \"proxy\"", 8, "`A` cannot name a profile"),
    config(Server, "[profiles.a]\nservers = [\"b\"]", 9, "there is no server `b`"),
    config(Server, "[profiles.a]\nmode = \"x\"", 9, "`x` is not known here"),
    config(Server, "[http]\nlisten = \"nowhere\"", 9, "`nowhere` is not an address"),
    config(Server, "[http]\ncert = \"x\"", 8, "`listen` is missing"),
    config(Server, "[store]\npath = 1", 9, "this is a whole number, not text"),
    config(Server, "[memory]\nfoo = 1", 9, "unknown key `foo`"),
    config(Server, "[mcpServers.a]\ncommand = \"b\"", 8, "not TOML: duplicate key"),
    config(Server, "a = 1979-05-27", 8, "unknown key `a`"),
    config(Server, r#"args = ["${"]"#, 8, "`${` has no closing brace"),
    config(
        Server,
        r#"args = ["${NO_SUCH_VARIABLE_X}"]"#,
        8,
        "the variable NO_SUCH_VARIABLE_X is not set",
    ),
    config(Behind, "servers = \"absent.json\"\n", 1, "absent.json: there is no such file"),
    config(Behind, "environment = \"absent.env\"\n", 1, "absent.env: there is no such file"),
    policy(Nothing, r#"kind = "policy"#, 1, r#"not TOML: invalid basic string, expected `"`"#),
    policy(Nothing, "format = 1", 1, "`kind` is missing"),
    policy(
        Nothing,
        "kind = \"contracts\"\nformat = 1\nid = \"example\"\nversion = 1\n",
        1,
        "this is a contracts document where policy is wanted",
    ),
    policy(
        Nothing,
        "kind = \"policy\"\nformat = 9\nid = \"example\"\nversion = 1\n",
        2,
        "format 9 is newer than 1",
    ),
    policy(
        Nothing,
        "kind = \"policy\"\nformat = 1\nid = \"example\"\nversion = 0\n",
        4,
        "the number is out of bounds",
    ),
    policy(
        Nothing,
        "kind = \"policy\"\nformat = 1\nid = 1\nversion = 1\n",
        3,
        "this is a whole number",
    ),
    policy(Head, r#"expires = "soon""#, 5, "this is not a point in time"),
    policy(Head, "rulez = 1", 5, "unknown key `rulez`"),
    policy(Head, "[[rules]]\nname = \"a\"\n", 5, "`match` is missing"),
    policy(Head, "[[rules]]\nname = \"a\"\neffect = \"permit\"", 7, "unknown effect `permit`"),
    policy(Rule, "match = 1", 8, "this is a whole number"),
    policy(Rule, r#"match = { capabilty = "x" }"#, 8, "unknown key `capabilty`"),
    policy(Rule, r#"match = { rung = ["L9"] }"#, 8, "unknown word `L9`"),
    policy(Rule, r#"match = { class = "reading" }"#, 8, "unknown word `reading`"),
    policy(Rule, "match = { arguments = [{ equals = 1 }] }", 8, "`at` is missing"),
    policy(Rule, "[[rules]]\nname = \"a\"\neffect = \"deny\"", 9, "rules[0] has the same name"),
    policy(Head, "[[limits]]\nname = \"l\"", 5, "`window_s` is missing"),
    policy(
        Head,
        "[[limits]]\nname = \"l\"\nmax_calls = 0\nwindow_s = 60",
        7,
        "the number is out of bounds",
    ),
    policy(
        Head,
        "[principals.\"a b\"]\nroles = []",
        5,
        "`a b` is no principal id: 1 to 256 bytes of visible characte",
    ),
    policy(Head, "[principals.a]\nroles = 1", 6, "this is a whole number"),
    policy(Head, "[principals.a]\nrole = [\"x\"]", 6, "unknown key `role`"),
    contracts(Head, "[capabilities]\n\"a.b\" = 1", 6, "this is a whole number"),
    contracts(Contract, r#"effects = "reads""#, 6, "unknown word `reads`"),
    contracts(Contract, r#"rung = "L9""#, 6, "unknown word `L9`"),
    contracts(Contract, r#"effect = "read_local""#, 6, "unknown key `effect`"),
    contracts(Contract, r#"sink = "mail""#, 6, "unknown word `mail`"),
    contracts(Contract, "timeout_ms = 1", 6, "the timeout is out of bounds"),
    contracts(
        Contract,
        "effects = \"write_open\"\nrung = \"L0\"",
        7,
        "the effects give L4, and L0 is lower",
    ),
    contracts(
        Head,
        "[capabilities.\"a.*\"]\nupstream_digest = \"sha256:00\"",
        6,
        "not a digest: write `sha256:` and 64 lower-case hexadecimal",
    ),
    contracts(
        Contract,
        r#"critical_arguments = ["to"]"#,
        6,
        "`to` is not a JSON pointer: it must be empty or begin with `/`",
    ),
    contracts(Contract, r#"output = { confidentiality = "secret" }"#, 6, "unknown word `secret`"),
    contracts(Contract, r#"sensitivity = ["health"]"#, 6, "unknown word `health`"),
    keys(Head, "[people]\n", 5, "unknown key `people`"),
    keys(Head, "[[approvers]]\n", 5, "this is a list"),
    keys(Head, "[keys.a]\npublic = \"x\"", 5, "unknown key `keys`"),
    keys(Head, "nonsense = 1", 5, "unknown key `nonsense`"),
    keys(Nothing, "kind = \"keys\"\nformat = \"one\"", 2, "this is text"),
];

/// The text of the file, and where it lies.
fn written(folder: &Folder, broken: &Broken) -> (String, String) {
    let config = fs::read_to_string(folder.path(CONFIG)).unwrap();
    let root = config.lines().find(|line| line.starts_with("root = ")).unwrap();
    let head = match broken.file {
        CONFIG => format!("[principal]\nid = \"owner\"\n[trust]\n{root}\nfolder = \"policy\"\n"),
        document => {
            let kind = document.trim_end_matches(".toml");
            format!("kind = \"{kind}\"\nformat = 1\nid = \"example\"\nversion = 1\n")
        }
    };
    let text = match broken.context {
        Nothing => broken.text.to_owned(),
        Head => format!("{head}{}", broken.text),
        Server => format!("{head}{SERVER}{}", broken.text),
        Gateway => format!("{head}{SERVER}[gateway]\n{}", broken.text),
        Rule => format!("{head}[[rules]]\nname = \"a\"\neffect = \"allow\"\n{}", broken.text),
        Contract => format!("{head}[capabilities.\"a.b\"]\n{}", broken.text),
        Behind => format!("{}{head}", broken.text),
    };
    let path = match broken.file {
        CONFIG => CONFIG.to_owned(),
        document => format!("policy/{document}"),
    };
    (path, text)
}

#[test]
fn a_broken_file_is_told_with_its_place_and_the_next_step() {
    let folder = Folder::new();
    let mut wrong = Vec::new();
    for broken in &FILES {
        let (path, text) = written(&folder, broken);
        let before = fs::read_to_string(folder.path(&path)).unwrap_or_default();
        folder.write(&path, &text);
        let run = folder.check(&["--json"]);
        let report: Value = serde_json::from_str(&run.err).unwrap();
        let findings = report["findings"].as_array().unwrap();
        let told = findings.iter().find(|finding| {
            finding["file"].as_str().is_some_and(|file| file.ends_with(broken.file))
                && finding["line"] == broken.line
                && finding["message"].as_str().is_some_and(|said| said.contains(broken.cause))
                && finding["remedy"].as_str().is_some_and(|next| !next.is_empty())
        });
        if run.code != 3 || told.is_none() {
            wrong
                .push(format!("{path}: {text:?}, line {}, {}\n{run:?}", broken.line, broken.cause));
        }
        assert_eq!(fs::read_to_string(folder.path(&path)).unwrap(), text, "a check writes nothing");
        folder.write(&path, &before);
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), FILES.len(), wrong.join("\n"));
}
