package risk

import (
	"bytes"
	"path"
	"slices"
	"sort"
	"strings"

	"aibox/internal/gitignore"
)

// starters are words after which the name of a folder, or a pattern, means that files in it are run
// or read as commands. Other words, such as those of linters and filters, name what a program works on.
var starters = []string{
	"in", "source", ".", "sh", "bash", "zsh", "dash", "ksh", "fish", "node", "nodejs", "deno", "bun", "tsx", "ts-node", "ruby", "perl", "php", "lua",
	"run-parts", "require", "import", "from", "include", "local", goRun,
}

// goRun is the starter of Go programs.
const goRun = "go run"

// starts reports whether a word is a starter.
func starts(word string) bool {
	return slices.Contains(starters, word) || strings.HasPrefix(word, "python")
}

// started visits the words of the text that follow a starter on their line, with the options between
// them left out. module reports that Python runs the word as a module.
func (c Caller) started(visit func(starter, word string, follows, module bool) bool) {
	starter, ends := "", false
	for line := range bytes.Lines(c.Text) {
		if !ends {
			starter = ""
			if c.rule.name == "gitlab-ci" {
				starter = "include" // of a list
			}
		}
		ends = bytes.HasSuffix(bytes.TrimRight(line, "\r\n"), []byte(`\`))
		before, module, more := "", false, true
		split(string(line), func(part string, follows bool) bool {
			place := strings.ContainsAny(part, `/\`)
			switch loop := starter == "in"; {
			case module:
				more, module, starter = visit(starter, part, follows, true), false, ""
			case part == "-m" && (strings.HasPrefix(starter, "python") || before == "run"):
				module = true
			case strings.HasPrefix(part, "-"):
			case loop && part == "do":
				starter = ""
			case starts(starter) && place && !slices.Contains(starters, path.Base(part)) && !strings.HasPrefix(path.Base(part), "python"):
				more = visit(starter, part, follows, false)
				if !loop && !isPattern(part) {
					starter = ""
				}
			case loop: // such as a command whose output begins a name
			case part == "run" && before == "go":
				starter = goRun
			case part == "." && before != "" && before != "do" && before != "then" && before != "else":
				starter = "" // a folder
			default:
				starter = path.Base(part)
			}
			before = part
			return more
		})
		if !more {
			return
		}
	}
}

// isPattern reports whether a shell or a program replaces a word by the names that match it. Lists and
// classes end a word.
func isPattern(word string) bool { return strings.ContainsAny(word, "*?") }

// place is a folder of which a caller runs files.
type place struct {
	starter string
	dir     string
	pattern string // of names in dir; empty for all files directly in it
	top     bool   // dir starts from the folder of the caller; otherwise it can be the end of a path
}

// places are those that the text names.
func (c Caller) places(visit func(place) bool) {
	c.started(func(starter, word string, follows, module bool) bool {
		if module || len(word) > maxWord {
			return true
		}
		listed := c.rule.name == "gitlab-ci" && starter == "include"
		clean, ok := c.inside(word, follows)
		if !ok || listed && !strings.HasSuffix(clean, ".yml") && !strings.HasSuffix(clean, ".yaml") {
			return true
		}
		p := place{starter: starter, dir: clean}
		if at := strings.IndexAny(clean, "*?"); at >= 0 {
			end := strings.LastIndexByte(clean[:at], '/')
			if end < 0 {
				return true
			}
			p.dir, p.pattern = clean[:end], deepStars.Replace(clean[end+1:])
		} else if p.top = !strings.Contains(clean, "/"); listed {
			return true
		}
		return visit(p)
	})
}

// deepStars makes patterns whose ** is a part of a name, as in a/**.yml, cross folders.
var deepStars = strings.NewReplacer("**/", "**/", "**", "**/*")

// runs reports whether a file of the place is one that the caller may run.
func (p *place) runs(name string, executable bool) bool {
	switch ext := path.Ext(name); {
	case isScript(name, executable), p.starter == "include", p.starter == "local":
		return true
	case p.starter == goRun:
		return ext == ".go" || ext == ".s" || ext == ".c"
	default:
		return ext == ""
	}
}

const (
	maxWord       = 1024    // bytes of a name that is searched for
	maxPlaceDepth = 32      // folders above a file that a caller can name
	maxPlaceSteps = 1 << 27 // bytes that are compared, in all
)

// folders finds changed files by the folders above them.
type folders struct {
	paths  []string
	sorted []int    // indexes of paths, in their order
	above  []string // the folders
	ends   endings  // of above
	steps  int      // what the search may still cost
}

// newFolders returns the folders above paths.
func newFolders(paths []string) *folders {
	f := &folders{paths: paths, sorted: make([]int, len(paths)), steps: maxPlaceSteps}
	known := map[string]bool{}
	for i, name := range paths {
		f.sorted[i] = i
		depth := 0
		for at := 0; at < min(len(name), maxWord) && depth < maxPlaceDepth; at++ {
			if name[at] != '/' {
				continue
			}
			if depth++; !known[name[:at]] {
				known[name[:at]] = true
				f.ends, f.above = append(f.ends, ending{name[:at], len(f.above)}), append(f.above, name[:at])
			}
		}
	}
	sort.Slice(f.sorted, func(i, j int) bool { return paths[f.sorted[i]] < paths[f.sorted[j]] })
	f.ends.sort()
	return f
}

// in visits the files of a place. It returns false if there were too many to compare.
func (f *folders) in(p place, dir string, visit func(index int)) bool {
	match := func(name string) bool { return !strings.Contains(name, "/") }
	if p.pattern != "" {
		pattern, ok := gitignore.Parse("/"+p.pattern, "")
		if !ok {
			return true
		}
		match = func(name string) bool { return pattern.Match(name, false) }
	}
	each := func(folder string) {
		from := sort.Search(len(f.sorted), func(i int) bool { return f.paths[f.sorted[i]] >= folder+"/" })
		for _, i := range f.sorted[from:] {
			name, below := strings.CutPrefix(f.paths[i], folder+"/")
			if f.steps -= 16 + len(f.paths[i])*(1+len(p.pattern)); !below || f.steps < 0 {
				return
			}
			if match(name) {
				visit(i)
			}
		}
	}
	if p.top {
		each(p.dir)
		if dir != "" {
			each(path.Join(dir, p.dir))
		}
	} else {
		f.ends.with(p.dir, func(i int) { each(f.above[i]) })
	}
	return f.steps >= 0
}
