package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

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
	partial bool // objects may be missing
	seen    map[folderTree]bool
	files   map[string]bool       // blobs that can be private keys, by id
	found   bool                  // a hidden file was found, and the search went on
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

// findHidden finds out whether one of the commits has, or may have, a hidden file. If objects may be
// missing, which the agent does not get either, it also finds out which are there: the pack of h in store
// has all of them, and git would fetch one that is missing.
func (h *history) findHidden(ctx context.Context, repo, store *git.Repo, format git.Format, commits []string, hide *Globs) error {
	if len(hide.words) == 0 {
		return nil
	}
	s := &hiddenSearch{
		format: format, hide: hide, partial: h.partial, left: pathLimit{maxSearched, maxFolderBytes},
		seen: map[folderTree]bool{}, files: map[string]bool{}, waiting: map[string]*askedTree{}, last: map[string][]byte{},
	}
	first := make([]string, len(commits))
	for i, id := range commits {
		first[i] = id + "^{tree}"
		s.asked = append(s.asked, &askedTree{first[i], []string{""}})
	}
	err := repo.EachObject(ctx, first, largestKey, s.read)
	if s.partial && (err == nil || errors.Is(err, errTooLong)) {
		h.hidden = err != nil
		err = h.findKeys(ctx, store, format, s.files)
	}
	h.hidden = h.hidden || s.found || errors.Is(err, errFound) || errors.Is(err, errTooLong)
	if err != nil && !h.hidden {
		return fmt.Errorf("looking for hidden files in the history: %s", git.Message(err))
	}
	return nil
}

// findKeys finds out which objects are there, and returns errFound if one of the files is a private key.
func (h *history) findKeys(ctx context.Context, store *git.Repo, format git.Format, files map[string]bool) error {
	index, err := os.Open(h.packs[0] + ".idx")
	if err != nil {
		return err
	}
	defer index.Close()
	var list strings.Builder
	if err := store.Run(ctx, index, &list, "show-index", "--object-format="+string(format)); err != nil {
		return err
	}
	h.files = map[string]bool{}
	var there []string
	for line := range strings.Lines(list.String()) { // "OFFSET ID (CRC)"
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		h.files[fields[1]] = true
		if files[fields[1]] {
			there = append(there, fields[1])
		}
	}
	return store.EachObject(ctx, there, largestKey, func(o git.Object, _ func(string)) error {
		if isPrivateKey(o.Content) {
			return errFound
		}
		return nil
	})
}

// read looks for hidden files in a tree, and asks for the trees in it that are new, and for the files
// that can be private keys.
func (s *hiddenSearch) read(o git.Object, ask func(id string)) error {
	tree := s.asked[0]
	s.asked = s.asked[1:]
	delete(s.waiting, tree.id)
	switch isFile := tree.dirs == nil; {
	case s.partial && o.Kind == git.Missing:
		return nil
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
		if s.found = true; s.partial {
			return nil
		}
		return errFound
	}
	if !e.folder {
		if id := e.id(); !e.submodule && !s.files[id] && isKeyName(path) && s.hide.hidesFormerKeys(path) {
			if s.files[id] = true; !s.partial {
				s.asked = append(s.asked, &askedTree{id, nil})
				ask(id)
			}
		}
		return nil
	}
	next := folderTree{e.id(), path + "/"}
	if s.seen[next] {
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
