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

/// What stands around the fault.
#[derive(Clone, Copy)]
enum Context {
    /// Nothing: the text is the whole file.
    Nothing,
    /// The head that such a file begins with stands before it.
    Head,
    /// The head, and a server.
    Server,
    /// The head comes after it.
    Behind,
}

use Context::{Behind, Head, Nothing, Server};

/// A broken file: its text, the line of the fault, and words of the cause.
struct Broken {
    file: &'static str,
    context: Context,
    text: &'static str,
    line: u64,
    cause: &'static str,
}

const fn broken(
    file: &'static str,
    context: Context,
    text: &'static str,
    line: u64,
    cause: &'static str,
) -> Broken {
    Broken { file, context, text, line, cause }
}

const FILES: [Broken; 73] = [
    broken(CONFIG, Nothing, "[principal\nid = \"x\"", 1, "not TOML: unclosed table, expected `]`"),
    broken(CONFIG, Server, "x = 1", 8, "unknown key `x`"),
    broken(CONFIG, Server, "args = \"x\"", 8, "this is text, not a list"),
    broken(CONFIG, Server, "args = [1]", 8, "this is a whole number, not text"),
    broken(CONFIG, Server, "env = [\"A\"]", 8, "this is a list, not a table"),
    broken(CONFIG, Server, "env = { A = 1 }", 8, "this is a whole number, not text"),
    broken(CONFIG, Head, "[mcpServers.a]\n", 6, "neither `command` nor `url` is given"),
    broken(CONFIG, Head, "[mcpServers.a]\ncommand = \"\"", 7, "this is empty"),
    broken(CONFIG, Head, "[mcpServers.a]\nurl = \"ftp://x\"", 7, "this is not a server address"),
    broken(CONFIG, Head, "[mcpServers.a]\nurl = \"nonsense\"", 7, "this is not a server address"),
    broken(CONFIG, Server, "url = \"https://x\"", 6, "`command` and `url` exclude each other"),
    broken(
        CONFIG,
        Head,
        "[mcpServers.\"A B\"]\ncommand = \"x\"",
        6,
        "`A B` cannot name a server: 1 to 32 of a-z, 0-9, `_`, `-`",
    ),
    broken(CONFIG, Server, "initialize_timeout_ms = -1", 8, "-1 is out of range"),
    broken(CONFIG, Server, "instances = \"many\"", 8, "`many` is not known here"),
    broken(CONFIG, Server, "[gateway]\nmode = \"both\"", 9, "`both` is not known here"),
    broken(
        CONFIG,
        Server,
        "[gateway]\nmode = 1",
        9,
        "this is a whole number, not one of gateway, proxy",
    ),
    broken(CONFIG, Server, "[gateway]\nshortlist = 0", 9, "0 is out of range"),
    broken(CONFIG, Server, "[gateway]\nshortlist = 21", 9, "21 is out of range"),
    broken(CONFIG, Server, "[gateway]\nunprefixed = \"yes\"", 9, "this is text, not true or false"),
    broken(CONFIG, Server, "[gateway]\nexecute_tools = \"two\"", 9, "`two` is not known here"),
    broken(
        CONFIG,
        Server,
        "[gateway]\nsentinels = [\"none-such\"]",
        9,
        "`none-such` is not known here",
    ),
    broken(CONFIG, Server, "[gateway]\nfoo = 1", 9, "unknown key `foo`"),
    broken(CONFIG, Server, "[gatway]\nmode = \"proxy\"", 8, "unknown key `gatway`"),
    broken(CONFIG, Server, "[profiles.\"A\"]\nmode = \"proxy\"", 8, "`A` cannot name a profile"),
    broken(CONFIG, Server, "[profiles.a]\nservers = [\"b\"]", 9, "there is no server `b`"),
    broken(CONFIG, Server, "[profiles.a]\nmode = \"x\"", 9, "`x` is not known here"),
    broken(CONFIG, Server, "[http]\nlisten = \"nowhere\"", 9, "`nowhere` is not an address"),
    broken(CONFIG, Server, "[http]\ncert = \"x\"", 8, "`listen` is missing"),
    broken(CONFIG, Server, "[store]\npath = 1", 9, "this is a whole number, not text"),
    broken(CONFIG, Server, "[memory]\nfoo = 1", 9, "unknown key `foo`"),
    broken(CONFIG, Server, "[mcpServers.a]\ncommand = \"b\"", 8, "not TOML: duplicate key"),
    broken(CONFIG, Server, "a = 1979-05-27", 8, "unknown key `a`"),
    broken(CONFIG, Server, "args = [\"${\"]", 8, "`${` has no closing brace"),
    broken(
        CONFIG,
        Server,
        "args = [\"${NO_SUCH_VARIABLE_X}\"]",
        8,
        "the variable NO_SUCH_VARIABLE_X is not set",
    ),
    broken(CONFIG, Behind, "servers = \"absent.json\"\n", 1, "absent.json: there is no such file"),
    broken(
        CONFIG,
        Behind,
        "environment = \"absent.env\"\n",
        1,
        "absent.env: there is no such file",
    ),
    broken(POLICY, Nothing, "kind = \"policy", 1, "not TOML: invalid basic string, expected `\"`"),
    broken(POLICY, Nothing, "format = 1", 1, "`kind` is missing"),
    broken(
        POLICY,
        Nothing,
        "kind = \"contracts\"\nformat = 1\nid = \"example\"\nversion = 1\n",
        1,
        "this is a contracts document where policy is wanted",
    ),
    broken(
        POLICY,
        Nothing,
        "kind = \"policy\"\nformat = 9\nid = \"example\"\nversion = 1\n",
        2,
        "format 9 is newer than 1",
    ),
    broken(
        POLICY,
        Nothing,
        "kind = \"policy\"\nformat = 1\nid = \"example\"\nversion = 0\n",
        4,
        "the number is out of bounds",
    ),
    broken(
        POLICY,
        Nothing,
        "kind = \"policy\"\nformat = 1\nid = 1\nversion = 1\n",
        3,
        "this is a whole number",
    ),
    broken(POLICY, Head, "expires = \"soon\"", 5, "this is not a point in time"),
    broken(POLICY, Head, "rulez = 1", 5, "unknown key `rulez`"),
    broken(POLICY, Head, "[[rules]]\nname = \"a\"\n", 5, "`match` is missing"),
    broken(
        POLICY,
        Head,
        "[[rules]]\nname = \"a\"\neffect = \"permit\"",
        7,
        "unknown effect `permit`",
    ),
    broken(
        POLICY,
        Head,
        "[[rules]]\nname = \"a\"\neffect = \"allow\"\nmatch = 1",
        8,
        "this is a whole number",
    ),
    broken(
        POLICY,
        Head,
        "[[rules]]\nname = \"a\"\neffect = \"allow\"\nmatch = { capabilty = \"x\" }",
        8,
        "unknown key `capabilty`",
    ),
    broken(
        POLICY,
        Head,
        "[[rules]]\nname = \"a\"\neffect = \"allow\"\nmatch = { rung = [\"L9\"] }",
        8,
        "unknown word `L9`",
    ),
    broken(
        POLICY,
        Head,
        "[[rules]]\nname = \"a\"\neffect = \"allow\"\nmatch = { class = \"reading\" }",
        8,
        "unknown word `reading`",
    ),
    broken(
        POLICY,
        Head,
        "[[rules]]\nname = \"a\"\neffect = \"allow\"\nmatch = { arguments = [{ equals = 1 }] }",
        8,
        "`at` is missing",
    ),
    broken(
        POLICY,
        Head,
        "[[rules]]\nname = \"a\"\neffect = \"allow\"\n[[rules]]\nname = \"a\"\neffect = \"deny\"",
        9,
        "rules[0] has the same name",
    ),
    broken(POLICY, Head, "[[limits]]\nname = \"l\"", 5, "`window_s` is missing"),
    broken(
        POLICY,
        Head,
        "[[limits]]\nname = \"l\"\nmax_calls = 0\nwindow_s = 60",
        7,
        "the number is out of bounds",
    ),
    broken(
        POLICY,
        Head,
        "[principals.\"a b\"]\nroles = []",
        5,
        "`a b` is no principal id: 1 to 256 bytes of visible characte",
    ),
    broken(POLICY, Head, "[principals.a]\nroles = 1", 6, "this is a whole number"),
    broken(POLICY, Head, "[principals.a]\nrole = [\"x\"]", 6, "unknown key `role`"),
    broken(CONTRACTS, Head, "[capabilities]\n\"a.b\" = 1", 6, "this is a whole number"),
    broken(
        CONTRACTS,
        Head,
        "[capabilities.\"a.b\"]\neffects = \"reads\"",
        6,
        "unknown word `reads`",
    ),
    broken(CONTRACTS, Head, "[capabilities.\"a.b\"]\nrung = \"L9\"", 6, "unknown word `L9`"),
    broken(
        CONTRACTS,
        Head,
        "[capabilities.\"a.b\"]\neffect = \"read_local\"",
        6,
        "unknown key `effect`",
    ),
    broken(CONTRACTS, Head, "[capabilities.\"a.b\"]\nsink = \"mail\"", 6, "unknown word `mail`"),
    broken(
        CONTRACTS,
        Head,
        "[capabilities.\"a.b\"]\ntimeout_ms = 1",
        6,
        "the timeout is out of bounds",
    ),
    broken(
        CONTRACTS,
        Head,
        "[capabilities.\"a.b\"]\neffects = \"write_open\"\nrung = \"L0\"",
        7,
        "the effects give L4, and L0 is lower",
    ),
    broken(
        CONTRACTS,
        Head,
        "[capabilities.\"a.*\"]\nupstream_digest = \"sha256:00\"",
        6,
        "not a digest: write `sha256:` and 64 lower-case hexadecimal",
    ),
    broken(
        CONTRACTS,
        Head,
        "[capabilities.\"a.b\"]\ncritical_arguments = [\"to\"]",
        6,
        "`to` is not a JSON pointer: it must be empty or begin with `/`",
    ),
    broken(
        CONTRACTS,
        Head,
        "[capabilities.\"a.b\"]\noutput = { confidentiality = \"secret\" }",
        6,
        "unknown word `secret`",
    ),
    broken(
        CONTRACTS,
        Head,
        "[capabilities.\"a.b\"]\nsensitivity = [\"health\"]",
        6,
        "unknown word `health`",
    ),
    broken(KEYS, Head, "[people]\n", 5, "unknown key `people`"),
    broken(KEYS, Head, "[[approvers]]\n", 5, "this is a list"),
    broken(KEYS, Head, "[keys.a]\npublic = \"x\"", 5, "unknown key `keys`"),
    broken(KEYS, Head, "nonsense = 1", 5, "unknown key `nonsense`"),
    broken(KEYS, Nothing, "kind = \"keys\"\nformat = \"one\"", 2, "this is text"),
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
        Server => format!("{head}[mcpServers.a]\ncommand = \"true\"\n{}", broken.text),
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
