//! `text % values` and `text.format(…)`.

use lilt_model::Failure;
use starlark::collections::SmallMap;
use starlark::values::dict::DictRef;
use starlark::values::float::UnpackFloat;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, UnpackValue, Value, ValueLike};

use crate::environment;
use crate::failure::{raise, refuse};
use crate::values::Environ;
use crate::values::text::{Exponent, fixed, float, quote, scientific, type_name, write_display, write_repr};

/// Puts values into a text at its `%s`, `%d` and so on.
pub(super) fn percent<'v>(format: &str, values: Value<'v>, heap: Heap<'v>) -> starlark::Result<String> {
    let tuple = TupleRef::from_value(values).map(|tuple| tuple.content().to_vec());
    let mut positional = tuple.unwrap_or_else(|| vec![values]).into_iter();
    let mut out = String::with_capacity(format.len() + 16);
    let mut rest = format;
    while let Some((literal, after)) = rest.split_once('%') {
        out.push_str(literal);
        if let Some(after) = after.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let (value, after) = match after.strip_prefix('(') {
            Some(named) => {
                let (name, after) = named.split_once(')').ok_or_else(|| refuse("incomplete format key"))?;
                let found = member(values, name, heap)?;
                // It uses up a positional value, too.
                positional.next();
                (found, after)
            }
            None => {
                let next = positional.next();
                (next.ok_or_else(|| refuse("not enough arguments for format string"))?, after)
            }
        };
        let verb = after.chars().next().ok_or_else(|| refuse("incomplete format"))?;
        convert(verb, value, heap, &mut out)?;
        rest = &after[verb.len_utf8()..];
    }
    out.push_str(rest);
    if positional.next().is_some() && !is_mapping(values) {
        return Err(refuse("too many arguments for format string"));
    }
    Ok(out)
}

fn is_mapping(value: Value<'_>) -> bool {
    DictRef::from_value(value).is_some() || value.downcast_ref::<Environ>().is_some()
}

fn member<'v>(values: Value<'v>, name: &str, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
    let found = match DictRef::from_value(values) {
        Some(dict) => dict.get_str(name),
        None if is_mapping(values) => environment::get(name).map(|value| heap.alloc(value)),
        None => return Err(refuse("format requires a mapping")),
    };
    found.ok_or_else(|| refuse(format!("key not found: {name}")))
}

fn convert<'v>(verb: char, value: Value<'v>, heap: Heap<'v>, out: &mut String) -> starlark::Result<()> {
    match verb {
        's' => write_display(value, heap, out)?,
        'r' => write_repr(value, heap, out)?,
        'd' | 'i' | 'o' | 'x' | 'X' => out.push_str(&integer(verb, value, heap)?),
        'e' | 'f' | 'g' | 'E' | 'F' | 'G' => out.push_str(&real(verb, value)?),
        'c' => out.push(character(value)?),
        other => return Err(refuse(format!("unknown conversion %{other}"))),
    }
    Ok(())
}

fn integer<'v>(verb: char, value: Value<'v>, heap: Heap<'v>) -> starlark::Result<String> {
    let wrong = |why: String| refuse(format!("%{verb} format requires integer: {why}"));
    let whole = match value.get_type() {
        "int" => value,
        "float" => {
            let number = UnpackFloat::unpack_value(value).ok().flatten().map_or(0.0, |number| number.0);
            if !number.is_finite() {
                let what = if number.is_nan() { "NaN" } else { "infinity" };
                return Err(wrong(format!("cannot convert float {what} to integer")));
            }
            let digits = format!("{:.0}", number.trunc());
            return match (verb, digits.parse::<i128>()) {
                ('o', Ok(number)) => Ok(signed(number, &format!("{:o}", number.unsigned_abs()))),
                ('x', Ok(number)) => Ok(signed(number, &format!("{:x}", number.unsigned_abs()))),
                ('X', Ok(number)) => Ok(signed(number, &format!("{:X}", number.unsigned_abs()))),
                _ if digits == "-0" => Ok("0".to_owned()),
                _ => Ok(digits),
            };
        }
        _ => return Err(wrong(format!("cannot convert {} to int", type_name(value)))),
    };
    // The interpreter's own formats support numbers of any size.
    let format = if verb == 'i' { "%d".to_owned() } else { format!("%{verb}") };
    Ok(heap.alloc(format).percent(whole, heap)?.to_str())
}

fn signed(number: i128, digits: &str) -> String {
    format!("{}{digits}", if number < 0 { "-" } else { "" })
}

fn real(verb: char, value: Value<'_>) -> starlark::Result<String> {
    let number = match value.get_type() {
        "int" | "float" => UnpackFloat::unpack_value(value).ok().flatten(),
        _ => None,
    };
    let wrong = || refuse(format!("%{verb} format requires float, not {}", type_name(value)));
    let number = number.ok_or_else(wrong)?.0;
    let exponent = if verb.is_uppercase() { Exponent::Upper } else { Exponent::Lower };
    Ok(match verb {
        'e' | 'E' => scientific(number, exponent),
        'f' | 'F' => fixed(number),
        _ => float(number, exponent),
    })
}

fn character(value: Value<'_>) -> starlark::Result<char> {
    if let Some(text) = value.unpack_str() {
        let mut characters = text.chars();
        return match (characters.next(), characters.next()) {
            (Some(character), None) => Ok(character),
            _ => Err(refuse("%c format requires a single-character string")),
        };
    }
    if value.get_type() != "int" {
        let message = "%c format requires int or single-character string, not";
        return Err(refuse(format!("{message} {}", type_name(value))));
    }
    let number = value.unpack_i32().and_then(|number| u32::try_from(number).ok());
    let shown = || crate::values::text::excerpt(value);
    let wrong = || refuse(format!("%c format requires a valid Unicode code point, got {}", shown()));
    number.and_then(char::from_u32).ok_or_else(wrong)
}

/// Puts values into a text at its `{}`, `{0}` and `{name}`.
pub(super) fn braces<'v>(
    format: &str,
    positional: &[Value<'v>],
    named: &SmallMap<String, Value<'v>>,
    heap: Heap<'v>,
) -> starlark::Result<String> {
    let mut fields = Fields { positional, named, next: 0, automatic: false, manual: false };
    let mut out = String::with_capacity(format.len() + 16);
    let mut rest = format;
    loop {
        let (literal, after) =
            rest.split_once('{').map_or((rest, None), |(literal, after)| (literal, Some(after)));
        push_literal(literal, &mut out)?;
        let Some(after) = after else { return Ok(out) };
        if let Some(after) = after.strip_prefix('{') {
            out.push('{');
            rest = after;
            continue;
        }
        let (field, after) =
            after.split_once('}').ok_or_else(|| refuse("format: unmatched '{' in format"))?;
        rest = after;
        let (field, spec) = field.split_once(':').unwrap_or((field, ""));
        let (name, conversion) = field.split_once('!').unwrap_or((field, "s"));
        let value = fields.value(name)?;
        if !spec.is_empty() {
            return Err(refuse(format!("format spec features not supported in replacement fields: {spec}")));
        }
        match conversion {
            "s" => write_display(value, heap, &mut out)?,
            "r" => write_repr(value, heap, &mut out)?,
            other => {
                let mut shown = String::new();
                quote(other, &mut shown);
                return Err(refuse(format!("format: unknown conversion {shown}")));
            }
        }
    }
}

/// `}}` is a brace, a single `}` an error.
fn push_literal(literal: &str, out: &mut String) -> starlark::Result<()> {
    let mut rest = literal;
    while let Some((before, after)) = rest.split_once('}') {
        out.push_str(before);
        out.push('}');
        rest = after.strip_prefix('}').ok_or_else(|| refuse("format: single '}' in format"))?;
    }
    out.push_str(rest);
    Ok(())
}

struct Fields<'v, 'a> {
    positional: &'a [Value<'v>],
    named: &'a SmallMap<String, Value<'v>>,
    next: usize,
    automatic: bool,
    manual: bool,
}

impl<'v> Fields<'v, '_> {
    fn missing(&self) -> starlark::Error {
        let failure = Failure::user("format: tuple index out of range");
        raise(failure.hint(format!("the text asks for more than the {} given", self.positional.len())))
    }

    fn value(&mut self, name: &str) -> starlark::Result<Value<'v>> {
        if name.is_empty() {
            if self.manual {
                return Err(refuse(
                    "format: cannot switch from manual field specification to automatic field numbering",
                ));
            }
            self.automatic = true;
            self.next += 1;
            return self.positional.get(self.next - 1).copied().ok_or_else(|| self.missing());
        }
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            if self.automatic {
                return Err(refuse(
                    "format: cannot switch from automatic field numbering to manual field specification",
                ));
            }
            self.manual = true;
            let index = name.parse::<usize>().ok();
            return index.and_then(|index| self.positional.get(index).copied()).ok_or_else(|| self.missing());
        }
        if let Some(value) = self.named.get(name) {
            return Ok(*value);
        }
        Err(refuse(match name {
            _ if name.contains('.') => {
                format!("format: attribute syntax x.y is not supported in replacement fields: {name}")
            }
            _ if name.contains('[') => {
                format!("format: element syntax a[i] is not supported in replacement fields: {name}")
            }
            _ if name.contains('{') => "format: nested replacement fields not supported".to_owned(),
            _ => format!("format: keyword {name} not found"),
        }))
    }
}
