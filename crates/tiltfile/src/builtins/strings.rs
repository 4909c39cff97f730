//! Methods of strings that the front end calls in place of the interpreter's. In Tilt, a string is bytes, and each letter
//! has one upper case letter.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::list::AllocList;
use starlark::values::tuple::{TupleRef, UnpackTuple};
use starlark::values::{Heap, Value};

use super::format;
use super::methods::{Named, call_own_method};
use crate::failure::refuse;
use crate::values::byte_string;
use crate::values::elements::{Elements, Unit};
use crate::values::limits::check_text;
use crate::values::text::type_name;

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    fn __method_of_text<'v>(
        #[starlark(require = pos)] method: &str,
        #[starlark(require = pos)] this: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: Named<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let Some(text) = this.unpack_str() else {
            return call_own_method(this, method, &args.items, &named, eval);
        };
        let heap = eval.heap();
        let args = args.items.as_slice();
        if method == "format" {
            return Ok(heap.alloc(format::braces(text, args, &named, heap)?));
        }
        if !named.is_empty() {
            return Err(refuse(format!("{method}: unexpected keyword arguments")));
        }
        let call = StringMethod { method, text, args, heap };
        match method {
            "split" | "rsplit" => {
                call.check_separator()?;
                call_own_method(this, method, args, &named, eval)
            }
            _ => call.run(),
        }
    }
}

struct StringMethod<'v, 'a> {
    method: &'a str,
    text: &'a str,
    args: &'a [Value<'v>],
    heap: Heap<'v>,
}

impl<'v> StringMethod<'v, '_> {
    fn run(&self) -> starlark::Result<Value<'v>> {
        let heap = self.heap;
        Ok(match self.method {
            "elems" => self.elements(Unit::Element)?,
            "elem_ords" => self.elements(Unit::ElementNumber)?,
            "codepoints" => self.elements(Unit::Codepoint)?,
            "codepoint_ords" => self.elements(Unit::CodepointNumber)?,
            "lower" => heap.alloc(self.map_chars(|_, letter| lower(letter))?),
            "upper" => heap.alloc(self.map_chars(|_, letter| upper(letter))?),
            "capitalize" => heap.alloc(self.map_chars(|last, letter| match last {
                None => title(letter),
                Some(_) => lower(letter),
            })?),
            "title" => heap.alloc(self.map_chars(|last, letter| match last.is_some_and(is_cased) {
                true => lower(letter),
                false => title(letter),
            })?),
            "count" => {
                let (sub, part, _) = self.find_range()?;
                let found = if sub.is_empty() { part.chars().count() + 1 } else { part.matches(sub).count() };
                heap.alloc(i32::try_from(found).unwrap_or(i32::MAX))
            }
            "find" | "rfind" | "index" | "rindex" => self.find()?,
            "startswith" | "endswith" => Value::new_bool(self.has_affix()?),
            "join" => heap.alloc(self.join()?),
            "replace" => heap.alloc(self.replace()?),
            "splitlines" => self.lines()?,
            other => return Err(refuse(format!("string has no .{other} field or method"))),
        })
    }

    fn check_arity(&self, least: usize, most: usize) -> starlark::Result<()> {
        let count = self.args.len();
        let wanted = match (count, least == most) {
            _ if (least..=most).contains(&count) => return Ok(()),
            (_, true) => most.to_string(),
            (count, false) if count < least => format!("at least {least}"),
            (_, false) => format!("at most {most}"),
        };
        Err(refuse(format!("{}: got {count} arguments, want {wanted}", self.method)))
    }

    fn string(&self, index: usize) -> starlark::Result<&'v str> {
        let value = self.args[index];
        value.unpack_str().ok_or_else(|| {
            let given = type_name(value);
            refuse(format!("{}: for parameter {}: got {given}, want string", self.method, index + 1))
        })
    }

    fn elements(&self, unit: Unit) -> starlark::Result<Value<'v>> {
        self.check_arity(0, 0)?;
        Ok(self.heap.alloc(Elements { text: self.text.to_owned(), unit }))
    }

    /// Maps each character; `change` also gets the previous result.
    fn map_chars(&self, change: impl Fn(Option<char>, char) -> char) -> starlark::Result<String> {
        self.check_arity(0, 0)?;
        let mut last = None;
        let changed = self.text.chars().map(|letter| {
            let new = change(last, letter);
            last = Some(new);
            new
        });
        Ok(changed.collect())
    }

    /// Returns the range of the second and third argument, and where it begins.
    fn part(&self) -> starlark::Result<(std::borrow::Cow<'_, str>, usize)> {
        let (start, end) =
            byte_string::byte_range(self.text, self.args.get(1).copied(), self.args.get(2).copied())
                .map_err(|error| refuse(format!("{}: {}", self.method, error.without_diagnostic())))?;
        Ok((byte_string::substring(self.text, start, end), start))
    }

    fn find_range(&self) -> starlark::Result<(&'v str, std::borrow::Cow<'_, str>, usize)> {
        self.check_arity(1, 3)?;
        let sub = self.string(0)?;
        let (part, start) = self.part()?;
        Ok((sub, part, start))
    }

    fn find(&self) -> starlark::Result<Value<'v>> {
        self.check_arity(1, 3)?;
        let sub = self.string(0)?;
        let (start, end) =
            byte_string::byte_range(self.text, self.args.get(1).copied(), self.args.get(2).copied())
                .map_err(|error| refuse(format!("{}: {}", self.method, error.without_diagnostic())))?;
        let found = match self.method {
            "find" | "index" => find(self.text, sub, start, end),
            _ => rfind(self.text, sub, start, end),
        };
        match found {
            Some(at) => Ok(self.heap.alloc(i32::try_from(at).unwrap_or(i32::MAX))),
            None if self.method.ends_with("find") => Ok(self.heap.alloc(-1)),
            None => Err(refuse(format!("{}: substring not found", self.method))),
        }
    }

    fn has_affix(&self) -> starlark::Result<bool> {
        self.check_arity(1, 3)?;
        let (part, _) = self.part()?;
        let has = |end: &str| match self.method {
            "startswith" => part.starts_with(end),
            _ => part.ends_with(end),
        };
        if let Some(end) = self.args[0].unpack_str() {
            return Ok(has(end));
        }
        let Some(ends) = TupleRef::from_value(self.args[0]) else {
            let given = type_name(self.args[0]);
            return Err(refuse(format!("{}: got {given}, want string or tuple of string", self.method)));
        };
        for (index, end) in ends.content().iter().enumerate() {
            let wrong = || {
                let given = type_name(*end);
                refuse(format!("{}: want string, got {given}, for element {index}", self.method))
            };
            if has(end.unpack_str().ok_or_else(wrong)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn join(&self) -> starlark::Result<String> {
        self.check_arity(1, 1)?;
        let list = self.args[0];
        let parts = list.iterate(self.heap);
        let parts = parts.map_err(|_| {
            let given = type_name(list);
            refuse(format!("join: for parameter 1: got {given}, want iterable"))
        })?;
        let mut joined = String::new();
        for (index, part) in parts.enumerate() {
            let wrong = || refuse(format!("join: in list, want string, got {}", type_name(part)));
            let part = part.unpack_str().ok_or_else(wrong)?;
            check_text(joined.len() + self.text.len() + part.len(), self.heap)?;
            if index > 0 {
                joined.push_str(self.text);
            }
            joined.push_str(part);
        }
        Ok(joined)
    }

    fn replace(&self) -> starlark::Result<String> {
        self.check_arity(2, 3)?;
        let (old, new) = (self.string(0)?, self.string(1)?);
        let most = match self.args.get(2) {
            None => usize::MAX,
            // A negative count means all.
            Some(count) => match count.unpack_i32() {
                Some(count) => usize::try_from(count).unwrap_or(usize::MAX),
                None => {
                    let given = type_name(*count);
                    return Err(refuse(format!("replace: for parameter 3: got {given}, want int")));
                }
            },
        };
        let found = self.text.matches(old).take(most).count();
        check_text(self.text.len().saturating_add(found.saturating_mul(new.len())), self.heap)?;
        Ok(self.text.replacen(old, new, most))
    }

    fn lines(&self) -> starlark::Result<Value<'v>> {
        self.check_arity(0, 1)?;
        let keep = self.args.first().is_some_and(|keep| keep.to_bool());
        // Only the newline ends a line: a carriage return before it belongs to the line.
        let lines = self.text.split_inclusive('\n');
        let lines = lines.map(|line| if keep { line } else { line.strip_suffix('\n').unwrap_or(line) });
        Ok(self.heap.alloc(AllocList(lines)))
    }

    fn check_separator(&self) -> starlark::Result<()> {
        match self.args.first() {
            Some(separator) if separator.unpack_str() == Some("") => {
                Err(refuse(format!("{}: empty separator", self.method)))
            }
            Some(separator) if separator.unpack_str().is_none() && !separator.is_none() => {
                let given = type_name(*separator);
                Err(refuse(format!("{}: got {given} for separator, want string", self.method)))
            }
            _ => Ok(()),
        }
    }
}

/// Finds a substring in a range of bytes. A match begins at a character, so the range is narrowed to whole characters;
/// only the empty string is found anywhere.
fn find(text: &str, sub: &str, start: usize, end: usize) -> Option<usize> {
    if sub.is_empty() {
        return Some(start);
    }
    let (first, last) = char_range(text, start, end)?;
    text[first..last].find(sub).map(|at| first + at)
}

fn rfind(text: &str, sub: &str, start: usize, end: usize) -> Option<usize> {
    if sub.is_empty() {
        return Some(end);
    }
    let (first, last) = char_range(text, start, end)?;
    text[first..last].rfind(sub).map(|at| first + at)
}

/// Narrows a range of bytes to whole characters.
fn char_range(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let first = (start..=end).find(|at| text.is_char_boundary(*at))?;
    let last = (first..=end).rev().find(|at| text.is_char_boundary(*at))?;
    Some((first, last))
}

/// Returns a single upper case letter, as Tilt does: `ß` has none.
fn upper(letter: char) -> char {
    let mut upper = letter.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper,
        _ => letter,
    }
}

fn lower(letter: char) -> char {
    letter.to_lowercase().next().unwrap_or(letter)
}

/// Returns the title case; a few digraphs have one of their own.
fn title(letter: char) -> char {
    match letter {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        // Georgian title case is lower case.
        '\u{10d0}'..='\u{10ff}' => letter,
        _ => upper(letter),
    }
}

fn is_cased(letter: char) -> bool {
    letter.is_ascii_alphabetic() || upper(letter) != letter || lower(letter) != letter
}
