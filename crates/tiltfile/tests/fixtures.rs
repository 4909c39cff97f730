//! Every folder of `fixtures` is a project; what comes of loading it is a snapshot: the lines printed, then the
//! project or the error, then the files that were read.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod support;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use lilt_model::cluster::KubeContext;
use lilt_tiltfile::{LoadMessage, LoadRequest, load};
use support::{TestSystem, yaml};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn outcome(case: &str) -> String {
    let directory = fixtures().join(case);
    let context = std::fs::read_to_string(directory.join("context")).unwrap_or("dev kind-dev".into());
    let (name, cluster) = context.trim().split_once(' ').unwrap();
    let context = |name: &str, cluster: &str| KubeContext {
        name: name.into(),
        cluster: cluster.into(),
        ..KubeContext::default()
    };
    let system = TestSystem {
        environment: Some(vec![("GREETING".into(), "hello".into())]),
        contexts: vec![context(name, cluster), context("edge", "kind-edge"), context("live", "gke_live")],
        ..TestSystem::default()
    };
    // One argument of the command line in each line.
    let args = std::fs::read_to_string(directory.join("args")).unwrap_or_default();
    let args = args.lines().map(str::to_owned).collect();
    let request = LoadRequest {
        path: directory.join("Tiltfile"),
        args,
        subcommand: "up".into(),
        ..LoadRequest::default()
    };
    let mut text = String::new();
    // Warnings are in the result, too.
    let loaded = load(&request, &system, &|| false, &mut |message| match message {
        LoadMessage::Line(line) => writeln!(text, "{line}").unwrap(),
        LoadMessage::Warning(_) | LoadMessage::Progress(_) => {}
    });
    match &loaded.project {
        Ok(project) => {
            write!(text, "--- project\n{}\n", yaml(&serde_json::to_value(project).unwrap(), 0)).unwrap();
        }
        Err(failure) => write!(text, "--- error\n{failure}\n").unwrap(),
    }
    text.push_str("--- files\n");
    for file in &loaded.files.roots {
        writeln!(text, "{}", file.display()).unwrap();
    }
    text.replace(&directory.display().to_string(), "/project")
}

macro_rules! cases {
    ($($case:ident)*) => {
        $(
            #[test]
            fn $case() {
                insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
                    insta::assert_snapshot!(stringify!($case), outcome(stringify!($case)));
                });
            }
        )*

        #[test]
        fn every_fixture_is_tested() {
            let tested: BTreeSet<String> = [$(stringify!($case)),*].map(str::to_owned).into();
            let found = std::fs::read_dir(fixtures()).unwrap();
            let found = found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<BTreeSet<_>>();
            assert_eq!(tested, found);
        }
    };
}

cases! {
    api_objects
    config_args_by_kind
    config_settings
    contexts
    custom_build
    custom_deploy
    docker_build
    duplicate_services
    empty
    enabled_all
    enabled_by_arguments
    enabled_by_tiltfile
    enabled_cleared
    encoding
    environment
    error_analytics
    error_api_apply
    error_api_apply_both
    error_api_apply_twice
    error_api_argument
    error_api_button
    error_api_conflict
    error_api_discovery
    error_api_duration
    error_api_field
    error_api_file_subpath
    error_api_file_url
    error_api_list
    error_api_map
    error_api_name
    error_api_no_name
    error_api_number
    error_api_time
    error_api_type
    error_api_url
    error_api_watch
    error_apply_side
    error_argument
    error_argument_missing
    error_attribute
    error_ci_settings
    error_ci_settings_type
    error_circle
    error_comparison
    error_config_after_parse
    error_config_argument
    error_config_directories
    error_config_file
    error_config_file_json
    error_config_file_type
    error_config_flag
    error_config_positional
    error_config_twice
    error_config_two_positional
    error_context
    error_contexts
    error_custom_build_command
    error_custom_build_tag
    error_custom_deploy_command
    error_custom_deploy_name
    error_custom_deploy_selector
    error_custom_deploy_selectors
    error_dc_resource
    error_discovery
    error_docker_compose_empty
    error_docker_compose_type
    error_dockerfile
    error_drift_policy
    error_duplicate_image
    error_duplicate_object
    error_enabled_unknown
    error_enabled_unknown_argument
    error_escape
    error_feature
    error_feature_names
    error_file
    error_filter_yaml
    error_format
    error_forward
    error_fragment
    error_frozen
    error_git_repo
    error_helm_chart
    error_helm_file
    error_image_circle
    error_image_deps
    error_image_json_path_all
    error_image_object
    error_in_load
    error_json_path
    error_json_path_missing
    error_kind_both
    error_kind_regex
    error_kustomize
    error_kustomize_several
    error_label
    error_live_update_empty
    error_live_update_first
    error_live_update_initial
    error_live_update_loose
    error_live_update_order
    error_live_update_outside
    error_live_update_relative
    error_live_update_restart_last
    error_load_builtin
    error_load_cycle
    error_load_dynamic
    error_load_extension
    error_load_missing
    error_load_name
    error_load_private
    error_local
    error_local_directory
    error_local_quiet
    error_local_variable
    error_missing_variable
    error_module_member
    error_name
    error_no_command
    error_objects
    error_parallel
    error_probe_argument
    error_probe_command
    error_probe_none
    error_probe_type
    error_prune
    error_readiness
    error_recursion
    error_reference
    error_registry
    error_registry_cluster
    error_registry_twice
    error_reserved
    error_restart_container
    error_restart_process_last
    error_restart_without_server
    error_secret
    error_selectors
    error_struct
    error_syntax
    error_syntax_in_tabs
    error_team
    error_telemetry
    error_test_builtin
    error_together
    error_trigger_mode
    error_type
    error_type_element
    error_use_before_binding
    error_version
    error_watch_settings
    error_while
    error_while_condition
    error_while_loading
    error_workload_names_fails
    error_workload_names_function
    error_workload_names_parameters
    error_workload_names_same
    error_workload_names_type
    error_yaml
    error_yaml_blob
    error_yaml_empty
    error_yaml_object
    exit_early
    files
    filter_yaml
    grouping
    ignores
    image_sources
    images
    json_path_braces
    k8s_resource
    kinds
    language
    listdir_missing
    live_update
    loads
    local_command
    local_parameters
    locals
    naming
    probes
    registry
    resource_deps_unknown
    restart_process
    secrets
    secrets_shown
    settings
    settings_all
    settings_prune_interval
    settings_prune_negative
    spec_sample
    templates_without_images
    test_builtin
    thin_path
    update_policies
    warnings
    workload_names
    workload_names_loaded
    yaml_forms
}
