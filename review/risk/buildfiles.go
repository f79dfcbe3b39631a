package risk

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
)

// The values of keys in TOML that name files or modules, for a search without a parser: what else has
// these names is searched for, too.
var (
	cargoScript  = lazy(func() *regexp.Regexp { return regexp.MustCompile(`\bbuild["']?\s*=\s*["']+([^"'\n]+)`) })
	pythonScript = lazy(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:build|script|custom-hook)["']?\s*=\s*["']+([^"'\n]+)`)
	})
	hookPath    = lazy(func() *regexp.Regexp { return regexp.MustCompile(`\bpath["']?\s*=\s*["']+([^"'\n]+)`) })
	backendName = lazy(func() *regexp.Regexp { return regexp.MustCompile(`\bbuild-backend["']?\s*=\s*["']+([^"':\n]+)`) })
	backendPath = lazy(func() *regexp.Regexp { return regexp.MustCompile(`\bbackend-path["']?\s*=\s*\[([^\]]*)\]`) })
)

// cargoScripts are the build scripts that a Cargo.toml names.
func cargoScripts(content []byte) []byte { return valuesOf(cargoScript(), content) }

// valuesOf are the values that a pattern finds, a line each.
func valuesOf(pattern *regexp.Regexp, text []byte) []byte {
	var out bytes.Buffer
	for _, found := range pattern.FindAllSubmatch(text, -1) {
		out.Write(found[1])
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// maxBackends limits how many combinations of a folder and a backend are tried.
const maxBackends = 100

// pythonBackend are the files of the project that build a Python package: its own backend, and the
// scripts and hooks of others.
func pythonBackend(content []byte) []byte {
	var out []byte
	scripts, hooks := false, false // the table is one of a build, or of its hooks
	for part := range bytes.Lines(content) {
		if header := bytes.TrimSpace(part); len(header) > 0 && header[0] == '[' {
			hooks = bytes.Contains(header, []byte("hooks"))
			name, _, _ := bytes.Cut(bytes.TrimLeft(header, "["), []byte("]"))
			scripts = slices.Contains([]string{"tool.poetry", "tool.poetry.build", "tool.pdm.build"}, strings.ReplaceAll(string(name), " ", ""))
		}
		if scripts {
			out = append(out, valuesOf(pythonScript(), part)...)
		}
		if hooks || bytes.Contains(part, []byte("hooks")) {
			out = append(out, valuesOf(hookPath(), part)...)
		}
	}
	tried := 0
	for _, folders := range backendPath().FindAllSubmatch(content, -1) {
		for folder := range strings.FieldsFuncSeq(string(folders[1]), func(r rune) bool { return strings.ContainsRune("\"', \t\r\n", r) }) {
			for _, backend := range backendName().FindAllSubmatch(content, maxBackends) {
				if tried++; tried > maxBackends {
					return content // it names files as any text does
				}
				module := path.Join(folder, strings.ReplaceAll(string(backend[1]), ".", "/"))
				out = append(out, module+".py\n"+module+"/__init__.py\n"...)
			}
		}
	}
	return out
}
