package custom

import (
	"fmt"
	"io"
	"strings"
)

// Reference writes every key and placeholder as Markdown, for the guide.
func Reference(w io.Writer) error {
	var out strings.Builder
	for _, s := range sections {
		title, _ := s.opening()
		if title == "" {
			title = "The top of the file"
		} else {
			title = "`" + title + "`"
		}
		fmt.Fprintf(&out, "### %s\n\n%s.\n\n", title, s.help)
		out.WriteString("| key | value | description |\n| --- | --- | --- |\n")
		for _, k := range keys {
			if k.table == s.name {
				k.row(&out)
			}
		}
		out.WriteString("\n")
	}
	out.WriteString("### Placeholders\n\n| placeholder | expands to | where |\n| --- | --- | --- |\n")
	for _, p := range placeholders {
		fmt.Fprintf(&out, "| `{%s}` | %s | %s |\n", p.name, cell(p.help), p.where())
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (k key) row(out *strings.Builder) {
	name, value := "`"+k.name+"`", kindNames[k.kind]
	if k.name == "" {
		name = "any name"
	}
	if k.need == required {
		name += " (required)"
	}
	fmt.Fprintf(out, "| %s | %s | %s |\n", name, value, cell(k.help))
}

// where lists the places in which a placeholder is allowed.
func (p placeholder) where() string {
	places := "commands"
	if p.inEnv {
		places += ", `[env]`"
	}
	if p.inFile {
		places += ", `[[file]]`"
	}
	return places
}

// cell escapes text for a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
