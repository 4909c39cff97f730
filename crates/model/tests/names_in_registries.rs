//! Compares names of images in registries with a second implementation of Tilt's rule.

use lilt_model::ImageName;
use lilt_model::reference::Reference;
use lilt_model::registry::{Registry, reference_in_cluster, reference_in_registry, tag_in_registry};
use proptest::prelude::*;

/// Shortens a name as people do.
fn familiar(domain: &str, path: &str) -> String {
    if domain == "docker.io" { path.to_owned() } else { format!("{domain}/{path}") }
}

/// Returns the expected name: the registry's host, then the name with slashes, colons and at signs replaced by
/// underscores, unless the host is there already.
fn expected(host: &str, single_name: &str, familiar: &str) -> String {
    if familiar.starts_with(&format!("{host}/")) {
        return familiar.to_owned();
    }
    let escaped: String = familiar.chars().map(|it| if "/:@".contains(it) { '_' } else { it }).collect();
    format!("{host}/{}", if single_name.is_empty() { &escaped } else { single_name })
}

fn one_of(hosts: &[&str]) -> impl Strategy<Value = String> + use<> {
    prop::sample::select(hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>())
}

fn domain() -> impl Strategy<Value = String> {
    let ecr = "1.dkr.ecr.us-east-1.amazonaws.com";
    one_of(&["docker.io", "gcr.io", "localhost", "localhost:5000", ecr, "r.example.com:443"])
}

fn host() -> impl Strategy<Value = String> {
    let ecr = "1.dkr.ecr.us-east-1.amazonaws.com/dev";
    one_of(&["localhost:5000", "gcr.io", "gcr.io/team", ecr, "r.example.com"])
}

fn path() -> impl Strategy<Value = String> {
    let part = "[a-z0-9]{1,6}((\\.|_|__|-{1,3})[a-z0-9]{1,6}){0,2}";
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"))
}

fn suffix() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}".prop_map(|tag| format!(":{tag}")),
        "[0-9a-f]{64}".prop_map(|digits| format!("@sha256:{digits}")),
    ]
}

proptest! {
    #[test]
    fn names_follow_tilts_rule(
        domain in domain(), path in path(), suffix in suffix(),
        host in host(), inside in prop::option::of(host()), single_name in prop_oneof![Just(""), Just("dev")],
    ) {
        let familiar = familiar(&domain, &path);
        let name = ImageName::from(format!("{familiar}{suffix}"));
        // A first part with a dot would be parsed as a host.
        prop_assume!(Reference::parse(name.as_str()).is_ok_and(|it| it.familiar_name() == familiar));
        let registry = Registry {
            host: host.clone(),
            host_from_cluster: inside.clone(),
            single_name: single_name.to_owned(),
            ..Registry::default()
        };
        let here = reference_in_registry(&name, Some(&registry)).unwrap();
        prop_assert_eq!(here.familiar(), expected(&host, single_name, &familiar));
        let there = reference_in_cluster(&name, Some(&registry)).unwrap();
        prop_assert_eq!(there.familiar(), expected(&inside.unwrap_or(host), single_name, &familiar));
        let tag = tag_in_registry(&name, Some(&registry), "tilt-1").unwrap();
        let last = familiar.rsplit('/').next().unwrap();
        let shared = format!("{last}-tilt-1");
        prop_assert_eq!(tag, if single_name.is_empty() { "tilt-1" } else { &shared });
        // Without a registry the name is unchanged.
        prop_assert_eq!(reference_in_registry(&name, None).unwrap().familiar(), familiar);
    }
}
