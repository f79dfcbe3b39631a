package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

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
	repo    *git.Repo
	format  git.Format
	hide    *Globs
	partial bool // trees may be missing
	seen    map[folderTree]bool
	left    pathLimit
}

// hasHidden reports whether a commit of the history h has, or may have, a hidden file.
func hasHidden(ctx context.Context, repo *git.Repo, format git.Format, h *history, hide *Globs) (bool, error) {
	if len(hide.words) == 0 {
		return false, nil
	}
	s := &hiddenSearch{
		repo: repo, format: format, hide: hide, partial: h.partial,
		seen: map[folderTree]bool{}, left: pathLimit{maxSearched, maxFolderBytes},
	}
	level := make(map[string][]string, len(h.parents))
	for id := range h.parents {
		level[id+"^{tree}"] = []string{""}
	}
	for len(level) > 0 {
		below, err := s.read(ctx, level)
		if errors.Is(err, errFound) || errors.Is(err, errTooLong) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("looking for hidden files in the history: %s", git.Message(err))
		}
		level = below
	}
	return false, nil
}

// read reads trees, each with its folders, and returns the trees in them that are new.
func (s *hiddenSearch) read(ctx context.Context, level map[string][]string) (below map[string][]string, err error) {
	trees := slices.Collect(maps.Keys(level))
	below = map[string][]string{}
	at := 0
	for object, err := range s.repo.EachObject(ctx, trees) {
		if err != nil {
			return nil, err
		}
		dirs := level[trees[at]]
		at++
		if object.Kind != "tree" {
			if s.partial && object.Kind == git.Missing {
				continue // the agent does not get it either
			}
			return nil, fmt.Errorf("git has no tree %s", object.ID)
		}
		for _, dir := range dirs {
			if err := s.look(object.Content, dir, below); err != nil {
				return nil, err
			}
		}
	}
	return below, nil
}

// look looks for hidden files in a tree, and adds the trees in it that are new to below.
func (s *hiddenSearch) look(tree []byte, dir string, below map[string][]string) error {
	return eachEntry(tree, s.format, func(e treeEntry) error {
		path := dir + string(e.name)
		if s.hide.list.Entry(path, e.folder) {
			return errFound
		}
		next := folderTree{e.id, path + "/"}
		if !e.folder || s.seen[next] {
			return nil
		}
		s.seen[next] = true
		below[e.id] = append(below[e.id], next.dir)
		return s.left.take(next.dir)
	})
}
