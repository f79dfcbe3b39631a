package risk

import (
	"fmt"
	"io"
	"strings"

	"aibox/review/risk/secrets"
)

// Reference writes all rules as Markdown: a section for each field, with a table.
func Reference(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Rules %s.\n", RulesVersion)
	for _, table := range tables {
		fmt.Fprintf(&b, "\n### %s\n\n| rule | files | what runs | when | by | severity |\n| --- | --- | --- | --- | --- | --- |\n", table.title)
		for i := range table.rules {
			table.rules[i].row(&b)
		}
		if table.title != anyFile {
			continue
		}
		for _, r := range extraRules {
			r.row(&b)
		}
	}
	fmt.Fprintf(&b, "\n### Secrets\n\nThe %d rules of gitleaks %s, by the names they have there:\n\n%s.\n", len(secrets.Names()), secrets.Version, code(secrets.Names()))
	_, err := io.WriteString(out, b.String())
	return err
}

// row writes one rule as a row of a table.
func (r *rule) row(b *strings.Builder) {
	files := code(r.files)
	if r.about != "" && files != "" {
		files += ": " + r.about
	} else if files == "" {
		files = r.about
	}
	title := "**" + r.name + "**<br>" + r.title
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", cell(title), cell(files), cell(r.runs), cell(r.when), cell(r.by), r.severity)
}

func code(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "`" + strings.Join(words, "` `") + "`"
}

// cell is text that is safe between the bars of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
