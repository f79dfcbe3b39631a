package risk

import (
	"hash/maphash"
	"iter"
	"path"
	"slices"
	"strings"

	"aibox/internal/gitname"
)

// Caller is a text that makes programs run: a hook, an install script, a workflow, a
// setting of the user's git.
type Caller struct {
	Name string // for display: a path, "core.hooksPath of your git settings"
	Dir  string // the folder that relative names in it start from; "" is the top
	Text []byte
	rule *rule

	at       *Roots // nil for a file of the repository
	isFolder bool   // Text is a folder; everything below it is run
	unread   bool   // Text is not known, so it may name any script
	tooMany  bool   // not all patterns of Text were compared, so it may name any script
}

// callers are the rules whose files run others without the user naming them.
var callers = []string{
	"git-hooks", "hook-manager", "direnv", "tool-versions", "vscode-tasks", "vscode-settings", "jetbrains", "vim-settings", "emacs-settings", "other-editors",
	"agent-settings", "mcp-servers", "dev-container", "github-actions", "forgejo-actions", "gitlab-ci", "ci-pipeline", "hosting",
	"npm-scripts", "composer", "npm-settings", "node-gyp", "cargo-build", "python-build",
}

// callerIndex is the index of those rules.
var callerIndex = lazy(func() *index {
	return newIndex(func(r *rule) bool { return slices.Contains(callers, r.name) })
})

// Calls reports whether files of this name can run others.
func Calls(name string) bool { return callerRule(name) != nil }

// CallsBelow reports whether files in a folder of this name can run others because of it.
func CallsBelow(folder string) bool {
	x := callerIndex()
	return slices.ContainsFunc(foldPath(folder), func(part string) bool { return x.inner[part] })
}

// CallsIfLong reports whether files of this name, longer than MaxCaller, can run others of the
// repository. Programs of package managers and lists of packages cannot, although Calls includes them.
func CallsIfLong(name string) bool {
	r := callerRule(name)
	return r != nil && (r.name != "npm-settings" || restricts(r, foldPath(name)))
}

// CallerKind is the rule by which files of this name can run others; empty if they cannot.
func CallerKind(name string) string {
	if r := callerRule(name); r != nil {
		return r.name
	}
	return ""
}

// Search calls Calls for many names. It is fast when names of one folder follow each
// other. It is not safe for concurrent use.
type Search struct {
	dir    string
	inside bool // files of dir may be callers by their folder
	plain  bool // dir is folded already
	known  bool // the above are of dir
}

// Calls reports the same as the function Calls.
func (s *Search) Calls(name string) bool {
	x := callerIndex()
	dir, base := "", name
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		dir, base = name[:i], name[i+1:]
	}
	if !s.known || dir != s.dir {
		s.dir, s.known, s.plain, s.inside = dir, true, gitname.Plain(dir), false
		for part := range strings.SplitSeq(dir, "/") {
			s.inside = s.inside || len(x.folders[part]) > 0
		}
	}
	if s.plain && !s.inside && gitname.Plain(base) && !x.perhaps(base) {
		return false
	}
	return Calls(name)
}

// perhaps reports whether a base name may match a rule.
func (x *index) perhaps(base string) bool {
	if base == "" || slices.Contains(x.exact[base[0]], base) {
		return true
	}
	for _, list := range [...][]glob{x.starts[base[0]], x.finals[path.Ext(base)], x.finals[""]} {
		for _, g := range list {
			if g.fits(base) {
				return true
			}
		}
	}
	return false
}

func callerRule(name string) *rule {
	parts := foldPath(name)
	if found := callerIndex().rules(parts); len(found) > 0 && !packed(parts) && namesRun(found[0], parts) {
		return found[0]
	}
	return nil
}

// namesRun reports whether a file of the rule with a folded path names files that run without the user
// starting them. Some name every source file of the project or what a debugger starts, or are programs
// themselves.
func namesRun(r *rule, parts []string) bool {
	switch name := parts[len(parts)-1]; r.name {
	case "cargo-build":
		return name == "cargo.toml"
	case "python-build":
		return name == "pyproject.toml" || name == "hatch.toml"
	case "jetbrains":
		return name == "watchertasks.xml" || name == "externaltools.xml"
	case "vim-settings":
		return name != ".vimspector.json" && name != ".projections.json"
	case "emacs-settings":
		return strings.HasPrefix(name, ".dir-locals") || strings.HasPrefix(parts[0], ".emacs")
	case "other-editors":
		editor := slices.ContainsFunc(parts, func(part string) bool {
			return part == ".zed" || part == ".helix" || part == ".nova" || part == ".kak" || part == ".externaltoolbuilders"
		})
		return name != "debug.json" && (editor || name == ".kakrc" || name == ".lsp.json" || strings.Contains(path.Ext(name), ".sublime-"))
	}
	return true
}

// packed reports whether a folded path is that of a package in an archive, or of an unpacked one,
// of which Yarn keeps hundreds beside its settings.
func packed(parts []string) bool {
	i := slices.Index(parts, ".yarn")
	return i >= 0 && i+2 < len(parts) && (parts[i+1] == "cache" || parts[i+1] == "unplugged")
}

// MaxCaller is the longest hook of the user and the longest changed file that are searched for names,
// in bytes. Longer files of the baseline are searched, too, if CallsIfLong.
const MaxCaller = 256 << 10

// CallerOf makes a Caller of a file; ok is false if files of its name are not callers.
func CallerOf(name string, content []byte) (c Caller, ok bool) {
	r := callerRule(name)
	if r == nil {
		return Caller{}, false
	}
	c = Caller{Name: name, Dir: path.Dir(name), Text: content, rule: r}
	switch r.name {
	case "npm-scripts":
		c.Text = installScripts(c.Text, npmLifecycle)
	case "composer":
		c.Text = installScripts(c.Text, composerLifecycle)
	case "cargo-build":
		c.Text = cargoScripts(c.Text)
	case "python-build":
		c.Text = pythonBackend(c.Text)
	}
	if c.Dir == "." || strings.HasPrefix(name, ".") {
		c.Dir = "" // folders such as .github and .husky name files from the top
	}
	return c, true
}

// Called finds the changed files that callers name. The result is keyed by the index into
// paths.
func Called(paths []string, executable func(i int) bool, all iter.Seq[Caller]) map[int]Risk {
	every := newEndings(paths, func(int) bool { return true })
	scripts := newEndings(paths, func(i int) bool { return isScript(paths[i], executable(i)) })
	below := lazy(func() *folders { return newFolders(paths) })
	found := map[int]Risk{}
	type attempt struct {
		place
		dir      string // that the place starts from
		severity Severity
	}
	tried, perhaps := map[attempt]bool{}, map[*rule]bool{}
	for c := range all {
		mark := func(word string) func(i int) {
			return func(i int) {
				if !worse(found, i, c.rule.severity) && c.means(word, paths[i], executable(i)) {
					found[i] = c.risk()
				}
			}
		}
		if c.unread {
			c.anyScript(paths, executable, found)
			continue
		}
		seen := map[string]bool{} // the words, and whether they were whole only
		for word, whole := range c.words() {
			if before, again := seen[word]; again && (whole || !before) {
				continue
			}
			seen[word] = whole
			every.whole(word, mark(word))
			if c.Dir != "" {
				every.whole(path.Join(c.Dir, word), mark(word))
			}
			if !whole && namesFile(word) {
				scripts.with(word, mark(word))
			}
		}
		c.folder(paths, found)
		for p := range c.places {
			this := attempt{place: p, severity: c.rule.severity}
			if p.top {
				this.dir = c.Dir
			}
			if tried[this] {
				continue
			}
			tried[this] = true
			enough := below().in(p, c.Dir, func(i int) {
				if p.runs(paths[i], executable(i)) && !worse(found, i, c.rule.severity) {
					found[i] = c.risk()
				}
			})
			if !enough {
				if !perhaps[c.rule] {
					perhaps[c.rule], c.tooMany = true, true
					c.anyScript(paths, executable, found)
				}
				break
			}
		}
	}
	return found
}

// anyScript marks every script as one that a caller may run.
func (c Caller) anyScript(paths []string, executable func(i int) bool, found map[int]Risk) {
	for i, name := range paths {
		if isScript(name, executable(i)) && !worse(found, i, c.rule.severity) {
			found[i] = c.risk()
		}
	}
}

// Words is a set of hashes of the names in callers' texts, to rule out quickly that a
// file is named.
type Words struct {
	seed    maphash.Seed
	bases   map[uint64]struct{}
	folders []string            // ends with a slash: everything below is run
	places  map[uint64]struct{} // folders of which files are run, by their last part
	all     bool                // there were too many
}

// maxWords bounds Words.
const maxWords = 500_000

// WordsOf returns the names in the texts of callers.
func WordsOf(callers iter.Seq[Caller]) *Words {
	w := &Words{seed: maphash.MakeSeed(), bases: map[uint64]struct{}{}, places: map[uint64]struct{}{}}
	for c := range callers {
		w.all = w.all || c.unread
		for word := range c.words() {
			if len(w.bases) >= maxWords {
				w.all = true
				break
			}
			w.bases[maphash.String(w.seed, path.Base(word))] = struct{}{}
		}
		for p := range c.places {
			if len(w.places) >= maxWords {
				w.all = true
				break
			}
			w.places[maphash.String(w.seed, path.Base(p.dir))] = struct{}{}
		}
		if dir, ok := c.dir(); ok {
			w.folders = append(w.folders, dir+"/")
		}
	}
	return w
}

// MayName reports whether Called could find the file; false is certain.
func (w *Words) MayName(name string) bool {
	if w.all {
		return true
	}
	base := path.Base(name)
	_, whole := w.bases[maphash.String(w.seed, base)]
	_, short := w.bases[maphash.String(w.seed, strings.TrimSuffix(base, path.Ext(base)))]
	return whole || short || w.below(name) || slices.ContainsFunc(w.folders, func(dir string) bool { return strings.HasPrefix(name, dir) })
}

// below reports whether a folder above the file can be one of which files are run.
func (w *Words) below(name string) bool {
	for depth := 0; len(w.places) > 0 && depth < maxPlaceDepth; depth++ {
		part, rest, ok := strings.Cut(name, "/")
		if !ok {
			break
		}
		if _, there := w.places[maphash.String(w.seed, part)]; there {
			return true
		}
		name = rest
	}
	return false
}

// worse reports whether a risk of at least this severity is already found.
func worse(found map[int]Risk, i int, severity Severity) bool {
	known, ok := found[i]
	return ok && known.Severity <= severity
}

// risk returns the risk of a file that the caller runs.
func (c Caller) risk() Risk {
	risk := calledFile.at(0, "named in "+c.Name)
	if c.unread {
		risk.Found = excerpt("perhaps named in " + c.Name + ", which was not searched")
	}
	if c.tooMany {
		risk.Found = excerpt("perhaps named in " + c.Name + ", which has too many patterns to compare")
	}
	risk.Runs, risk.When, risk.By, risk.Severity = "the file itself", c.rule.when, c.rule.by, c.rule.severity
	if c.rule.severity == High && slices.Contains([]string{"github-actions", "forgejo-actions", "gitlab-ci", "ci-pipeline", "hosting"}, c.rule.name) {
		risk.Severity = Medium
	}
	return risk
}

// folder marks all files below a folder that a setting of git names.
func (c Caller) folder(paths []string, found map[int]Risk) {
	dir, ok := c.dir()
	if !ok {
		return
	}
	for i, name := range paths {
		if strings.HasPrefix(name, dir+"/") && !worse(found, i, High) {
			found[i] = c.risk()
		}
	}
}

// dir is the folder that a setting of git names.
func (c Caller) dir() (dir string, ok bool) {
	if !c.isFolder {
		return "", false
	}
	dir = path.Clean(strings.TrimSpace(string(c.Text)))
	if absolute(dir) {
		if dir, ok = c.at.relative(dir); !ok {
			return "", false
		}
	} else if c.Dir != "" {
		dir = path.Join(c.Dir, dir)
	}
	return dir, dir != "." && !strings.HasPrefix(dir, "..")
}

// scripts are the extensions of files that are started by name.
var scripts = []string{".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".pl", ".ps1", ".php", ".lua", ".cmd", ".bat", ".fish", ".awk", ".groovy", ".exs", ".r", ".jl"}

// IsScript reports whether files of this name are started by name, even if they are not executable.
func IsScript(name string) bool { return isScript(name, false) }

func isScript(name string, executable bool) bool {
	return executable || slices.Contains(scripts, strings.ToLower(path.Ext(name)))
}

// namesFile reports whether a word is more than a plain word, so that it can be the end of a
// path.
func namesFile(word string) bool { return strings.Contains(word, "/") || path.Ext(word) != "" }

// means reports whether a word of the caller can refer to the file name.
func (c Caller) means(word, name string, executable bool) bool {
	script := isScript(name, executable)
	short := strings.TrimSuffix(name, path.Ext(name))
	for _, file := range []string{name, short} {
		if file == "" || file == short && !script && (file != name || !strings.Contains(word, "/")) {
			continue
		}
		if file == word || c.Dir != "" && file == path.Join(c.Dir, word) {
			return file == name || strings.Contains(word, "/") // a bare word is rarely a file without its extension
		}
		if strings.HasSuffix(file, "/"+word) && script && namesFile(word) {
			return true
		}
	}
	return false
}

// splits reports whether a byte separates names.
func splits(c byte) bool { return c <= ' ' || strings.IndexByte("\"'`;|&<>(),=[]{}:$!", c) >= 0 }

// split visits the parts of a text that separators divide. follows reports that a part continues
// a variable or the output of a command, as in $dir/a, ${dir}/a and "$(pwd)"/a.
func split(text string, visit func(part string, follows bool) bool) {
	follows := false
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '$':
			for i++; i < len(text) && (text[i] == '_' || isASCIILetter(text[i]) || text[i] >= '0' && text[i] <= '9'); i++ {
			}
			follows = true
			continue
		case c == ')' || c == '}':
			follows = true
		case c == '"' || c == '\'' || c == '`':
		case splits(c):
			follows = false
		default:
			start := i
			for i < len(text) && !splits(text[i]) {
				i++
			}
			if !visit(text[start:i], follows) {
				return
			}
			follows = false
			continue
		}
		i++
	}
}

// words returns the parts of the text that can be names of files, without leading dots and
// variables; it also tries those with dots as names of Python modules, and those after python -m as
// names of modules and packages. whole reports that a word is no end of a longer path.
func (c Caller) words() iter.Seq2[string, bool] {
	return func(yield func(word string, whole bool) bool) {
		more := true
		each := func(word string, whole bool) { more = more && yield(word, whole) }
		split(string(c.Text), func(word string, follows bool) bool {
			word, ok := c.inside(word, follows)
			if !ok {
				return true
			}
			each(word, false)
			if module := strings.ReplaceAll(word, ".", "/"); module != word && !strings.Contains(word, "/") {
				each(module+".py", isInstalled(word))
			}
			return more
		})
		c.started(func(_, word string, _, module bool) bool {
			if !module || len(word) > maxWord {
				return more
			}
			folder, whole := "", isInstalled(word)
			for part := range strings.SplitSeq(word, ".") {
				folder = path.Join(folder, part)
				each(folder+"/__init__.py", whole)
			}
			each(folder+".py", whole)
			each(folder+"/__main__.py", whole)
			return more
		})
	}
}

// installed are the packages of Python whose modules are started by name, as in python -m http.server.
var installed = []string{"http", "json", "pip", "unittest", "wsgiref", "xmlrpc"}

// isInstalled reports whether a module of Python is most likely not one of the repository, as build or
// http.server, except by a file in the folder where Python starts.
func isInstalled(module string) bool {
	first, _, dotted := strings.Cut(module, ".")
	return !dotted || slices.Contains(installed, first)
}

// inside is a word of the text as a name in the repository; ok is false if it can be none.
func (c Caller) inside(word string, follows bool) (_ string, ok bool) {
	if len(word) > maxWord {
		return "", false
	}
	word = path.Clean(strings.ReplaceAll(word, `\`, "/"))
	if c.at != nil && !follows && absolute(word) {
		inside, ok := c.at.relative(word)
		if !ok && c.rule == &gitSetting {
			return "", false
		}
		if ok {
			word = inside
		}
	}
	word = strings.Trim(word, "/")
	for strings.HasPrefix(word, "../") {
		word = word[3:]
	}
	if variable, rest, ok := strings.Cut(word, "/"); ok && variable == strings.ToUpper(variable) && strings.Contains(variable, "_") {
		word = rest
	}
	return word, word != "" && word != "."
}
