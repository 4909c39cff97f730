//! `lilt completion`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use clap_complete::Shell;
use lilt_host::terminal;

use crate::arguments::program_name;

#[derive(Debug, Subcommand)]
pub(crate) enum Completion {
    /// Print completions for bash
    #[command(
        after_help = "Examples:\n  source <(lilt completion bash)\n  lilt completion bash > /etc/bash_completion.d/lilt"
    )]
    Bash(Style),
    /// Print completions for zsh
    #[command(after_help = "Examples:\n  lilt completion zsh > \"${fpath[1]}/_lilt\"")]
    Zsh(Style),
    /// Print completions for fish
    #[command(
        after_help = "Examples:\n  lilt completion fish | source\n  lilt completion fish > ~/.config/fish/completions/lilt.fish"
    )]
    Fish(Style),
    /// Print completions for PowerShell
    #[command(after_help = "Examples:\n  lilt completion powershell | Out-String | Invoke-Expression")]
    Powershell(Style),
}

#[derive(Args, Debug)]
pub(crate) struct Style {
    /// Only names, without what they mean
    #[arg(long)]
    no_descriptions: bool,
}

/// Prints the completions for the commands of `definition`.
pub(crate) fn run(completion: &Completion, mut definition: clap::Command) -> anyhow::Result<ExitCode> {
    let (shell, style) = match completion {
        Completion::Bash(style) => (Shell::Bash, style),
        Completion::Zsh(style) => (Shell::Zsh, style),
        Completion::Fish(style) => (Shell::Fish, style),
        Completion::Powershell(style) => (Shell::PowerShell, style),
    };
    if style.no_descriptions {
        definition = without_descriptions(definition);
    }
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut definition, program_name(), &mut text);
    terminal::write_raw(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn without_descriptions(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| arg.help("").long_help("")).about("").long_about("");
    command.mut_subcommands(without_descriptions)
}
