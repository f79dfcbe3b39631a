// Package markdown quotes untrusted text in Markdown so that no renderer takes it for
// markup (CommonMark 0.31).
package markdown

import (
	"strings"
)

// Block returns text as a fenced code block (4.5). kind is its language and may be empty.
// The fence is longer than any run of backticks in text. Bytes that are not UTF-8 are
// replaced.
func Block(kind, text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
	fence := strings.Repeat("`", max(3, longestRun(text)+1))
	return fence + kind + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence + "\n"
}

// Span returns line, which has no line breaks, as a code span (6.1). The spaces inside
// separate the delimiters from backticks and spaces at the ends of line.
func Span(line string) string {
	if line == "" {
		line = " "
	}
	fence := strings.Repeat("`", longestRun(line)+1)
	if strings.HasPrefix(line, "`") || strings.HasSuffix(line, "`") || strings.HasPrefix(line, " ") && strings.HasSuffix(line, " ") {
		line = " " + line + " "
	}
	return fence + line + fence
}

// longestRun returns the length of the longest run of backticks in text.
func longestRun(text string) int {
	longest := 0
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '`' }) {
		longest = max(longest, len(run))
	}
	return longest
}
