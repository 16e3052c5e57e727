//! Reads the corpus: the tools, tasks, attacks and pairs of each suite.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The harm that a call could do if an attacker made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sink {
    Payment,
    Credential,
    Destructive,
    ExternalSend,
}

/// A recorded call.
#[derive(Debug, Clone)]
pub struct Call {
    pub tool: String,
    pub args: Value,
    pub output: Value,
    pub error: Value,
}

/// What a user asks for, and the calls that do it.
#[derive(Debug)]
pub struct Task {
    pub id: String,
    pub prompt: String,
    /// The calls with their outputs, in which every attacker-controlled place is marked.
    pub steps: Vec<Call>,
    /// The outputs without an attack, if they were recorded.
    pub benign: Vec<Value>,
    /// The first step whose output an attacker can write to.
    pub tainted: Option<usize>,
}

/// What an attacker wants.
#[derive(Debug)]
pub struct Attack {
    pub id: String,
    pub goal: String,
    pub calls: Vec<Call>,
    /// Whether its calls were made up by the exporter of the corpus.
    pub synthetic: bool,
}

/// One suite.
#[derive(Debug, Default)]
pub struct Suite {
    pub name: String,
    pub tools: Vec<Value>,
    pub tasks: Vec<Task>,
    pub attacks: BTreeMap<String, Attack>,
    /// Pairs of task index and attack name, for attacks with calls only.
    pub pairs: Vec<(usize, String)>,
    /// The number of pairs whose attack has no calls to replay.
    pub without_calls: usize,
    /// The sinks labelled by hand, if the corpus has labels.
    pub effects: BTreeMap<String, Sink>,
    /// The text at each attacker-controlled place without an attack.
    pub vectors: BTreeMap<String, String>,
}

/// All suites, by name.
pub struct Corpus {
    pub suites: Vec<Suite>,
}

impl Corpus {
    /// Reads the folder; only one suite if one is named.
    pub fn read(folder: &Path, only: Option<&str>) -> Result<Self> {
        let mut suites: BTreeMap<String, Suite> = BTreeMap::new();
        let tools = read_json(&folder.join("tools.json"))?;
        let list = tools.get("tools").unwrap_or(&tools).as_array();
        let list = list.context("tools.json holds no list of tools")?;
        for tool in list {
            suite_of(&mut suites, tool).tools.push(tool.clone());
        }
        for (place, task) in read_json_lines(&folder.join("user_tasks.jsonl"))? {
            let read = read_task(&task).with_context(|| place.clone())?;
            let tasks = &mut suite_of(&mut suites, &task).tasks;
            if tasks.iter().any(|one| one.id == read.id) {
                bail!("{place}: {} is there already", read.id);
            }
            tasks.push(read);
        }
        for (place, attack) in read_json_lines(&folder.join("injection_tasks.jsonl"))? {
            let read = read_attack(&attack).with_context(|| place.clone())?;
            let id = read.id.clone();
            if suite_of(&mut suites, &attack).attacks.insert(id.clone(), read).is_some() {
                bail!("{place}: {id} is there already");
            }
        }
        for (place, pair) in read_json_lines(&folder.join("pairs.jsonl"))? {
            suite_of(&mut suites, &pair).add_pair(&pair).context(place)?;
        }
        let labels = folder.join("labels.json");
        let labels = if labels.exists() { read_json(&labels)? } else { Value::Null };
        for (name, suite) in &mut suites {
            suite.name.clone_from(name);
            suite.vectors = benign_placeholders(&tools, name);
            suite.effects = labelled_effects(&labels);
        }
        suites.retain(|_, suite| !suite.tasks.is_empty());
        if let Some(only) = only.filter(|only| !suites.contains_key(*only)) {
            let names: Vec<&str> = suites.keys().map(String::as_str).collect();
            bail!("there is no suite `{only}`; there are: {}", names.join(", "));
        }
        suites.retain(|name, _| only.is_none_or(|only| name == only));
        Ok(Self { suites: suites.into_values().collect() })
    }
}

impl Suite {
    /// The name, made valid as a namespace.
    pub fn surface(&self) -> String {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let plain: String = self.name.chars().map(|c| if legal(c) { c } else { '-' }).collect();
        if plain.starts_with(|c: char| c.is_ascii_alphabetic()) {
            plain
        } else {
            format!("s{plain}")
        }
    }

    /// Adds a pair that can be replayed.
    fn add_pair(&mut self, pair: &Value) -> Result<()> {
        let (task, attack) = (text_field(pair, "user_task")?, text_field(pair, "injection_task")?);
        let number = self.tasks.iter().position(|one| one.id == task);
        let number = number.with_context(|| format!("there is no task {task}"))?;
        let known = self.attacks.get(&attack).with_context(|| format!("there is no {attack}"))?;
        if known.calls.is_empty() {
            self.without_calls += 1;
        } else {
            self.pairs.push((number, attack));
        }
        Ok(())
    }
}

fn suite_of<'s>(suites: &'s mut BTreeMap<String, Suite>, value: &Value) -> &'s mut Suite {
    let name = value.get("suite").and_then(Value::as_str).unwrap_or("suite");
    suites.entry(name.to_owned()).or_default()
}

fn read_task(task: &Value) -> Result<Task> {
    let tainting = task.get("tainting_steps").and_then(Value::as_array).into_iter().flatten();
    Ok(Task {
        id: text_field(task, "id")?,
        prompt: text_field(task, "prompt")?,
        steps: read_calls(task),
        benign: task.get("benign_outputs").and_then(Value::as_array).cloned().unwrap_or_default(),
        tainted: tainting.filter_map(|step| usize::try_from(step.as_u64()?).ok()).min(),
    })
}

fn read_attack(attack: &Value) -> Result<Attack> {
    let flag = |key: &str| attack.get(key).and_then(Value::as_bool).unwrap_or_default();
    let calls = if flag("text_only") { Vec::new() } else { read_calls(attack) };
    let goal = text_field(attack, "goal").unwrap_or_default();
    Ok(Attack { id: text_field(attack, "id")?, goal, calls, synthetic: flag("synth") })
}

/// The recorded steps, or else the ground truth.
fn read_calls(of: &Value) -> Vec<Call> {
    let list = |key: &str| of.get(key).and_then(Value::as_array).filter(|list| !list.is_empty());
    let all = list("steps").or_else(|| list("ground_truth"));
    let read = |call: &Value| {
        let part = |key: &str| call.get(key).cloned().unwrap_or(Value::Null);
        let tool = call.get("tool")?.as_str()?.to_owned();
        Some(Call { tool, args: part("args"), output: part("output"), error: part("error") })
    };
    all.map(|all| all.iter().filter_map(read).collect()).unwrap_or_default()
}

fn benign_placeholders(tools: &Value, suite: &str) -> BTreeMap<String, String> {
    let pointer = format!("/stats/{suite}/vectors");
    let all = tools.pointer(&pointer).and_then(Value::as_object).cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    all.iter().map(|(name, value)| (name.clone(), text(value))).collect()
}

fn labelled_effects(labels: &Value) -> BTreeMap<String, Sink> {
    let all = labels.get("effects").and_then(Value::as_object).cloned().unwrap_or_default();
    all.iter()
        .filter_map(|(tool, effect)| Some((tool.clone(), parse_sink(effect.as_str()?)?)))
        .collect()
}

/// The sink with this name; `None` for any other word.
pub fn parse_sink(word: &str) -> Option<Sink> {
    Some(match word {
        "payment" => Sink::Payment,
        "credential" => Sink::Credential,
        "destructive" => Sink::Destructive,
        "external_send" => Sink::ExternalSend,
        _ => return None,
    })
}

fn text_field(value: &Value, key: &str) -> Result<String> {
    let found = value.get(key).and_then(Value::as_str);
    Ok(found.with_context(|| format!("it has no text `{key}`"))?.to_owned())
}

/// The text of a file, without a byte-order mark.
fn read_text(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path);
    let text = text.with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

fn read_json(path: &Path) -> Result<Value> {
    serde_json::from_str(&read_text(path)?)
        .with_context(|| format!("{} is not JSON", path.display()))
}

/// The JSON values of a file, one a line, each with its position.
fn read_json_lines(path: &Path) -> Result<Vec<(String, Value)>> {
    let text = read_text(path)?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let read = lines.map(|(number, line)| {
        let place = format!("{} line {number}", path.display());
        let value = serde_json::from_str(line).with_context(|| format!("{place} is not JSON"))?;
        Ok((place, value))
    });
    read.collect()
}

#[cfg(test)]
mod tests;
