package risk

import "regexp"

// terraformLine matches lines that make Terraform run a program or load code.
var terraformLine = lazy(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|\*/|\{)\s*((data|ephemeral)\s+"?external"?[\s{]|provisioner[\s"{]|source\s*=)|"(external|provisioner|source)"\s*:`)
})

func terraform(r *rule, f *File) []Risk {
	if f.link() {
		return r.one(0, "")
	}
	return firstLine(r, f, terraformLine().MatchString)
}
