//! Settings of the session: `*_settings`, features, analytics.

use std::time::Duration;

use lilt_model::files::IgnoreRule;
use lilt_model::settings::{DriftPolicy, FEATURES, ServerSideApply, Telemetry};
use lilt_model::{COMPATIBLE_TILT_VERSION, Failure, duration};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::dict::DictRef;
use starlark::values::none::NoneType;
use starlark::values::tuple::UnpackTuple;

use crate::arguments::{Argument, Function, command};
use crate::failure::raise;
use crate::load_state::{LoadState, load_state};
use crate::version;
use lilt_model::nearest::nearest;

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// How updates are done. What is not given keeps its value.
    ///
    /// # Arguments
    /// * `max_parallel_updates`: how many updates may run at once, at least 1
    /// * `k8s_upsert_timeout_secs`: how long applying one object may take, at least 1
    /// * `suppress_unused_image_warnings`: images that need not be used by anything; `'*'` for all
    /// * `k8s_server_side_apply`: `'true'`, `'false'` or `'auto'`
    /// * `live_update_agent`: whether lilt's agent may be added to pods whose images cannot take live updates alone
    /// * `cascade`: whether an update of a resource also updates the resources that name it in `resource_deps`; not in Tilt
    /// * `drift`: what to do when others delete or change deployed objects: `'report'` it until the next update corrects
    ///   it, as by default, `'correct'` it at once, or `'ignore'` it; not in Tilt
    fn update_settings<'v>(
        max_parallel_updates: Option<Value<'v>>,
        k8s_upsert_timeout_secs: Option<Value<'v>>,
        suppress_unused_image_warnings: Option<Value<'v>>,
        k8s_server_side_apply: Option<Value<'v>>,
        live_update_agent: Option<Value<'v>>,
        cascade: Option<Value<'v>>,
        drift: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("update_settings");
        let parallel = at_least(1, function.argument("max_parallel_updates", max_parallel_updates))?;
        let timeout = at_least(1, function.argument("k8s_upsert_timeout_secs", k8s_upsert_timeout_secs))?;
        let unused_images =
            function.argument("suppress_unused_image_warnings", suppress_unused_image_warnings).strings()?;
        let apply = function.argument("k8s_server_side_apply", k8s_server_side_apply);
        let apply = match apply.string()?.as_str() {
            "" => None,
            "auto" => Some(ServerSideApply::Auto),
            "true" => Some(ServerSideApply::Always),
            "false" => Some(ServerSideApply::Never),
            other => return Err(apply.refuse(format!("it must be 'true', 'false' or 'auto', not {other:?}"))),
        };
        let agent = function.argument("live_update_agent", live_update_agent).boolean()?;
        let cascade = function.argument("cascade", cascade).boolean()?;
        let drift = drift_policy(function.argument("drift", drift))?;
        let mut declared = load_state(eval).declared.borrow_mut();
        declared.upsert_timeout_secs = timeout.or(declared.upsert_timeout_secs);
        let settings = &mut declared.settings;
        settings.max_parallel_updates = parallel.unwrap_or(settings.max_parallel_updates);
        settings.server_side_apply = apply.unwrap_or(settings.server_side_apply);
        settings.live_update_agent = agent.unwrap_or(settings.live_update_agent);
        settings.cascade = cascade.unwrap_or(settings.cascade);
        settings.drift = drift.unwrap_or(settings.drift);
        settings.suppress_unused_image_warnings.extend(unused_images);
        Ok(NoneType)
    }

    /// When `ci` gives up. What is not given keeps its value. Lengths of time are written as `'30s'` or `'1h30m'`.
    ///
    /// # Arguments
    /// * `k8s_grace_period`: how long a pod may be in error before that counts as a failure
    /// * `timeout`: for the whole run
    /// * `readiness_timeout`: for each resource, from its update to its being ready
    fn ci_settings<'v>(
        k8s_grace_period: Option<Value<'v>>,
        timeout: Option<Value<'v>>,
        readiness_timeout: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("ci_settings");
        let grace = duration_argument(function.argument("k8s_grace_period", k8s_grace_period))?;
        let timeout = duration_argument(function.argument("timeout", timeout))?;
        let readiness = duration_argument(function.argument("readiness_timeout", readiness_timeout))?;
        let ci = &mut load_state(eval).declared.borrow_mut().settings.ci;
        ci.k8s_grace_period = grace.or(ci.k8s_grace_period);
        ci.timeout = timeout.or(ci.timeout);
        ci.readiness_timeout = readiness.or(ci.readiness_timeout);
        Ok(NoneType)
    }

    /// How old images are removed from the local Docker engine.
    ///
    /// # Arguments
    /// * `disable`: leave them all
    /// * `max_age_mins`: remove those that are older, 360 unless given; with a negative number all are old enough
    /// * `num_builds`: after so many builds, with a negative number after every build; not together with `interval_hrs`
    /// * `interval_hrs`: every so many hours, 1 unless given; with a negative number after every build
    /// * `keep_recent`: how many of each image stay, whatever their age, 2 unless given
    fn docker_prune_settings<'v>(
        disable: Option<Value<'v>>,
        max_age_mins: Option<Value<'v>>,
        num_builds: Option<Value<'v>>,
        interval_hrs: Option<Value<'v>>,
        keep_recent: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("docker_prune_settings");
        let number = |name, value| function.argument(name, value).number();
        let disable = function.argument("disable", disable).boolean()?.unwrap_or(false);
        let max_age = number("max_age_mins", max_age_mins)?.unwrap_or(0);
        let num_builds = number("num_builds", num_builds)?.unwrap_or(0);
        let interval = number("interval_hrs", interval_hrs)?.unwrap_or(0);
        let keep_recent = number("keep_recent", keep_recent)?;
        if num_builds != 0 && interval != 0 {
            return Err(function.refuse("num_builds and interval_hrs cannot both be given"));
        }
        let prune = &mut load_state(eval).declared.borrow_mut().settings.docker_prune;
        prune.enabled = !disable;
        prune.num_builds = num_builds.into();
        if max_age != 0 {
            prune.max_age_mins = max_age.into();
        }
        if interval != 0 {
            prune.interval_hrs = interval.into();
        }
        prune.keep_recent = keep_recent.map_or(prune.keep_recent, i64::from);
        Ok(NoneType)
    }

    /// Whether the values of Kubernetes Secrets are kept out of all that is shown, as they are unless said otherwise.
    ///
    /// # Arguments
    /// * `disable_scrub`: if true, they are shown
    fn secret_settings<'v>(
        disable_scrub: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let show = Function("secret_settings").argument("disable_scrub", disable_scrub).boolean()?;
        load_state(eval).declared.borrow_mut().show_secrets = show.unwrap_or(false);
        Ok(NoneType)
    }

    /// Files that trigger nothing, wherever they are used. They stay part of builds.
    ///
    /// # Arguments
    /// * `ignore`: patterns of `.dockerignore` syntax, relative to the directory of this file, or full paths
    fn watch_settings<'v>(
        ignore: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let patterns = Function("watch_settings").argument("ignore", ignore).strings()?;
        let state = load_state(eval);
        // A full path may also be outside of this file's directory.
        let is_full = |pattern: &String| pattern.trim_start_matches('!').starts_with('/');
        let (full, relative): (Vec<_>, Vec<_>) = patterns.into_iter().partition(is_full);
        for (base, patterns) in [(state.directory(), relative), ("/".into(), full)] {
            if !patterns.is_empty() {
                let rule = IgnoreRule { base, patterns };
                state.declared.borrow_mut().settings.watch_ignores.push(rule);
            }
        }
        Ok(NoneType)
    }

    /// Whether Tilt may send analytics. lilt sends none: the answer is kept in the result.
    ///
    /// # Arguments
    /// * `enable`: true or false
    fn analytics_settings<'v>(
        enable: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let argument = Function("analytics_settings").argument("enable", enable);
        let enable = argument.boolean()?.ok_or_else(|| argument.refuse("True or False is needed"))?;
        load_state(eval).declared.borrow_mut().settings.analytics = Some(enable);
        Ok(NoneType)
    }

    /// What Tilt would add to its analytics. lilt sends none: the tags are kept in the result.
    ///
    /// # Arguments
    /// * `tags`: a dict of strings; later calls add to earlier ones
    fn experimental_analytics_report<'v>(
        tags: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let tags = Function("experimental_analytics_report").argument("tags", tags).string_map()?;
        load_state(eval).declared.borrow_mut().settings.analytics_tags.extend(tags);
        Ok(NoneType)
    }

    /// Has no effect, as in Tilt: it takes whatever it is given and warns.
    fn experimental_metrics_settings<'v>(
        #[starlark(args)] arguments: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: DictRef<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let _ = (arguments, named);
        warn(load_state(eval), "experimental_metrics_settings() is deprecated");
        Ok(NoneType)
    }

    /// Runs a command that receives what was updated since its last run: on its stdin, one JSON line per update.
    /// It runs only if there was an update. Lines that it does not take, because it fails, come again with the next
    /// ones. Can be called once.
    ///
    /// # Arguments
    /// * `cmd`: a shell line or a list of words
    /// * `cmd_bat`: in its place on Windows
    /// * `period`: how often, as `'30s'` or `'5m'`; a minute unless given
    /// * `dir`: accepted for compatibility: it runs in the folder of this file
    fn experimental_telemetry_cmd<'v>(
        cmd: Value<'v>,
        cmd_bat: Option<Value<'v>>,
        period: Option<Value<'v>>,
        dir: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("experimental_telemetry_cmd");
        let state = load_state(eval);
        let words = function.argument("cmd", cmd);
        let command = command(
            state,
            words,
            function.argument("cmd_bat", cmd_bat),
            function.argument("dir", dir),
            function.argument("env", None),
        )?
        .ok_or_else(|| words.refuse("a command is needed"))?;
        let period = duration_argument(function.argument("period", period))?;
        let period = period.filter(|period| !period.is_zero()).unwrap_or(Telemetry::PERIOD);
        let telemetry = &mut state.declared.borrow_mut().settings.telemetry;
        if let Some(other) = telemetry {
            let shown = other.command.display();
            return Err(function.refuse(format!("it was already called, with {shown:?}")));
        }
        *telemetry = Some(Telemetry { command, directory: state.directory(), period });
        Ok(NoneType)
    }

    /// Switches a feature on.
    ///
    /// # Arguments
    /// * `feature_name`: `snapshots` or `cluster_refresh`
    /// * `msg`: the same by another name
    fn enable_feature<'v>(
        feature_name: Option<Value<'v>>,
        msg: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("enable_feature");
        if feature_name.is_some() && msg.is_some() {
            return Err(function.refuse("feature_name and msg mean the same: give one of them"));
        }
        set_feature(function.argument("feature_name", feature_name.or(msg)), true, load_state(eval))
    }

    /// Switches a feature off.
    ///
    /// # Arguments
    /// * `msg`: the name of the feature, `snapshots` or `cluster_refresh`
    fn disable_feature<'v>(msg: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<NoneType> {
        set_feature(Function("disable_feature").argument("msg", msg), false, load_state(eval))
    }

    /// Takes the button that makes snapshots off the page.
    fn disable_snapshots<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<NoneType> {
        let features = &mut load_state(eval).declared.borrow_mut().settings.features;
        features.insert("snapshots".to_owned(), false);
        Ok(NoneType)
    }

    /// Which team of Tilt Cloud the project belongs to. Can be called once. Kept in the result; lilt has no cloud.
    ///
    /// # Arguments
    /// * `team_id`: its id
    fn set_team<'v>(team_id: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<NoneType> {
        let argument = Function("set_team").argument("team_id", team_id);
        let team = argument.string()?;
        if team.is_empty() {
            return Err(argument.refuse("it cannot be empty"));
        }
        let known = &mut load_state(eval).declared.borrow_mut().settings.team;
        if !known.is_empty() {
            return Err(argument.refuse(format!("it is set twice, to {known:?} and to {team:?}")));
        }
        *known = team;
        Ok(NoneType)
    }

    /// Which version of Tilt the Tiltfile is written for.
    ///
    /// # Arguments
    /// * `check_updates`: whether the user may be told of newer versions; lilt never looks for them
    /// * `constraint`: refuses to go on unless it holds, such as `'>=0.22.1'`; lilt does what Tilt 0.37 does
    fn version_settings<'v>(
        check_updates: Option<Value<'v>>,
        constraint: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("version_settings");
        if let Some(check) = function.argument("check_updates", check_updates).boolean()? {
            load_state(eval).declared.borrow_mut().settings.check_updates = check;
        }
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

fn at_least(least: u32, argument: Argument<'_>) -> starlark::Result<Option<u32>> {
    let checked = argument.number()?.map(|number| {
        let fits = u32::try_from(number).ok().filter(|number| *number >= least);
        fits.ok_or_else(|| argument.refuse(format!("it must be at least {least}, not {number}")))
    });
    checked.transpose()
}

fn drift_policy(argument: Argument<'_>) -> starlark::Result<Option<DriftPolicy>> {
    match argument.string()?.as_str() {
        "" => Ok(None),
        "report" => Ok(Some(DriftPolicy::Report)),
        "correct" => Ok(Some(DriftPolicy::Correct)),
        "ignore" => Ok(Some(DriftPolicy::Ignore)),
        other => Err(argument.refuse(format!("it must be 'report', 'correct' or 'ignore', not {other:?}"))),
    }
}

fn duration_argument(argument: Argument<'_>) -> starlark::Result<Option<Duration>> {
    let text = argument.text()?;
    text.map(|text| duration::parse(&text).map_err(|problem| argument.refuse(problem))).transpose()
}

fn set_feature(argument: Argument<'_>, on: bool, state: &LoadState<'_>) -> starlark::Result<NoneType> {
    let name = argument.string()?;
    let Some(feature) = FEATURES.iter().find(|feature| feature.name == name) else {
        let near = nearest(&name, FEATURES.iter().map(|feature| feature.name));
        let failure = Failure::user(format!("Unknown feature flag: {name}"));
        return Err(raise(match near {
            Some(near) => failure.hint(format!("did you mean {near}?")),
            None => failure.hint("there are snapshots and cluster_refresh"),
        }));
    };
    if feature.obsolete {
        warn(state, &format!("Obsolete feature flag: {name}"));
    } else {
        state.declared.borrow_mut().settings.features.insert(name, on);
    }
    Ok(NoneType)
}

fn warn(state: &LoadState<'_>, warning: &str) {
    state.declared.borrow_mut().warnings.push(warning.to_owned());
}
