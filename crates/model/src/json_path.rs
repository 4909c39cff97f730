//! JSONPath as Kubernetes writes it: `{.spec.containers[*].image}`, with filters, slices, unions, `..` and `range`.
//!
//! An expression is evaluated to paths in a value, so that the values there can be read or replaced. The dialect and the
//! errors are those of `kubectl`: a field that no value has is an error.

mod parse;
mod render;

use serde_json::Value;

/// A parsed JSONPath expression.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    text: String,
    blocks: Vec<Vec<Node>>,
}

/// One step of an expression.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Text(String),
    Number(f64),
    Bool(bool),
    Field(String),
    Wildcard,
    Recursive,
    Slice { start: Option<i64>, end: End, step: Option<i64> },
    Union(Vec<Vec<Node>>),
    Filter { left: Vec<Node>, operator: String, right: Vec<Node> },
    Range,
    EndOfRange,
}

/// Where a slice ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Open,
    At(i64),
    /// The slice has one element: `[2]`.
    AfterStart,
}

/// The path from the root of a value to a value in it.
pub type ValuePath = Vec<Key>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    Field(String),
    Index(usize),
}

/// What an expression matches.
#[derive(Clone, Debug, PartialEq)]
pub enum Match {
    At(ValuePath),
    /// Text outside of braces, or a literal inside of them. It is not a part of the value.
    Literal(Value),
}

impl JsonPath {
    pub fn parse(text: &str) -> Result<Self, String> {
        let blocks = parse::parse(text)?;
        Ok(Self { text: text.to_owned(), blocks })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns all matches, including text outside of braces. A field that no value has is an error.
    pub fn find(&self, value: &Value) -> Result<Vec<Match>, String> {
        blocks(&self.blocks, Walk { value, lenient: false }, &[Match::At(Vec::new())])
    }

    /// Returns the paths of all matches. Text outside of braces is an error.
    pub fn paths(&self, value: &Value) -> Result<Vec<ValuePath>, String> {
        let path = |found| match found {
            Match::At(path) => Ok(path),
            Match::Literal(literal) => Err(format!("{literal} is no place in an object")),
        };
        self.find(value)?.into_iter().map(path).collect()
    }

    /// Returns the values of all matches. A field that no value has is an error, unless `lenient`.
    pub fn values(&self, value: &Value, lenient: bool) -> Result<Vec<Value>, String> {
        let found = blocks(&self.blocks, Walk { value, lenient }, &[Match::At(Vec::new())])?;
        Ok(found.iter().filter_map(|found| get(value, found).cloned()).collect())
    }

    /// Returns what `kubectl` prints: strings without quotes, and spaces between the values of one pair of braces.
    pub fn render(&self, value: &Value, lenient: bool) -> Result<String, String> {
        render::render(&self.blocks, Walk { value, lenient }, &[Match::At(Vec::new())])
    }
}

/// Returns the value at a path.
pub fn at<'v>(value: &'v Value, path: &[Key]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| match key {
        Key::Field(name) => value.get(name),
        Key::Index(index) => value.get(index),
    })
}

pub fn at_mut<'v>(value: &'v mut Value, path: &[Key]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, key| match key {
        Key::Field(name) => value.get_mut(name),
        Key::Index(index) => value.get_mut(index),
    })
}

/// The evaluation of an expression on a value.
#[derive(Clone, Copy)]
struct Walk<'v> {
    value: &'v Value,
    /// Whether a field that no value has matches nothing instead of being an error.
    lenient: bool,
}

fn blocks(list: &[Vec<Node>], value: Walk<'_>, current: &[Match]) -> Result<Vec<Match>, String> {
    let mut results = Vec::new();
    let mut index = 0;
    while index < list.len() {
        let block = &list[index];
        if block.first() == Some(&Node::EndOfRange) {
            return Err("not in range, nothing to end".into());
        }
        if block.first() != Some(&Node::Range) {
            results.extend(walk(block, value, current.to_vec())?);
            index += 1;
            continue;
        }
        let end = end_of_range(list, index);
        for item in walk(&block[1..], value, current.to_vec())? {
            results.extend(blocks(&list[index + 1..end], value, &[item])?);
        }
        index = end + 1;
    }
    Ok(results)
}

/// Returns the index of the block that ends the range beginning at `start`; the number of blocks if none does.
fn end_of_range(list: &[Vec<Node>], start: usize) -> usize {
    let mut depth = 0;
    for (index, block) in list.iter().enumerate().skip(start) {
        match block.first() {
            Some(Node::Range) => depth += 1,
            Some(Node::EndOfRange) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index;
        }
    }
    list.len()
}

fn walk(nodes: &[Node], value: Walk<'_>, mut current: Vec<Match>) -> Result<Vec<Match>, String> {
    for node in nodes {
        current = step(node, value, current)?;
    }
    Ok(current)
}

fn step(node: &Node, value: Walk<'_>, input: Vec<Match>) -> Result<Vec<Match>, String> {
    let literal = |literal: Value| Ok(vec![Match::Literal(literal)]);
    match node {
        Node::Text(text) => literal(text.as_str().into()),
        Node::Number(number) => literal((*number).into()),
        Node::Bool(flag) => literal((*flag).into()),
        Node::Field(name) => fields(name, value, &input),
        Node::Wildcard => Ok(input.iter().flat_map(|found| children(value.value, found)).collect()),
        Node::Recursive => Ok(input.into_iter().flat_map(|found| descendants(value.value, found)).collect()),
        Node::Slice { start, end, step } => {
            let mut results = Vec::new();
            for found in &input {
                results.extend(slice(value.value, found, *start, *end, *step)?);
            }
            Ok(results)
        }
        Node::Union(lists) => {
            let mut results = Vec::new();
            for list in lists {
                results.extend(walk(list, value, input.clone())?);
            }
            Ok(results)
        }
        Node::Filter { left, operator, right } => {
            let mut results = Vec::new();
            for found in &input {
                let items = children(value.value, found);
                if !matches!(get(value.value, found), Some(Value::Array(_) | Value::Object(_))) {
                    return Err("only lists and objects can be filtered".into());
                }
                for item in items {
                    if passes(value, &item, left, operator, right)? {
                        results.push(item);
                    }
                }
            }
            Ok(results)
        }
        Node::Range | Node::EndOfRange => Err("range and end stand at the beginning of their braces".into()),
    }
}

fn get<'v>(value: &'v Value, found: &'v Match) -> Option<&'v Value> {
    match found {
        Match::At(path) => at(value, path),
        Match::Literal(literal) => Some(literal),
    }
}

fn fields(name: &str, Walk { value, lenient }: Walk<'_>, input: &[Match]) -> Result<Vec<Match>, String> {
    let below = |found: &Match| match found {
        Match::At(path) => {
            at(value, path)?.as_object()?.get(name)?;
            Some(Match::At(path.iter().cloned().chain([Key::Field(name.to_owned())]).collect()))
        }
        Match::Literal(_) => None,
    };
    let results: Vec<Match> = input.iter().filter_map(below).collect();
    if results.is_empty() && !input.is_empty() && !lenient {
        return Err(format!("{name} is not found"));
    }
    Ok(results)
}

fn children(value: &Value, found: &Match) -> Vec<Match> {
    let Match::At(path) = found else { return Vec::new() };
    let child = |key| Match::At(path.iter().cloned().chain([key]).collect());
    match at(value, path) {
        Some(Value::Array(items)) => (0..items.len()).map(|index| child(Key::Index(index))).collect(),
        Some(Value::Object(fields)) => fields.keys().map(|name| child(Key::Field(name.clone()))).collect(),
        _ => Vec::new(),
    }
}

/// Returns a match and all its descendants that have children.
fn descendants(value: &Value, found: Match) -> Vec<Match> {
    let children = children(value, &found);
    if children.is_empty() {
        return Vec::new();
    }
    let below = children.into_iter().flat_map(|child| descendants(value, child));
    std::iter::once(found).chain(below).collect()
}

fn slice(
    value: &Value,
    found: &Match,
    start: Option<i64>,
    end: End,
    step: Option<i64>,
) -> Result<Vec<Match>, String> {
    let items = match get(value, found) {
        Some(Value::Array(items)) => items,
        Some(Value::Null) | None => return Ok(Vec::new()),
        Some(_) => return Err("only a list has elements by number".into()),
    };
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let from_end = |position: i64| if position < 0 { position + length } else { position };
    let first = from_end(start.unwrap_or(0));
    let last = match end {
        End::Open => length,
        End::At(end) => from_end(end),
        End::AfterStart => first + 1,
    };
    if first == last {
        return Ok(Vec::new());
    }
    if first < 0 || first >= length || last < 0 || last > length {
        let outside = if first < 0 || first >= length { first } else { last - 1 };
        return Err(format!("array index out of bounds: index {outside}, length {length}"));
    }
    if first > last {
        return Err(format!("starting index {first} is greater than ending index {last}"));
    }
    let step = match step {
        Some(step) if step <= 0 => return Err("step must be > 0".into()),
        step => usize::try_from(step.unwrap_or(1)).unwrap_or(usize::MAX),
    };
    let range = usize::try_from(first).unwrap_or(0)..usize::try_from(last).unwrap_or(0);
    let all = children(value, found);
    Ok(range.step_by(step).filter_map(|index| all.get(index).cloned()).collect())
}

fn passes(
    value: Walk<'_>,
    item: &Match,
    left: &[Node],
    operator: &str,
    right: &[Node],
) -> Result<bool, String> {
    let lefts = walk(left, value, vec![item.clone()]);
    if operator == "exists" {
        return Ok(lefts.is_ok_and(|lefts| !lefts.is_empty()));
    }
    let (lefts, rights) = (lefts?, walk(right, value, vec![item.clone()])?);
    let (left, right) = match (lefts.as_slice(), rights.as_slice()) {
        ([left], [right]) => (left, right),
        ([], _) | (_, []) => return Ok(false),
        _ => return Err("can only compare one element at a time".into()),
    };
    let (Some(left), Some(right)) = (get(value.value, left), get(value.value, right)) else {
        return Ok(false);
    };
    compare(left, operator, right)
}

fn compare(left: &Value, operator: &str, right: &Value) -> Result<bool, String> {
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => left.partial_cmp(right),
        (Value::Number(left), Value::Number(right)) => left.as_f64().partial_cmp(&right.as_f64()),
        (Value::Bool(left), Value::Bool(right)) => left.partial_cmp(right),
        _ => None,
    };
    let Some(order) = order else { return Err(format!("{left} and {right} cannot be compared")) };
    match operator {
        "==" => Ok(order.is_eq()),
        "!=" => Ok(order.is_ne()),
        "<" => Ok(order.is_lt()),
        "<=" => Ok(order.is_le()),
        ">" => Ok(order.is_gt()),
        ">=" => Ok(order.is_ge()),
        other => Err(format!("unrecognized filter operator {other}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn strings(path: &str, value: &Value) -> Result<Vec<String>, String> {
        let places = JsonPath::parse(path)?.paths(value)?;
        Ok(places.iter().filter_map(|place| at(value, place)).map(Value::to_string).collect())
    }

    fn object() -> Value {
        json!({
            "spec": {"image": "a", "n.o": "dotted", "containers": [
                {"name": "x", "image": "b", "port": 80},
                {"name": "y", "image": "c", "port": 90},
                {"name": "z", "port": 100},
            ]},
        })
    }

    #[test]
    fn expressions_match_as_in_kubectl() {
        let cases = [
            ("{.spec.image}", vec!["\"a\""]),
            ("{$.spec.image}", vec!["\"a\""]),
            ("{ .spec.image }", vec!["\"a\""]),
            ("{.spec['image']}", vec!["\"a\""]),
            ("{.spec.n\\.o}", vec!["\"dotted\""]),
            ("{.spec.containers[*].image}", vec!["\"b\"", "\"c\""]),
            ("{.spec.containers[0].image}", vec!["\"b\""]),
            ("{.spec.containers[-1].name}", vec!["\"z\""]),
            ("{.spec.containers[0:2].name}", vec!["\"x\"", "\"y\""]),
            ("{.spec.containers[::2].name}", vec!["\"x\"", "\"z\""]),
            ("{.spec.containers[0,2].name}", vec!["\"x\"", "\"z\""]),
            ("{.spec['image','n\\.o']}", vec!["\"a\"", "\"dotted\""]),
            ("{.spec.containers[?(@.name=='y')].image}", vec!["\"c\""]),
            ("{.spec.containers[?(@.port>85)].name}", vec!["\"y\"", "\"z\""]),
            ("{.spec.containers[?(@.image)].name}", vec!["\"x\"", "\"y\""]),
            ("{.spec.containers[?(@.port != 80)].name}", vec!["\"y\"", "\"z\""]),
            ("{..image}", vec!["\"a\"", "\"b\"", "\"c\""]),
            ("{range .spec.containers[0:2]}{.image}{.name}{end}", vec!["\"b\"", "\"x\"", "\"c\"", "\"y\""]),
            ("{.spec.image}{.spec.containers[0].image}", vec!["\"a\"", "\"b\""]),
        ];
        for (path, expected) in cases {
            assert_eq!(
                strings(path, &object()),
                Ok(expected.into_iter().map(str::to_owned).collect()),
                "{path}"
            );
        }
        assert_eq!(strings("{.spec.containers[0].*}", &object()).map(|found| found.len()), Ok(3));
    }

    #[test]
    fn errors_name_their_cause() {
        let cases = [
            ("{.spec.nothing}", "nothing is not found"),
            ("{.spec.containers[7]}", "out of bounds"),
            ("{.spec.image[0]}", "only a list"),
            ("{.spec.containers[?(@.port=='x')]}", "cannot be compared"),
            ("{.spec", "unclosed"),
            ("{.spec[0}", "unterminated"),
            ("{.spec[x]}", "invalid array index"),
            ("{.a[?(@.b}", "unterminated filter"),
            ("{#}", "unrecognized character"),
            (".spec.image", "no place"),
            ("{end}", "nothing to end"),
            ("{foo}", "unrecognized identifier"),
        ];
        for (path, part) in cases {
            let problem = strings(path, &object()).unwrap_err();
            assert!(problem.contains(part), "{path}: {problem}");
        }
    }

    #[test]
    fn matched_values_can_be_replaced() {
        let mut value = object();
        for place in JsonPath::parse("{.spec.containers[*].image}").unwrap().paths(&value).unwrap() {
            *at_mut(&mut value, &place).unwrap() = "new".into();
        }
        assert_eq!(value["spec"]["containers"][1]["image"], "new");
        assert_eq!(value["spec"]["image"], "a");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(path in "[{}\\[\\]?()@$.'\",:*0-2ab\\\\é =<!-]{0,30}") {
            let _ = strings(&path, &object());
            let _ = strings(&format!("{{{path}}}"), &object());
        }
    }
}
