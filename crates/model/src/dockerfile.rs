//! Finds the images that a Dockerfile builds on: `FROM`, `COPY --from` and `RUN --mount=…,from=`, with `ARG` defaults and
//! build arguments substituted.
//!
//! It does not validate: unknown syntax is skipped, and the build reports errors.

use std::collections::HashMap;
use std::ops::Range;

use crate::reference::Reference;

/// Returns the images that a Dockerfile names, in order, without its own stages.
pub fn images(dockerfile: &str, build_args: &[(String, String)]) -> Vec<Reference> {
    mentions(dockerfile, build_args).into_iter().map(|(_, image)| image).collect()
}

/// Replaces the images for which `replacement` returns another one.
pub fn replace_images(
    dockerfile: &str,
    build_args: &[(String, String)],
    replacement: impl Fn(&Reference) -> Option<String>,
) -> String {
    let mut text = dockerfile.to_owned();
    // From the end, so that earlier positions stay valid.
    for (position, image) in mentions(dockerfile, build_args).into_iter().rev() {
        if let Some(other) = replacement(&image) {
            text.replace_range(position, &other);
        }
    }
    text
}

/// Returns the images with their positions in the text.
fn mentions(dockerfile: &str, build_args: &[(String, String)]) -> Vec<(Range<usize>, Reference)> {
    let mut arguments: HashMap<String, String> = HashMap::new();
    let mut stages: Vec<String> = Vec::new();
    let mut found: Vec<(Range<usize>, Reference)> = Vec::new();
    for instruction in instructions(dockerfile) {
        let text = |word: &Range<usize>| &dockerfile[word.clone()];
        let Some((keyword, words)) = instruction.split_first() else { continue };
        let mut mention = |position: Range<usize>, stages: &[String]| {
            let image = substitute(&dockerfile[position.clone()], &arguments);
            let is_stage = stages.contains(&image.to_lowercase());
            found.extend(Reference::parse(&image).ok().filter(|_| !is_stage).map(|image| (position, image)));
        };
        match text(keyword).to_ascii_uppercase().as_str() {
            "ARG" => {
                for word in words {
                    declare(text(word), build_args, &mut arguments);
                }
            }
            "FROM" => {
                let mut rest = words.iter().filter(|word| !text(word).starts_with("--"));
                if let Some(image) = rest.next() {
                    mention(image.clone(), &stages);
                }
                if rest.next().is_some_and(|word| text(word).eq_ignore_ascii_case("as"))
                    && let Some(stage) = rest.next()
                {
                    stages.push(text(stage).to_lowercase());
                }
            }
            "COPY" | "ADD" | "RUN" => {
                for flag in words.iter().take_while(|word| text(word).starts_with("--")) {
                    if let Some(position) = source_of(flag, text(flag)) {
                        mention(position, &stages);
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns the position of the image in a flag that names a source of files.
fn source_of(position: &Range<usize>, flag: &str) -> Option<Range<usize>> {
    let value = match flag.strip_prefix("--from=") {
        Some(value) => value,
        None => flag.strip_prefix("--mount=")?.split(',').find_map(|part| part.strip_prefix("from="))?,
    };
    // The value is a slice of the flag, so the distance of the pointers is its offset.
    let start = position.start + (value.as_ptr() as usize - flag.as_ptr() as usize);
    Some(start..start + value.len())
}

fn declare(word: &str, build_args: &[(String, String)], arguments: &mut HashMap<String, String>) {
    let (name, default) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    let given = build_args.iter().find(|(given, value)| given == name && !value.is_empty());
    let default = default.map(|value| substitute(value.trim_matches(['"', '\'']), arguments));
    if let Some(value) = given.map(|(_, value)| value.clone()).or(default) {
        arguments.insert(name.to_owned(), value);
    }
}

/// Returns the positions of the words of each instruction, without comments and lines of here-documents.
fn instructions(dockerfile: &str) -> Vec<Vec<Range<usize>>> {
    let escape = escape_character(dockerfile);
    let mut result = Vec::new();
    let mut current: Vec<Range<usize>> = Vec::new();
    let mut until: Option<String> = None;
    let mut offset = 0;
    for line in dockerfile.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
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
        let (content, continues) = match trimmed.strip_suffix(escape) {
            Some(content) => (content, true),
            None => (trimmed, false),
        };
        let start = start + (line.len() - line.trim_start().len());
        current.extend(words(content).map(|word| start + word.start..start + word.end));
        if continues {
            continue;
        }
        until = here_document(dockerfile, &current);
        result.push(std::mem::take(&mut current));
    }
    if !current.is_empty() {
        result.push(current);
    }
    result
}

fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.split_whitespace().map(move |word| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        start..start + word.len()
    })
}

/// Returns the escape character, which the directive `# escape=` at the beginning may change.
fn escape_character(dockerfile: &str) -> char {
    let comments = dockerfile.lines().map_while(|line| line.trim().strip_prefix('#'));
    let directives = comments.filter_map(|comment| comment.split_once('='));
    let escape = |(name, value): (&str, &str)| {
        (name.trim().eq_ignore_ascii_case("escape")).then(|| value.trim().chars().next())?
    };
    directives.map(escape).find_map(|found| found).unwrap_or('\\')
}

fn here_document(dockerfile: &str, instruction: &[Range<usize>]) -> Option<String> {
    let (keyword, words) = instruction.split_first()?;
    let keyword = dockerfile[keyword.clone()].to_ascii_uppercase();
    if !matches!(keyword.as_str(), "RUN" | "COPY" | "ADD") {
        return None;
    }
    let rest =
        words.iter().find_map(|word| dockerfile[word.clone()].split_once("<<").map(|(_, rest)| rest))?;
    let word = rest.trim_start_matches('-').trim_start_matches(['"', '\'']);
    let end =
        word.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(word.len());
    (end > 0).then(|| word[..end].to_owned())
}

/// Substitutes `$NAME`, `${NAME}`, `${NAME:-default}` and `${NAME:+other}`. Unknown variables are empty.
fn substitute(text: &str, arguments: &HashMap<String, String>) -> String {
    let mut result = String::new();
    let mut rest = text.trim_matches(['"', '\'']);
    while let Some((before, after)) = rest.split_once('$') {
        result.push_str(before);
        let (expression, left) = match after.strip_prefix('{').and_then(|braced| braced.split_once('}')) {
            Some((expression, left)) => (expression, left),
            None => {
                let word = |character: char| !character.is_ascii_alphanumeric() && character != '_';
                after.split_at(after.find(word).unwrap_or(after.len()))
            }
        };
        let known = |name: &str| arguments.get(name).filter(|value| !value.is_empty()).cloned();
        result.push_str(&match (expression.split_once(":-"), expression.split_once(":+")) {
            (Some((name, default)), _) => known(name).unwrap_or_else(|| substitute(default, arguments)),
            (None, Some((name, other))) => known(name).map_or(String::new(), |_| other.to_owned()),
            (None, None) => known(expression).unwrap_or_default(),
        });
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
    fn base_images_are_found() {
        assert_eq!(names("FROM base\nRUN true\n", &[]), ["base"]);
        assert_eq!(
            names("# FROM no\nfrom --platform=linux/amd64 gcr.io/x/base:1 AS build\n", &[]),
            ["gcr.io/x/base:1"]
        );
    }

    #[test]
    fn copied_images_are_found_without_stages() {
        let text = "FROM go AS Build\nFROM alpine\nCOPY --chown=1 --from=build /a /a\nCOPY \\\n --from=assets /b /b\n";
        assert_eq!(names(text, &[]), ["go", "alpine", "assets"]);
        assert_eq!(names("FROM a AS one\nFROM one\nFROM two\n", &[]), ["a", "two"]);
    }

    #[test]
    fn mounted_images_are_found() {
        let text = "FROM a AS one\nRUN --mount=type=bind,from=tools,target=/t --mount=type=bind,from=one,target=/o make\n";
        assert_eq!(names(text, &[]), ["a", "tools"]);
        assert_eq!(names("FROM a\nRUN make --mount=from=no\n", &[]), ["a"]);
    }

    #[test]
    fn arguments_are_substituted() {
        let text = "ARG TAG=one\nARG BASE=base:${TAG}\nFROM ${BASE}\nFROM ${OTHER:-fallback}\n";
        assert_eq!(names(text, &[]), ["base:one", "fallback"]);
        assert_eq!(names(text, &[("TAG", "two")]), ["base:two", "fallback"]);
        assert_eq!(names(text, &[("BASE", "web")]), ["web", "fallback"]);
        assert_eq!(names("ARG A=\"q\"\nFROM \"$A\"\nCOPY --from=${A:+b} x y\n", &[]), ["q", "b"]);
    }

    #[test]
    fn here_documents_are_no_instructions() {
        assert_eq!(names("FROM a\nRUN <<EOF\nFROM b\nEOF\nCOPY --from=c x y\n", &[]), ["a", "c"]);
    }

    #[test]
    fn escape_directive_changes_the_escape_character() {
        assert_eq!(names("FROM a\nRUN echo `date`\nFROM b\n", &[]), ["a", "b"]);
        assert_eq!(names("# escape=`\nFROM a\nCOPY `\n --from=b x C:\\\nFROM c\n", &[]), ["a", "b", "c"]);
    }

    #[test]
    fn images_are_replaced_where_they_are_named() {
        let text = "ARG BASE=base\nFROM --platform=x ${BASE} AS one\n# base\nFROM busybox\nCOPY --from=base /base /b\n\
                    RUN --mount=from=base,target=/b echo base\nFROM one\n";
        let replaced = replace_images(text, &[], |image| {
            (image.familiar() == "base").then(|| "localhost:5000/base:tilt-1".to_owned())
        });
        assert_eq!(
            replaced,
            "ARG BASE=base\nFROM --platform=x localhost:5000/base:tilt-1 AS one\n# base\nFROM busybox\n\
             COPY --from=localhost:5000/base:tilt-1 /base /b\n\
             RUN --mount=from=localhost:5000/base:tilt-1,target=/b echo base\nFROM one\n"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_accepted(text in "((FROM|COPY|RUN|ARG|# escape=`) ?)?[ \\na-cé\"'$`\\\\{}:=,<-]{0,30}(--from=|--mount=from=)?[a$\\n]{0,5}") {
            // Replacing images by themselves changes nothing but substituted arguments.
            let replaced = replace_images(&text, &[], |image| Some(image.familiar()));
            proptest::prop_assert_eq!(images(&replaced, &[]).len(), images(&text, &[]).len());
        }
    }
}
