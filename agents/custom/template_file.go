package custom

import (
	"fmt"
	"strings"
)

// Template is a file to begin an agent called name with: every key with what it is
// for, those that most agents need with an example, the others behind a #. It
// parses unchanged.
func Template(name string) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, `# An agent for aibox: how %s is driven.
#   aibox agents check %s   tests it, step by step
#   aibox run %s            runs it
# Lines that start with "#:" are optional keys.
`, name, name, name)
	for _, s := range sections {
		out.WriteString("\n")
		open, mark := s.opening()
		comment(&out, s.help)
		if open != "" {
			fmt.Fprintf(&out, "%s%s\n", mark, open)
		}
		for _, k := range keys {
			if k.table == s.name {
				k.write(&out, mark, name)
			}
		}
	}
	return []byte(out.String())
}

// opening is the section's line, and what the lines of a section begin with that
// is there for its reader only.
func (s section) opening() (line, mark string) {
	mark = "#: "
	for _, k := range keys {
		if k.table == s.name && k.need != may && !s.array {
			mark = ""
		}
	}
	switch {
	case s.name == "":
		return "", ""
	case s.array:
		return "[[" + s.name + "]]", mark
	default:
		return "[" + s.name + "]", mark
	}
}

// write is the key with its help and an example.
func (k key) write(out *strings.Builder, mark, name string) {
	if k.name != "" {
		comment(out, k.help)
	}
	if mark == "" && k.need == may {
		mark = "#: "
	}
	example := strings.ReplaceAll(k.example, "my-bot", name)
	if k.name != "" {
		example = k.name + " = " + example
	}
	for l := range strings.Lines(example) {
		out.WriteString(mark + strings.TrimSuffix(l, "\n") + "\n")
	}
}

// comment writes a sentence in lines of at most 100 characters.
func comment(out *strings.Builder, sentence string) {
	const width = 100
	l := "#"
	for _, word := range strings.Fields(sentence + ".") {
		if len(l)+1+len(word) > width {
			out.WriteString(l + "\n")
			l = "#"
		}
		l += " " + word
	}
	out.WriteString(l + "\n")
}
