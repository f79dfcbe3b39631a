package risk

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"aibox/internal/sorting"
)

// The programs of command lines that run files of a folder, or that a pattern finds.
var (
	shells     = []string{"sh", "bash", "zsh", "dash", "ksh", "fish", "ruby", "perl", "php", "lua"}
	indexers   = []string{"node", "nodejs", "deno", "bun", "tsx", "ts-node"}                  // run the index of a folder
	loaders    = []string{"tsx", "ts-node"}                                                   // those of them that are modules, too
	loading    = []string{"--import", "--require", "-r", "--loader", "--experimental-loader"} // the options that name these
	pythonName = lazy(func() *regexp.Regexp { return regexp.MustCompile(`^python[0-9.]*w?$`) })
)

// Other starters: of a list of includes, and of Go programs.
const (
	include  = "include"
	goRun    = "go run"
	runParts = "run-parts"
)

// isStarter reports whether a program runs the file that its first argument names.
func isStarter(program string) bool {
	return slices.Contains(shells, program) || slices.Contains(indexers, program) || program == runParts || pythonName().MatchString(program)
}

var (
	loops = lazy(func() *regexp.Regexp {
		return regexp.MustCompile("(?:^|[;&|({\"'`]|\\b(?:do|then|else)\\b)\\s*for\\s+\\w+\\s+in\\s+([^;\\n]*)")
	})
	classes = lazy(func() *regexp.Regexp { return regexp.MustCompile(`\[[^\]\s]+\]`) })
)

// started visits the words of command lines that follow the name of a program which runs them, with the
// options between them left out, and the patterns of loops. module reports that Python runs the word as
// a module.
func (c Caller) started(visit func(starter, word string, follows, module bool) bool) {
	text := strings.NewReplacer("\\\r\n", " ", "\\\n", " ").Replace(string(c.commands()))
	for line := range strings.Lines(text) {
		if isComment([]byte(strings.TrimLeft(line, " \t"))) {
			continue
		}
		more := true
		for _, loop := range loops().FindAllStringSubmatch(line, -1) {
			split(classes().ReplaceAllString(loop[1], "?"), func(part string, follows bool) bool {
				more = more && (!isPattern(part) || visit("for", part, follows, false))
				return more
			})
		}
		for _, command := range commandsOf(line) {
			if more = more && c.startedBy(command, visit); !more {
				return
			}
		}
	}
}

// commandsOf are the commands of a line, and of its substitutions.
func commandsOf(line string) (commands []string) {
	for _, text := range substitutions(line) {
		commands = append(commands, strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";&|(", r) })...)
	}
	return commands
}

// substitutions are the texts in the substitutions of a line, and the line itself, each with a bracket in place of
// every substitution in it, so that a word after one follows it.
func substitutions(line string) (texts []string) {
	type open struct {
		begin, end byte
		depth      int // of brackets within
		text       []byte
	}
	opened := []open{{}}
	for i := 0; i < len(line); i++ {
		b, top := line[i], &opened[len(opened)-1]
		switch {
		case b == '$' && strings.HasPrefix(line[i+1:], "("):
			opened, i = append(opened, open{begin: '(', end: ')'}), i+1
		case b == '$' && strings.HasPrefix(line[i+1:], "{"):
			opened, i = append(opened, open{begin: '{', end: '}'}), i+1
		case b == '`' && top.end != '`':
			opened = append(opened, open{end: '`'})
		case b == top.end && top.depth == 0 && len(opened) > 1:
			texts, opened = append(texts, string(top.text)), opened[:len(opened)-1]
			top = &opened[len(opened)-1]
			top.text = append(top.text, ')')
		default:
			switch b {
			case top.begin:
				top.depth++
			case top.end:
				top.depth--
			}
			top.text = append(top.text, b)
		}
	}
	for _, rest := range opened {
		texts = append(texts, string(rest.text))
	}
	return texts
}

// startedBy visits the words of one command.
func (c Caller) startedBy(command string, visit func(starter, word string, follows, module bool) bool) (more bool) {
	starter, before, module := "", "", false
	more = true
	split(command, func(part string, follows bool) bool {
		program := strings.TrimSuffix(path.Base(part), ".exe")
		switch {
		case module:
			more, module, starter = visit(starter, part, follows, true), false, ""
		case part == "-m" && (pythonName().MatchString(starter) || before == "run"):
			module = true
		case part == "--test" || part == "--check": // of Node.js; other test runners do not count either
			starter = ""
		case slices.Contains(loaders, part) && slices.Contains(loading, before): // it runs nothing itself
		case strings.HasPrefix(part, "-"), part == "/": // as in "$dir/"*.sh
		case starter != "" && strings.ContainsAny(part, `/\`) && !isStarter(program):
			if more = visit(starter, part, follows, false); !isPattern(part) {
				starter = ""
			}
		case part == "run" && before == "go":
			starter = goRun
		case isStarter(program), (part == "source" || part == ".") && (before == "" || before == "do" || before == "then" || before == "else"):
			starter = program
		default:
			starter = ""
		}
		before = part
		return more
	})
	return more
}

// isPattern reports whether a shell or a program replaces a word by the names that match it. Lists in
// braces end a word.
func isPattern(word string) bool { return strings.ContainsAny(word, "*?") }

// place is a folder of which a caller runs files.
type place struct {
	starter string // include, goRun, or empty for all others
	dir     string
	pattern string // of names in dir
	top     bool   // dir starts from the folder of the caller; otherwise it can be the end of a path
}

// places are those that the command lines and lists of includes name.
func (c Caller) places(visit func(place) bool) {
	more := true
	each := func(starter, word string, follows, module bool) bool {
		if !module {
			p, ok := c.place(starter, word, follows)
			more = more && (!ok || visit(p))
		}
		return more
	}
	c.started(each)
	if c.rule.name != "gitlab-ci" {
		return
	}
	listed := false // the line is below include: at the top
	for line := range strings.Lines(string(c.Text)) {
		if strings.IndexByte(" \t-#\r\n", line[0]) < 0 {
			listed = strings.HasPrefix(line, include+":")
		}
		if !listed {
			continue
		}
		split(line, func(part string, follows bool) bool {
			ext := path.Ext(part)
			return (ext != ".yml" && ext != ".yaml" || !isPattern(part) || each(include, part, follows, false)) && more
		})
	}
}

// place is the one that a word after a starter names.
func (c Caller) place(starter, word string, follows bool) (p place, ok bool) {
	clean, ok := c.inside(word, follows)
	if !ok {
		return place{}, false
	}
	p = place{dir: clean}
	if starter == include || starter == goRun {
		p.starter = starter
	}
	switch at := strings.IndexAny(clean, "*?"); {
	case at >= 0:
		end := strings.LastIndexByte(clean[:at], '/')
		if end < 0 || strings.HasSuffix(word, "/") { // of folders
			return place{}, false
		}
		p.dir, p.pattern = clean[:end], deepStars.Replace(clean[end+1:])
		return p, true
	case starter == goRun, starter == runParts:
		p.pattern = "*"
	case slices.Contains(indexers, starter):
		p.pattern = "index.*"
	case pythonName().MatchString(starter):
		p.pattern = "__main__.py"
	default:
		return place{}, false
	}
	p.top = !strings.Contains(clean, "/")
	return p, true
}

// deepStars makes patterns whose ** is a part of a name, as in a/**.yml, cross folders.
var deepStars = strings.NewReplacer("**/", "**/", "**", "**/*")

// runs reports whether a file of the place is one that the caller may run.
func (p *place) runs(name string, executable bool) bool {
	switch ext := path.Ext(name); {
	case isScript(name, executable), p.starter == include:
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
	top   folder
	above []*folder
	ends  endings // of above
	steps int     // what the search may still cost
}

// folder is a folder with changed files in or below it.
type folder struct {
	inner map[string]*folder
	files []fileName // sorted
}

// fileName is the last part of a path. Files below maxPlaceDepth folders count as files of the last of these.
type fileName struct {
	name  string
	index int
}

// newFolders returns the folders above paths.
func newFolders(paths []string) *folders {
	f := &folders{steps: maxPlaceSteps}
	for i, name := range paths {
		at, start := &f.top, 0
		for depth := 0; depth < maxPlaceDepth; depth++ {
			n := strings.IndexByte(name[start:], '/')
			if n < 0 || start+n >= maxWord {
				break
			}
			inner := at.inner[name[start:start+n]]
			if inner == nil {
				inner = &folder{}
				if at.inner == nil {
					at.inner = map[string]*folder{}
				}
				at.inner[name[start:start+n]] = inner
				f.ends, f.above = append(f.ends, ending{name[:start+n], len(f.above)}), append(f.above, inner)
			}
			at, start = inner, start+n+1
		}
		at.files = append(at.files, fileName{path.Base(name), i})
	}
	for _, at := range append(f.above, &f.top) {
		sorting.Func(at.files, func(a, b *fileName) int { return strings.Compare(a.name, b.name) })
	}
	f.ends.sort()
	return f
}

// in visits the files of a place. It returns false if there were too many to compare.
func (f *folders) in(p place, dir string, visit func(index int)) bool {
	pattern := strings.Split(p.pattern, "/")
	if !p.top {
		f.ends.with(p.dir, func(i int) { f.find(f.above[i], pattern, visit) })
		return f.steps >= 0
	}
	f.find(f.top.inner[p.dir], pattern, visit)
	if dir != "" {
		at := &f.top
		for part := range strings.SplitSeq(path.Join(dir, p.dir), "/") {
			if at = at.inner[part]; at == nil {
				return f.steps >= 0
			}
		}
		f.find(at, pattern, visit)
	}
	return f.steps >= 0
}

// find visits the files below a folder that match the parts of a pattern.
func (f *folders) find(at *folder, pattern []string, visit func(index int)) {
	if at == nil || f.steps < 0 {
		return
	}
	f.steps -= 16
	part, rest := pattern[0], pattern[1:]
	switch {
	case part == "**":
		if len(rest) == 0 {
			rest = []string{"*"}
		}
		f.find(at, rest, visit)
		for _, inner := range at.inner {
			f.find(inner, pattern, visit)
		}
	case len(rest) > 0 && !isPattern(part):
		f.find(at.inner[part], rest, visit)
	case len(rest) > 0:
		for name, inner := range at.inner {
			if f.match(part, name) {
				f.find(inner, rest, visit)
			}
		}
	case !isPattern(part):
		from, _ := slices.BinarySearchFunc(at.files, part, func(a fileName, name string) int { return strings.Compare(a.name, name) })
		for _, file := range at.files[from:] {
			if f.steps -= 16; f.steps < 0 || file.name != part {
				return
			}
			visit(file.index)
		}
	default:
		for _, file := range at.files {
			if f.match(part, file.name) {
				visit(file.index)
			}
		}
	}
}

// match reports whether a name matches a part of a pattern.
func (f *folders) match(pattern, name string) bool {
	if f.steps < 0 {
		return false
	}
	f.steps -= 16 + len(name)*len(pattern)
	matched, err := path.Match(pattern, name)
	return err == nil && matched
}
