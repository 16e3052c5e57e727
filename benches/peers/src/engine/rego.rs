//! Rego in regorus, in two ways: the interpreter with the rules as data, and the virtual machine
//! with a Rego rule for each.

use std::fmt::Write as _;

use regorus::languages::rego::compiler::Compiler;
use regorus::rvm::vm::RegoVM;
use regorus::{Engine as Interpreter, Rc, Value};
use serde_json::json;
use weaver_benches::Failure;
use weaver_benches::scenario::{Answer, Call, Condition, Line, Scenario, roles};

use super::{Engine, ReadyEngine};
use crate::measure::timed;

const HEAD: &str = "package gate\nimport rego.v1\n";
const DECISION: &str = "default decision := \"deny\"\n\
    decision := \"deny\" if { \"deny\" in hits } \
    else := \"approve\" if { \"approve\" in hits } \
    else := \"allow\" if { \"allow\" in hits }\n";
const DATA: &str = "hits contains line.answer if {
    some line in data.lines
    tool_fits(line)
    line.role in input.roles
    input.level >= line.least
    input.level <= line.most
    condition_holds(line)
}
tool_fits(line) if { line.kind == \"exact\"; input.tool == line.tool }
tool_fits(line) if { line.kind == \"prefix\"; startswith(input.tool, line.tool) }
tool_fits(line) if { line.kind == \"suffix\"; endswith(input.tool, line.tool) }
condition_holds(line) if line.condition == \"none\"
condition_holds(line) if { line.condition == \"amount\"; input.amount <= line.value }
condition_holds(line) if { line.condition == \"path\"; startswith(input.path, line.value) }
";
const ENTRY: &str = "data.gate.decision";
/// One file may have 1 MiB, so rules as code go into several.
const PER_FILE: usize = 2_000;

struct Data {
    interpreter: Interpreter,
    inputs: Vec<Value>,
}

struct Code {
    machine: RegoVM,
    inputs: Vec<Value>,
}

/// The interpreter over rules as data.
pub fn read_data(scenario: &Scenario) -> Result<ReadyEngine<'_>, Failure> {
    let lines: Vec<_> = scenario.lines.iter().map(as_data).collect();
    let lines = json!({ "lines": lines }).to_string();
    let (interpreter, load) = timed(|| -> Result<_, Failure> {
        let mut interpreter = Interpreter::new();
        interpreter.add_policy("gate.rego".to_owned(), format!("{HEAD}{DATA}{DECISION}"))?;
        interpreter.add_data(Value::from_json_str(&lines)?)?;
        Ok(interpreter)
    });
    let engine = Data { interpreter: interpreter?, inputs: inputs(scenario)? };
    Ok(ReadyEngine { engine: Box::new(engine), load })
}

/// The virtual machine over rules as code.
pub fn read_code(scenario: &Scenario) -> Result<ReadyEngine<'_>, Failure> {
    let mut files = vec![format!("{HEAD}{DECISION}")];
    for lines in scenario.lines.chunks(PER_FILE) {
        let mut file = HEAD.to_owned();
        lines.iter().try_for_each(|line| as_code(&mut file, line))?;
        files.push(file);
    }
    let (machine, load) = timed(|| machine(files));
    let engine = Code { machine: machine?, inputs: inputs(scenario)? };
    Ok(ReadyEngine { engine: Box::new(engine), load })
}

fn machine(files: Vec<String>) -> Result<RegoVM, Failure> {
    let mut interpreter = Interpreter::new();
    for (place, file) in files.into_iter().enumerate() {
        interpreter.add_policy(format!("gate-{place}.rego"), file)?;
    }
    let entry: Rc<str> = ENTRY.into();
    let policy = interpreter.compile_with_entrypoint(&entry)?;
    let program = Compiler::compile_from_policy(&policy, &[ENTRY]).map_err(|e| e.to_string())?;
    let mut machine = RegoVM::new();
    machine.load_program(program);
    machine.set_data(Value::new_object())?;
    machine.set_max_instructions(usize::MAX);
    Ok(machine)
}

/// Kind and text of a pattern.
fn pattern(tools: &str) -> (&'static str, &str) {
    match (tools.strip_prefix('*'), tools.strip_suffix('*')) {
        (Some(end), _) => ("suffix", end),
        (_, Some(beginning)) => ("prefix", beginning),
        _ => ("exact", tools),
    }
}

fn as_data(line: &Line) -> serde_json::Value {
    let (kind, tool) = pattern(&line.tools);
    let (condition, value) = match &line.condition {
        Condition::None => ("none", json!(null)),
        Condition::AtMost(most) => ("amount", json!(most)),
        Condition::Below(folder) => ("path", json!(folder)),
    };
    json!({
        "kind": kind, "tool": tool, "role": line.role, "answer": word(line.answer),
        "least": line.levels.start(), "most": line.levels.end(),
        "condition": condition, "value": value,
    })
}

fn as_code(out: &mut String, line: &Line) -> Result<(), Failure> {
    let tool = match pattern(&line.tools) {
        ("exact", tool) => format!("input.tool == \"{tool}\""),
        ("prefix", text) => format!("startswith(input.tool, \"{text}\")"),
        (_, text) => format!("endswith(input.tool, \"{text}\")"),
    };
    let condition = match &line.condition {
        Condition::None => String::new(),
        Condition::AtMost(most) => format!("; input.amount <= {most}"),
        Condition::Below(folder) => format!("; startswith(input.path, \"{folder}\")"),
    };
    let (least, most) = (line.levels.start(), line.levels.end());
    writeln!(
        out,
        "hits contains \"{}\" if {{ {tool}; \"{}\" in input.roles; \
         input.level >= {least}; input.level <= {most}{condition} }}",
        word(line.answer),
        line.role
    )?;
    Ok(())
}

fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Allow => "allow",
        Answer::Approve => "approve",
        Answer::Deny => "deny",
    }
}

fn inputs(scenario: &Scenario) -> Result<Vec<Value>, Failure> {
    scenario.calls.iter().map(input).collect()
}

fn input(call: &Call) -> Result<Value, Failure> {
    let input = json!({
        "tool": call.tool, "roles": roles(call.user), "level": call.level,
        "amount": call.amount, "path": call.path,
    });
    Ok(Value::from_json_str(&input.to_string())?)
}

fn answer(value: &Value) -> Result<Answer, Failure> {
    match value.as_string()?.as_ref() {
        "allow" => Ok(Answer::Allow),
        "approve" => Ok(Answer::Approve),
        "deny" => Ok(Answer::Deny),
        other => Err(format!("unknown answer `{other}`").into()),
    }
}

impl Engine for Data {
    fn answer(&mut self, call: usize) -> Result<Answer, Failure> {
        let input = self.inputs.get(call).ok_or("no such call")?;
        self.interpreter.set_input(input.clone());
        answer(&self.interpreter.eval_rule(ENTRY.to_owned())?)
    }
}

impl Engine for Code {
    fn answer(&mut self, call: usize) -> Result<Answer, Failure> {
        let input = self.inputs.get(call).ok_or("no such call")?;
        self.machine.set_input(input.clone());
        answer(&self.machine.execute()?)
    }
}
