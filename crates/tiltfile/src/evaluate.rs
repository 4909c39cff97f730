//! Runs a Tiltfile and the files it loads.

mod workload_names;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lilt_model::Failure;
use starlark::environment::{FrozenModule, Module};
use starlark::eval::{BeforeStmtFunc, Evaluator, FileLoader};
use starlark::syntax::{AstModule, Dialect, DialectTypes};
use starlark::values::dict::AllocDict;
use starlark::values::{FreezeError, Value};

use crate::failure::{EvaluationError, raise};
use crate::load_state::{LoadState, LoadedFile, StatementHook};
use crate::source::{ASSERT, COMPARISONS, EQUAL, PERCENT, PLUS, SHIFT, Source, TIMES, UNEQUAL};
use crate::values::limits::HEAP_SIZE;
use crate::values::text;
use crate::{builtins, extension, resolve, workload_function};

pub(crate) use workload_names::workload_names;

/// How deep calls may nest. Each takes some of the thread's stack: change it together with [`STACK_SIZE`].
const CALL_DEPTH: usize = if cfg!(debug_assertions) { 3_000 } else { 20_000 };
/// Of the thread that evaluates. Only what is used of it takes memory; values that are nested very deep need much.
pub(crate) const STACK_SIZE: usize = 256 << 20;
/// How deep the global values of a file may nest: freezing them is recursive.
const VALUE_DEPTH: usize = 1_000;

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

/// Runs the main file. Its declarations are in `state` afterwards.
pub(crate) fn run_main(state: &LoadState<'_>) -> Result<(), Failure> {
    let path = state.request.path.clone();
    match run(state, path) {
        Ok(_) => Ok(()),
        Err(error) if error.is_exit => Ok(()),
        Err(error) => Err(error.into_failure()),
    }
}

fn run(state: &LoadState<'_>, path: PathBuf) -> Result<LoadedFile, Box<EvaluationError>> {
    // Before it counts as running: if it is missing, the path is resolved from the file that loads it.
    let text = state.read_text(&path).map_err(EvaluationError::without_span)?;
    state.running.borrow_mut().push(path.clone());
    let result = run_file(state, path, text);
    state.running.borrow_mut().pop();
    result
}

fn run_file(state: &LoadState<'_>, path: PathBuf, text: String) -> Result<LoadedFile, Box<EvaluationError>> {
    let source = Arc::new(Source::new(path, text));
    state.add_source(source.clone());
    if let Some(problem) = source.problem() {
        return Err(EvaluationError::in_text(problem, &source));
    }
    let name = source.path().display().to_string();
    let parsed = AstModule::parse(&name, source.rewritten().to_owned(), &DIALECT);
    let mut ast = parsed.map_err(|error| Box::new(EvaluationError::of(error, state)))?;
    replace_operators(&mut ast, &source);
    Module::with_temp_heap(|module| {
        builtins::predeclare(&module, state, &source);
        let is_predeclared = |name: &str| module.names().any(|known| known.as_str() == name);
        if let Some(problem) = resolve::use_before_binding(&ast, &source, is_predeclared) {
            return Err(EvaluationError::in_text(&problem, &source));
        }
        let loader = Loader(state);
        let mut eval = Evaluator::new(&module);
        eval.extra = Some(state);
        eval.set_loader(&loader);
        eval.set_check_cancelled(Box::new(|| state.must_stop()));
        // For reports of slow loads.
        eval.before_stmt_for_dap(BeforeStmtFunc::from_dyn(Box::new(StatementHook)));
        eval.set_max_callstack_size(CALL_DEPTH).expect("invariant: not zero and set once");
        // Garbage collection is recursive: no stack is large enough for some nested values.
        eval.disable_gc();
        eval.set_max_heap_size(HEAP_SIZE).expect("invariant: not zero and set once");
        let evaluated = eval.eval_module(ast, builtins::globals());
        drop(eval);
        finish(state, evaluated)?;
        let names = builtins::bound_names(&module);
        if let Some(name) = names.iter().find(|name| module.get(name).is_some_and(nests_too_deep)) {
            return Err(EvaluationError::without_span(Failure::user(format!(
                "the value of {name} is nested too deep"
            ))));
        }
        let module = module.freeze().map_err(unfrozen)?;
        workload_function::take_from(state, &module);
        export(&module, names)
    })
}

/// Returns the result of an evaluation. If the load must end, its last error does not count.
fn finish<T>(state: &LoadState<'_>, evaluated: starlark::Result<T>) -> Result<T, Box<EvaluationError>> {
    let evaluated = evaluated.map_err(|error| Box::new(EvaluationError::of(error, state)));
    match state.halt.failure() {
        None => evaluated,
        Some(failure) => Err(match evaluated {
            Ok(_) => EvaluationError::without_span(failure),
            Err(error) => Box::new(EvaluationError { failure, is_exit: false, ..*error }),
        }),
    }
}

/// Replaces operators by calls of builtins where the interpreter's differ from Tilt's; only in files where it could matter.
fn replace_operators(ast: &mut AstModule, source: &Source) {
    let mut replaced = HashMap::new();
    if source.text().contains('%') {
        replaced.insert("%".to_owned(), PERCENT.to_owned());
    }
    for (operator, builtin) in [("*", TIMES), ("+", PLUS), ("<<", SHIFT), ("==", EQUAL), ("!=", UNEQUAL)] {
        if source.text().contains(operator) {
            replaced.insert(operator.to_owned(), builtin.to_owned());
        }
    }
    if source.mentions("set") {
        let comparisons =
            COMPARISONS.iter().map(|(operator, builtin)| ((*operator).to_owned(), (*builtin).to_owned()));
        replaced.extend(comparisons);
    }
    if !replaced.is_empty() {
        ast.replace_binary_operators(&replaced);
    }
}

fn unfrozen(error: FreezeError) -> Box<EvaluationError> {
    EvaluationError::without_span(Failure::internal(format!("cannot freeze: {error:?}")))
}

/// Looks through lists, tuples, dicts and structs, each once.
fn nests_too_deep(value: Value<'_>) -> bool {
    let mut seen = HashSet::new();
    let mut waiting = vec![(value, 0)];
    while let Some((value, depth)) = waiting.pop() {
        let inside = text::nested_values(value);
        if inside.is_empty() || !seen.insert(value.identity()) {
            continue;
        }
        if depth > VALUE_DEPTH {
            return true;
        }
        waiting.extend(inside.into_iter().map(|value| (value, depth + 1)));
    }
    false
}

/// Exports what the file itself bound: not the builtins that were predeclared, nor what it loaded.
fn export(module: &FrozenModule, names: Vec<String>) -> Result<LoadedFile, Box<EvaluationError>> {
    let module = Module::with_temp_heap(|exported| {
        let mut globals = Vec::new();
        for name in names {
            let Ok((value, _)) = module.get_any_visibility(&name) else { continue };
            let value = exported.heap().access_owned_frozen_value(&value);
            exported.set(&name, value);
            globals.push((if name == ASSERT { "assert".to_owned() } else { name }, value));
        }
        exported.set_extra_value(exported.heap().alloc(AllocDict(globals)));
        exported.freeze().map_err(unfrozen)
    })?;
    let globals = module.owned_extra_value().expect("invariant: it was set before freezing");
    Ok(LoadedFile { module, globals })
}

struct Loader<'s, 'a>(&'s LoadState<'a>);

impl FileLoader for Loader<'_, '_> {
    fn load(&self, path: &str) -> starlark::Result<FrozenModule> {
        Ok(load(self.0, path)?.module)
    }
}

/// Runs a file that another one loads, unless it ran already.
pub(crate) fn load(state: &LoadState<'_>, path: &str) -> starlark::Result<LoadedFile> {
    let path = extension::file(state, path).map_err(raise)?;
    if let Some(file) = state.modules.borrow().get(&path) {
        return Ok(file.clone());
    }
    if state.running.borrow().contains(&path) {
        return Err(raise(cycle(state, &path)));
    }
    let file = run(state, path.clone()).map_err(|error| match error.span {
        // The file could not be read: the error points to the load statement.
        None if !error.is_exit => raise(error.failure),
        _ => error.into_load_error(),
    })?;
    state.modules.borrow_mut().insert(path, file.clone());
    Ok(file)
}

fn cycle(state: &LoadState<'_>, path: &Path) -> Failure {
    let running = state.running.borrow();
    let round = running.iter().map(PathBuf::as_path).skip_while(|file| *file != path).chain([path]);
    let round: Vec<String> = round.map(|file| file.display().to_string()).collect();
    Failure::user(format!("files load each other in a circle: {}", round.join(" → ")))
}
