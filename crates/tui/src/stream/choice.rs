//! The flags that select which log lines to print.

use clap::Args;
use lilt_model::ResourceName;
use lilt_model::log::{Level, Source};
use lilt_store::Filter;

/// The log lines that `up` and `ci` print.
#[derive(Args, Clone, Debug, Default)]
pub struct PrintedLines {
    /// Print only lines of this level: warn or error, or both with a comma; and where updates begin
    #[arg(long, value_name = "LEVEL", value_parser = levels, default_value = "", hide_default_value = true)]
    pub log_level: Levels,
    /// Print only lines of this source: all, build or runtime
    #[arg(long, value_name = "SOURCE", value_parser = source, default_value = "all")]
    pub log_source: Sources,
    /// Print only lines of these resources, for example web,api or "(Tiltfile)"
    #[arg(long, value_name = "RESOURCES", value_delimiter = ',')]
    pub log_resource: Vec<String>,
    /// Print control sequences in logs unchanged; by default only colours are kept
    #[arg(long)]
    pub raw: bool,
}

impl PrintedLines {
    pub fn options(self) -> StreamOptions {
        let filter = Filter {
            resources: self.log_resource.iter().map(ResourceName::new).collect(),
            source: self.log_source.0,
            levels: self.log_level.0,
            ..Filter::default()
        };
        StreamOptions { filter, raw: self.raw }
    }
}

/// Which lines of the log a session prints, and how.
#[derive(Clone, Debug, Default)]
pub struct StreamOptions {
    pub filter: Filter,
    /// Whether control sequences other than colours are printed, too.
    pub raw: bool,
}

/// Empty: all.
#[derive(Clone, Debug, Default)]
pub struct Levels(pub Vec<Level>);

/// Empty: all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources(pub Option<Source>);

/// Parses levels as Tilt does: anything below a warning means all lines.
pub fn levels(text: &str) -> Result<Levels, String> {
    let mut levels = Vec::new();
    for word in text.split(',').map(str::trim) {
        match word.to_ascii_lowercase().as_str() {
            "warn" | "warning" => levels.push(Level::Warn),
            "error" => levels.push(Level::Error),
            "" | "info" | "verbose" | "debug" | "all" => return Ok(Levels::default()),
            _ => return Err("a level is warn or error".to_owned()),
        }
    }
    Ok(Levels(levels))
}

pub fn source(text: &str) -> Result<Sources, String> {
    match text.to_ascii_lowercase().as_str() {
        "" | "all" => Ok(Sources(None)),
        "build" => Ok(Sources(Some(Source::Build))),
        "runtime" => Ok(Sources(Some(Source::Runtime))),
        _ => Err("a source is all, build or runtime".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_sources_are_parsed_as_in_tilt() {
        assert_eq!(levels("warn").unwrap().0, [Level::Warn]);
        assert_eq!(levels("warn,error").unwrap().0, [Level::Warn, Level::Error]);
        assert!(levels("").unwrap().0.is_empty() && levels("info").unwrap().0.is_empty());
        assert!(levels("loud").is_err());
        assert_eq!(source("runtime").unwrap().0, Some(Source::Runtime));
        assert!(source("pod").is_err());
    }
}
