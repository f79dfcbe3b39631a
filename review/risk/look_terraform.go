package risk

import (
	"regexp"
	"strings"
)

// terraformLine matches lines that make Terraform run a program or load code. Labels and keys may
// have escapes, and a comment may go on in the next line.
var terraformLine = lazy(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|\*/|\{)\s*((data|ephemeral)\s*"?external"?[\s"{]|(data|ephemeral)\s*"[^"]*\\[uU]|provisioner[\s"{])` +
		`|\*/\s*"?external"?[\s"{]` +
		`|(^|\*/|[{,])[\s("]*source[\s)"]*([=:]|/\*)` +
		`|"(external|provisioner|source)"\s*:` +
		`|"[^"]*\\[uU][^"]*"[\s)]*[=:]`)
})

func terraform(r *rule, f *File) []Risk {
	if f.link() {
		return r.one(0, "")
	}
	return firstLine(r, f, func(text string) bool { // a string may have the marks of a comment
		return terraformLine().MatchString(text) ||
			strings.Contains(text, "/*") && terraformLine().MatchString(blockComment().ReplaceAllString(text, " "))
	})
}
