//! Evaluates a parsed template.

use serde_json::Value;

use super::functions::{call, is_true, printed};
use super::{Defined, Node, Operand, Pipeline};

/// The nesting limit of templates, against endless recursion.
const MAX_TEMPLATE_DEPTH: usize = 200;

pub(super) fn render(
    nodes: &[Node],
    defined: &Defined,
    object: &Value,
    lenient: bool,
) -> Result<String, String> {
    let variables = vec![("$".to_owned(), object.clone())];
    let mut run = Run { defined, lenient, variables, depth: 0, text: String::new() };
    run.nodes(nodes, object)?;
    Ok(run.text)
}

struct Run<'t> {
    defined: &'t Defined,
    /// The current nesting of templates.
    depth: usize,
    lenient: bool,
    /// A later variable hides an earlier one of the same name.
    variables: Vec<(String, Value)>,
    text: String,
}

/// How the evaluation of a list of nodes ended.
#[derive(PartialEq)]
enum Flow {
    AtEnd,
    Break,
    Continue,
}

impl Run<'_> {
    fn nodes(&mut self, nodes: &[Node], dot: &Value) -> Result<Flow, String> {
        let known = self.variables.len();
        for node in nodes {
            let left = self.node(node, dot)?;
            if left != Flow::AtEnd {
                self.variables.truncate(known);
                return Ok(left);
            }
        }
        self.variables.truncate(known);
        Ok(Flow::AtEnd)
    }

    fn node(&mut self, node: &Node, dot: &Value) -> Result<Flow, String> {
        match node {
            Node::Text(text) => self.text.push_str(text),
            Node::Act(pipeline) => {
                let value = self.pipeline(pipeline, dot)?;
                if pipeline.variables.is_empty() {
                    self.text.push_str(&printed(&value));
                }
            }
            Node::Template(name, pipeline) => {
                let value = match pipeline {
                    Some(pipeline) => self.pipeline(pipeline, dot)?,
                    None => Value::Null,
                };
                self.template(name, value)?;
            }
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
            Node::Range(pipeline, body, else_branch) => self.range(pipeline, body, else_branch, dot)?,
            Node::If(pipeline, body, else_branch) | Node::With(pipeline, body, else_branch) => {
                let known = self.variables.len();
                let value = self.pipeline(pipeline, dot)?;
                let inner = if matches!(node, Node::With(..)) { &value } else { dot };
                let left =
                    if is_true(&value) { self.nodes(body, inner)? } else { self.nodes(else_branch, dot)? };
                self.variables.truncate(known);
                return Ok(left);
            }
        }
        Ok(Flow::AtEnd)
    }

    /// Evaluates another template, with `dot` as its `.` and `$` and no other variables.
    fn template(&mut self, name: &str, dot: Value) -> Result<(), String> {
        let nodes = self.defined.get(name).ok_or_else(|| format!("template {name:?} not defined"))?;
        if self.depth == MAX_TEMPLATE_DEPTH {
            return Err(format!("exceeded maximum template depth ({MAX_TEMPLATE_DEPTH})"));
        }
        self.depth += 1;
        let outer = std::mem::replace(&mut self.variables, vec![("$".to_owned(), dot.clone())]);
        let left = self.nodes(nodes, &dot);
        self.variables = outer;
        self.depth -= 1;
        left.map(drop)
    }

    fn range(
        &mut self,
        pipeline: &Pipeline,
        body: &[Node],
        else_branch: &[Node],
        dot: &Value,
    ) -> Result<(), String> {
        let known = self.variables.len();
        let value = self.commands(pipeline, dot)?;
        let items: Vec<(Value, Value)> = match value {
            Value::Null => Vec::new(),
            Value::Array(items) => {
                items.into_iter().enumerate().map(|(index, item)| (Value::from(index), item)).collect()
            }
            Value::Object(members) => {
                let mut members: Vec<_> = members.into_iter().collect();
                members.sort_by(|(left, _), (right, _)| left.cmp(right));
                members.into_iter().map(|(name, item)| (Value::from(name), item)).collect()
            }
            other => return Err(format!("range can't iterate over {}", printed(&other))),
        };
        if items.is_empty() {
            self.nodes(else_branch, dot)?;
        }
        for (key, item) in items {
            match pipeline.variables.as_slice() {
                [one] => self.variables.push((one.clone(), item.clone())),
                [first, second] => {
                    self.variables.push((first.clone(), key));
                    self.variables.push((second.clone(), item.clone()));
                }
                _ => {}
            }
            let left = self.nodes(body, &item)?;
            self.variables.truncate(known);
            if left == Flow::Break {
                break;
            }
        }
        Ok(())
    }

    /// Evaluates a pipeline and sets its variables.
    fn pipeline(&mut self, pipeline: &Pipeline, dot: &Value) -> Result<Value, String> {
        let value = self.commands(pipeline, dot)?;
        for name in &pipeline.variables {
            if !pipeline.assigns {
                self.variables.push((name.clone(), value.clone()));
            } else if let Some((_, known)) = self.variables.iter_mut().rev().find(|(known, _)| known == name)
            {
                *known = value.clone();
            }
        }
        Ok(value)
    }

    fn commands(&self, pipeline: &Pipeline, dot: &Value) -> Result<Value, String> {
        let mut last: Option<Value> = None;
        for command in &pipeline.commands {
            last = Some(self.command(command, last.take(), dot)?);
        }
        Ok(last.unwrap_or_default())
    }

    fn command(&self, command: &[Operand], last: Option<Value>, dot: &Value) -> Result<Value, String> {
        let (first, rest) = command.split_first().ok_or("missing value for command")?;
        let Operand::Function(name) = first else {
            if !rest.is_empty() || last.is_some() {
                return Err("can't give argument to non-function".into());
            }
            return self.operand(first, dot);
        };
        let mut arguments = Vec::new();
        for operand in rest {
            arguments.push(self.operand(operand, dot)?);
            // Later operands are not evaluated.
            let decided = match name.as_str() {
                "and" => arguments.last().is_some_and(|value| !is_true(value)),
                "or" => arguments.last().is_some_and(is_true),
                _ => false,
            };
            if decided {
                return Ok(arguments.pop().unwrap_or_default());
            }
        }
        arguments.extend(last);
        call(name, arguments)
    }

    fn operand(&self, operand: &Operand, dot: &Value) -> Result<Value, String> {
        match operand {
            Operand::Literal(value) => Ok(value.clone()),
            Operand::Dot(fields) => self.fields(dot, fields),
            Operand::Variable(name, fields) => {
                let known = self.variables.iter().rev().find(|(known, _)| known == name);
                let (_, value) = known.ok_or_else(|| format!("undefined variable {name:?}"))?;
                self.fields(value, fields)
            }
            Operand::Group(pipeline, fields) => self.fields(&self.commands(pipeline, dot)?, fields),
            Operand::Function(name) => call(name, Vec::new()),
        }
    }

    fn fields(&self, value: &Value, fields: &[String]) -> Result<Value, String> {
        let mut value = value;
        for field in fields {
            value = match value {
                Value::Object(members) => match members.get(field) {
                    Some(value) => value,
                    None if self.lenient => return Ok(Value::Null),
                    None => return Err(format!("map has no entry for key {field:?}")),
                },
                Value::Null => return Ok(Value::Null),
                other => return Err(format!("can't evaluate field {field} in {}", printed(other))),
            };
        }
        Ok(value.clone())
    }
}
