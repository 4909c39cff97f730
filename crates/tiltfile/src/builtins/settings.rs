//! `update_settings`, `version_settings`.

use lilt_model::{COMPATIBLE_TILT_VERSION, Failure};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneType;

use crate::arguments::Function;
use crate::failure::raise;
use crate::session::session;
use crate::version;

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// How updates are done.
    fn update_settings<'v>(
        max_parallel_updates: Option<Value<'v>>,
        k8s_upsert_timeout_secs: Option<Value<'v>>,
        suppress_unused_image_warnings: Option<Value<'v>>,
        k8s_server_side_apply: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("update_settings");
        let at_least_one = |name, value| {
            let argument = function.argument(name, value);
            let number = argument.number()?;
            let checked = number.map(|number| match u32::try_from(number) {
                Ok(number @ 1..) => Ok(number),
                _ => Err(argument.refuse(format!("it must be at least 1, not {number}"))),
            });
            checked.transpose()
        };
        let parallel = at_least_one("max_parallel_updates", max_parallel_updates)?;
        let timeout = at_least_one("k8s_upsert_timeout_secs", k8s_upsert_timeout_secs)?;
        let fine =
            function.argument("suppress_unused_image_warnings", suppress_unused_image_warnings).strings()?;
        let apply = function.argument("k8s_server_side_apply", k8s_server_side_apply);
        match apply.string()?.as_str() {
            // Objects are always applied by the server: what "true" asks for and "auto" allows.
            "" | "auto" | "true" => {}
            "false" => return Err(apply.refuse("'false' is not supported yet")),
            other => return Err(apply.refuse(format!("it must be 'true', 'false' or 'auto', not {other:?}"))),
        }
        let mut declared = session(eval).declared.borrow_mut();
        declared.max_parallel_updates = parallel.or(declared.max_parallel_updates);
        declared.upsert_timeout_secs = timeout.or(declared.upsert_timeout_secs);
        declared.unused_images_are_fine.extend(fine);
        Ok(NoneType)
    }

    /// Which version of Tilt the Tiltfile is written for.
    fn version_settings<'v>(
        check_updates: Option<Value<'v>>,
        constraint: Option<Value<'v>>,
    ) -> starlark::Result<NoneType> {
        let function = Function("version_settings");
        // lilt never looks for updates: either answer is kept.
        function.argument("check_updates", check_updates).boolean()?;
        let argument = function.argument("constraint", constraint);
        let constraint = argument.string()?;
        match version::satisfies(COMPATIBLE_TILT_VERSION, &constraint) {
            Ok(true) => Ok(NoneType),
            Ok(false) => Err(raise(Failure::user(format!(
                "this Tiltfile asks for Tilt {constraint}, and lilt does what Tilt {COMPATIBLE_TILT_VERSION} does"
            )))),
            Err(problem) => {
                Err(argument.refuse(format!("{constraint:?} is no version constraint: {problem}")))
            }
        }
    }
}
