//! The reference of the bundled extensions: their functions with their documentation strings.

use super::{Default, Entry, Parameter, Section};
use crate::extension::tiltfiles;

const QUOTES: &str = "\"\"\"";

pub(super) fn sections() -> Vec<Section> {
    tiltfiles()
        .map(|(name, text)| Section {
            title: Some(name.to_owned()),
            description: quoted(text).map(|(text, _)| text).unwrap_or_default(),
            entries: definitions(text),
        })
        .collect()
}

/// Returns the string that the text begins with, and the text after it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let (string, rest) = text.trim_start().strip_prefix(QUOTES)?.split_once(QUOTES)?;
    Some((string.trim().to_owned(), rest))
}

/// Returns the functions of a file that others may load.
fn definitions(text: &str) -> Vec<Entry> {
    let starts = text.match_indices("def ").filter(|(at, _)| *at == 0 || text[..*at].ends_with('\n'));
    let definitions = starts.filter_map(|(at, word)| definition(&text[at + word.len()..]));
    definitions.filter(|entry| !entry.name.starts_with('_')).collect()
}

fn definition(text: &str) -> Option<Entry> {
    let (name, rest) = text.split_once('(')?;
    let (parameters, rest) = rest.split_once("):\n")?;
    let documentation = quoted(rest).map(|(text, _)| text).unwrap_or_default();
    let (description, listed) = documentation.split_once("Args:\n").unwrap_or((&documentation, ""));
    let (described, more) = arguments(listed);
    let parameters = split(parameters).into_iter().map(|parameter| {
        let (name, default) = match parameter.split_once('=') {
            Some((name, default)) => (name.trim(), Default::Value(default.trim().to_owned())),
            None => (parameter.as_str(), Default::None),
        };
        let description = described.iter().find(|(known, _)| known == name);
        let description = description.map(|(_, says)| says.clone()).unwrap_or_default();
        Parameter { name: name.to_owned(), default, description }
    });
    let description = [unwrapped(description), more.join(" ")].join("\n\n").trim().to_owned();
    Some(Entry { name: name.to_owned(), parameters: Some(parameters.collect()), description })
}

/// Splits parameters at the commas that are not inside of brackets or strings.
fn split(parameters: &str) -> Vec<String> {
    let (mut depth, mut quote, mut pieces) = (0, None, vec![String::new()]);
    for letter in parameters.chars() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                pieces.push(String::new());
                continue;
            }
            _ => {}
        }
        pieces.last_mut().into_iter().for_each(|piece| piece.push(letter));
    }
    pieces.iter().map(|piece| piece.trim().to_owned()).filter(|piece| !piece.is_empty()).collect()
}

/// Returns the documented names with their descriptions, and other lines.
fn arguments(listed: &str) -> (Vec<(String, String)>, Vec<String>) {
    let (mut items, mut more): (Vec<(Vec<String>, String)>, Vec<String>) = (Vec::new(), Vec::new());
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let first = listed.lines().next().map_or(0, indentation);
    for line in listed.lines().filter(|line| !line.trim().is_empty()) {
        let is_name = |name: &str| {
            let name = name.trim_start_matches('*');
            !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        };
        let item = line.trim().split_once(": ").map(|(names, says)| (names.split(", "), says));
        match item.filter(|(names, _)| indentation(line) == first && names.clone().all(is_name)) {
            Some((names, says)) => items.push((names.map(str::to_owned).collect(), says.to_owned())),
            None => match items.last_mut().filter(|_| indentation(line) > first) {
                Some((_, says)) => *says = format!("{says} {}", line.trim()),
                None => more.push(line.trim().to_owned()),
            },
        }
    }
    let flat =
        items.into_iter().flat_map(|(names, says)| names.into_iter().map(move |name| (name, says.clone())));
    (flat.collect(), more)
}

/// Joins the lines of each paragraph.
fn unwrapped(text: &str) -> String {
    let paragraphs = text.trim().split("\n\n");
    let paragraphs = paragraphs.map(|text| text.lines().map(str::trim).collect::<Vec<_>>().join(" "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definition_is_parsed_with_its_documentation() {
        let text = "def f(\n        a, b=[1, 2],\n        c='x, (y', **kwargs):\n    \"\"\"Does it.\n\n    Args:\n      a: the first,\n        \
                    and more\n      b, c: others\n      As in `g`.\n    \"\"\"\n    pass\n\ndef _g():\n    pass\n";
        let found = definitions(text);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].description.as_str()), ("f", "Does it.\n\nAs in `g`."));
        let parameters = found[0].parameters.iter().flatten();
        let parameters: Vec<_> =
            parameters.map(|it| (it.name.as_str(), &it.default, it.description.as_str())).collect();
        let value = |text: &str| Default::Value(text.to_owned());
        assert_eq!(
            parameters,
            [
                ("a", &Default::None, "the first, and more"),
                ("b", &value("[1, 2]"), "others"),
                ("c", &value("'x, (y'"), "others"),
                ("**kwargs", &Default::None, ""),
            ]
        );
    }
}
