//! `lilt down`.

use lilt_testbed_env::eventually;

use crate::support::bed::Site;

#[test]
fn down_deletes_what_the_tiltfile_names_and_again_is_no_error() {
    let site = Site::new("down");
    let yaml = site.idle("web");
    let namespace =
        format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {}}}\n", site.namespace.name());
    let settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n";
    site.project.write("web.yaml", &format!("{namespace}---\n{settings}---\n{yaml}"));
    site.project.write(
        "Tiltfile",
        "print('evaluated')\nk8s_yaml('web.yaml')\nlocal_resource('never', 'touch never')\n",
    );
    site.namespace.kubectl(&["create", "configmap", "someone-elses"]);
    // Whoever applied it.
    site.namespace.kubectl(&["apply", "-f", &site.project.file("web.yaml").to_string_lossy()]);
    eventually("it runs", || (!site.pods().is_empty()).then_some(()));

    let ended = site.down().run().clean(0);
    ended.says("evaluated\n").says("→ Deployment/web\n").says("→ ConfigMap/settings\n").says("Keeping ");
    assert!(!site.exists("deployment/web") && !site.exists("configmap/settings"));
    assert!(site.exists("configmap/someone-elses"), "what the Tiltfile does not name stays");
    let phase = site.read(&format!("namespace/{}", site.namespace.name()), ".status.phase");
    assert_eq!(phase, "Active", "namespaces stay");
    assert!(!site.project.exists("never"), "nothing is run");
    eventually("its pods are gone", || site.pods().is_empty().then_some(()));

    let again = site.down().run().clean(0);
    again.says("→ Deployment/web (already gone)\n").says("→ ConfigMap/settings (already gone)\n");
}

#[test]
fn down_deletes_what_up_deployed() {
    let site = Site::new("down-up");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    lilt.quit();
    assert!(site.exists("deployment/web"));
    site.down().run().clean(0).says("→ Deployment/web\n");
    assert!(!site.exists("deployment/web"));
}
