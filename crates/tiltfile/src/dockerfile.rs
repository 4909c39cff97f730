//! Which images a Dockerfile builds on: `FROM` and `COPY --from`, with `ARG` defaults and build arguments put in.
//!
//! No judge of Dockerfiles: what it does not understand it passes over, the build will tell.

use std::collections::HashMap;

use lilt_model::reference::Reference;

pub(crate) fn images(dockerfile: &str, build_args: &[(String, String)]) -> Vec<Reference> {
    let mut arguments: HashMap<String, String> = HashMap::new();
    let mut stages: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for instruction in instructions(dockerfile) {
        let mut words = instruction.split_whitespace();
        match words.next().map(str::to_ascii_uppercase).as_deref() {
            Some("ARG") => {
                for word in words {
                    declare(word, build_args, &mut arguments);
                }
            }
            Some("FROM") => {
                let rest: Vec<&str> = words.filter(|word| !word.starts_with("--")).collect();
                if let Some(image) = rest.first() {
                    found.push((substitute(image, &arguments), stages.clone()));
                }
                if let [_, keyword, stage, ..] = rest.as_slice()
                    && keyword.eq_ignore_ascii_case("as")
                {
                    stages.push(stage.to_lowercase());
                }
            }
            Some("COPY" | "ADD") => {
                let flags = words.take_while(|word| word.starts_with("--"));
                let from = flags.filter_map(|flag| flag.strip_prefix("--from=")).last();
                found.extend(from.map(|image| (substitute(image, &arguments), stages.clone())));
            }
            _ => {}
        }
    }
    let images = found.into_iter().filter(|(image, stages)| !stages.contains(&image.to_lowercase()));
    images.filter_map(|(image, _)| Reference::parse(&image).ok()).collect()
}

fn declare(word: &str, build_args: &[(String, String)], arguments: &mut HashMap<String, String>) {
    let (name, default) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    let given = build_args.iter().find(|(given, value)| given == name && !value.is_empty());
    let default = default.map(|value| substitute(value.trim_matches(['"', '\'']), arguments));
    if let Some(value) = given.map(|(_, value)| value.clone()).or(default) {
        arguments.insert(name.to_owned(), value);
    }
}

/// Lines put together at the escape character, without comments and here-documents' own lines.
fn instructions(dockerfile: &str) -> Vec<String> {
    let mut result = Vec::new();
    let mut current = String::new();
    let mut until: Option<String> = None;
    for line in dockerfile.lines() {
        let trimmed = line.trim();
        if let Some(end) = &until {
            if trimmed == end {
                until = None;
            }
            continue;
        }
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if let Some(start) = trimmed.strip_suffix(['\\', '`']) {
            current.push_str(start);
            current.push(' ');
            continue;
        }
        current.push_str(trimmed);
        until = here_document(&current);
        result.push(std::mem::take(&mut current));
    }
    if !current.is_empty() {
        result.push(current);
    }
    result
}

fn here_document(instruction: &str) -> Option<String> {
    let keyword = instruction.split_whitespace().next()?.to_ascii_uppercase();
    if !matches!(keyword.as_str(), "RUN" | "COPY" | "ADD") {
        return None;
    }
    let (_, rest) = instruction.split_once("<<")?;
    let word = rest.trim_start_matches('-').trim_start_matches(['"', '\'']);
    let end =
        word.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(word.len());
    (end > 0).then(|| word[..end].to_owned())
}

/// `$NAME`, `${NAME}`, `${NAME:-default}`; an unknown one gives nothing.
fn substitute(text: &str, arguments: &HashMap<String, String>) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        result.push_str(before);
        let (expression, left) = match after.strip_prefix('{').and_then(|braced| braced.split_once('}')) {
            Some((expression, left)) => (expression, left),
            None => {
                let word = |character: char| !character.is_ascii_alphanumeric() && character != '_';
                after.split_at(after.find(word).unwrap_or(after.len()))
            }
        };
        let (name, default) = expression.split_once(":-").unwrap_or((expression, ""));
        result.push_str(arguments.get(name).map_or(default, String::as_str));
        rest = left;
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dockerfile: &str, build_args: &[(&str, &str)]) -> Vec<String> {
        let arguments: Vec<_> =
            build_args.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        images(dockerfile, &arguments).iter().map(Reference::familiar).collect()
    }

    #[test]
    fn finds_base_images() {
        assert_eq!(names("FROM base\nRUN true\n", &[]), ["base"]);
        assert_eq!(
            names("# FROM no\nfrom --platform=linux/amd64 gcr.io/x/base:1 AS build\n", &[]),
            ["gcr.io/x/base:1"]
        );
    }

    #[test]
    fn finds_copied_images_but_not_stages() {
        let text = "FROM go AS Build\nFROM alpine\nCOPY --chown=1 --from=build /a /a\nCOPY \\\n --from=assets /b /b\n";
        assert_eq!(names(text, &[]), ["go", "alpine", "assets"]);
    }

    #[test]
    fn puts_arguments_in() {
        let text = "ARG TAG=one\nARG BASE=base:${TAG}\nFROM ${BASE}\nFROM ${OTHER:-fallback}\n";
        assert_eq!(names(text, &[]), ["base:one", "fallback"]);
        assert_eq!(names(text, &[("TAG", "two")]), ["base:two", "fallback"]);
        assert_eq!(names(text, &[("BASE", "web")]), ["web", "fallback"]);
    }

    #[test]
    fn here_documents_are_no_instructions() {
        assert_eq!(names("FROM a\nRUN <<EOF\nFROM b\nEOF\nCOPY --from=c x y\n", &[]), ["a", "c"]);
    }
}
