//! A user of the test bed's cluster with all permissions in one namespace and none elsewhere: neither nodes nor
//! `kube-public` can be read, so that no registry is found.

use lilt_e2e::site::Site;
use lilt_testbed_env::Testbed;

/// Writes a kubeconfig for such a user into the site's folder, in which the cluster has this name.
pub(crate) fn write_kubeconfig(site: &Site, cluster: &str) {
    let namespace = site.namespace.name();
    site.namespace.kubectl(&["create", "serviceaccount", "developer"]);
    let account = format!("--serviceaccount={namespace}:developer");
    site.namespace.kubectl(&["create", "rolebinding", "developer", "--clusterrole=admin", &account]);
    let token = site.namespace.kubectl(&["create", "token", "developer", "--duration=1h"]);
    let view = |path: &str| {
        let path = format!("jsonpath={{.clusters[0].cluster.{path}}}");
        Testbed::get().kubectl(&["config", "view", "--minify", "--raw", "-o", &path])
    };
    let (server, authority) = (view("server"), view("certificate-authority-data"));
    let kubeconfig = format!(
        "apiVersion: v1
kind: Config
current-context: {cluster}
clusters:
- name: {cluster}
  cluster: {{server: '{server}', certificate-authority-data: {authority}}}
contexts:
- name: {cluster}
  context: {{cluster: {cluster}, user: developer, namespace: {namespace}}}
users:
- name: developer
  user: {{token: {}}}
",
        token.trim()
    );
    site.project.write("kubeconfig", &kubeconfig);
}
