//! Which functions there are, and their parameters: those of the API's types, less what a Tiltfile cannot make.
//!
//! Tilt's functions differ from the types in a few places; [`differences`] names them all.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use lilt_api::ObjectKind;
use lilt_api::kinds::{self, kinds};
use starlark::eval::{ParametersSpec, ParametersSpecParam};
use starlark::values::FrozenValue;

use super::METADATA;

pub(super) static TABLE: LazyLock<Vec<Maker>> = LazyLock::new(makers);

/// The kinds of objects that a Tiltfile can make. Their functions come first, behind them those of all their parts.
const KINDS: [ObjectKind; 8] = [
    ObjectKind::Cmd,
    ObjectKind::ConfigMap,
    ObjectKind::Extension,
    ObjectKind::ExtensionRepo,
    ObjectKind::FileWatch,
    ObjectKind::KubernetesApply,
    ObjectKind::KubernetesDiscovery,
    ObjectKind::UIButton,
];

/// What a probe does is a part of its own, with fields that are the probe's in the API.
const HANDLER: &str = "handler";
const HANDLER_FIELDS: [&str; 3] = ["exec", "httpGet", "tcpSocket"];

/// A function that makes an object or a part.
pub(super) struct Maker {
    /// `v1alpha1.cmd`.
    pub(super) name: &'static str,
    /// Of the object; none for a part.
    pub(super) kind: Option<ObjectKind>,
    pub(super) documentation: &'static str,
    pub(super) fields: Vec<Field>,
    pub(super) signature: ParametersSpec<FrozenValue>,
}

pub(super) struct Field {
    pub(super) parameter: &'static str,
    /// In the object. None: the fields of the part become fields of the object.
    pub(super) name: Option<&'static str>,
    pub(super) kind: Type,
    /// Written also if it is empty.
    pub(super) always: bool,
    pub(super) documentation: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Text,
    /// Written if it was given, also if it is empty.
    GivenText,
    Texts,
    Number,
    Flag,
    Map,
    Path,
    /// The directory of this file unless given.
    Directory,
    Paths,
    Duration,
    Time,
    /// By the short name of its function.
    Part(&'static str),
    Parts(&'static str),
}

impl Maker {
    pub(super) fn short_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }

    /// With their documentation, in order.
    pub(super) fn parameters(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let metadata = METADATA.iter().copied().filter(|_| self.kind.is_some());
        metadata.chain(self.fields.iter().map(|field| (field.parameter, field.documentation)))
    }

    pub(super) fn field(&self, parameter: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.parameter == parameter)
    }
}

pub(super) fn part(short_name: &str) -> &'static Maker {
    TABLE
        .iter()
        .find(|maker| maker.kind.is_none() && maker.short_name() == short_name)
        .expect("invariant: there is a function for each part, which a test checks")
}

/// How Tilt's functions differ from the types of the API.
fn differences(part: &str, field: &mut Field) {
    let (kind, documentation) = match (part, field.name.unwrap_or_default()) {
        ("CmdSpec", "dir") => {
            (Type::Directory, "The folder that the command runs in; that of this file unless given.")
        }
        ("KubernetesApplyCmd", "dir") => {
            (Type::Path, "The folder that the command runs in, from that of this file.")
        }
        ("FileWatchSpec", "watchedPaths") => {
            (Type::Paths, "Files and folders, from that of this file; what is below a folder counts.")
        }
        ("IgnoreDef", "basePath") => (Type::Path, field.documentation),
        // An explicit empty text counts: without one they are `true` and `false`.
        ("UIBoolInputSpec", "trueString" | "falseString") => (Type::GivenText, field.documentation),
        ("KubernetesApplySpec", "deleteCmd") => {
            (field.kind, "Deletes what apply_cmd deployed; without one its objects are deleted.")
        }
        ("UIButtonSpec", "iconSVG") => (field.kind, "An icon as an `<svg>` element."),
        _ => return,
    };
    (field.kind, field.documentation) = (kind, documentation);
}

fn makers() -> Vec<Maker> {
    let mut parts = BTreeMap::new();
    let mut makers = Vec::new();
    for kind in KINDS.iter().map(|kind| kinds().of(*kind)) {
        let spec = kind.fields.iter().find_map(|field| match field.of {
            kinds::Type::Part(part) if field.name == "spec" => Some(part),
            _ => None,
        });
        let mut own = match spec {
            Some(part) => fields(part, kinds().part(part), &mut parts),
            None => fields(kind.name, &kind.fields, &mut parts),
        };
        if kind.kind == ObjectKind::KubernetesApply {
            own.push(Field {
                parameter: "cmd",
                name: Some("applyCmd"),
                kind: Type::Part("kubernetes_apply_cmd"),
                always: false,
                documentation: "An older name of apply_cmd.",
            });
        }
        makers.push(maker(kind.name, Some(kind.kind), kind.description, own));
    }
    makers.extend(parts.into_values());
    makers
}

/// Returns the parameters for the fields of a type. The types of the fields are added to `parts`, by the name of their
/// function.
fn fields(owner: &str, of: &[kinds::Field], parts: &mut BTreeMap<&'static str, Maker>) -> Vec<Field> {
    let mut declared: Vec<&kinds::Field> = of.iter().collect();
    declared.sort_by_key(|field| field.position);
    let mut fields: Vec<Field> = declared.into_iter().map(|field| self::field(owner, field, parts)).collect();
    if owner == "Probe" {
        let is_inner = |field: &Field| field.name.is_some_and(|name| HANDLER_FIELDS.contains(&name));
        let inner = fields.extract_if(.., |field| is_inner(field)).collect();
        parts.insert(HANDLER, maker(HANDLER, None, "What a probe does: one of these.", inner));
        let handler = Field {
            parameter: HANDLER,
            name: None,
            kind: Type::Part(HANDLER),
            always: false,
            documentation: "What it does.",
        };
        fields.insert(0, handler);
    }
    fields
}

fn field(owner: &str, field: &kinds::Field, parts: &mut BTreeMap<&'static str, Maker>) -> Field {
    let mut part = |name: &str| {
        let short_name = snake_case(name);
        if !parts.contains_key(short_name) {
            let inner = fields(name, kinds().part(name), parts);
            let documentation =
                kinds().parts().find(|(known, _)| *known == name).map(|(_, part)| part.description);
            parts.insert(short_name, maker(name, None, documentation.unwrap_or_default(), inner));
        }
        short_name
    };
    let kind = match &field.of {
        kinds::Type::Text | kinds::Type::Any => Type::Text,
        kinds::Type::Bool => Type::Flag,
        kinds::Type::Int32 | kinds::Type::Int64 => Type::Number,
        kinds::Type::Time | kinds::Type::MicroTime => Type::Time,
        kinds::Type::Duration => Type::Duration,
        kinds::Type::Map => Type::Map,
        kinds::Type::Part(name) => Type::Part(part(name)),
        kinds::Type::List(of) => match **of {
            kinds::Type::Part(name) => Type::Parts(part(name)),
            _ => Type::Texts,
        },
    };
    let mut made = Field {
        parameter: snake_case(field.name),
        name: Some(field.name),
        kind,
        always: field.required,
        documentation: field.description,
    };
    differences(owner, &mut made);
    made
}

fn maker(
    type_name: &str,
    kind: Option<ObjectKind>,
    documentation: &'static str,
    fields: Vec<Field>,
) -> Maker {
    let name = String::leak(format!("v1alpha1.{}", snake_case(type_name)));
    let metadata = METADATA.iter().filter(|_| kind.is_some()).map(|(name, _)| match *name {
        "name" => ("name", ParametersSpecParam::Required),
        name => (name, ParametersSpecParam::Optional),
    });
    let own = fields.iter().map(|field| (field.parameter, ParametersSpecParam::Optional));
    let signature = ParametersSpec::new_parts(name, [], metadata.chain(own), false, [], false);
    Maker { name, kind, documentation, fields, signature }
}

/// `HTTPGetAction` as `http_get_action`, `iconSVG` as `icon_svg`. Kept as long as the program, like the table.
fn snake_case(name: &str) -> &'static str {
    let letters: Vec<char> = name.chars().collect();
    let mut text = String::new();
    for (index, letter) in letters.iter().enumerate() {
        let after_lower = index > 0 && !letters[index - 1].is_ascii_uppercase();
        let before_lower = index > 0 && letters.get(index + 1).is_some_and(char::is_ascii_lowercase);
        if letter.is_ascii_uppercase() && (after_lower || before_lower) {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text.leak()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_documented_and_name_only_each_other() {
        assert_eq!(TABLE.len(), 36);
        assert_eq!(TABLE.iter().filter(|maker| maker.kind.is_some()).count(), 8);
        for maker in TABLE.iter() {
            assert!(maker.name.starts_with("v1alpha1."), "{}", maker.name);
            assert!(maker.documentation.ends_with('.'), "{}", maker.name);
            for field in &maker.fields {
                assert!(field.documentation.ends_with('.'), "{} {}", maker.name, field.parameter);
                if let Type::Part(name) | Type::Parts(name) = field.kind {
                    assert_eq!(part(name).short_name(), name);
                }
            }
        }
    }

    #[test]
    fn names_are_split_at_words_and_acronyms() {
        for (name, expected) in [
            ("Cmd", "cmd"),
            ("HTTPGetAction", "http_get_action"),
            ("UIButton", "ui_button"),
            ("iconSVG", "icon_svg"),
            ("componentID", "component_id"),
            ("apiVersionRegexp", "api_version_regexp"),
        ] {
            assert_eq!(snake_case(name), expected);
        }
    }
}
