//! Commands that look at the Docker engine and the cluster, and flags that change how they are used.

use lilt_e2e::bed::Site;
use lilt_e2e::lilt::Start;
use lilt_testbed_env::Bed;
use serde_json::Value;

#[test]
fn the_doctor_knows_the_engine_and_the_cluster() {
    let site = Site::new("doctor");
    let run =
        |arguments: &[&str]| Start::new(&site.project, arguments).on(&site.namespace).run().clean(0).stdout();
    let json: Value = serde_json::from_str(&run(&["doctor", "--json"])).expect("it is JSON");
    let version = Bed::get().docker(&["version", "--format", "{{.Server.Version}}"]);
    assert_eq!(json["Docker"]["Server Version"], version.trim());
    assert_eq!(json["Docker"]["Builder"], "2 (BuildKit)");
    let kubernetes = &json["Kubernetes"];
    assert!(kubernetes["Version"].as_str().is_some_and(|version| version.starts_with('v')), "{json}");
    assert_eq!(kubernetes["Namespace"], site.namespace.name());
    assert_eq!(
        kubernetes["Cluster Local Registry"].as_str().map(|it| it.contains(Bed::get().registry())),
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
fn docker_runs_on_the_engine_that_lilt_uses() {
    let site = Site::new("docker");
    let run = |arguments: &[&str]| {
        let all: Vec<&str> = ["docker", "--"].into_iter().chain(arguments.iter().copied()).collect();
        Start::new(&site.project, &all).on(&site.namespace).run()
    };
    let ended = run(&["version", "--format", "{{.Server.Version}}"]).clean(0);
    assert_eq!(ended.stdout(), Bed::get().docker(&["version", "--format", "{{.Server.Version}}"]));
    assert!(ended.stderr().starts_with("Running Docker command as:\nDOCKER_BUILDKIT=1 docker version"));
    let ended = run(&["no-such-command"]).clean(1);
    assert!(ended.stderr().ends_with("Error: docker ended with exit code 1\n"), "{}", ended.output());
}

#[test]
fn the_deploy_reference_of_an_image_is_its_content() {
    let site = Site::new("deploy-ref");
    let bed = Bed::get();
    let name = format!("{}/{}:given", bed.registry(), site.image());
    bed.docker(&["tag", "busybox", &name]);
    let id = bed.docker(&["image", "inspect", "busybox", "--format", "{{.Id}}"]);
    let hash = id.trim().trim_start_matches("sha256:");
    let run = |reference: &str| {
        Start::new(&site.project, &["dump", "image-deploy-ref", reference]).on(&site.namespace).run()
    };
    let wanted = format!("{}/{}:tilt-{}\n", bed.registry(), site.image(), &hash[..16]);
    // The test's reader ends the line that lilt leaves open.
    assert_eq!(run(&name).clean(0).stdout(), wanted);
    let complaint = run("no-such-image:of-lilt").clean(1).stderr();
    assert!(
        complaint.starts_with("Error: the Docker engine has no image no-such-image:of-lilt"),
        "{complaint}"
    );
}

#[test]
fn with_update_mode_image_a_synced_file_is_built_and_deployed() {
    let site = Site::new("mode-image");
    let lilt = site.up().argument("--update-mode=image").start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let place = lilt.place();
    site.project.write("app/www/index.html", "two\n");
    lilt.wait_for_line_after(place, "STEP 1/3 — Building Dockerfile");
    site.serves("two");
    assert!(!lilt.output_after(place).contains("Will copy"), "{}", lilt.output_after(place));
    lilt.quit();
}
