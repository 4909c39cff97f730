//! The state of one load of the Tiltfile, which builtins access through the evaluator.
//!
//! It holds plain data only, never a Starlark value: those belong to the heap of one file.

// Only for what the derives of starlark generate.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use lilt_model::Failure;
use lilt_model::command::Command;
use lilt_model::files::{Contents, FileSet, fingerprint};
use starlark::any::ProvidesStaticType;
use starlark::codemap::{CodeMapId, FileSpanRef};
use starlark::environment::FrozenModule;
use starlark::eval::{BeforeStmtFuncDyn, Evaluator};
use starlark::values::OwnedFrozenValue;

use crate::declarations::Declarations;
use crate::environment;
use crate::failure::{SourceLookup, SourceSpan, raise, source_span_of};
use crate::halt::Halt;
use crate::hashes::{Hasher, Hashes};
use crate::messages::Message;
use crate::paths::clean;
use crate::progress::{Position, shorten};
use crate::request::{BuiltinCall, LoadRequest};
use crate::secrets::Secrets;
use crate::source::Source;
use crate::system::{CommandOutput, System};

#[derive(ProvidesStaticType)]
pub(crate) struct LoadState<'a> {
    pub(crate) request: &'a LoadRequest,
    pub(crate) system: &'a dyn System,
    pub(crate) cancelled: &'a (dyn Fn() -> bool + Sync),
    /// Requested by the thread that supervises the load.
    pub(crate) halt: Halt,
    pub(crate) declared: RefCell<Declarations>,
    /// The statement that runs.
    position: Position,
    /// The file of the last statement, and its number.
    last_file: Cell<Option<(CodeMapId, u32)>>,
    /// The numbers of the files that have run statements.
    file_numbers: RefCell<HashMap<CodeMapId, u32>>,
    /// To the thread that requested the load.
    message_sender: SyncSender<Message>,
    /// Files and directories that were read or searched for, with everything below them.
    files: RefCell<BTreeSet<PathBuf>>,
    /// Files that were read or searched for, also if their paths are directories.
    entries: RefCell<BTreeSet<PathBuf>>,
    /// The paths that were checked for being a `.git` directory.
    git_dirs: RefCell<HashMap<PathBuf, bool>>,
    /// Fingerprints of the files that were read.
    contents: RefCell<BTreeMap<PathBuf, Option<u64>>>,
    sources: RefCell<HashMap<PathBuf, Arc<Source>>>,
    /// Hashes of the code that ran.
    hasher: RefCell<Hasher>,
    /// Files that were loaded to the end; each runs once.
    pub(crate) modules: RefCell<HashMap<PathBuf, LoadedFile>>,
    /// The files that run now, the innermost last.
    pub(crate) running: RefCell<Vec<PathBuf>>,
    /// The warnings of `warn()`, which were printed already.
    warnings: RefCell<Vec<String>>,
    /// Names the resources of workloads.
    pub(crate) workload_function: RefCell<WorkloadFunction>,
    /// The secrets among the objects that were declared so far.
    secrets: RefCell<Secrets>,
    /// The calls of builtins, in the order in which they ended; recorded if the request asks for timings.
    calls: RefCell<Vec<BuiltinCall>>,
    /// Runs a file that another one names; none if this load evaluates nothing.
    pub(crate) load_file: Option<LoadFile>,
}

/// Runs a file, unless it ran already. A function pointer, since `evaluate` imports the builtins, which import this module.
pub(crate) type LoadFile = fn(&LoadState<'_>, &str) -> starlark::Result<LoadedFile>;

/// A file that has run to its end.
#[derive(Clone, Debug)]
pub(crate) struct LoadedFile {
    /// What `load` can take from it.
    pub(crate) module: FrozenModule,
    /// All it bound, private names too, as a dict.
    pub(crate) globals: OwnedFrozenValue,
}

/// The function of `workload_to_resource_function`, as far as it is known while files run.
#[derive(Debug, Default)]
pub(crate) struct WorkloadFunction {
    /// The file that registered it last.
    pub(crate) noted_in: Option<PathBuf>,
    pub(crate) function: Option<OwnedFrozenValue>,
}

impl fmt::Debug for LoadState<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadState").field("running", &self.running).finish_non_exhaustive()
    }
}

/// Returns the state of the load that an evaluator belongs to.
pub(crate) fn load_state<'a, 'e>(eval: &Evaluator<'_, 'a, 'e>) -> &'a LoadState<'e> {
    eval.extra
        .and_then(|extra| extra.downcast_ref::<LoadState<'e>>())
        .expect("invariant: every evaluator of this crate has a load state")
}

impl<'a> LoadState<'a> {
    pub(crate) fn new(
        request: &'a LoadRequest,
        system: &'a dyn System,
        cancelled: &'a (dyn Fn() -> bool + Sync),
        halt: Halt,
        position: Position,
        message_sender: SyncSender<Message>,
    ) -> Self {
        Self {
            request,
            system,
            cancelled,
            halt,
            position,
            last_file: Cell::default(),
            file_numbers: RefCell::default(),
            message_sender,
            declared: RefCell::default(),
            files: RefCell::default(),
            entries: RefCell::default(),
            git_dirs: RefCell::default(),
            contents: RefCell::default(),
            sources: RefCell::default(),
            hasher: RefCell::default(),
            modules: RefCell::default(),
            running: RefCell::default(),
            warnings: RefCell::default(),
            workload_function: RefCell::default(),
            secrets: RefCell::default(),
            calls: RefCell::default(),
            load_file: None,
        }
    }

    /// Sets how files are run.
    pub(crate) fn with_loader(self, load_file: LoadFile) -> Self {
        Self { load_file: Some(load_file), ..self }
    }

    /// Returns the channel for the messages of the load.
    pub(crate) fn messages(&self) -> SyncSender<Message> {
        self.message_sender.clone()
    }

    /// Stores the current statement. Called before each one: must be quick.
    pub(crate) fn note_statement(&self, span: FileSpanRef<'_>) {
        let id = span.file.id();
        let number = match self.last_file.get() {
            Some((noted, number)) if noted == id => number,
            _ => {
                let number = self.file_number(&span);
                self.last_file.set(Some((id, number)));
                number
            }
        };
        self.position.set(number, span.span.begin().get());
    }

    /// Returns the number of a file, which is announced when it is new; zero if its text is not known.
    fn file_number(&self, span: &FileSpanRef<'_>) -> u32 {
        let mut numbers = self.file_numbers.borrow_mut();
        if let Some(number) = numbers.get(&span.file.id()) {
            return *number;
        }
        let source = self.source(Path::new(span.file.filename()));
        let number = source.map_or(0, |source| {
            // Fails only when the receiver is gone.
            let _ = self.message_sender.send(Message::File(source));
            u32::try_from(numbers.values().filter(|number| **number > 0).count() + 1).unwrap_or(0)
        });
        numbers.insert(span.file.id(), number);
        number
    }

    pub(crate) fn print(&self, line: &str) {
        // Fails only when the receiver is gone, and then nobody needs it.
        let _ = self.message_sender.send(Message::Line(self.redacted(line)));
    }

    /// Redacts the secrets of the objects that were declared so far.
    fn redacted(&self, text: &str) -> String {
        let mut secrets = self.secrets.borrow_mut();
        // Borrowed by a builtin that prints while it declares something: what it declares is not printed.
        if let Ok(declared) = self.declared.try_borrow() {
            if declared.show_secrets {
                return text.to_owned();
            }
            secrets.scan(&declared.objects);
        }
        secrets.redact(text)
    }

    /// Returns the secrets of all objects, unless they may be shown.
    pub(crate) fn secrets(&self) -> Secrets {
        let declared = self.declared.borrow();
        let mut secrets = self.secrets.take();
        if declared.show_secrets {
            return Secrets::default();
        }
        secrets.scan(&declared.objects);
        secrets
    }

    /// Prints a warning at once, and adds it to the result of the load.
    pub(crate) fn warn(&self, message: String) {
        let _ = self.message_sender.send(Message::Warning(self.redacted(&message)));
        self.warnings.borrow_mut().push(message);
    }

    pub(crate) fn warn_once(&self, message: String) {
        if !self.warnings.borrow().contains(&message) {
            self.warn(message);
        }
    }

    pub(crate) fn take_warnings(&self) -> Vec<String> {
        self.warnings.take()
    }

    /// Runs a command with the environment that this load gives to its children.
    ///
    /// `shown` is the text for progress reports.
    pub(crate) fn run(
        &self,
        shown: &str,
        command: &Command,
        stdin: Option<&[u8]>,
        each_line: &mut dyn FnMut(&str),
    ) -> io::Result<CommandOutput> {
        let needed = self.declared.borrow().uses_kubernetes();
        let kubeconfig = self.system.command_kubeconfig(needed).unwrap_or_else(|failure| {
            self.warn_once(format!("commands find their own kubeconfig: {failure}"));
            None
        });
        let environment = environment::for_commands(self.request, kubeconfig);
        let shown = self.redacted(&shorten(shown));
        // These fail only when the receiver is gone.
        let _ = self.message_sender.send(Message::Command(Some(shown)));
        let output = self.system.run(command, &environment, stdin, self.cancelled, each_line);
        let _ = self.message_sender.send(Message::Command(None));
        output
    }

    pub(crate) fn note_call(&self, call: BuiltinCall) {
        self.calls.borrow_mut().push(call);
    }

    pub(crate) fn take_calls(&self) -> Vec<BuiltinCall> {
        self.calls.take()
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        (self.cancelled)()
    }

    /// Whether the evaluation must stop.
    pub(crate) fn must_stop(&self) -> bool {
        self.halt.is_requested() || self.is_cancelled()
    }

    /// Returns the file that runs now; a function runs in the file that called it, as in Tilt.
    pub(crate) fn current_file(&self) -> PathBuf {
        self.running.borrow().last().unwrap_or(&self.request.path).clone()
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.current_file().parent().unwrap_or(Path::new("/")).to_owned()
    }

    /// Makes a path absolute and clean; relative paths start from the folder of the file that runs.
    pub(crate) fn absolute(&self, path: impl AsRef<Path>) -> PathBuf {
        clean(&self.directory().join(path))
    }

    /// Whether a path is a `.git` directory. Cached: every resource asks for the same few.
    pub(crate) fn is_git_dir(&self, path: &Path) -> bool {
        if let Some(known) = self.git_dirs.borrow().get(path) {
            return *known;
        }
        let is = self.system.is_dir(path);
        self.git_dirs.borrow_mut().insert(path.to_owned(), is);
        is
    }

    /// Reloads when this file, or anything in this directory, changes.
    pub(crate) fn watch(&self, path: &Path) {
        self.files.borrow_mut().insert(path.to_owned());
    }

    /// Reloads when this file changes, is created or deleted. Of a directory in its place, the content does not count.
    pub(crate) fn watch_entry(&self, path: &Path) {
        self.entries.borrow_mut().insert(path.to_owned());
    }

    /// Reads and watches a file, also if it is missing: creating it reloads then.
    pub(crate) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let content = self.system.read_file(path);
        let known = content.as_deref().ok().map(fingerprint);
        self.contents.borrow_mut().insert(path.to_owned(), known);
        self.watch_entry(path);
        content
    }

    pub(crate) fn read_text(&self, path: &Path) -> Result<String, Failure> {
        let content = self.read(path).map_err(|error| self.unreadable(path, &error))?;
        Ok(lilt_model::yaml::decode(&content).into_owned())
    }

    pub(crate) fn unreadable(&self, path: &Path, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::NotFound => {
                let directory = self.directory();
                let shown = path.strip_prefix(&directory).unwrap_or(path);
                let failure = Failure::user(format!("no such file: {}", shown.display()));
                failure.hint(format!("relative paths count from {}", directory.display()))
            }
            io::ErrorKind::IsADirectory => {
                Failure::user(format!("{} is a directory, not a file", path.display()))
            }
            _ => Failure::environment(format!("cannot read {}: {error}", path.display())).caused_by(error),
        }
    }

    pub(crate) fn add_source(&self, source: Arc<Source>) {
        self.hasher.borrow_mut().add(source.text());
        self.sources.borrow_mut().insert(source.path().to_owned(), source);
    }

    /// Returns the hashes of the code that ran so far, and resets them.
    pub(crate) fn hashes(&self) -> Hashes {
        self.hasher.take().finish()
    }

    /// Returns the source span of the call of the builtin that runs now.
    pub(crate) fn span(&self, eval: &Evaluator<'_, '_, '_>) -> starlark::Result<SourceSpan> {
        // A timed builtin is called by its wrapper, which has no span of its own.
        let outer = || eval.call_stack().into_frames().into_iter().rev().find_map(|frame| frame.location);
        eval.call_stack_top_location()
            .or_else(outer)
            .and_then(|span| source_span_of(&span, self))
            .ok_or_else(|| raise(Failure::internal("a builtin was called from nowhere")))
    }

    /// Returns the declarations, the files to watch, and the contents of the files that were read.
    pub(crate) fn into_parts(self) -> (Declarations, FileSet, Contents) {
        let contents = Contents(self.contents.into_inner().into_iter().collect());
        let (mut roots, mut entries) = (self.files.into_inner(), self.entries.into_inner());
        entries.retain(|entry| !roots.contains(entry));
        // As in Tilt, a directory that was read as a file is not among the files of the Tiltfile.
        roots.extend(entries.iter().filter(|entry| !self.system.is_dir(entry)).cloned());
        let files = FileSet { roots: roots.into_iter().collect(), entries, ignores: Vec::new() };
        (self.declared.into_inner(), files, contents)
    }
}

/// Stores each statement as the position before it runs.
#[derive(Debug)]
pub(crate) struct StatementHook;

impl<'e> BeforeStmtFuncDyn<'e> for StatementHook {
    fn call<'v>(
        &mut self,
        span: FileSpanRef<'_>,
        _continued: bool,
        eval: &mut Evaluator<'v, '_, 'e>,
    ) -> starlark::Result<()> {
        load_state(eval).note_statement(span);
        Ok(())
    }
}

impl SourceLookup for LoadState<'_> {
    fn source(&self, path: &Path) -> Option<Arc<Source>> {
        self.sources.borrow().get(path).cloned()
    }
}
