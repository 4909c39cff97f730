//! The benchmarks of lilt: measured on the release binary, from outside, as a user would see them.
//!
//! They are not tests: a figure above its limit is marked, and the exit code stays 0. It is 1 if something could not be
//! measured. `make bench` builds lilt and runs this.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "measures real time, processes and files of this machine, and prints a table"
)]

mod figure;
mod lilt;
mod measure;
mod memory;
mod page;
mod samples;
mod table;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use figure::Figure;
use lilt::Lilt;

/// Measures the release binary that lies beside this program and prints a table of figures.
#[derive(Debug, Parser)]
pub(crate) struct Arguments {
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
    /// Fewer samples, and no 10,000 resources
    #[arg(long)]
    quick: bool,
    /// Only these measurements (may be repeated)
    #[arg(long, value_name = "NAME", value_parser = measure::names())]
    only: Vec<String>,
    /// Only memory during this many minutes of saves and log lines
    #[arg(long, value_name = "MINUTES", conflicts_with = "only")]
    soak: Option<u64>,
    /// The program to measure
    #[arg(long, value_name = "PATH")]
    lilt: Option<PathBuf>,
}

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) quick: bool,
}

impl Effort {
    /// Returns the number of samples: all, or a fifth with `--quick`.
    pub(crate) fn samples(self, usual: usize) -> usize {
        if self.quick { (usual / 5).max(1) } else { usual }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let lilt = match Lilt::find(arguments.lilt) {
        Ok(lilt) => lilt,
        Err(reason) => {
            eprintln!("bench: {reason}");
            return ExitCode::FAILURE;
        }
    };
    let effort = Effort { quick: arguments.quick };
    let mut figures: Vec<Figure> = Vec::new();
    let mut failures: Vec<String> = Vec::new();
    let mut run = |name: &str, measure: &dyn Fn() -> Vec<Figure>| {
        eprintln!("bench: measuring {name} …");
        // A failed measurement is reported, and the others continue.
        match catch_unwind(AssertUnwindSafe(measure)) {
            Ok(measured) => figures.extend(measured),
            Err(panic) => failures.push(format!("{name}: {}", words(&*panic))),
        }
    };
    if let Some(minutes) = arguments.soak {
        run("soak", &|| measure::live::soak::measure(&lilt, minutes));
    } else {
        for (name, measure) in measure::ALL {
            if arguments.only.is_empty() || arguments.only.iter().any(|only| only == name) {
                run(name, &|| measure(&lilt, effort));
            }
        }
    }
    if arguments.json {
        println!("{:#}", table::json(&figures, &failures));
    } else {
        println!("{}", table::text(&figures));
    }
    for failure in &failures {
        eprintln!("bench: not measured: {failure}");
    }
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panicked".into())
}
