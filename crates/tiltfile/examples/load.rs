//! Loads a Tiltfile, prints what it prints, how long it took and what came of it:
//! `cargo run --release -p lilt-tiltfile --example load -- path/to/Tiltfile [rounds]`
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "it is a program")]

#[path = "../tests/support/system.rs"]
#[allow(dead_code, reason = "tests use more of it")]
mod system;

use std::time::Instant;

use lilt_tiltfile::{LoadRequest, load};
use system::TestSystem;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().map(std::path::absolute).and_then(Result::ok);
    let Some(path) = path else {
        println!("usage: load path/to/Tiltfile [rounds]");
        return;
    };
    let rounds: u32 = arguments.next().and_then(|rounds| rounds.parse().ok()).unwrap_or(1);
    let request = LoadRequest { path, args: Vec::new(), subcommand: "up".into(), ..LoadRequest::default() };
    for round in 1..=rounds {
        let start = Instant::now();
        let loaded = load(&request, &TestSystem::default(), &|| false, &mut |line| println!("{line}"));
        let took = start.elapsed();
        match loaded.project {
            Ok(project) => {
                println!("round {round}: {took:?}, {} resources", project.resources.len());
            }
            Err(failure) => println!("round {round}: {took:?}\n{failure}"),
        }
    }
}
