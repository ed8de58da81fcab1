//! A launch file: one launch, or several in the order in which the host makes them, with streams and events between.
//!
//! Launches of one stream run one after the other; those of two streams have no order but by `after`. With `pdl` a
//! launch may start before the one that it follows has ended (programmatic dependent launch).

use super::table::{Wrong, tables, wrong};
use super::toml::{self, Table, Value};

/// The launches of a file, in its order.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    pub steps: Vec<Step>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// By which others name it in `after`.
    pub name: Option<String>,
    pub entry: Option<String>,
    /// The end of the path of the module, where several have the entry.
    pub module: Option<String>,
    pub stream: String,
    /// The launches that have ended before this one starts, besides those before it in its stream.
    pub after: Vec<usize>,
    /// It may start before the launch that it follows in its stream has ended.
    pub pdl: bool,
    pub(super) table: Table,
}

const KEYS: [&str; 9] = ["entry", "module", "grid", "block", "cluster", "shared", "cooperative", "buffer", "parameter"];
const ORDER_KEYS: [&str; 4] = ["name", "stream", "after", "pdl"];

pub fn parse(text: &str) -> Result<Program, Wrong> {
    let mut root = toml::parse(text).map_err(|bad| Wrong { line: Some(bad.line), message: bad.message })?;
    let launches = root.remove("launch");
    if let Some(key) = root.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let hint = if ORDER_KEYS.contains(&key.as_str()) { " (in a table [[launch]] it is)" } else { "" };
        return wrong(format!("`{key}` is not known{hint}; a launch has {}, or tables [[launch]]", KEYS.join(", ")));
    }
    let Some(launches) = launches else { return Ok(Program { steps: vec![step(root, &[])?] }) };
    let whole = Table::from([("launch".to_owned(), launches)]);
    if root.contains_key("parameter") {
        return wrong("parameters of several launches stand in [[launch.parameter]]");
    }
    let mut steps: Vec<Step> = Vec::new();
    for own in tables(&whole, "launch")? {
        if let Some(key) = own.keys().find(|key| !KEYS.contains(&key.as_str()) && !ORDER_KEYS.contains(&key.as_str())) {
            let known = KEYS.iter().chain(&ORDER_KEYS).copied().collect::<Vec<_>>().join(", ");
            return wrong(format!("`{key}` is not known; a launch has {known}"));
        }
        if own.contains_key("buffer") {
            return wrong("buffers belong to all launches of a file: [[buffer]], before the first [[launch]]");
        }
        // What stands before the launches holds for all.
        let mut table = root.clone();
        table.extend(own.iter().map(|(key, value)| (key.clone(), value.clone())));
        let next = step(table, &steps)?;
        if next.pdl && !steps.iter().any(|other| other.stream == next.stream) {
            return wrong("`pdl` needs a launch before it in the same stream");
        }
        steps.push(next);
    }
    Ok(Program { steps })
}

fn step(mut table: Table, before: &[Step]) -> Result<Step, Wrong> {
    let name = text(&mut table, "name")?;
    if name.as_ref().is_some_and(|name| before.iter().any(|other| other.name.as_ref() == Some(name))) {
        return wrong(format!("two launches are called `{}`", name.unwrap_or_default()));
    }
    let stream = match table.remove("stream") {
        None => "0".to_owned(),
        Some(Value::Text(stream)) => stream,
        Some(Value::Integer(stream)) => stream.to_string(),
        Some(_) => return wrong("`stream` is a number or a name"),
    };
    let after = match table.remove("after") {
        None => Vec::new(),
        Some(Value::List(items)) => items.iter().map(|item| named(item, before)).collect::<Result<_, _>>()?,
        Some(item) => vec![named(&item, before)?],
    };
    let pdl = match table.remove("pdl") {
        None => false,
        Some(Value::Boolean(pdl)) => pdl,
        Some(_) => return wrong("`pdl` is true or false"),
    };
    let (entry, module) = (text(&mut table, "entry")?, text(&mut table, "module")?);
    Ok(Step { name, entry, module, stream, after, pdl, table })
}

fn text(table: &mut Table, key: &str) -> Result<Option<String>, Wrong> {
    match table.remove(key) {
        None => Ok(None),
        Some(Value::Text(text)) => Ok(Some(text)),
        Some(_) => wrong(format!("`{key}` is a text")),
    }
}

/// The launch of this name, which stands before.
fn named(item: &Value, before: &[Step]) -> Result<usize, Wrong> {
    let found = match item {
        Value::Text(name) => before.iter().position(|step| step.name.as_ref() == Some(name)),
        _ => return wrong("`after` holds names of launches"),
    };
    found.ok_or_else(|| Wrong { line: None, message: format!("no launch before it is called {}", item.shown()) })
}

impl Program {
    /// Whether the launches share memory in an order, or there is one.
    pub fn is_single(&self) -> bool {
        self.steps.len() == 1
    }

    /// Of each launch, those that have ended before it starts; with `pdl`, not the one it follows.
    pub fn ended_before(&self) -> Vec<Vec<bool>> {
        let mut before: Vec<Vec<bool>> = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            let mut own = vec![false; self.steps.len()];
            let mut in_stream = (0..index).filter(|other| self.steps[*other].stream == step.stream);
            // A launch waits for all of its stream; a dependent one for those that its predecessor has waited for.
            let (earlier, previous) =
                if step.pdl { (Vec::new(), in_stream.next_back()) } else { (in_stream.collect(), None) };
            if let Some(previous) = previous {
                own.clone_from(&before[previous]);
            }
            let ended = step.after.iter().copied().chain(earlier);
            for other in ended {
                own[other] = true;
                for (slot, earlier) in own.iter_mut().zip(&before[other]) {
                    *slot |= *earlier;
                }
            }
            before.push(own);
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(text: &str) -> Program {
        parse(text).expect("a program")
    }

    #[test]
    fn streams_and_events_order_launches() {
        let text = "grid = [2]\n[[launch]]\nentry = \"a\"\nname = \"first\"\n[[launch]]\nentry = \"b\"\nstream = 1\n\
                    [[launch]]\nentry = \"c\"\n[[launch]]\nentry = \"d\"\nstream = 1\nafter = [\"first\"]\n";
        let found = program(text).ended_before();
        let ended = |at: usize| (0..4).filter(|other| found[at][*other]).collect::<Vec<_>>();
        assert_eq!([ended(0), ended(1), ended(2), ended(3)], [vec![], vec![], vec![0], vec![0, 1]]);
    }

    #[test]
    fn a_dependent_launch_starts_before_the_one_it_follows_has_ended() {
        let text = "[[launch]]\nentry = \"a\"\n[[launch]]\nentry = \"b\"\npdl = true\n[[launch]]\nentry = \"c\"\n";
        let found = program(text).ended_before();
        assert!(!found[1][0] && found[2][1] && found[2][0]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |text: &str| parse(text).expect_err("it is wrong").message;
        assert!(message("[[launch]]\npdl = true\n").contains("needs a launch before it"));
        assert!(message("[[launch]]\nafter = \"x\"\n").contains("no launch before it is called `x`"));
        assert!(message("stream = 1\n").contains("in a table [[launch]] it is"));
        assert!(message("[[launch]]\nname = \"a\"\n[[launch]]\nname = \"a\"\n").contains("two launches"));
        assert!(message("[[launch]]\nspeed = 1\n").contains("`speed` is not known"));
    }
}
