//! Commands that inspect the Docker engine and the cluster, and flags that change their use.

use lilt_e2e::lilt::Start;
use lilt_e2e::site::Site;
use lilt_testbed_env::Testbed;
use serde_json::Value;

#[test]
fn doctor_shows_engine_and_cluster() {
    let site = Site::new("doctor");
    let run = |arguments: &[&str]| {
        Start::new(&site.project, arguments).in_namespace(&site.namespace).run().expect_clean_exit(0).stdout()
    };
    let json: Value = serde_json::from_str(&run(&["doctor", "--json"])).expect("it is JSON");
    let version = Testbed::get().docker(&["version", "--format", "{{.Server.Version}}"]);
    assert_eq!(json["Docker"]["Server Version"], version.trim());
    assert_eq!(json["Docker"]["Builder"], "2 (BuildKit)");
    let kubernetes = &json["Kubernetes"];
    assert!(kubernetes["Version"].as_str().is_some_and(|version| version.starts_with('v')), "{json}");
    assert_eq!(kubernetes["Namespace"], site.namespace.name());
    assert_eq!(
        kubernetes["Cluster Local Registry"].as_str().map(|it| it.contains(Testbed::get().registry())),
        Some(true)
    );
    assert!(
        kubernetes["Container Runtime"].as_str().is_some_and(|runtime| runtime.contains("://")),
        "{json}"
    );
    let text = run(&["doctor"]);
    assert!(text.contains(&format!("- Server Version: {}\n", version.trim())), "{text}");
}

#[test]
fn docker_command_uses_engine_of_lilt() {
    let site = Site::new("docker");
    let run = |arguments: &[&str]| {
        let all: Vec<&str> = ["docker", "--"].into_iter().chain(arguments.iter().copied()).collect();
        Start::new(&site.project, &all).in_namespace(&site.namespace).run()
    };
    let ended = run(&["version", "--format", "{{.Server.Version}}"]).expect_clean_exit(0);
    assert_eq!(ended.stdout(), Testbed::get().docker(&["version", "--format", "{{.Server.Version}}"]));
    assert!(ended.stderr().starts_with("Running Docker command as:\nDOCKER_BUILDKIT=1 docker version"));
    let ended = run(&["no-such-command"]).expect_clean_exit(1);
    assert!(ended.stderr().ends_with("Error: docker ended with exit code 1\n"), "{}", ended.output());
}

#[test]
fn image_deploy_ref_is_content_tag() {
    let site = Site::new("deploy-ref");
    let testbed = Testbed::get();
    let name = format!("{}/{}:given", testbed.registry(), site.image());
    testbed.docker(&["tag", "busybox", &name]);
    let id = testbed.docker(&["image", "inspect", "busybox", "--format", "{{.Id}}"]);
    let hash = id.trim().trim_start_matches("sha256:");
    let run = |reference: &str| {
        Start::new(&site.project, &["dump", "image-deploy-ref", reference])
            .in_namespace(&site.namespace)
            .run()
    };
    let wanted = format!("{}/{}:tilt-{}\n", testbed.registry(), site.image(), &hash[..16]);
    // The test's reader ends the line that lilt leaves open.
    assert_eq!(run(&name).expect_clean_exit(0).stdout(), wanted);
    let complaint = run("no-such-image:of-lilt").expect_clean_exit(1).stderr();
    assert!(
        complaint.starts_with("Error: the Docker engine has no image no-such-image:of-lilt"),
        "{complaint}"
    );
}

#[test]
fn update_mode_image_rebuilds_on_synced_file() {
    let site = Site::new("mode-image");
    let lilt = site.up().argument("--update-mode=image").start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let output_end = lilt.output_end();
    site.project.write("app/www/index.html", "two\n");
    lilt.wait_for_line_after(output_end, "STEP 1/3 — Building Dockerfile");
    site.serves("two");
    assert!(!lilt.output_after(output_end).contains("Will copy"), "{}", lilt.output_after(output_end));
    lilt.quit();
}
