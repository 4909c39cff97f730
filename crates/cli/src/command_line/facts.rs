//! Compares commands and flags with Tilt's.

use std::collections::BTreeSet;

use clap::{Arg, ArgAction, Command};

use super::definition;

const FACTS: &str = include_str!("commands.txt");

/// What is missing, and why.
const EXCEPTIONS: &[(&str, &str)] = &[("lsp", "not yet"), ("lsp/start", "not yet")];

#[test]
fn every_command_and_flag_of_tilt_exists() {
    let mut root = definition();
    root.build();
    let mut missing = BTreeSet::new();
    let mut count = 0;
    for fact in FACTS.lines().filter(|line| !line.starts_with('#')) {
        count += 1;
        let mut words = fact.split(' ');
        let path = words.next().expect("a line has a first word");
        let Some(command) = find(&root, path) else {
            missing.insert(path.to_owned());
            continue;
        };
        for flag in words {
            let flag = Flag::read(flag);
            match command.get_arguments().find(|arg| arg.get_long() == Some(flag.name)) {
                None => drop(missing.insert(format!("{path} --{}", flag.name))),
                Some(arg) => flag.check(path, arg),
            }
        }
    }
    assert_eq!(count, 56, "commands of Tilt");
    let exceptions: BTreeSet<String> = EXCEPTIONS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(missing, exceptions, "missing (left), or an exception that is none any more (right)");
}

fn find<'a>(root: &'a Command, path: &str) -> Option<&'a Command> {
    if path == "-" {
        return Some(root);
    }
    path.split('/').try_fold(root, |command, name| command.find_subcommand(name))
}

struct Flag<'a> {
    name: &'a str,
    short: Option<char>,
    takes_value: bool,
    default: Option<&'a str>,
}

impl<'a> Flag<'a> {
    /// `--file,-f:string=Tiltfile`
    fn read(word: &'a str) -> Flag<'a> {
        let (word, default) = match word.split_once('=') {
            Some((word, default)) => (word, Some(default)),
            None => (word, None),
        };
        let (word, takes_value) = match word.split_once(':') {
            Some((word, _)) => (word, true),
            None => (word, false),
        };
        let (name, short) = match word.split_once(",-") {
            Some((name, short)) => (name, short.chars().next()),
            None => (word, None),
        };
        Flag { name: name.trim_start_matches("--"), short, takes_value, default }
    }

    fn check(&self, path: &str, arg: &Arg) {
        let name = format!("{path} --{}", self.name);
        assert_eq!(arg.get_short(), self.short.or(arg.get_short()), "{name}");
        let optional = arg.get_num_args().is_some_and(|number| number.min_values() == 0);
        let is_switch = optional || !matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
        assert_eq!(!is_switch, self.takes_value, "{name}");
        let Some(default) = self.default else { return };
        // If other sources come first, the default is in the help text.
        let own = arg.get_default_values().iter().any(|value| value == default);
        let told = arg.get_help().is_some_and(|help| help.to_string().contains(default));
        assert!(own || told, "{name}: Tilt's default is {default}");
    }
}
