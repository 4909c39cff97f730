//! Logs and reports the steps of an update. Scripts rely on the `STEP` lines.

use std::time::Duration;

use lilt_engine::{CommandExit, Event, Owner};
use lilt_host::process::{Exit, Process};
use lilt_model::command::Command;
use lilt_model::log::Level;
use lilt_model::timeline::StageKind;
use lilt_model::{Failure, ImageName, ResourceName, Timestamp};
use lilt_store::Span;

use super::stages::Stages;
use crate::context::Context;
use crate::runner::command::command_exit;
use crate::runner::{capture, local};

pub(crate) struct Steps {
    context: Context,
    resource: ResourceName,
    update: u64,
    span: Span,
    warnings: Vec<String>,
    total: usize,
    begin_time: Timestamp,
    current: Option<(String, Timestamp)>,
    done: Vec<(String, Duration)>,
    /// The stages of the current image.
    stages: Stages,
    /// The running command of the user. It is kept here so that it can be ended after the work was dropped.
    command: Option<Process>,
}

impl Steps {
    pub(crate) fn new(
        context: &Context,
        resource: ResourceName,
        update: u64,
        span: Span,
        total: usize,
    ) -> Self {
        let context = context.clone();
        Self {
            context,
            resource,
            update,
            span,
            warnings: Vec::new(),
            total,
            begin_time: lilt_host::clock::now(),
            current: None,
            done: Vec::new(),
            stages: Stages::default(),
            command: None,
        }
    }

    pub(crate) async fn begin(&mut self, stage: StageKind, detail: &str, title: String) {
        let (resource, update) = (self.resource.clone(), self.update);
        self.context
            .send(Event::StageBegan {
                owner: Owner::Resource(resource),
                update,
                stage,
                detail: detail.to_owned(),
            })
            .await;
        self.span.info(&format!("STEP {}/{} — {title}", self.done.len() + 1, self.total));
        self.current = Some((title, lilt_host::clock::now()));
    }

    /// Reports a built image: other resources may use it now.
    pub(crate) async fn send_built(&self, image: &ImageName, reference: &str) {
        let (resource, update) = (self.resource.clone(), self.update);
        let (image, reference) = (image.clone(), reference.to_owned());
        self.context.send(Event::ImageBuilt { resource, update, image, reference }).await;
    }

    /// Logs a line of the current step.
    pub(crate) fn detail(&mut self, text: &str) {
        self.span.info(&format!("     {text}"));
    }

    /// Prints a warning, which is also part of the update's outcome.
    pub(crate) fn warn(&mut self, warning: impl Into<String>) {
        self.warn_indented("", warning.into());
    }

    /// The same, indented as a line of the current step.
    pub(crate) fn warn_in_step(&mut self, warning: impl Into<String>) {
        self.warn_indented("     ", warning.into());
    }

    fn warn_indented(&mut self, indentation: &str, warning: String) {
        self.span.print(Level::Warn, &format!("{indentation}WARNING: {warning}"));
        self.warnings.push(warning);
    }

    /// Ends the steps, and returns their warnings.
    pub(crate) fn into_warnings(self) -> Vec<String> {
        self.warnings
    }

    /// Runs the command that builds an image, and reports its exit.
    pub(crate) async fn run_build(&mut self, image: &ImageName, command: &Command) -> Result<Exit, Failure> {
        let ran = self.run(command, Some(image)).await;
        let exit =
            ran.as_ref().map_or_else(|failure| CommandExit::Failed(failure.clone()), |it| command_exit(*it));
        let (resource, update, image) = (self.resource.clone(), self.update, Some(image.clone()));
        self.context.send(Event::UpdateCommandEnded { resource, update, image, exit }).await;
        ran
    }

    /// Runs a command to its end. Its output goes to the log.
    pub(crate) async fn run(
        &mut self,
        command: &Command,
        image: Option<&ImageName>,
    ) -> Result<Exit, Failure> {
        self.span.info(&format!("Running cmd: {}", command.display()));
        let mut output = self.context.update_span(&self.resource, self.update);
        let launch = local::launch(&self.context, command);
        let guardian = &self.context.guardian;
        let process = Process::spawn(guardian, &launch, move |bytes| output.write(bytes)).await?;
        if let Some(image) = image.cloned() {
            let (resource, update, pid) = (self.resource.clone(), self.update, process.pid());
            let started = Event::UpdateCommandStarted { resource, update, image: Some(image), pid };
            self.context.send(started).await;
        }
        let exit = self.command.insert(process).wait().await;
        self.command = None;
        Ok(exit)
    }

    /// Runs a command and returns its stdout; stderr goes to the log. A command that exceeds the limit has no exit status.
    pub(crate) async fn run_capturing(
        &mut self,
        command: &Command,
        limit: Duration,
    ) -> Result<(Option<Exit>, Vec<u8>), Failure> {
        self.detail(&format!("Running cmd: {}", command.display()));
        let errors = self.context.update_span(&self.resource, self.update);
        capture::run(&self.context, command, errors, limit, &mut self.command).await
    }

    /// Ends the running command, if there is one.
    pub(crate) async fn stop_command(&mut self) {
        capture::stop(&self.context, &mut self.command).await;
    }

    pub(crate) async fn end(&mut self) {
        let (resource, update) = (self.resource.clone(), self.update);
        self.context.send(Event::StageEnded { resource, update }).await;
        if let Some((title, begin_time)) = self.current.take() {
            self.done.push((title, lilt_host::clock::now().since(begin_time)));
        }
        self.span.info("");
    }

    pub(crate) fn summarize(&mut self) {
        for (index, (title, took)) in self.done.iter().enumerate() {
            self.span.info(&format!("     Step {} - {:.2}s ({title})", index + 1, took.as_secs_f64()));
        }
        let took = lilt_host::clock::now().since(self.begin_time);
        self.span.info(&format!("     DONE IN: {:.2}s \n", took.as_secs_f64()));
    }

    pub(crate) fn stages(&mut self) -> &mut Stages {
        &mut self.stages
    }

    pub(crate) fn resource(&self) -> &ResourceName {
        &self.resource
    }

    pub(crate) fn span(&mut self) -> &mut Span {
        &mut self.span
    }
}
