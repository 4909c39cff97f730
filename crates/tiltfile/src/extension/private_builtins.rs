//! Builtins for the bundled extensions, which no other Tiltfile sees.

use std::sync::LazyLock;

use lilt_model::image::RestartProcess;
use lilt_model::reference::Reference;
use starlark::environment::{Globals, GlobalsBuilder};
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneType;

use crate::arguments::Function;
use crate::load_state::load_state;

pub(crate) static PRIVATE_BUILTINS: LazyLock<Globals> =
    LazyLock::new(|| GlobalsBuilder::new().with(functions).build());

#[starlark_module]
fn functions(builder: &mut GlobalsBuilder) {
    /// Ends the live update of an image, declared just before, with a restart of the process.
    fn _restart_process<'v>(
        r#ref: Value<'v>,
        argv: Value<'v>,
        restart_file: Value<'v>,
        trigger: Value<'v>,
        wait_when_ended: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("restart_process");
        let state = load_state(eval);
        let name = function.argument("ref", r#ref);
        let reference = Reference::parse(&name.string()?).map_err(|problem| name.refuse(problem.message))?;
        let restart = RestartProcess {
            argv: function.argument("argv", argv).string_list()?,
            triggers: function.argument("trigger", trigger).paths(state)?,
            restart_file: function.argument("restart_file", restart_file).string()?,
            wait_when_ended: function
                .argument("wait_when_ended", wait_when_ended)
                .boolean()?
                .unwrap_or(false),
        };
        let mut declared = state.declared.borrow_mut();
        let image = declared.images.iter_mut().rev().find(|image| image.reference == reference);
        let live_update = image
            .and_then(|image| image.live_update.as_mut())
            .ok_or_else(|| name.refuse("there is no such image with a live update"))?;
        if live_update.restart {
            return Err(function.refuse(
                "restart_container() does not go together with restart_process, which takes its place",
            ));
        }
        live_update.restart_process = Some(restart);
        Ok(NoneType)
    }
}
