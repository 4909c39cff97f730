//! Finds the line of an instruction in a Dockerfile. Parses only what that needs; BuildKit validates.

use regex::Regex;

use lilt_model::reference::Reference;

#[derive(Debug, PartialEq, Eq)]
struct Instruction {
    /// Counted from 1.
    line: u32,
    /// In upper case.
    keyword: String,
    /// The whole instruction, with joined lines and normalized white space.
    text: String,
}

/// Returns the line of the instruction that BuildKit calls `[build 2/5] RUN make`.
pub(super) fn line_of_step(dockerfile: &str, step: &str) -> Option<u32> {
    let pattern =
        Regex::new(r"^\[(?:(.*) )?(\d+)/\d+\] (?s:(.*))$").expect("invariant: the pattern is valid");
    let parts = pattern.captures(step)?;
    let stage = parts.get(1).map_or("", |stage| stage.as_str()).split(' ').next_back().unwrap_or_default();
    let number: usize = parts[2].parse().ok()?;
    let text = squeeze(&parts[3]);
    let keyword = text.split(' ').next().unwrap_or_default().to_uppercase();
    let instructions = parse(dockerfile);
    if let Some(line) = line_by_number(&instructions, stage, number, &keyword) {
        return Some(line);
    }
    // ONBUILD instructions of the base image shift the numbers: compare the text.
    instructions.iter().find(|instruction| instruction.text == text).map(|instruction| instruction.line)
}

/// Returns the line of an instruction by its number among all instructions, or by its text if the numbers are
/// shifted.
pub(super) fn line_of_instruction(dockerfile: &str, number: usize, words: &str) -> Option<u32> {
    let (instructions, words) = (parse(dockerfile), squeeze(words));
    let keyword = words.split(' ').next().unwrap_or_default().to_uppercase();
    let by_words = instructions.iter().find(|found| found.text == words);
    let by_number = || instructions.get(number.checked_sub(1)?).filter(|found| found.keyword == keyword);
    by_number().filter(|found| by_words.is_none() || found.text == words).or(by_words).map(|found| found.line)
}

/// Returns the line that names this base image.
pub(super) fn line_of_image(dockerfile: &str, image: &str) -> Option<u32> {
    let wanted = Reference::parse(image).ok()?;
    let instructions = parse(dockerfile);
    let names = |instruction: &&Instruction| {
        let mut words = instruction.text.split(' ').skip(1);
        words.any(|word| {
            let word = word.strip_prefix("--from=").unwrap_or(word);
            Reference::parse(word).is_ok_and(|named| {
                named.name() == wanted.name()
                    && (named.digest().is_some()
                        || named.tag().unwrap_or("latest") == wanted.tag().unwrap_or("latest"))
            })
        })
    };
    let by_name =
        instructions.iter().filter(|found| matches!(found.keyword.as_str(), "FROM" | "COPY")).find(names);
    let by_variable = || {
        let mut variable =
            instructions.iter().filter(|found| found.keyword == "FROM" && found.text.contains('$'));
        variable.next().filter(|_| variable.next().is_none())
    };
    by_name.or_else(by_variable).map(|instruction| instruction.line)
}

/// Returns the line by BuildKit's numbering, which counts, in each stage, the base image (unless it is another stage
/// or empty) and the instructions that create layers.
fn line_by_number(instructions: &[Instruction], stage: &str, number: usize, keyword: &str) -> Option<u32> {
    let starts: Vec<usize> =
        (0..instructions.len()).filter(|index| instructions[*index].keyword == "FROM").collect();
    let names: Vec<Option<&str>> = starts.iter().map(|start| stage_name(&instructions[*start])).collect();
    let chosen = if stage.is_empty() && starts.len() == 1 {
        0
    } else if let Some(index) =
        names.iter().position(|name| name.is_some_and(|name| name.eq_ignore_ascii_case(stage)))
    {
        index
    } else {
        stage.strip_prefix("stage-")?.parse().ok()?
    };
    let start = *starts.get(chosen)?;
    let end = starts.get(chosen + 1).copied().unwrap_or(instructions.len());
    let base = base_of(&instructions[start])?;
    let inherited =
        base == "scratch" || names[..chosen].iter().flatten().any(|name| name.eq_ignore_ascii_case(base));
    let layers = instructions[start + 1..end]
        .iter()
        .filter(|found| matches!(found.keyword.as_str(), "RUN" | "COPY" | "ADD" | "WORKDIR"));
    let mut numbered = instructions[start..=start].iter().filter(|_| !inherited).chain(layers);
    let found = numbered.nth(number.checked_sub(1)?)?;
    (found.keyword == keyword).then_some(found.line)
}

fn base_of(from: &Instruction) -> Option<&str> {
    from.text.split(' ').skip(1).find(|word| !word.starts_with("--"))
}

fn stage_name(from: &Instruction) -> Option<&str> {
    let words: Vec<&str> = from.text.split(' ').collect();
    match words.as_slice() {
        [.., keyword, name] if keyword.eq_ignore_ascii_case("as") => Some(name),
        _ => None,
    }
}

fn parse(dockerfile: &str) -> Vec<Instruction> {
    let escape =
        Regex::new(r"(?i)\A(?:\s*#.*\n)*?\s*#\s*escape\s*=\s*`").expect("invariant: the pattern is valid");
    let continuation = if escape.is_match(dockerfile) { '`' } else { '\\' };
    let mut instructions = Vec::new();
    let mut lines = (1u32..).zip(dockerfile.lines());
    while let Some((number, line)) = lines.next() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut text = line.to_owned();
        while let Some(start) = text.trim_end().strip_suffix(continuation).map(str::to_owned) {
            text = start;
            // Comments and empty lines are allowed between continued lines.
            let Some((_, next)) =
                lines.find(|(_, next)| !next.trim().is_empty() && !next.trim().starts_with('#'))
            else {
                break;
            };
            text.push(' ');
            text.push_str(next);
        }
        for end in here_documents(&text) {
            for (_, body) in lines.by_ref() {
                if body.trim_start_matches('\t') == end {
                    break;
                }
            }
        }
        let text = squeeze(&text);
        let keyword = text.split(' ').next().unwrap_or_default().to_uppercase();
        instructions.push(Instruction { line: number, keyword, text });
    }
    instructions
}

/// Returns the end words of the here documents of an instruction, in order.
fn here_documents(text: &str) -> Vec<String> {
    let keyword = text.split_whitespace().next().unwrap_or_default().to_uppercase();
    if !matches!(keyword.as_str(), "RUN" | "COPY" | "ADD") {
        return Vec::new();
    }
    let pattern =
        Regex::new(r#"<<-?["']?([A-Za-z_][A-Za-z0-9_.]*)["']?"#).expect("invariant: the pattern is valid");
    pattern.captures_iter(text).map(|found| found[1].to_owned()).collect()
}

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAGES: &str = "\
# syntax=docker/dockerfile:1
ARG BASE=busybox
FROM golang:1.22 AS build

WORKDIR /src
COPY . .
RUN go build \\
    # why
    -o /app \\

    ./...
FROM build AS test
RUN go test
FROM ${BASE}
ENV A=b
COPY --from=build /app /app
RUN <<EOF
RUN is no instruction here
EOF
run echo $A
";

    #[test]
    fn steps_are_found_by_number_and_stage() {
        for (step, line) in [
            ("[build 1/4] FROM docker.io/library/golang:1.22@sha256:12", Some(3)),
            ("[build 2/4] WORKDIR /src", Some(5)),
            ("[build 4/4] RUN go build     -o /app     ./...", Some(7)),
            ("[test 1/1] RUN go test", Some(13)),
            ("[stage-2 2/4] COPY --from=build /app /app", Some(16)),
            ("[stage-2 3/4] RUN <<EOF (RUN is no instruction here)", Some(17)),
            ("[linux/amd64 stage-2 4/4] RUN echo b", Some(20)),
            ("[nowhere 9/9] RUN go test", Some(13)),
            ("[nowhere 9/9] RUN other", None),
            ("[internal] load build definition from Dockerfile", None),
        ] {
            assert_eq!(line_of_step(STAGES, step), line, "{step}");
        }
    }

    #[test]
    fn single_stage_has_no_name() {
        let dockerfile = "FROM scratch\nCOPY a /\nCOPY b /\n";
        assert_eq!(line_of_step(dockerfile, "[2/2] COPY b /"), Some(3));
        let dockerfile = "FROM busybox\n\nRUN false\n";
        assert_eq!(line_of_step(dockerfile, "[2/2] RUN false"), Some(3));
    }

    #[test]
    fn base_images_are_found() {
        assert_eq!(line_of_image(STAGES, "docker.io/library/golang:1.22"), Some(3));
        assert_eq!(line_of_image(STAGES, "docker.io/library/busybox:latest"), Some(14));
        assert_eq!(line_of_image("FROM a\nFROM b:1", "docker.io/library/b:2"), None);
    }
}
