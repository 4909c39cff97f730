//! `custom_build`.

use lilt_model::image::{CustomBuild, CustomOutput, ImageBuild};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;

use super::docker::{container_arguments, declare, image_reference, image_references};
use super::image_files::{Filters, ignores};
// The parameter `command` would hide the function.
use crate::arguments::{Function, command as shell_command};
use crate::declarations::ImageDeclaration;
use crate::load_state::load_state;
use crate::values::CustomBuildValue;

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// Builds an image with a command of your own. The command is told the reference to build in `EXPECTED_REF`.
    ///
    /// # Arguments
    /// * `ref`: the image's name, as objects and other Dockerfiles name it
    /// * `command`: a shell line, or a list of words
    /// * `deps`: files and directories; a change to one of them builds again
    /// * `tag`: the tag that the command gives the image, if it takes none from `EXPECTED_REF`
    /// * `disable_push`: the command brings the image to the cluster itself, under the name of `EXPECTED_REF`
    /// * `skips_local_docker`: the image never is in the local Docker engine; the command pushes it
    /// * `live_update`: steps that bring changes into running containers without a build
    /// * `match_in_env_vars`: replace the image's name also in the values of environment variables
    /// * `ignore`: patterns of files below `deps` that trigger nothing
    /// * `entrypoint`: the command of containers that run the image
    /// * `container_args`: the arguments of containers that run the image
    /// * `command_bat_val`: the older name of `command_bat`
    /// * `outputs_image_ref_to`: a file that the command writes the image's reference to; not together with `tag`
    /// * `command_bat`: the command on Windows
    /// * `image_deps`: images of this project that must be built before; told in `TILT_IMAGE_0` and so on
    /// * `env`: variables for the command, as a dict
    /// * `dir`: where the command runs, the Tiltfile's directory unless given
    fn custom_build<'v>(
        r#ref: Value<'v>,
        command: Value<'v>,
        deps: Value<'v>,
        tag: Option<Value<'v>>,
        disable_push: Option<Value<'v>>,
        skips_local_docker: Option<Value<'v>>,
        live_update: Option<Value<'v>>,
        match_in_env_vars: Option<Value<'v>>,
        ignore: Option<Value<'v>>,
        entrypoint: Option<Value<'v>>,
        container_args: Option<Value<'v>>,
        command_bat_val: Option<Value<'v>>,
        outputs_image_ref_to: Option<Value<'v>>,
        command_bat: Option<Value<'v>>,
        image_deps: Option<Value<'v>>,
        env: Option<Value<'v>>,
        dir: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<CustomBuildValue> {
        let function = Function("custom_build");
        let state = load_state(eval);
        let argument = |name, value| function.argument(name, value);
        let flag = |name, value| Ok::<_, starlark::Error>(argument(name, value).boolean()?.unwrap_or(false));
        let reference = image_reference(function.argument("ref", r#ref))?;
        let batch = match argument("command_bat", command_bat) {
            given if given.is_given() => given,
            _ => argument("command_bat_val", command_bat_val),
        };
        let words = function.argument("command", command);
        let command = shell_command(state, words, batch, argument("dir", dir), argument("env", env))?
            .ok_or_else(|| words.refuse("a command is needed"))?;
        let tag = argument("tag", tag).string()?;
        let output_file = argument("outputs_image_ref_to", outputs_image_ref_to);
        let outputs_image_ref_to = match output_file.string()?.as_str() {
            "" => None,
            path => Some(state.absolute(path)),
        };
        if !tag.is_empty() && outputs_image_ref_to.is_some() {
            return Err(function.refuse("tag and outputs_image_ref_to cannot both be given"));
        }
        let (pushes, remote) =
            (flag("disable_push", disable_push)?, flag("skips_local_docker", skips_local_docker)?);
        let output = match (remote, pushes) {
            (true, _) => CustomOutput::Remote,
            (false, true) => CustomOutput::LocalDockerAndRemote,
            (false, false) => CustomOutput::LocalDocker,
        };
        let deps = function.argument("deps", deps).paths(state)?;
        let filters = Filters { ignore: argument("ignore", ignore).patterns()?, ..Filters::default() };
        let build = CustomBuild { command, deps: deps.clone(), tag, output, outputs_image_ref_to };
        let declaration = ImageDeclaration {
            watch_ignores: ignores(state, &deps, &filters)?,
            roots: deps,
            live_update: super::live_update::live_update(argument("live_update", live_update), state)?,
            match_in_env_vars: flag("match_in_env_vars", match_in_env_vars)?,
            entrypoint: argument("entrypoint", entrypoint).unix_argv()?,
            container_args: container_arguments(argument("container_args", container_args))?,
            image_deps: image_references(argument("image_deps", image_deps))?,
            ..ImageDeclaration::new(state.span(eval)?, reference.clone(), ImageBuild::Custom(build))
        };
        declare(function, state, declaration)?;
        Ok(CustomBuildValue(reference))
    }
}
