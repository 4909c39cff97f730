//! Version constraints of `version_settings`: `>=0.22.1 <1.0.0 || 2.x`.
//!
//! Not those of the crate `semver`: its requirements have no `||` and no `!`, separate comparisons by commas, take
//! `1.2.3` for `^1.2.3`, and no wildcard after `<` or `!`. What Tilt takes follows the ranges of another library.

type Version = [u64; 3];

/// Whether any of the alternatives (`||`) holds in all its parts. An empty constraint always holds.
pub(crate) fn satisfies(version: &str, constraint: &str) -> Result<bool, String> {
    if constraint.trim().is_empty() {
        return Ok(true);
    }
    let (version, _) = parse(version)?;
    let mut any = false;
    for alternative in constraint.split("||") {
        any |= all_hold(version, alternative)?;
    }
    Ok(any)
}

fn all_hold(version: Version, alternative: &str) -> Result<bool, String> {
    let is_operator = |character: char| matches!(character, '<' | '>' | '=' | '!');
    let mut all = true;
    let mut rest = alternative.trim();
    if rest.is_empty() {
        return Err("an alternative is empty".into());
    }
    while !rest.is_empty() {
        let (operator, after) =
            rest.split_at(rest.find(|character| !is_operator(character)).unwrap_or(rest.len()));
        let after = after.trim_start();
        let end = after.find(|character: char| character.is_whitespace() || is_operator(character));
        let (number, left) = after.split_at(end.unwrap_or(after.len()));
        all &= holds(version, operator, number)?;
        rest = left.trim_start();
    }
    Ok(all)
}

fn holds(version: Version, operator: &str, number: &str) -> Result<bool, String> {
    let (lowest, parts) = parse(number)?;
    // `1.x` means all versions from 1.0.0 up to, but excluding, 2.0.0.
    let mut next = lowest;
    if let Some(last) = parts.checked_sub(1) {
        next[last] += 1;
        next[parts..].fill(0);
    }
    let below_next = if parts == 0 { true } else { version < next };
    match operator {
        "" | "=" | "==" => Ok(version >= lowest && below_next),
        "!" | "!=" => Ok(version < lowest || !below_next),
        ">" => Ok(!below_next),
        ">=" => Ok(version >= lowest),
        "<" => Ok(version < lowest),
        "<=" => Ok(below_next),
        other => Err(format!("{other:?} is no comparison")),
    }
}

/// The version and how many of its parts were given.
fn parse(text: &str) -> Result<(Version, usize), String> {
    let core = text.trim().trim_start_matches('v');
    let core = core.split(['-', '+']).next().unwrap_or_default();
    let mut version = [0; 3];
    let mut given = 0;
    for (index, part) in core.split('.').enumerate() {
        if matches!(part, "x" | "X" | "*") {
            break;
        }
        let number = part.parse().map_err(|_| format!("{text:?} is no version"))?;
        *version.get_mut(index).ok_or_else(|| format!("{text:?} has too many parts"))? = number;
        given = index + 1;
    }
    Ok((version, given))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_versions() {
        for (constraint, expected) in [
            ("", true),
            (">=0.22.1", true),
            (">= 0.37.6", true),
            (">0.37.6", false),
            ("<0.37.6", false),
            (">=0.30.0 <0.37.0", false),
            (">=0.30.0 <0.37.0 || 0.37.6", true),
            ("0.37.x", true),
            ("!0.37.x", false),
            ("1.x", false),
            ("<=0.37.x", true),
            (">0.9.0", true),
        ] {
            assert_eq!(satisfies("0.37.6", constraint), Ok(expected), "{constraint}");
        }
        for bad in ["abc", ">=", "=>1.0.0", "1.2.3.4", "1.0.0 ||"] {
            assert!(satisfies("0.37.6", bad).is_err(), "{bad}");
        }
    }
}
