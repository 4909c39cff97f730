//! Images built by `custom_build`.

use lilt_e2e::lilt::Start;
use lilt_e2e::site::Site;
use lilt_testbed_env::{Testbed, eventually};

/// Deploys the site's image and forwards to it.
fn deploy(site: &Site) -> String {
    format!("k8s_yaml('web.yaml')\nk8s_resource('web', port_forwards='{}:8080')\n", site.port)
}

/// The image of the site's deployment.
fn deployed(site: &Site) -> String {
    site.read("deployment/web", ".spec.template.spec.containers[0].image")
}

fn has_failed(resource: &serde_json::Value) -> bool {
    resource["status"]["updateStatus"] == "error"
}

#[test]
fn custom_build_uses_base_image_and_takes_live_updates() {
    let site = Site::new("custom");
    let (registry, image) = (Testbed::get().registry(), site.image());
    let tiltfile = format!(
        "os.putenv('SET_BY_TILTFILE', 'too')\n\
         docker_build('{image}-base', 'base')\n\
         custom_build('{image}', 'env | sort > ../told && docker build -q -t $EXPECTED_REF \
         --build-arg BASE=$TILT_IMAGE_0 -f custom.Dockerfile . && echo built by $MINE',\n    \
         deps=['app/www', 'app/custom.Dockerfile'], image_deps=['{image}-base'], env={{'MINE': 'me'}}, dir='app',\n    \
         entrypoint=['httpd', '-f', '-p', '8080', '-h', '/more'], live_update=[sync('app/www', '/more')])\n{}",
        deploy(&site)
    );
    site.project.write("base/Dockerfile", &format!("FROM busybox\nRUN echo {image} > /name\n"));
    site.project.write("app/custom.Dockerfile", "ARG BASE\nFROM $BASE\nCOPY www /more\n");
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    lilt.wait_for_line(&format!("STEP 3/5 — Building Custom Build: [{image}]"));
    lilt.wait_for_log_line("web", "built by me");
    let message = site.project.read("told");
    let value = |name: &str| {
        let line = message.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("{name} is not in\n{message}")).to_owned()
    };
    let tag = value("EXPECTED_TAG");
    assert!(tag.strip_prefix("tilt-build-").is_some_and(|time| time.parse::<u64>().is_ok()), "{tag}");
    assert_eq!(value("EXPECTED_REF"), format!("{registry}/{image}:{tag}"));
    assert_eq!(value("EXPECTED_IMAGE"), image);
    assert_eq!((value("EXPECTED_REGISTRY"), value("REGISTRY_HOST")), (registry.into(), registry.into()));
    assert_eq!(value("TILT_IMAGE_MAP_0"), format!("{image}-base"));
    assert!(value("TILT_IMAGE_0").starts_with(&format!("{registry}/{image}-base:tilt-")), "{message}");
    assert_eq!((value("MINE"), value("SET_BY_TILTFILE")), ("me".to_owned(), "too".to_owned()));
    assert!(deployed(&site).starts_with(&format!("{registry}/{image}:tilt-")), "by its content");
    assert!(!deployed(&site).contains("tilt-build-"), "by its content");

    // Below the sync: copied. Elsewhere in deps: built again.
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    assert_eq!(site.only_pod(), pod);
    let output_end = lilt.output_end();
    site.project.write("app/custom.Dockerfile", "ARG BASE\nFROM $BASE\nCOPY www /more\nENV MORE=1\n");
    lilt.wait_for_line_after(output_end, "STEP 1/3 — Building Custom Build");
    eventually("another pod serves", || (site.only_pod() != pod).then_some(()));
    site.serves("two");
    lilt.quit();
}

/// With its own tag and push, the deployed image still has a content tag.
#[test]
fn custom_build_may_tag_and_push() {
    let site = Site::new("custom-tag");
    let (registry, image) = (Testbed::get().registry(), site.image());
    let tiltfile = format!(
        "custom_build('{image}', ['docker', 'build', '-q', '-t', '{image}:mine', 'app'], deps=['app'], tag='mine')\n{}",
        deploy(&site)
    );
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_for_line(&format!("EXPECTED_REF={image}:mine"));
    lilt.wait_until_ready("web");
    site.serves("one");
    let by_content = deployed(&site);
    assert!(by_content.starts_with(&format!("{registry}/{image}:tilt-")), "{by_content}");

    // It reports its image in a file, and pushes it.
    let output_end = lilt.output_end();
    let build = "docker build -q -t $REF app && docker push -q $REF && echo $REF > ref";
    let build = build.replace("$REF", &format!("{registry}/{image}:own"));
    let own =
        |more: &str| format!("custom_build('{image}', '{build}', deps=['app'], {more})\n{}", deploy(&site));
    site.project.write("Tiltfile", &own("outputs_image_ref_to='ref', disable_push=True"));
    lilt.wait_for_line_after(output_end, "Skipping push: custom_build() configured to handle push itself");
    lilt.wait_for_line_after(output_end, "STEP 2/2 — Deploying");
    eventually("the image of that name is deployed", || {
        (deployed(&site) == format!("{registry}/{image}:own")).then_some(())
    });
    lilt.wait_until_ready("web");
    site.serves("one");
    // What is noted of an image whose name stays is lilt's own business.
    let noted = site.namespace.kubectl(&["get", "deployment/web", "-o", "yaml"]);
    assert!(noted.contains("lilt.dev/image-content"), "{noted}");
    let plan = Start::new(&site.project, &["plan"]).in_namespace(&site.namespace).run().stdout();
    assert!(plan.contains("web:deployment") && !plan.contains("image-content"), "{plan}");

    // It is not expected in the engine.
    let output_end = lilt.output_end();
    let remote = format!(
        "custom_build('{image}', 'docker build -q -t $EXPECTED_REF app && docker push -q $EXPECTED_REF && \
         docker image rm -f $EXPECTED_REF', deps=['app'], skips_local_docker=True)\n{}",
        deploy(&site)
    );
    site.project.write("Tiltfile", &remote);
    lilt.wait_for_line_after(output_end, "Skipping push");
    eventually("the image with the tag that was told is deployed", || {
        deployed(&site).contains(":tilt-build-").then_some(())
    });
    lilt.wait_until_ready("web");
    lilt.quit();
}

/// What it pushes under the name that it was told is deployed so, in variables and with arguments, too.
#[test]
fn custom_build_pushed_image_reaches_env_and_args() {
    let site = Site::new("custom-args");
    let (registry, image) = (Testbed::get().registry(), site.image());
    let own = format!("image: {image}, env: [{{name: OWN, value: {image}}}]}}");
    site.project.write("web.yaml", &site.yaml("web", image).replace(&format!("image: {image}}}"), &own));
    let with = |build: &str| {
        let tiltfile = format!(
            "custom_build('{image}', '{build}', deps=['app'], ignore=['**/*.md'], match_in_env_vars=True,\n    \
             container_args=['sh', '-c', 'echo it is $OWN; exec sleep 987'], \
             ARGUMENTS)\nk8s_yaml('web.yaml')\n"
        );
        move |arguments: &str| tiltfile.replace("ARGUMENTS", arguments)
    };
    let message = with("docker build -q -t $EXPECTED_REF app && docker push -q $EXPECTED_REF");
    site.project.write("Tiltfile", &message("disable_push=True"));
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    let first = deployed(&site);
    assert!(first.starts_with(&format!("{registry}/{image}:tilt-build-")), "{first}");
    lilt.wait_for_log_line("web", &format!("it is {first}"));
    // Ignored files trigger nothing.
    let output_end = lilt.output_end();
    site.project.write("app/notes.md", "ignored\n");
    site.project.write("app/words.txt", "changed\n");
    lilt.wait_for_line_after(output_end, "1 File Changed: [app/words.txt]");

    // It says itself where it is, and the engine never had it.
    let remote = format!("{registry}/{image}:remote");
    let build = format!(
        "docker build -q -t {remote} app && docker push -q {remote} && docker image rm -f {remote} && echo {remote} > ref"
    );
    site.project.write("Tiltfile", &with(&build)("skips_local_docker=True, outputs_image_ref_to='ref'"));
    lilt.wait_for_log_line("web", &format!("it is {remote}"));
    assert_eq!(deployed(&site), remote);
    lilt.quit();
}

#[test]
fn custom_build_without_image_is_reported() {
    let site = Site::new("custom-bad");
    let image = site.image();
    let with = |build: &str| {
        let tiltfile = format!("custom_build('{image}', {build}, deps=['app'])\nk8s_yaml('web.yaml')\n");
        site.project.write("Tiltfile", &tiltfile);
    };
    with("'echo half way; exit 7'");
    let lilt = site.up().start();
    lilt.wait_for_log_line("web", "half way");
    lilt.wait_for_log_line(
        "web",
        "ERROR: Build Failed: Custom build \"echo half way; exit 7\" failed: exit status 7",
    );
    lilt.wait_until("web", "has failed", has_failed);

    with(&format!("'docker build -q -t {image}:wrong app'"));
    let missing = lilt.wait_for_line("Could not find image in Docker");
    assert!(missing.contains(&format!("/{image}:tilt-build-")), "what was expected: {missing}");
    assert!(missing.ends_with(&format!("there is: {image}:wrong")), "what is there: {missing}");
    lilt.wait_for_line("hint: the command must tag what it builds as $EXPECTED_REF");

    with("'true', outputs_image_ref_to='ref'");
    lilt.wait_for_line("Could not find image ref in output: there is no file");
    with("'echo no:tag:here > ref', outputs_image_ref_to='ref'");
    lilt.wait_for_line("was invalid: ");
    assert!(!site.exists("deployment/web"));

    // A running command is cancelled by the next save.
    with("'echo begun; exec sleep 987'");
    lilt.wait_for_log_line("web", "begun");
    let sleeping = lilt.processes();
    assert!(!sleeping.is_empty());
    let output_end = lilt.output_end();
    with("'docker build -q -t $EXPECTED_REF app', entrypoint=['sleep', '987']");
    lilt.wait_for_line_after(output_end, "Successfully loaded Tiltfile");
    site.project.write("app/words.txt", "newer\n");
    lilt.wait_until_ready("web");
    assert!(lilt.processes().iter().all(|pid| !sleeping.contains(pid)));
    lilt.quit();
}

/// `command=':'`: nothing is built, the YAML's image stays, and files go into its containers.
#[test]
fn custom_build_noop_means_live_update_only() {
    let site = Site::new("custom-none");
    let container = "image: busybox, command: [sh, -c, 'mkdir /www; exec httpd -f -p 8080 -h /www']}";
    site.project.write("web.yaml", &site.yaml("web", "busybox").replace("image: busybox}", container));
    let tiltfile = format!(
        "custom_build('busybox', ':', deps=['app'], live_update=[sync('app/www', '/www')])\n{}",
        deploy(&site)
    );
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    assert_eq!(deployed(&site), "busybox");
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    assert_eq!(site.only_pod(), pod);
    lilt.has_lines("Building", 0);
    // A restarted container has it, too.
    site.namespace.kubectl(&["delete", "pod", &pod]);
    eventually("another pod is there", || (site.only_pod() != pod).then_some(()));
    site.serves("two");
    lilt.quit();
}

#[test]
fn first_build_is_not_cancelled_by_generated_files() {
    let site = Site::new("produced");
    let tiltfile = format!(
        "local_resource('gen', 'until [ -e building ]; do sleep 0.1; done; echo two > app/www/index.html; \
         until [ -e seen ]; do sleep 0.1; done', allow_parallel=True)\n\
         custom_build('{}', 'touch building; until [ -e seen ]; do sleep 0.1; done; \
         docker build -q -t $EXPECTED_REF app', deps=['app'])\n{}",
        site.image(),
        deploy(&site)
    );
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_until("web", "has a pending change while it builds", |it| {
        it["status"]["hasPendingChanges"] == true && it["status"]["updateStatus"] == "in_progress"
    });
    site.project.write("seen", "");
    site.serves("two");
    lilt.wait_for_line("web │ 1 File Changed: [app/www/index.html]");
    lilt.wait_until_ready("web");
    assert_eq!(lilt.count("web │ Initial Build"), 1, "it was begun once");
    lilt.quit();
}
