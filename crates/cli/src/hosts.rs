//! Names of what stands before the web port, as the user gives them: a proxy, a tunnel.

use lilt_host::environment;
use lilt_model::Failure;

/// Those of the environment. One that cannot be a name is told at once: as a typing error it would let nobody in.
pub(crate) fn further() -> Result<Vec<String>, Failure> {
    read(&environment::variable(environment::LILT_ALLOWED_HOSTS).unwrap_or_default())
}

fn read(text: &str) -> Result<Vec<String>, Failure> {
    let given = text.split([',', ' ']).filter(|name| !name.is_empty());
    given
        .map(|name| match lilt_server::is_further_host(name) {
            true => Ok(name.to_owned()),
            false => Err(Failure::user(format!("LILT_ALLOWED_HOSTS: {name:?} is no name of a host"))
                .hint("names with commas between them, for example dev.example.com,tunnel.example:8443")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_by_commas() {
        assert_eq!(read("").unwrap(), [] as [String; 0]);
        assert_eq!(read("a.example, b.example:8443,").unwrap(), ["a.example", "b.example:8443"]);
        let failure = read("*.example").unwrap_err();
        assert!(failure.message.contains("\"*.example\" is no name"), "{failure}");
    }
}
