package risk

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"sync"

	"aibox/internal/sorting"
	"aibox/internal/termtext"
	"aibox/review/risk/secrets"
)

// rule describes the effect of files with certain names or content.
type rule struct {
	name     string
	title    string // the kind of file
	runs     string
	when     string
	by       string
	severity Severity

	// files are patterns of names, in lower case: "name" at any depth, "/path" from the
	// top, "folder/name" a path's end, "folder/**" everything below; * matches any
	// characters of the last name. Without patterns it applies to every file.
	files []string
	// about describes the rule's files in words when there are no patterns.
	about string
	// look judges the change; nil means that every change of such a file is a risk.
	look func(r *rule, f *File) []Risk
}

// risk is the rule's risk with nothing found yet.
func (r *rule) risk() Risk {
	return Risk{Rule: r.name, Title: r.title, Runs: r.runs, When: r.when, By: r.by, Severity: r.severity}
}

// at is the rule's risk for something found in a line; found is raw.
func (r *rule) at(number int, found string) Risk {
	risk := r.risk()
	risk.Line, risk.Found = number, excerpt(found)
	return risk
}

// one is a list of one risk.
func (r *rule) one(number int, found string) []Risk { return []Risk{r.at(number, found)} }

// judge applies the rule to a file whose name fits.
func (r *rule) judge(f *File) []Risk {
	if r.look != nil {
		return r.look(r, f)
	}
	return r.one(f.first(), "")
}

// maxExcerpt is how many characters of a file a risk repeats.
const maxExcerpt = 80

// excerpt is text as one safe, short line.
func excerpt(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 4*maxExcerpt {
		text = text[:4*maxExcerpt]
	}
	text = termtext.Escape(text)
	if runes := []rune(text); len(runes) > maxExcerpt {
		text = string(runes[:maxExcerpt-1]) + "…"
	}
	return text
}

// tables are all rules about named files, in the order of the documentation.
var tables = []struct {
	title string
	rules []rule
}{
	{"Git", gitRules},
	{"Coding agents", agentRules},
	{"Editors", editorRules},
	{"Shells and environments", shellRules},
	{"Continuous integration and hosting", ciRules},
	{"Build tools", buildRules},
	{"JavaScript", scriptRules},
	{"Python", pythonRules},
	{"Other languages", languageRules},
	{"Dependencies", lockRules},
	{anyFile, fileRules},
}

// anyFile is the table that also holds extraRules.
const anyFile = "Any file"

// index finds the rules for a name without trying each.
type index struct {
	names   map[string][]*rule // by the last part
	ends    map[string][]end   // by the last part: more parts before it
	folders map[string][]end   // by the first part of "folder/**"
	starts  [256][]glob        // with a prefix, by its first byte
	finals  map[string][]glob  // without one, by the end of the suffix from its last dot
	inner   map[string]bool    // folders of patterns, each part of them
	every   []*rule
	exact   [256][]string // the keys of names, ends and folders, by their first byte
}

// end is a rule for paths with these parts.
type end struct {
	parts []string
	top   bool // from the top only
	rule  *rule
}

// glob is a rule for last parts with a prefix and a suffix.
type glob struct {
	prefix, suffix string
	before         end // parts before it, perhaps none
}

// fits reports whether a name has the prefix and the suffix without overlap.
func (g glob) fits(name string) bool {
	if strings.Contains(g.suffix, "*") {
		ok, err := path.Match(g.prefix+"*"+g.suffix, name)
		return ok && err == nil
	}
	return len(name) >= len(g.prefix)+len(g.suffix) && strings.HasPrefix(name, g.prefix) && strings.HasSuffix(name, g.suffix)
}

// lazy computes a value once, at its first use.
func lazy[T any](make func() T) func() T { return sync.OnceValue(make) }

// byName is the index of all rules.
var byName = lazy(func() *index { return newIndex(func(*rule) bool { return true }) })

// newIndex is the index of the rules that are wanted.
func newIndex(want func(*rule) bool) *index {
	x := &index{
		names: map[string][]*rule{}, ends: map[string][]end{}, folders: map[string][]end{}, inner: map[string]bool{},
		finals: map[string][]glob{},
	}
	for _, table := range tables {
		for i := range table.rules {
			r := &table.rules[i]
			if !want(r) {
				continue
			}
			if len(r.files) == 0 {
				x.every = append(x.every, r)
			}
			for _, pattern := range r.files {
				x.add(pattern, r)
			}
		}
	}
	return x
}

func (x *index) add(pattern string, r *rule) {
	if before, behind, ok := strings.Cut(pattern, ".y*ml"); ok { // quicker than two stars
		x.add(before+".yml"+behind, r)
		x.add(before+".yaml"+behind, r)
		return
	}
	trimmed, top := strings.CutPrefix(pattern, "/")
	parts := strings.Split(trimmed, "/")
	last := parts[len(parts)-1]
	e := end{parts: parts[:len(parts)-1], top: top, rule: r}
	for _, part := range e.parts {
		x.inner[part] = true
	}
	switch prefix, suffix, star := strings.Cut(last, "*"); {
	case last == "**":
		x.folders[parts[0]] = append(x.folders[parts[0]], e)
		x.addExact(parts[0])
	case star && prefix != "":
		x.starts[prefix[0]] = append(x.starts[prefix[0]], glob{prefix, suffix, e})
	case star:
		end := path.Ext(suffix)
		if strings.Contains(end, "*") {
			end = ""
		}
		x.finals[end] = append(x.finals[end], glob{prefix, suffix, e})
	case len(parts) == 1 && !top:
		x.names[last] = append(x.names[last], r)
		x.addExact(last)
	default:
		x.ends[last] = append(x.ends[last], e)
		x.addExact(last)
	}
}

// addExact adds a key of names, ends or folders to exact.
func (x *index) addExact(name string) {
	if same := &x.exact[name[0]]; !slices.Contains(*same, name) {
		*same = append(*same, name)
	}
}

// rules are the rules whose patterns fit a folded path, each once.
func (x *index) rules(parts []string) []*rule {
	if len(parts) == 0 {
		return nil
	}
	last := parts[len(parts)-1]
	found := slices.Clone(x.names[last])
	take := func(e end, fits bool) {
		if fits && !slices.Contains(found, e.rule) {
			found = append(found, e.rule)
		}
	}
	for _, e := range x.ends[last] {
		take(e, e.before(parts[:len(parts)-1]))
	}
	for i, part := range parts { // the last one, too: it may be a symlink to the folder
		for _, e := range x.folders[part] {
			fits := len(parts) >= i+len(e.parts) && slices.Equal(parts[i:i+len(e.parts)], e.parts) && (!e.top || i == 0)
			take(e, fits)
		}
	}
	if last == "" {
		return found
	}
	for _, list := range [][]glob{x.starts[last[0]], x.finals[path.Ext(last)], x.finals[""]} {
		for _, g := range list {
			if g.fits(last) {
				take(g.before, g.before.before(parts[:len(parts)-1]))
			}
		}
	}
	return found
}

// before reports whether the folders of a path end with the parts of e.
func (e end) before(folders []string) bool {
	if len(folders) < len(e.parts) || e.top && len(folders) != len(e.parts) {
		return false
	}
	return slices.Equal(folders[len(folders)-len(e.parts):], e.parts)
}

// Judge applies every rule to one changed file and returns the risks, most severe first.
func Judge(f *File) []Risk {
	x := byName()
	var found []Risk
	if f.gone() {
		found = lost(x, f.Path)
	} else {
		found = x.judge(f)
		found = append(found, inOldPlace(x, f, found)...)
	}
	if f.OldPath != "" {
		found = append(found, lost(x, f.OldPath)...)
	}
	found = append(found, throughLinks(x, f, found)...)
	converts := conversions(f)
	f.withhold(converts)
	found = append(found, converts...)
	if f.Covers {
		found = append(found, hiddenFile.one(0, "")...)
	}
	sorting.StableFunc(found, func(a, b *Risk) int { return int(a.Severity) - int(b.Severity) })
	return found
}

// inOldPlace returns the risks of a renamed file's other changes by rules that found nothing, which
// here lists, under its new name: accepted without the rename, they change the file of the old name.
func inOldPlace(x *index, f *File, here []Risk) []Risk {
	if !f.changesOldPlace() {
		return nil
	}
	old := f.at(f.OldPath)
	if old.searched = secrets.SameRules(f.OldPath, f.Path); old.searched {
		old.hidden = f.hidden
	}
	return others(x.judge(old), here, "without the rename, in "+excerpt(f.OldPath))
}

// changesOldPlace reports whether a renamed file changed in another way, too.
func (f *File) changesOldPlace() bool {
	return f.OldPath != "" && (f.Old.Mode != f.New.Mode || f.Old.Cut || f.New.Cut || !bytes.Equal(f.Old.Content, f.New.Content))
}

// at is the file under another name, not renamed.
func (f *File) at(name string) *File {
	return &File{Path: name, Old: f.Old, New: f.New, Size: f.Size, Binary: f.Binary, Effort: f.Effort}
}

// others are the risks by rules that found nothing, which here lists, with how they were found.
func others(there, here []Risk, how string) []Risk {
	there = slices.DeleteFunc(there, func(r Risk) bool {
		return slices.ContainsFunc(here, func(known Risk) bool { return known.Rule == r.Rule })
	})
	for i := range there {
		found := how
		if there[i].Found != "" {
			found += ": " + there[i].Found
		}
		there[i].Found = found
	}
	return there
}

// throughLinks returns the risks of a file under the names by which symlinks lead to it, by rules that
// found nothing.
func throughLinks(x *index, f *File, here []Risk) []Risk {
	var found []Risk
	add := func(there []Risk, name string) {
		there = others(there, slices.Concat(here, found), "through the symlink "+excerpt(name))
		found = append(found, there...)
	}
	for _, name := range f.Aliases {
		switch {
		case f.gone():
			add(lost(x, name), name)
		case f.OldPath != "": // new there
			whole := f.asNew()
			whole.Path = name
			add(x.judgeName(whole), name)
		default:
			add(x.judgeName(f.at(name)), name)
		}
	}
	for _, name := range f.OldAliases {
		add(lost(x, name), name)
		if !f.gone() && f.changesOldPlace() {
			add(x.judgeName(f.at(name)), name)
		}
	}
	return found
}

// judgeName applies the rules that fit the name of a file. Those for every file know it by another
// name. Packages of a workspace are linked from the folder of installed ones, and reviewed like others.
func (x *index) judgeName(f *File) []Risk {
	var found []Risk
	for _, r := range x.rules(foldPath(f.Path)) {
		if r.name != "installed-packages" {
			found = append(found, r.judge(f)...)
		}
	}
	if parts := foldPath(f.Path); f.link() && len(parts) > 0 && x.inner[parts[len(parts)-1]] {
		found = append(found, linkForFolder.at(0, "→ "+string(f.New.Content)))
	}
	if len(found) > 0 { // the risks may repeat a secret
		f.secrets()
		f.withhold(found)
	}
	return found
}

// gains reports whether the lines of a file get an effect by a move between two folded paths that the
// rule fits: nearer to the top, they apply to more, and of some files the name says what they are.
func (r *rule) gains(old, now []string) bool {
	switch r.name {
	case "npm-scripts", "composer", "go-build", "lock-elsewhere":
		return len(now) < len(old) || now[len(now)-1] != old[len(old)-1]
	case "terraform": // all files of a folder are one module
		return len(now) < len(old)
	}
	return false
}

// judge applies the rules to an existing file.
func (x *index) judge(f *File) []Risk {
	var found []Risk
	parts := foldPath(f.Path)
	named := x.rules(parts)
	var old []string // the old path of a renamed file
	var before []*rule
	if f.OldPath != "" {
		old = foldPath(f.OldPath)
		before = x.rules(old)
	}
	var whole *File // f as a new file, if only its new name or folder gives lines of it an effect
	for _, r := range named {
		if f.OldPath != "" && r.look != nil && (!slices.Contains(before, r) || r.gains(old, parts) || isAttributes(f.Path)) {
			if whole == nil {
				whole = f.asNew()
			}
			found = append(found, r.judge(whole)...)
			continue
		}
		found = append(found, r.judge(f)...)
	}
	if f.link() && len(parts) > 0 && x.inner[parts[len(parts)-1]] {
		found = append(found, linkForFolder.at(0, "→ "+string(f.New.Content)))
	}
	if plain, ok := looksLike(f.Path); ok && len(named) == 0 && len(x.rules(foldPath(plain))) > 0 {
		found = append(found, lookAlikeName.at(0, "reads like "+plain))
	}
	for _, r := range x.every {
		found = append(found, r.judge(f)...)
	}
	if f.link() {
		return found
	}
	if f.New.Cut && f.Size <= MaxContent {
		found = append(found, notSearched.at(0, "all changes together are too much"))
	}
	if !f.searched {
		found = append(found, f.secrets()...)
	}
	f.withhold(found)
	if whole != nil { // the risks may repeat a secret that was there before
		whole.secrets()
		whole.withhold(found)
	}
	return found
}
