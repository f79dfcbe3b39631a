package custom

import (
	"fmt"
	"strings"
)

// Template returns a starting point for the file of an agent called name: every key with
// its description and an example, the optional ones as comments. It parses unchanged.
func Template(name string) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, `# An agent for aibox: how to run %s.
#   aibox agents check %s   tests it step by step
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

// opening returns the section's header, and the comment mark for a section without
// usual keys.
func (s section) opening() (line, mark string) {
	mark = "#: "
	for _, k := range keys {
		if k.table == s.name && k.need != optional && !s.array {
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

// write writes the key with its help and an example.
func (k key) write(out *strings.Builder, mark, name string) {
	if k.name != "" {
		comment(out, k.help)
	}
	if mark == "" && k.need == optional {
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
