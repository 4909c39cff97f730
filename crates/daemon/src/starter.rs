//! Commands of the Tiltfile, started by the guardian, so that they end with lilt as all others do.

use std::collections::BTreeSet;
use std::io::{self, PipeReader, PipeWriter};

use lilt_host::environment;
use lilt_host::process::{Exit, Guardian, Held, Launch};
use lilt_model::command::Command;
use lilt_tiltfile::{Running, Starter};

/// Starts them.
#[derive(Debug)]
pub struct Guarded(Guardian);

impl Guarded {
    pub fn new(guardian: &Guardian) -> Guarded {
        Guarded(guardian.clone())
    }
}

impl Starter for Guarded {
    fn start(
        &self,
        command: &Command,
        environment: &[(String, String)],
        input: Option<PipeReader>,
        output: PipeWriter,
        errors: PipeWriter,
    ) -> io::Result<Box<dyn Running>> {
        let env: Vec<(String, String)> = environment.iter().chain(&command.env).cloned().collect();
        let set: BTreeSet<&str> = env.iter().map(|(name, _)| name.as_str()).collect();
        // No other environment than this.
        let unset = environment::names().into_iter().filter(|name| !set.contains(name.as_str())).collect();
        let launch = Launch { argv: command.argv.clone(), dir: command.dir.clone(), env, unset };
        let held = self.0.hold(&launch, input.map(Into::into), output.into(), errors.into())?;
        Ok(Box::new(Guest(held)))
    }
}

struct Guest(Held);

impl Running for Guest {
    fn try_wait(&mut self) -> io::Result<Option<Option<i32>>> {
        Ok(self.0.try_wait().map(|exit| match exit {
            Exit::Code(code) => Some(code),
            Exit::Signal(_) | Exit::Lost => None,
        }))
    }

    fn end(&mut self, hard: bool) {
        self.0.end(hard);
    }
}
