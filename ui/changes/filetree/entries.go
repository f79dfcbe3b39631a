package filetree

import (
	"cmp"
	"slices"
	"strings"

	"aibox/review"
	"aibox/review/decision"
)

// riskyHeading precedes the files that a plain accept leaves out.
const riskyHeading = "Risky: review first"

// Entry is a line of the tree: a file, a folder, or a heading.
type Entry struct {
	name     string // escaped
	folder   string // its path, raw; empty for a file and a heading
	depth    int
	From, To int // the files below it, or the file itself
	File     bool
}

// InOrder returns the changes of a set in the order of a tree.
func InOrder(set *review.ChangeSet) []*review.Change {
	all := make([]*review.Change, len(set.Changes))
	for i := range set.Changes {
		all[i] = &set.Changes[i]
	}
	slices.SortStableFunc(all, func(a, b *review.Change) int { return compareInTree(a.Path.Raw(), b.Path.Raw()) })
	return all
}

// compareInTree compares two paths by their order in a tree that lists a folder's own
// files before its folders.
func compareInTree(a, b string) int {
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

// entriesOf returns the lines of the tree, without the contents of folded folders. A
// folder that holds only one folder shares a line with it.
func entriesOf(files []*decision.File, folded map[string]bool) []Entry {
	risky := 0
	for risky < len(files) && files[risky].Risky() {
		risky++
	}
	var out []Entry
	if risky > 0 {
		out = append(out, Entry{name: riskyHeading, To: risky})
		for i, f := range files[:risky] {
			out = append(out, Entry{name: f.Change.Path.String(), From: i, To: i + 1, File: true})
		}
		if risky < len(files) {
			out = append(out, Entry{name: "Other files", From: risky, To: len(files)})
		}
	}
	b := treeBuilder{files: files, folded: folded, out: out}
	b.add(risky, len(files), "", 0)
	return b.out
}

// treeBuilder makes the lines of the tree.
type treeBuilder struct {
	files  []*decision.File
	folded map[string]bool
	out    []Entry
}

// add adds the files [from, to), which are all in dir.
func (b *treeBuilder) add(from, to int, dir string, depth int) {
	for i := from; i < to; {
		raw := b.files[i].Change.Path.Raw()
		head, _, deeper := strings.Cut(raw[len(dir):], "/")
		if !deeper {
			name := review.Path(head).String()
			if c := b.files[i].Change; c.Folder != nil {
				name = c.Folded()
			}
			b.out = append(b.out, Entry{name: name, depth: depth, From: i, To: i + 1, File: true})
			i++
			continue
		}
		sub := dir + head + "/"
		end := i + 1
		for end < to && strings.HasPrefix(b.files[end].Change.Path.Raw(), sub) {
			end++
		}
		for { // find the deepest folder that holds all of them
			head, _, deeper := strings.Cut(raw[len(sub):], "/")
			longer := sub + head + "/"
			if !deeper || !strings.HasPrefix(b.files[end-1].Change.Path.Raw(), longer) {
				break
			}
			sub = longer
		}
		b.out = append(b.out, Entry{name: review.Path(sub[len(dir):]).String(), folder: sub, depth: depth, From: i, To: end})
		if !b.folded[sub] {
			b.add(i, end, sub, depth+1)
		}
		i = end
	}
}
