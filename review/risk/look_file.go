package risk

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// andMore adds the number of further findings to a risk.
func andMore(found []Risk, more int) []Risk {
	if more > 0 && len(found) > 0 {
		found[0].Found = fmt.Sprintf("%s (and %d more)", found[0].Found, more)
	}
	return found
}

func newlyExecutable(r *rule, f *File) []Risk {
	if f.New.Mode != executable || f.Old.Mode == executable {
		return nil
	}
	risk := r.at(0, "")
	if rest, ok := bytes.CutPrefix(f.Text(), []byte("#!")); ok {
		first, _, _ := bytes.Cut(rest, []byte("\n"))
		risk.Found, risk.By = excerpt("#!"+string(first)), "the interpreter it names"
	}
	return []Risk{risk}
}

// magics are the first bytes of programs.
var magics = []struct{ bytes, name string }{
	{"\x7fELF", "ELF"},
	{"MZ", "PE or DOS"},
	{"\xfe\xed\xfa\xce", "Mach-O"},
	{"\xfe\xed\xfa\xcf", "Mach-O"},
	{"\xce\xfa\xed\xfe", "Mach-O"},
	{"\xcf\xfa\xed\xfe", "Mach-O"},
	{"\xca\xfe\xba\xbe", "Mach-O or Java"},
	{"\xca\xfe\xba\xbf", "Mach-O"},
	{"\x00asm", "WebAssembly"},
	{"BC\xc0\xde", "LLVM"},
	{"dex\n", "Dalvik"},
	{"\x1bLua", "Lua"},
	{"\x1bLJ", "LuaJIT"},
	{"!<arch>\n", "a library or a Debian package"},
	{"\xed\xab\xee\xdb", "an RPM package"},
	{"hsqs", "SquashFS"},
}

// packages are the extensions of archives that contain programs.
var packages = []string{
	".jar", ".war", ".ear", ".aar", ".apk", ".aab", ".whl", ".egg", ".vsix", ".xpi", ".crx", ".nupkg", ".gem", ".phar", ".pyc", ".pyo", ".pyz", ".pyd", ".so", ".dll", ".dylib", ".node", ".exe", ".com", ".scr", ".msi", ".msix", ".appx", ".deb", ".rpm", ".appimage", ".snap", ".flatpak", ".dmg", ".pkg", ".class", ".wasm", ".beam", ".swf", ".mexa64", ".xll", ".docm", ".xlsm", ".pptm", ".dotm", ".lnk", ".scpt", ".hta", ".cpl", ".ocx", ".sys", ".ko", ".bpf.o", ".o", ".a", ".lib", ".obj",
}

func program(r *rule, f *File) []Risk {
	if f.link() {
		return nil
	}
	content := f.New.Content
	for _, magic := range magics {
		if bytes.HasPrefix(content, []byte(magic.bytes)) && (magic.bytes != "MZ" || f.Binary) {
			return r.one(0, magic.name)
		}
	}
	if len(content) > 16 && content[2] == '\r' && content[3] == '\n' && f.Binary {
		return r.one(0, "Python bytecode")
	}
	name := strings.ToLower(f.Path)
	for _, end := range packages {
		if strings.HasSuffix(name, end) && (f.Binary || f.New.Cut) {
			return r.one(0, end)
		}
	}
	return nil
}

func linkOutside(r *rule, f *File) []Risk {
	if !f.link() {
		return nil
	}
	target := string(f.New.Content)
	if inside(f.Path, target) {
		return nil
	}
	return r.one(0, "→ "+target)
}

// inside reports whether a symlink at from with this target stays in the tree, whatever
// other symlinks exist. It accepts ".." only at the start, since folder/.. is elsewhere if
// folder is a symlink.
func inside(from, target string) bool {
	if target == "" || strings.ContainsAny(target, "\\\x00") || strings.HasPrefix(target, "/") || len(target) > 1 && target[1] == ':' {
		return false
	}
	deep := strings.Count(from, "/")
	leading := true
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "..":
			if deep--; !leading || deep < 0 {
				return false
			}
		case "", ".":
		default:
			leading = false
		}
	}
	return true
}

func linkIntoGit(r *rule, f *File) []Risk {
	if !f.link() {
		return nil
	}
	for _, part := range foldPath(string(f.New.Content)) {
		if part == ".git" || strings.HasPrefix(part, "git~") {
			return r.one(0, "→ "+string(f.New.Content))
		}
	}
	return nil
}

// textNames are suffixes of files that are read as text.
var textNames = []string{
	".go", ".c", ".h", ".cc", ".cpp", ".hpp", ".rs", ".py", ".pyi", ".rb", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".tsx", ".java", ".kt", ".kts", ".scala", ".cs", ".fs", ".vb", ".swift", ".m", ".php", ".pl", ".pm", ".lua", ".r", ".jl", ".ex", ".exs", ".erl", ".hs", ".ml", ".clj", ".lisp", ".el", ".vim", ".sh", ".bash", ".zsh", ".fish", ".ps1", ".bat", ".cmd",
	".json", ".json5", ".jsonc", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".xml", ".html", ".htm", ".css", ".scss", ".sql", ".md", ".rst", ".txt", ".tf", ".nix", ".zig", ".nim", ".dart", ".vue", ".svelte", ".gradle", ".cmake", ".mk", ".env", ".lock", ".csv", ".tex", ".proto", ".graphql", ".awk", ".sed", ".service", ".properties",
}

func hiddenDiff(r *rule, f *File) []Risk {
	if !f.Binary || f.link() {
		return nil
	}
	name := strings.ToLower(path.Base(f.Path))
	named := len(byNameOnly(name)) > 0
	for _, end := range textNames {
		named = named || strings.HasSuffix(name, end)
	}
	if !named && !bytes.HasPrefix(f.New.Content, []byte("#!")) {
		return nil
	}
	return r.one(0, "")
}

// byNameOnly has names without an extension that are text, for hiddenDiff.
func byNameOnly(name string) []string {
	for _, known := range []string{"makefile", "dockerfile", "gemfile", "rakefile", "justfile", "procfile", "vagrantfile", "jenkinsfile", ".envrc", ".bashrc", ".gitattributes"} {
		if name == known {
			return []string{known}
		}
	}
	return nil
}

func large(r *rule, f *File) []Risk {
	if f.Size <= MaxContent {
		return nil
	}
	return r.one(0, fmt.Sprintf("%.1f MiB", float64(f.Size)/(1<<20)))
}

func optionName(r *rule, f *File) []Risk {
	if !strings.HasPrefix(f.Path, "-") && !strings.Contains(f.Path, "/-") {
		return nil
	}
	return r.one(0, "")
}

// shortName matches the short names that Windows makes for old programs.
var shortName = lazy(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|/)[^./~]{1,7}~[0-9]{1,2}(\.[^./]{0,3})?(/|$)`)
})

func oddName(r *rule, f *File) []Risk {
	for _, c := range f.Path {
		if unicode.IsControl(c) || kindOf(c) != shown || c == unicode.ReplacementChar {
			return r.one(0, f.Path)
		}
	}
	if strings.Contains(f.Path, "~") && shortName().MatchString(f.Path) {
		return r.one(0, "Windows may take it for another file's name")
	}
	return nil
}
