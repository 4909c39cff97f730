//! From the values that a Tiltfile gives to the fields of an object, by the types of its parameters.

use lilt_model::{Failure, Timestamp, duration};
use serde_json::{Map, Value as Json};
use starlark::values::Value;
use starlark::values::dict::DictRef;

use super::table::{Field, Maker, Type, part};
use crate::arguments::{as_text, sequence, wrong};
use crate::failure::raise;
use crate::load_state::LoadState;
use lilt_model::nearest::nearest;

/// Reads the arguments of one call.
pub(super) struct Reader<'s, 'a> {
    pub(super) function: &'static str,
    pub(super) state: &'s LoadState<'a>,
}

impl Reader<'_, '_> {
    /// Reads the fields of an object or part. `path` is its position in the call, for messages.
    pub(super) fn part(
        &self,
        maker: &Maker,
        path: &str,
        given: &[(&str, Value<'_>)],
    ) -> starlark::Result<Map<String, Json>> {
        let mut fields = Map::new();
        for field in &maker.fields {
            let value = given.iter().find(|(name, _)| *name == field.parameter).map(|(_, value)| *value);
            let shown = below(path, field.parameter);
            let Some(name) = field.name else {
                if let (Type::Part(inner), Some(value)) = (field.kind, value) {
                    fields.extend(self.dict(part(inner), &shown, value)?);
                }
                continue;
            };
            if let Some(value) = self.field(field, &shown, value)? {
                if fields.contains_key(name) {
                    return Err(self.refuse(&shown, "the same is already given by another name"));
                }
                fields.insert(name.to_owned(), value);
            }
        }
        Ok(fields)
    }

    /// A part that is given as a dict, as the function of its name makes it.
    fn dict(&self, maker: &Maker, path: &str, value: Value<'_>) -> starlark::Result<Map<String, Json>> {
        let wanted = || format!("a dict as {}() makes it", maker.name);
        let dict = DictRef::from_value(value).ok_or_else(|| wrong(self.function, path, &wanted(), value))?;
        // A part may be given by its own fields where it has no field of its own.
        let inline = maker.fields.iter().find_map(|field| match (field.name, field.kind) {
            (None, Type::Part(name)) => Some(part(name)),
            _ => None,
        });
        let (mut own, mut inner) = (Vec::new(), Vec::new());
        for (key, value) in dict.iter() {
            let name = key
                .unpack_str()
                .ok_or_else(|| wrong(self.function, &format!("a key of {path}"), "a string", key))?;
            let into = match inline.filter(|inline| inline.field(name).is_some()) {
                Some(_) => &mut inner,
                None if maker.field(name).is_some() => &mut own,
                None => return Err(self.unknown_key(maker, path, name)),
            };
            if !value.is_none() {
                into.push((name, value));
            }
        }
        let mut fields = self.part(maker, path, &own)?;
        if let Some(inline) = inline.filter(|_| !inner.is_empty()) {
            fields.extend(self.part(inline, path, &inner)?);
        }
        Ok(fields)
    }

    /// None if it is not written.
    fn field(&self, field: &Field, path: &str, value: Option<Value<'_>>) -> starlark::Result<Option<Json>> {
        let Some(value) = value else {
            return Ok(match field.kind {
                Type::Directory => Some(self.state.directory().display().to_string().into()),
                _ if field.always => Some(empty(field.kind)),
                _ => None,
            });
        };
        let json = self.value(field.kind, path, value)?;
        let is_empty = match &json {
            Json::String(text) => text.is_empty(),
            Json::Array(items) => items.is_empty(),
            Json::Bool(flag) => !flag,
            Json::Number(number) => number.as_i64() == Some(0),
            // An empty part differs from a missing one.
            Json::Object(fields) => field.kind == Type::Map && fields.is_empty(),
            Json::Null => true,
        };
        Ok(Some(json).filter(|_| !is_empty || field.always || field.kind == Type::GivenText))
    }

    fn value(&self, kind: Type, path: &str, value: Value<'_>) -> starlark::Result<Json> {
        let wrong = |wanted: &str| wrong(self.function, path, wanted, value);
        let text = || as_text(value).ok_or_else(|| wrong("a string"));
        let absolute = |path: String| self.state.absolute(path).display().to_string();
        match kind {
            Type::Text | Type::GivenText => Ok(text()?.into()),
            Type::Texts => {
                let items = sequence(value).ok_or_else(|| wrong("a list of strings"))?;
                self.texts(path, items).map(Json::from)
            }
            Type::Number => value.unpack_i32().map(Json::from).ok_or_else(|| wrong("a number")),
            Type::Flag => value.unpack_bool().map(Json::from).ok_or_else(|| wrong("True or False")),
            Type::Map => {
                let dict = DictRef::from_value(value).ok_or_else(|| wrong("a dict of strings"))?;
                let pair = |(key, value)| Some((as_text(key)?, as_text(value)?));
                let pairs = dict.iter().map(pair).collect::<Option<Vec<_>>>();
                let mut pairs = pairs.ok_or_else(|| wrong("a dict of strings"))?;
                pairs.sort();
                Ok(Json::Object(pairs.into_iter().map(|(key, value)| (key, value.into())).collect()))
            }
            Type::Path | Type::Directory => Ok(absolute(text()?).into()),
            Type::Paths => {
                let items = sequence(value).unwrap_or_else(|| vec![value]);
                Ok(self.texts(path, items)?.into_iter().map(absolute).collect::<Vec<_>>().into())
            }
            Type::Duration => {
                let length = duration::parse(&text()?).map_err(|problem| self.refuse(path, problem))?;
                Ok(duration::display(length).into())
            }
            Type::Time => {
                let text = text()?;
                let parsed: Result<Timestamp, _> = serde_json::from_value(text.as_str().into());
                parsed.map_err(|_| {
                    self.refuse(path, format!("{text:?} is no time such as '2026-01-02T15:04:05Z'"))
                })?;
                Ok(text.into())
            }
            Type::Part(name) => self.dict(part(name), path, value).map(Json::Object),
            Type::Parts(name) => {
                let wanted = || format!("a list of dicts as {}() makes them", part(name).name);
                let items = sequence(value).ok_or_else(|| wrong(&wanted()))?;
                let item = |(index, item)| {
                    self.dict(part(name), &format!("{path}[{index}]"), item).map(Json::Object)
                };
                items.into_iter().enumerate().map(item).collect::<starlark::Result<Vec<_>>>().map(Json::Array)
            }
        }
    }

    fn texts(&self, path: &str, items: Vec<Value<'_>>) -> starlark::Result<Vec<String>> {
        let text = |(index, item)| {
            as_text(item).ok_or_else(|| wrong(self.function, &format!("{path}[{index}]"), "a string", item))
        };
        items.into_iter().enumerate().map(text).collect()
    }

    fn refuse(&self, path: &str, message: impl std::fmt::Display) -> starlark::Error {
        raise(Failure::user(format!("{}: {path}: {message}", self.function)))
    }

    fn unknown_key(&self, maker: &Maker, path: &str, name: &str) -> starlark::Error {
        let failure = Failure::user(format!("{}: {path} has no field {name}", self.function));
        let known = || maker.fields.iter().map(|field| field.parameter);
        raise(match nearest(name, known()) {
            Some(near) => failure.hint(format!("did you mean {near}?")),
            None => failure.hint(format!("it takes {}", known().collect::<Vec<_>>().join(", "))),
        })
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Returns the default of a field.
fn empty(kind: Type) -> Json {
    match kind {
        Type::Number => 0.into(),
        Type::Flag => false.into(),
        Type::Texts | Type::Paths | Type::Parts(_) => Json::Array(Vec::new()),
        Type::Map => Json::Object(Map::new()),
        Type::Part(name) => {
            let fields = part(name).fields.iter().filter(|field| field.always);
            let fields = fields.filter_map(|field| Some((field.name?.to_owned(), empty(field.kind))));
            Json::Object(fields.collect())
        }
        Type::Text | Type::GivenText | Type::Path | Type::Directory | Type::Duration | Type::Time => {
            "".into()
        }
    }
}
