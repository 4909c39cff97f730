//! The Markdown pages of the commands, generated from their definitions.

use clap::{Arg, ArgAction, Command};

/// What applies to all commands.
const INTRODUCTION: &str = "\
# Commands

<!-- Written by `lilt dump cli-docs`. -->

Names, flags, defaults, environment variables and exit codes are Tilt's. Flags may stand before and behind arguments,
the last of several counts, and switches take a value: `--stream=false`. What stands behind `--` goes to the Tiltfile.

**Which session.** `lilt up` and `lilt ci` open a port, 10350 unless `--port` or `TILT_PORT` says otherwise; with
`--port=auto` the next one that is free. Commands that speak to a session take, in this order, that of `--port` or
`TILT_PORT`, that of the nearest Tiltfile at or above the current folder, the only one that runs, the one on port 10350.
Commands that a session itself runs get `TILT_HOST` and `TILT_PORT` and so speak to their own.

**Output.** What was asked for goes to stdout, everything else to stderr. `--json` prints what programs can read.
Colours are only for terminals, and not with `NO_COLOR`. A reader that stops reading is no error.

**Exit codes.** 0 if it went well, 1 if not, and 5 from `alpha tiltfile-result` if the Tiltfile is wrong. Ctrl-C, SIGTERM
and SIGHUP end `up` with 0 and `ci` with 1.

**Variables.** [Environment variables](../reference/environment.md) lists those that lilt reads.
";

/// Returns file names with texts: one page per command, and `README.md` that lists them.
pub(crate) fn pages(definition: Command) -> Vec<(String, String)> {
    let mut root = definition.term_width(0);
    root.build();
    let mut commands = Vec::new();
    collect(&root, String::new(), &mut commands);
    let mut pages: Vec<(String, String)> =
        commands.iter().map(|(path, command)| (file(path), page(path, command))).collect();
    pages.push(("README.md".to_owned(), index(&commands)));
    pages
}

/// Collects a command with its full name, and its subcommands except `help`.
fn collect<'a>(command: &'a Command, above: String, commands: &mut Vec<(String, &'a Command)>) {
    let path = if above.is_empty() {
        command.get_name().to_owned()
    } else {
        format!("{above} {}", command.get_name())
    };
    commands.push((path.clone(), command));
    let below = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    below.for_each(|below| collect(below, path.clone(), commands));
}

fn file(path: &str) -> String {
    format!("{}.md", path.replace(' ', "_"))
}

fn index(commands: &[(String, &Command)]) -> String {
    let mut text = format!("{INTRODUCTION}\n| command | what it does |\n|---|---|\n");
    for (path, command) in commands {
        text.push_str(&format!("| [`{path}`]({}) | {} |\n", file(path), cell(&about(command))));
    }
    text
}

fn page(path: &str, command: &Command) -> String {
    let long = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    let mut text = format!(
        "# {path}\n\n<!-- Written by `lilt dump cli-docs`. -->\n\n{}\n\n    {usage}\n",
        long.trim_end()
    );
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    if let Some(examples) = examples.strip_prefix("Examples:\n") {
        let lines: Vec<String> = examples.lines().map(|line| format!("  {line}")).collect();
        text.push_str(&format!("\n## Examples\n\n{}\n", lines.join("\n")));
    }
    let below = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    let below: Vec<String> = below
        .map(|below| {
            let name = format!("{path} {}", below.get_name());
            format!("| [`{name}`]({}) | {} |\n", file(&name), cell(&about(below)))
        })
        .collect();
    if !below.is_empty() {
        text.push_str(&format!("\n## Commands\n\n| command | what it does |\n|---|---|\n{}", below.concat()));
    }
    let (positional, flags): (Vec<&Arg>, Vec<&Arg>) = shown(command).partition(|arg| arg.is_positional());
    text.push_str(&table("Arguments", "argument", &positional));
    text.push_str(&table("Flags", "flag", &flags));
    text
}

/// Returns the documented arguments. Global flags are only on the first page.
fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_root = command.get_name() == "lilt";
    let own = move |arg: &&Arg| is_root || !(arg.is_global_set() || arg.get_id() == "help");
    command.get_arguments().filter(|arg| !arg.is_hide_set()).filter(own)
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

fn table(title: &str, what: &str, arguments: &[&Arg]) -> String {
    if arguments.is_empty() {
        return String::new();
    }
    let rows: Vec<String> =
        arguments.iter().map(|arg| format!("| `{}` | {} |\n", name(arg), meaning(arg))).collect();
    format!("\n## {title}\n\n| {what} | meaning |\n|---|---|\n{}", rows.concat())
}

fn name(arg: &Arg) -> String {
    let value = arg.get_value_names().map(|names| names.join(" ")).unwrap_or_default();
    let long = arg.get_long().map(|long| format!("--{long}"));
    let short = arg.get_short().map(|short| format!("-{short}"));
    let flag: Vec<String> = short.into_iter().chain(long).collect();
    match (flag.is_empty(), takes_value(arg)) {
        (true, _) => value,
        (false, true) => format!("{} {value}", flag.join(", ")),
        (false, false) => flag.join(", "),
    }
}

fn meaning(arg: &Arg) -> String {
    let help = arg.get_help().or(arg.get_long_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = cell(&help);
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if takes_value(arg) && !values.is_empty() {
        text.push_str(&format!(" ({})", values.join(", ")));
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if takes_value(arg) && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        text.push_str(&format!(". Default: `{}`", defaults.join(", ")));
    }
    text
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

/// Escapes a text for a table cell.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}
