//! Text in HTML pages that the server generates.

/// Escapes text for HTML, also within quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Names in braces are placeholders of the server's pages.
            '{' => out.push_str("&#123;"),
            other => out.push(other),
        }
    }
    out
}
