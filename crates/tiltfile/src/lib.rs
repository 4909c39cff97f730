//! Evaluates a Tiltfile into a [`Project`].
//!
//! Two steps: Starlark code only collects declarations (`builtins`), then a pure step assembles them into resources
//! (`assemble`). It accesses the machine only through [`System`]. Nothing here builds, deploys or keeps state
//! between loads.

mod arguments;
mod assemble;
mod builtins;
mod configuration;
mod declarations;
mod environment;
mod evaluate;
mod extension;
mod failure;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod halt;
mod hashes;
mod image_index;
mod kinds;
mod load_state;
mod messages;
mod paths;
mod port_forward;
mod progress;
pub mod reference;
mod registry;
mod request;
mod resolve;
mod secrets;
mod source;
mod system;
mod tiltfile_result;
mod timing;
mod values;
mod version;
mod workload_function;

use std::path::Path;
use std::sync::mpsc::sync_channel;

use lilt_model::files::{Contents, FileSet, IgnoreRule};
pub use lilt_model::yaml;
use lilt_model::{Failure, Unreachable};

pub use extension::{ExtensionSource, ProvidedExtensions, find_extension, provide_repository};
pub use hashes::Hashes;
pub use messages::LoadMessage;
pub use progress::Progress;
pub use request::{BuiltinCall, LoadRequest, Loaded};
pub use system::{CommandOutput, DirEntry, System};
pub use tiltfile_result::{TiltfileResult, tiltfile_result};

use assemble::AssemblyInputs;
use halt::Halt;
use load_state::LoadState;
use messages::Message;
use progress::Position;

/// Returns the Kubernetes objects of a YAML text; lists are replaced by their items.
pub fn kubernetes_objects(text: &str) -> Result<Vec<serde_json::Value>, Failure> {
    let objects = yaml::objects(text).map_err(|error| {
        let line = error.line.map(|line| format!(" in line {line}")).unwrap_or_default();
        Failure::user(format!("the YAML cannot be read{line}: {}", error.message))
    })?;
    Ok(objects.into_iter().map(|(_, object)| object).collect())
}

/// Loads a Tiltfile. Blocks until it is done or `cancelled`; `print` gets its output and warnings, on this thread.
pub fn load(
    request: &LoadRequest,
    system: &dyn System,
    cancelled: &(dyn Fn() -> bool + Sync),
    print: &mut dyn FnMut(LoadMessage<'_>),
) -> Loaded {
    // Bounded, so that a Tiltfile that prints without end waits for its reader instead of filling the memory.
    let (printed, messages) = sync_channel(64);
    let halt = Halt::default();
    let worker_halt = halt.clone();
    let position = Position::default();
    let worker_position = position.clone();
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("tiltfile".into()).stack_size(evaluate::STACK_SIZE);
        let evaluation = match builder.spawn_scoped(scope, move || {
            let state = LoadState::new(request, system, cancelled, worker_halt, worker_position, printed);
            let state = state.with_loader(evaluate::load);
            evaluate_and_assemble(state)
        }) {
            Ok(evaluation) => evaluation,
            Err(error) => {
                let failure =
                    Failure::environment(format!("cannot start a thread for the Tiltfile: {error}"))
                        .of_kind(Unreachable::Machine);
                return failed_load(request, failure);
            }
        };
        if !builtins::are_ready() {
            // Building them takes longer than reading most Tiltfiles: it runs in parallel. Without a thread they are built later.
            let _ = std::thread::Builder::new().spawn_scoped(scope, builtins::make_ready);
        }
        halt.supervise(&messages, position, system, cancelled, print);
        evaluation.join().unwrap_or_else(|panic| failed_load(request, failure::of_panic(&*panic)))
    })
}

fn evaluate_and_assemble(state: LoadState<'_>) -> Loaded {
    let (request, system) = (state.request, state.system);
    environment::begin(system.environment(), &request.environment);
    let result = evaluate::run_main(&state);
    let (tiltignore, result) = match read_tiltignore(&state) {
        Ok(tiltignore) => (tiltignore, result),
        Err(failure) => (None, result.and(Err(failure))),
    };
    let (names, result) = match result.and_then(|()| workload_names(&state)) {
        Ok(names) => (names, Ok(())),
        Err(failure) => (None, Err(failure)),
    };
    let warnings = state.take_warnings();
    let secrets = state.secrets();
    let hashes = state.hashes();
    let calls = state.take_calls();
    let printed = state.messages();
    let (mut declared, mut files, contents) = state.into_parts();
    extension::note_loaded(&mut declared);
    let mut ignored_everywhere: Vec<IgnoreRule> = tiltignore.into_iter().collect();
    ignored_everywhere.extend_from_slice(&declared.settings.watch_ignores);
    files.ignores.clone_from(&ignored_everywhere);
    let project = result.and_then(|()| {
        let deploys = !declared.objects.is_empty() || !declared.custom_deploys.is_empty();
        let context = if deploys { system.kube_context()? } else { None };
        let names_contexts = declared.options.iter().any(|options| !options.context.is_empty());
        let contexts = if names_contexts { system.kube_contexts()? } else { Vec::new() };
        let arguments = request.args.clone();
        let inputs =
            AssemblyInputs { ignored_everywhere, context, contexts, arguments, workload_names: names };
        assemble::assemble(declared, inputs).map_err(combine_failures)
    });
    let tiltfile_warnings = warnings.len();
    let project = project.map(|mut project| {
        project.warnings.splice(..0, warnings);
        project
    });
    let project = secrets.redact_outcome(project);
    for warning in project.iter().flat_map(|project| &project.warnings).skip(tiltfile_warnings) {
        // Fails only when the receiver is gone.
        let _ = printed.send(Message::Warning(warning.clone()));
    }
    Loaded { project, files, contents, hashes, calls, environment: environment::changes() }
}

/// The result of a load that failed before it read the Tiltfile.
fn failed_load(request: &LoadRequest, failure: Failure) -> Loaded {
    Loaded {
        project: Err(failure),
        files: tiltfile_only(request),
        contents: Contents::default(),
        hashes: Hashes::default(),
        calls: Vec::new(),
        environment: Vec::new(),
    }
}

/// Returns the names that the user's function gives to the workloads, if there is one.
fn workload_names(state: &LoadState<'_>) -> Result<Option<Vec<String>>, Failure> {
    let declared = state.declared.borrow();
    let Some(span) = declared.workload_function.clone() else { return Ok(None) };
    let workloads = assemble::workload_ids(&declared);
    drop(declared);
    evaluate::workload_names(state, &span, workloads)
}

fn read_tiltignore(state: &LoadState<'_>) -> Result<Option<IgnoreRule>, Failure> {
    let base = state.request.path.parent().unwrap_or(Path::new("/")).to_owned();
    let path = base.join(".tiltignore");
    match state.read(&path) {
        Ok(content) => {
            let patterns = lilt_model::ignore::parse_patterns(&String::from_utf8_lossy(&content));
            Ok(Some(IgnoreRule { base, patterns }).filter(|rule| !rule.patterns.is_empty()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(state.unreadable(&path, &error)),
    }
}

fn tiltfile_only(request: &LoadRequest) -> FileSet {
    let path = request.path.clone();
    FileSet { roots: vec![path.clone()], entries: [path].into(), ignores: Vec::new() }
}

/// Combines several failures: the first, with the others in its detail.
fn combine_failures(failures: Vec<Failure>) -> Failure {
    let mut failures = failures.into_iter();
    let first = failures.next().unwrap_or_else(|| Failure::internal("assembling failed without a reason"));
    let others: Vec<String> = failures.map(|failure| failure.to_string()).collect();
    if others.is_empty() {
        return first;
    }
    // At the end the hint of the first failure would be read as that of the last.
    let hint = first.hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    let detail = format!("{}{hint}\n\n{}", first.detail.clone().unwrap_or_default(), others.join("\n\n"));
    Failure { hint: None, ..first }.detail(detail)
}
