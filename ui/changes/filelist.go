package changes

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"aibox/review"
)

// riskyHeading stands above the files that a plain accept leaves out.
const riskyHeading = "risky, look first"

// entry is a line of the tree: a file, a folder, or the heading of the risky files.
type entry struct {
	name     string // escaped
	folder   string // its path, raw; "" for a file and the heading
	depth    int
	from, to int // the files below it; of a file itself alone
	file     bool
}

// arrange orders the files: those with risks first, then as in a tree, a folder's own
// files before the folders in it.
func arrange(set *review.ChangeSet) []*file {
	files := make([]*file, len(set.Changes))
	for i := range set.Changes {
		files[i] = &file{change: &set.Changes[i], risky: set.Changes[i].Risky()}
	}
	slices.SortStableFunc(files, func(a, b *file) int {
		if a.risky != b.risky {
			if a.risky {
				return -1
			}
			return 1
		}
		return inTree(a.change.Path.Raw(), b.change.Path.Raw())
	})
	return files
}

// inTree compares two paths by their place in the tree.
func inTree(a, b string) int {
	for {
		headA, restA, deeperA := strings.Cut(a, "/")
		headB, restB, deeperB := strings.Cut(b, "/")
		if deeperA != deeperB {
			if deeperB {
				return -1
			}
			return 1
		}
		if c := cmp.Compare(headA, headB); c != 0 || !deeperA {
			return c
		}
		a, b = restA, restB
	}
}

// entries are the lines of the tree. What lies in a folded folder is left out; a
// folder with nothing but one folder in it is a line with that.
func entries(files []*file, folded map[string]bool) []entry {
	risky := 0
	for risky < len(files) && files[risky].risky {
		risky++
	}
	var out []entry
	if risky > 0 {
		out = append(out, entry{name: riskyHeading, to: risky})
		for i, f := range files[:risky] {
			out = append(out, entry{name: f.change.Path.String(), from: i, to: i + 1, file: true})
		}
		if risky < len(files) {
			out = append(out, entry{name: "the others", from: risky, to: len(files)})
		}
	}
	b := builder{files: files, folded: folded, out: out}
	b.add(risky, len(files), "", 0)
	return b.out
}

// builder makes the lines of the tree.
type builder struct {
	files  []*file
	folded map[string]bool
	out    []entry
}

// add adds the files from up to to, which all lie in dir.
func (b *builder) add(from, to int, dir string, depth int) {
	for i := from; i < to; {
		raw := b.files[i].change.Path.Raw()
		head, _, deeper := strings.Cut(raw[len(dir):], "/")
		if !deeper {
			name := review.Path(head).String()
			if c := b.files[i].change; c.Folder != nil {
				name = c.Folded()
			}
			b.out = append(b.out, entry{name: name, depth: depth, from: i, to: i + 1, file: true})
			i++
			continue
		}
		sub := dir + head + "/"
		end := i + 1
		for end < to && strings.HasPrefix(b.files[end].change.Path.Raw(), sub) {
			end++
		}
		for { // as deep as all of them go
			head, _, deeper := strings.Cut(raw[len(sub):], "/")
			longer := sub + head + "/"
			if !deeper || !strings.HasPrefix(b.files[end-1].change.Path.Raw(), longer) {
				break
			}
			sub = longer
		}
		b.out = append(b.out, entry{name: review.Path(sub[len(dir):]).String(), folder: sub, depth: depth, from: i, to: end})
		if !b.folded[sub] {
			b.add(i, end, sub, depth+1)
		}
		i = end
	}
}

// replant makes the lines of the tree anew; the line a person is at stays, or becomes
// the folder it is in now.
func (m *Model) replant() {
	m.entries = entries(m.files, m.foldedDirs)
	m.tree.Fit(len(m.entries), m.bodyHeight())
}

// reveal unfolds the folders of the file a person is at, and goes to its line.
func (m *Model) reveal() {
	if m.file() == nil {
		return
	}
	i := m.entryOf(m.at)
	if i < 0 {
		dir := m.file().change.Path.Raw()
		for dir = path.Dir(dir); dir != "."; dir = path.Dir(dir) {
			delete(m.foldedDirs, dir+"/")
		}
		m.replant()
		i = m.entryOf(m.at)
	}
	m.tree.Go(i)
}

// entryOf is the line of a file, or -1. The lines are in the order of the files.
func (m *Model) entryOf(file int) int {
	i, _ := slices.BinarySearchFunc(m.entries, file, func(e entry, file int) int {
		if !e.file && e.from <= file || e.from < file {
			return -1
		}
		return cmp.Compare(e.from, file)
	})
	if i < len(m.entries) && m.entries[i].file && m.entries[i].from == file {
		return i
	}
	return -1
}

// foldDir folds or unfolds a folder of the tree.
func (m *Model) foldDir(e entry) {
	if e.folder == "" {
		return
	}
	if m.foldedDirs[e.folder] {
		delete(m.foldedDirs, e.folder)
	} else {
		m.foldedDirs[e.folder] = true
	}
	m.replant()
}
