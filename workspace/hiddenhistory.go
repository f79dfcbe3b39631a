package workspace

import (
	"context"
	"errors"
	"fmt"

	"aibox/internal/git"
)

// The limits of the search for hidden files in a history. The same few trees can be at any
// number of paths.
const (
	maxSearched    = 1_000_000 // trees, one at several paths counted as often
	maxFolderBytes = 64 << 20  // bytes of the paths of folders
)

// folderTree is a tree at the path of a folder.
type folderTree struct{ id, dir string }

// pathLimit bounds the trees at paths that are read.
type pathLimit struct{ trees, bytes int }

// take counts a tree at the path of a folder.
func (l *pathLimit) take(dir string) error {
	l.trees, l.bytes = l.trees-1, l.bytes-len(dir)
	if l.trees < 0 || l.bytes < 0 {
		return errTooLong
	}
	return nil
}

var errFound = errors.New("a hidden file was found")

// hiddenSearch looks for hidden files in the trees of a history. It reads every tree at every
// path that it has: git's own list of a history's objects has only one path of each, so that a
// file which was renamed would be missed.
type hiddenSearch struct {
	format  git.Format
	hide    *Globs
	there   objects // as in history
	seen    map[folderTree]bool
	files   map[string]bool       // blobs that can be private keys, by id
	asked   []*askedTree          // in the order of git's answers
	waiting map[string]*askedTree // by id
	last    map[string][]byte     // the last tree that was read at the path of a folder
	left    pathLimit
}

// askedTree is a tree that git was asked for, and the folders that it is; none for a blob.
type askedTree struct {
	id   string
	dirs []string
}

// findHidden finds out whether one of the commits has, or may have, a hidden file. It does not ask for
// objects that are missing, which the agent does not get either.
func (h *history) findHidden(ctx context.Context, repo *git.Repo, format git.Format, commits []string, hide *Globs) error {
	if len(hide.words) == 0 {
		return nil
	}
	s := &hiddenSearch{
		format: format, hide: hide, there: h.there, left: pathLimit{maxSearched, maxFolderBytes},
		seen: map[folderTree]bool{}, files: map[string]bool{}, waiting: map[string]*askedTree{}, last: map[string][]byte{},
	}
	first := make([]string, len(commits))
	for i, id := range commits {
		if first[i] = id; s.there == nil {
			first[i] += "^{tree}"
		} // else the tree can be missing, but the commit is there
		s.asked = append(s.asked, &askedTree{first[i], []string{""}})
	}
	err := repo.EachObject(ctx, first, largestKey, s.read)
	if h.hidden = errors.Is(err, errFound) || errors.Is(err, errTooLong); err != nil && !h.hidden {
		return fmt.Errorf("looking for hidden files in the history: %s", git.Message(err))
	}
	return nil
}

// read looks for hidden files in a tree, and asks for the trees in it that are new, and for the files
// that can be private keys. If objects can be missing, it asks for the tree of a commit.
func (s *hiddenSearch) read(o git.Object, ask func(id string)) error {
	tree := s.asked[0]
	s.asked = s.asked[1:]
	delete(s.waiting, tree.id)
	switch isFile := tree.dirs == nil; {
	case s.there != nil && o.Kind == "commit":
		id, err := treeOfCommit(o.ID, o.Content)
		if err != nil {
			return err
		}
		return s.askFor(folderTree{id, ""}, ask)
	case isFile && o.Kind == "blob":
		if isPrivateKey(o.Content) {
			return errFound
		}
		return nil
	case isFile || o.Kind != "tree":
		return fmt.Errorf("git has no object %s of the right kind", tree.id)
	}
	for _, dir := range tree.dirs {
		err := eachNewEntry(s.last[dir], o.Content, s.format, func(e treeEntry) error { return s.look(e, dir, ask) })
		if err != nil {
			return err
		}
		s.last[dir] = o.Content
	}
	return nil
}

// look looks at an entry of the tree that is the folder dir.
func (s *hiddenSearch) look(e treeEntry, dir string, ask func(id string)) error {
	path := dir + string(e.name)
	if s.hide.list.Entry(path, e.folder) {
		return errFound
	}
	if e.folder {
		return s.askFor(folderTree{e.id(), path + "/"}, ask)
	}
	if id := e.id(); !e.submodule && !s.files[id] && isKeyName(path) && s.hide.hidesFormerKeys(path) && !s.there.lacks(id) {
		s.files[id] = true
		s.asked = append(s.asked, &askedTree{id, nil})
		ask(id)
	}
	return nil
}

// askFor asks for a tree, unless it is missing or was asked for.
func (s *hiddenSearch) askFor(next folderTree, ask func(id string)) error {
	if s.seen[next] || s.there.lacks(next.id) {
		return nil
	}
	s.seen[next] = true
	if waiting := s.waiting[next.id]; waiting != nil {
		waiting.dirs = append(waiting.dirs, next.dir)
	} else {
		asked := &askedTree{next.id, []string{next.dir}}
		s.asked, s.waiting[next.id] = append(s.asked, asked), asked
		ask(next.id)
	}
	return s.left.take(next.dir)
}
