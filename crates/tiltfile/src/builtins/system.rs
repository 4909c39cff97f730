//! `shlex`. The values of `sys` are created with those of the other modules.

use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::Value;

use crate::arguments::Function;

#[starlark_module]
pub(super) fn shlex_functions(builder: &mut GlobalsBuilder) {
    /// The text as one word of a shell line, quoted where that is needed.
    fn quote<'v>(name: Value<'v>) -> starlark::Result<String> {
        Ok(quoted(&Function("shlex.quote").argument("name", name).string()?))
    }
}

fn quoted(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\"'\"'"))
}
