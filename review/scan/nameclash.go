package scan

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"aibox/internal/gitname"
	"aibox/internal/slashpath"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/workspace"
)

// foldName returns a name in the form in which it is compared by file systems that ignore
// case and Unicode normalization (APFS, HFS+, NTFS).
func foldName(name string) string {
	plain := true
	for i := range len(name) {
		if c := name[i]; c >= 0x80 || 'A' <= c && c <= 'Z' {
			plain = false
			break
		}
	}
	if plain {
		return name
	}
	name = strings.Map(func(r rune) rune {
		if gitname.Ignorable(r) {
			return -1
		}
		return r
	}, name)
	return norm.NFC.String(strings.ToLower(strings.ToUpper(norm.NFC.String(name))))
}

// nameConflicts finds new names, of files and of their folders, that some file system
// treats as equal to another one.
type nameConflicts struct {
	names   map[string]spellings // folded → how it is written
	folders map[string]bool      // folded names of the folders that those are in
}

// spellings are up to two ways to write a name: enough to find another for each, however
// many an agent makes.
type spellings [2]string

// other returns a spelling other than name, or "".
func (s spellings) other(name string) string {
	if s[0] == name {
		return s[1]
	}
	return s[0]
}

// findNameConflicts returns, for each conflicting new path, the name that it conflicts with.
func findNameConflicts(changes []review.Change, b *workspace.Baseline) map[string]string {
	c := nameConflicts{names: map[string]spellings{}, folders: map[string]bool{}}
	gone := map[string]bool{}
	for i := range changes {
		switch change := &changes[i]; change.Kind {
		case review.Added, review.Renamed:
			c.add(change.Path.Raw())
			gone[change.OldPath.Raw()] = true
		case review.Deleted:
			gone[change.Path.Raw()] = true
		}
	}
	if len(c.names) == 0 {
		return nil
	}
	c.addBaseline(b.Files, gone)
	found := map[string]string{}
	for i := range changes {
		if kind := changes[i].Kind; kind != review.Added && kind != review.Renamed {
			continue
		}
		path := changes[i].Path.Raw()
		for name := path; name != ""; name = slashpath.Parent(name) {
			if other := c.names[foldName(name)].other(name); other != "" {
				found[path] = describeConflict(name, other)
			}
		}
	}
	return found
}

// add adds a new path and the folders above it.
func (c *nameConflicts) add(path string) {
	for name := path; name != ""; name = slashpath.Parent(name) {
		key := foldName(name)
		known := c.names[key]
		switch {
		case known[0] == name || known[1] == name:
			return // and so are those above it
		case known[0] == "":
			known[0] = name
		case known[1] == "":
			known[1] = name
		}
		c.names[key] = known
		c.folders[slashpath.Parent(key)] = true
	}
}

// addBaseline adds the files of the baseline, and their folders, that may conflict with
// some of the names.
func (c *nameConflicts) addBaseline(files []workspace.File, gone map[string]bool) {
	dir, near := "", c.folders[""]
	for i := range files {
		path := files[i].Path
		if at := slashpath.Parent(path); at != dir {
			dir, near = at, c.folders[foldName(at)]
			for name := dir; name != ""; name = slashpath.Parent(name) {
				c.addSpelling(name)
			}
		}
		if near && !gone[path] {
			c.addSpelling(path)
		}
	}
}

func (c *nameConflicts) addSpelling(name string) {
	key := foldName(name)
	if known := c.names[key]; known[0] != "" && known[0] != name && known[1] == "" {
		known[1] = name
		c.names[key] = known
	}
}

// describeConflict describes how a name differs from the one it conflicts with.
func describeConflict(name, other string) string {
	how := "its Unicode form"
	if strings.EqualFold(name, other) {
		how = "case"
	}
	return "the name differs from " + termtext.Escape(other) + " in " + how + " only"
}
