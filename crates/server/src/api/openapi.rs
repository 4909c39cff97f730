//! The OpenAPI documents, generated from the types of the kinds.

use lilt_api::kinds::{COMMON_FIELDS, Field, Kind, Type, kinds};
use lilt_model::files::fingerprint;
use serde_json::{Map, Value, json};

/// Definitions of Kubernetes keep their names.
const KUBERNETES: [&str; 6] = [
    "Condition",
    "LabelSelector",
    "LabelSelectorRequirement",
    "ManagedFieldsEntry",
    "ObjectMeta",
    "OwnerReference",
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edition {
    V2,
    V3,
}

impl Edition {
    fn place(self) -> &'static str {
        match self {
            Edition::V2 => "#/definitions/",
            Edition::V3 => "#/components/schemas/",
        }
    }
}

/// Returns the document of the object API in version 2, for `/openapi/v2`.
pub fn openapi() -> Value {
    document(Edition::V2)
}

/// Returns the response of `/openapi/v3`: the path of the group's document.
pub(crate) fn index() -> Value {
    // Clients cache the document by its address.
    let hash = fingerprint(document(Edition::V3).to_string().as_bytes());
    let address = format!("/openapi/v3/apis/tilt.dev/v1alpha1?hash={hash:016x}");
    json!({"paths": {"apis/tilt.dev/v1alpha1": {"serverRelativeURL": address}}})
}

pub(crate) fn document(edition: Edition) -> Value {
    let info = json!({"title": "lilt", "version": lilt_model::COMPATIBLE_TILT_VERSION});
    let schemas = schemas(edition);
    let paths = paths(edition);
    match edition {
        Edition::V2 => json!({"swagger": "2.0", "info": info, "paths": paths, "definitions": schemas}),
        Edition::V3 => {
            json!({"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}})
        }
    }
}

fn schemas(edition: Edition) -> Map<String, Value> {
    let mut schemas = Map::new();
    for (name, part) in kinds().parts() {
        schemas.insert(name_of(name), object(edition, part.description, &part.fields));
    }
    for kind in kinds().all() {
        let mut schema = object(edition, kind.description, &kind.fields);
        for field in &COMMON_FIELDS {
            schema["properties"][field.name] = property(edition, field);
        }
        schema["x-kubernetes-group-version-kind"] = told_kind(kind.name);
        schemas.insert(name_of(kind.name), schema);
        schemas.insert(name_of(&format!("{}List", kind.name)), list(edition, kind));
    }
    let list_meta = json!({"type": "object", "properties": {
        "continue": {"type": "string"}, "remainingItemCount": {"type": "integer", "format": "int64"},
        "resourceVersion": {"type": "string"}, "selfLink": {"type": "string"},
    }});
    schemas.insert(name_of("ListMeta"), list_meta);
    for (name, format) in [("Time", "date-time"), ("MicroTime", "date-time")] {
        schemas.insert(name_of(name), json!({"type": "string", "format": format}));
    }
    schemas.insert(name_of("Duration"), json!({"type": "string"}));
    schemas
}

fn list(edition: Edition, kind: &Kind) -> Value {
    json!({
        "type": "object", "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"},
            "metadata": reference(edition, "ListMeta"),
            "items": {"type": "array", "items": reference(edition, kind.name)},
        },
        "x-kubernetes-group-version-kind": told_kind(&format!("{}List", kind.name)),
    })
}

fn told_kind(name: &str) -> Value {
    json!([{"group": "tilt.dev", "kind": name, "version": "v1alpha1"}])
}

fn name_of(part: &str) -> String {
    let kubernetes =
        KUBERNETES.contains(&part) || ["ListMeta", "Time", "MicroTime", "Duration"].contains(&part);
    let prefix = if kubernetes { "io.k8s.apimachinery.pkg.apis.meta.v1" } else { "tilt.dev.v1alpha1" };
    format!("{prefix}.{part}")
}

fn reference(edition: Edition, part: &str) -> Value {
    json!({"$ref": format!("{}{}", edition.place(), name_of(part))})
}

fn object(edition: Edition, description: &str, fields: &[Field]) -> Value {
    let property = |field: &Field| (field.name.to_owned(), property(edition, field));
    let properties: Map<String, Value> = fields.iter().map(property).collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut object = json!({"type": "object", "properties": properties});
    object["description"] = json!(description);
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

/// Returns the schema of a field with its description. Version 3 allows no description beside a reference, which is
/// wrapped in a list.
fn property(edition: Edition, field: &Field) -> Value {
    let schema = schema_of(edition, &field.of);
    let mut schema = match edition {
        Edition::V3 if schema.get("$ref").is_some() => json!({"allOf": [schema]}),
        _ => schema,
    };
    schema["description"] = json!(field.description);
    schema
}

fn schema_of(edition: Edition, of: &Type) -> Value {
    match of {
        Type::Text => json!({"type": "string"}),
        Type::Bool => json!({"type": "boolean"}),
        Type::Int32 => json!({"type": "integer", "format": "int32"}),
        Type::Int64 => json!({"type": "integer", "format": "int64"}),
        Type::Time => reference(edition, "Time"),
        Type::MicroTime => reference(edition, "MicroTime"),
        Type::Duration => reference(edition, "Duration"),
        Type::Map => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        Type::Any => json!({"type": "object"}),
        Type::List(inner) => json!({"type": "array", "items": schema_of(edition, inner)}),
        Type::Part(part) => reference(edition, part),
    }
}

fn paths(edition: Edition) -> Map<String, Value> {
    let mut paths = Map::new();
    for kind in kinds().all() {
        let all = format!("/apis/tilt.dev/v1alpha1/{}", kind.plural);
        let operation = |verb: &str, action: &str| operation(edition, kind, verb, action);
        paths.insert(
            all.clone(),
            json!({
                "get": operation("list", "list"), "post": operation("create", "post"),
                "delete": operation("deletecollection", "deletecollection"),
            }),
        );
        paths.insert(format!("{all}/{{name}}"), json!({
            "get": operation("read", "get"), "put": operation("replace", "put"), "patch": operation("patch", "patch"),
            "delete": operation("delete", "delete"),
        }));
        if kind.has_status() {
            paths.insert(
                format!("{all}/{{name}}/status"),
                json!({
                    "get": operation("readStatus", "get"), "put": operation("replaceStatus", "put"),
                    "patch": operation("patchStatus", "patch"),
                }),
            );
        }
    }
    paths
}

/// Tells kubectl that the server validates fields.
fn operation(edition: Edition, kind: &Kind, verb: &str, action: &str) -> Value {
    let parameter = |name: &str| match edition {
        Edition::V2 => json!({"name": name, "in": "query", "type": "string", "uniqueItems": true}),
        Edition::V3 => {
            json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}})
        }
    };
    let names: &[&str] = match action {
        "post" | "put" => &["dryRun", "fieldManager", "fieldValidation"],
        "patch" => &["dryRun", "fieldManager", "fieldValidation", "force"],
        "delete" | "deletecollection" => &["dryRun", "propagationPolicy"],
        _ => &[],
    };
    json!({
        "operationId": format!("{verb}TiltDevV1alpha1{}", kind.name),
        "parameters": names.iter().map(|name| parameter(name)).collect::<Vec<_>>(),
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": "tilt.dev", "kind": kind.name, "version": "v1alpha1"},
    })
}
