//! Go templates for `-o go-template`: fields, variables, pipelines, `if`, `with`, `range`, named templates
//! and functions.

mod evaluate;
mod functions;
mod lex;
mod parse;

use std::collections::BTreeMap;

use serde_json::Value;

pub(crate) use functions::printed;

/// A parsed template.
#[derive(Debug)]
pub(crate) struct Template {
    nodes: Vec<Node>,
    defined: Defined,
}

/// Templates by the names that `define` and `block` gave them.
type Defined = BTreeMap<String, Vec<Node>>;

#[derive(Debug, PartialEq)]
enum Node {
    Text(String),
    /// Prints the result, unless it is assigned to a variable.
    Act(Pipeline),
    If(Pipeline, Vec<Node>, Vec<Node>),
    With(Pipeline, Vec<Node>, Vec<Node>),
    Range(Pipeline, Vec<Node>, Vec<Node>),
    /// Another template, with the value of its `.`.
    Template(String, Option<Pipeline>),
    Break,
    Continue,
}

/// Commands, each of whose results is the last argument of the next one.
#[derive(Debug, PartialEq)]
struct Pipeline {
    variables: Vec<String>,
    /// `=` in place of `:=`.
    assigns: bool,
    commands: Vec<Vec<Operand>>,
}

#[derive(Debug, PartialEq)]
enum Operand {
    /// `.a.b`, or `.` alone.
    Dot(Vec<String>),
    /// `$x.a`, or `$` alone.
    Variable(String, Vec<String>),
    Literal(Value),
    Function(String),
    /// `(…).a`
    Group(Pipeline, Vec<String>),
}

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (nodes, defined) = parse::parse(&lex::pieces(text)?)?;
        Ok(Self { nodes, defined })
    }

    /// Renders an object. A missing field is `<no value>` if `lenient`, else an error.
    pub(crate) fn render(&self, object: &Value, lenient: bool) -> Result<String, String> {
        evaluate::render(&self.nodes, &self.defined, object, lenient)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rendered(text: &str) -> Result<String, String> {
        let object = json!({
            "name": "web", "n": 2, "on": true, "empty": "", "none": null, "text": "aGk=",
            "items": [{"name": "a", "port": 80}, {"name": "b"}], "labels": {"z": "1", "a": "2"},
        });
        Template::parse(text)?.render(&object, true)
    }

    #[test]
    fn templates_print_like_go() {
        let cases = [
            ("plain", "plain"),
            ("{{.name}}-{{ .n }}{{/* said */}}", "web-2"),
            ("{{.absent}} {{.none}} {{.absent.more}}", "<no value> <no value> <no value>"),
            ("{{.items}}", "[map[name:a port:80] map[name:b]]"),
            ("{{range .items}}{{.name}} {{end}}", "a b "),
            ("{{range $i, $it := .items}}{{$i}}={{$it.name}};{{end}}", "0=a;1=b;"),
            ("{{range $k, $v := .labels}}{{$k}}{{$v}}{{end}}", "a2z1"),
            ("{{range .absent}}x{{else}}nothing{{end}}", "nothing"),
            ("{{range .items}}{{if .port}}{{continue}}{{end}}{{.name}}{{break}}{{end}}", "b"),
            ("{{if .on}}on{{else}}off{{end}}", "on"),
            ("{{if .empty}}1{{else if eq .n 2}}2{{else}}3{{end}}", "2"),
            ("{{with .labels}}{{.a}}{{end}}{{with .absent}}x{{end}}", "2"),
            ("{{$x := .name}}{{if .on}}{{$x = \"new\"}}{{end}}{{$x}} {{$.name}}", "new web"),
            ("{{(index .items 0).name}} {{index .labels \"z\"}} {{len .items}}", "a 1 2"),
            ("{{.name | printf \"%s-%d|%-4s|%q\" \"a\" 3}}", "a-3|web |%!q(MISSING)"),
            ("{{printf \"%05.1f %v %t %%\" 2.25 .labels .on}}", "002.2 map[a:2 z:1] true %"),
            ("{{and .on .n}} {{or .empty .name}} {{not .on}}", "2 web false"),
            (
                "{{eq .name \"x\" \"web\"}} {{ne .n 3}} {{lt .n 3}} {{ge .name \"web\"}}",
                "true true true true",
            ),
            (
                "{{exists . \"labels\" \"a\"}} {{exists . \"labels\" \"x\"}} {{base64decode .text}}",
                "true false hi",
            ),
            ("a  {{- .n -}}  b", "a2b"),
            ("{{`raw`}}{{'x'}}{{\"q\\n\"}}", "raw120q\n"),
            ("{{print .n .n \"a\" .on}}{{println .name}}", "2 2atrueweb\n"),
            (
                "{{define \"x\"}}<{{.}}{{$}}>{{end}}{{template \"x\" .name}}{{template \"x\"}}",
                "<webweb><<no value><no value>>",
            ),
            ("{{range .items}}{{template \"one\" .}}{{end}}{{define \"one\"}}[{{.name}}]{{end}}", "[a][b]"),
            ("{{block \"b\" .labels}}{{.a}}{{end}}{{template \"b\" .labels}}", "22"),
            (
                "{{define \"l\"}}{{.}}{{if lt . 3}}{{template \"l\" 3}}{{end}}{{end}}{{template \"l\" .n}}",
                "23",
            ),
        ];
        for (text, printed) in cases {
            assert_eq!(rendered(text).as_deref(), Ok(printed), "{text}");
        }
    }

    #[test]
    fn mistakes_are_reported() {
        let cases = [
            ("{{.a", "unclosed action"),
            ("{{if .a}}", "unexpected EOF"),
            ("{{end}}", "unexpected {{end}}"),
            ("{{foo .a}}", "function \"foo\" not defined"),
            ("{{template \"x\"}}", "template \"x\" not defined"),
            ("{{if .on}}{{define \"x\"}}{{end}}{{end}}", "unexpected {{define}}"),
            ("{{define x}}{{end}}", "a name in quotes is missing"),
            ("{{define \"x\"}}{{.name}}", "unexpected EOF"),
            (
                "{{define \"x\"}}{{template \"x\"}}{{end}}{{template \"x\"}}",
                "exceeded maximum template depth",
            ),
            ("{{$y := 1}}{{define \"x\"}}{{$y}}{{end}}", "undefined variable \"$y\""),
            ("{{$x}}", "undefined variable \"$x\""),
            ("{{lt .name 1}}", "incompatible types for comparison"),
            ("{{index .items 7}}", "index out of range: 7"),
            ("{{.name.more}}", "can't evaluate field more"),
            ("{{range .n}}{{end}}", "range can't iterate over 2"),
        ];
        for (text, part) in cases {
            let told = rendered(text).expect_err(text);
            assert!(told.contains(part), "{text}: {told}");
        }
        let strict = Template::parse("{{.absent}}").expect("a template").render(&json!({}), false);
        assert_eq!(strict, Err("map has no entry for key \"absent\"".to_owned()));
    }
}
