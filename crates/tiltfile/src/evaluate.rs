//! Runs a Tiltfile and the files it loads.

use std::path::PathBuf;
use std::sync::Arc;

use lilt_model::Failure;
use starlark::environment::{FrozenModule, Module};
use starlark::eval::{Evaluator, FileLoader};
use starlark::syntax::{AstModule, Dialect, DialectTypes};

use crate::{builtins, extension};
use crate::failure::{Trouble, raise};
use crate::session::Session;
use crate::source::Source;
use crate::workload_function;

/// How deep calls may nest. Each takes a piece of the thread's stack: this and [`STACK_SIZE`] go together.
pub(crate) const CALL_DEPTH: usize = if cfg!(debug_assertions) { 3_000 } else { 20_000 };
/// Of the thread that evaluates.
pub(crate) const STACK_SIZE: usize = 64 << 20;

const DIALECT: Dialect = Dialect {
    enable_def: true,
    enable_lambda: true,
    enable_load: true,
    enable_keyword_only_arguments: true,
    enable_positional_only_arguments: false,
    enable_types: DialectTypes::Disable,
    enable_load_reexport: false,
    enable_top_level_stmt: true,
    enable_f_strings: false,
    _non_exhaustive: (),
};

/// Runs the main file; what it declares is in the session afterwards.
pub(crate) fn run_main(session: &Session<'_>) -> Result<(), Failure> {
    let path = session.request.path.clone();
    run(session, path).map(drop).map_err(|trouble| trouble.into_failure())
}

fn run(session: &Session<'_>, path: PathBuf) -> Result<FrozenModule, Box<Trouble>> {
    session.running.borrow_mut().push(path.clone());
    let result = run_file(session, path);
    session.running.borrow_mut().pop();
    result
}

fn run_file(session: &Session<'_>, path: PathBuf) -> Result<FrozenModule, Box<Trouble>> {
    let unplaced = |failure| Box::new(Trouble { failure, place: None, frames: Vec::new() });
    let text = session.read_text(&path).map_err(unplaced)?;
    let source = Arc::new(Source::new(path, text));
    session.add_source(source.clone());
    let name = source.path().display().to_string();
    let parsed = AstModule::parse(&name, source.rewritten().to_owned(), &DIALECT);
    let ast = parsed.map_err(|error| Box::new(Trouble::of(error, session)))?;
    Module::with_temp_heap(|module| {
        builtins::predeclare(&module, session, &source);
        let loader = Loader(session);
        let mut eval = Evaluator::new(&module);
        eval.extra = Some(session);
        eval.set_loader(&loader);
        eval.set_check_cancelled(Box::new(|| session.is_cancelled()));
        eval.set_max_callstack_size(CALL_DEPTH).expect("invariant: not zero and set once");
        eval.eval_module(ast, builtins::globals()).map_err(|error| Box::new(Trouble::of(error, session)))?;
        drop(eval);
        let module = module
            .freeze()
            .map_err(|error| unplaced(Failure::internal(format!("cannot freeze: {error:?}"))))?;
        workload_function::keep(session, &module);
        Ok(module)
    })
}

struct Loader<'s, 'a>(&'s Session<'a>);

impl FileLoader for Loader<'_, '_> {
    fn load(&self, path: &str) -> starlark::Result<FrozenModule> {
        let session = self.0;
        let path = extension::file(session, path).map_err(raise)?;
        if let Some(module) = session.modules.borrow().get(&path) {
            return Ok(module.clone());
        }
        if session.running.borrow().contains(&path) {
            return Err(raise(cycle(session, &path)));
        }
        let module = run(session, path.clone()).map_err(|trouble| match trouble.place {
            // The file could not even be read: the load statement is the place.
            None => raise(trouble.failure),
            Some(_) => trouble.into_load_error(),
        })?;
        session.modules.borrow_mut().insert(path, module.clone());
        Ok(module)
    }
}

fn cycle(session: &Session<'_>, path: &PathBuf) -> Failure {
    let running = session.running.borrow();
    let round = running.iter().skip_while(|file| *file != path).chain([path]);
    let round: Vec<String> = round.map(|file| file.display().to_string()).collect();
    Failure::user(format!("files load each other in a circle: {}", round.join(" → ")))
}
