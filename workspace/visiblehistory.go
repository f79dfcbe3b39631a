package workspace

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"aibox/internal/git"
)

// The limits of one history. Beyond them the agent gets only the last commit.
const (
	maxTrees       = 300_000   // trees that are read, one at several paths counted as often
	maxNewBytes    = 256 << 20 // bytes of commits and trees that are written
	maxCachedBytes = 64 << 20  // bytes of trees that are kept for the next pass
)

var errTooLong = errors.New("the history is too long to take hidden files out of it")

// visibleHistory is a history without the files that are hidden from the agent. Commits keep
// their ids up to the first one with a hidden file; from there on trees and parents are
// rewritten, and signatures, which are no longer valid, are dropped. The packs hold exactly
// the objects that are listed here, so no object is reachable only by a hidden path.
type visibleHistory struct {
	format  git.Format
	hide    *Globs
	objects *git.Blobs
	made    *git.Pack

	parents map[string][]string // by commit
	cut     map[string]bool     // commits whose parents are missing
	commits map[string]string   // old id → new id

	trees  map[[2]string]string // tree and its folder → new tree; "" if that is empty
	seen   map[[2]string]bool   // of the first pass
	raw    map[string][]byte    // trees that were read in the first pass
	held   int                  // bytes of raw
	left   pathLimit            // of the first pass, which reads every tree that the next ones do
	bound  bool                 // whether the limits hold
	keys   map[string]bool      // whether a blob that was checked is a private key
	lost   []string             // paths of private keys in the last commit
	there  objects              // as in history
	secret map[string]bool      // contents of hidden files, which stay out under other names, too
	shown  map[string]bool      // contents that the last commit has under visible names
	keep   map[string]bool      // unchanged objects
}

// onlyVisible creates, in the store, the history h without hidden files, and returns it
// with the commit that replaces head. If that would take too long, the history is only the
// last commit.
func (s *store) onlyVisible(ctx context.Context, src *source, h *history, hide *Globs) (*history, string, error) {
	v, head, err := s.visible(ctx, src, h, hide)
	if err == nil {
		return v, head, nil
	}
	if ctx.Err() != nil {
		return nil, "", err
	}
	alone := &history{parents: map[string][]string{src.head: nil}, shallow: []string{src.head}, partial: h.partial, there: h.there}
	v, head, again := s.visible(ctx, src, alone, hide)
	if again != nil {
		return nil, "", errors.Join(err, again)
	}
	v.alone = true
	return v, head, nil
}

func (s *store) visible(ctx context.Context, src *source, h *history, hide *Globs) (_ *history, head string, err error) {
	if len(h.parents) > maxTrees { // all of them may have the same tree
		return nil, "", errTooLong
	}
	v := &visibleHistory{
		format: src.format, hide: hide, objects: s.git.Blobs(ctx), made: git.NewPack(src.format),
		parents: h.parents, cut: map[string]bool{}, commits: map[string]string{}, bound: len(h.parents) > 1, left: pathLimit{maxTrees, maxFolderBytes},
		trees: map[[2]string]string{}, seen: map[[2]string]bool{}, raw: map[string][]byte{},
		keys: map[string]bool{}, there: h.there, secret: map[string]bool{}, shown: map[string]bool{src.format.BlobID(nil): true}, keep: map[string]bool{},
	}
	defer func() { err = errors.Join(err, v.objects.Close()) }()
	for _, id := range h.shallow {
		v.cut[id] = true
	}
	for id := range h.parents {
		tree, _, err := v.commit(id)
		if err == nil {
			err = v.findSecrets(tree, "", false)
		}
		if err == nil && id == src.head {
			err = v.collectShown(tree, "")
		}
		if err != nil {
			return nil, "", err
		}
	}
	if head, err = v.rewrite(src.head); err != nil {
		return nil, "", err
	}
	made := &history{cut: h.cut, partial: h.partial, hidden: true, keys: v.lost}
	for _, id := range h.shallow {
		if v.commits[id] == id {
			made.shallow = append(made.shallow, id)
		}
	}
	made.packs, err = v.pack(ctx, s)
	return made, head, err
}

// commit returns the tree of a commit and its raw text.
func (v *visibleHistory) commit(id string) (tree string, raw []byte, err error) {
	if raw, err = v.objects.Object("commit", id); err != nil {
		return "", nil, err
	}
	tree, err = treeOfCommit(id, raw)
	return tree, raw, err
}

// treeOfCommit returns the tree of a commit with this raw text.
func treeOfCommit(id string, raw []byte) (string, error) {
	line, _, _ := bytes.Cut(raw, []byte("\n"))
	tree, ok := strings.CutPrefix(string(line), "tree ")
	if !ok {
		return "", fmt.Errorf("the commit %s does not begin with its tree", id)
	}
	return tree, nil
}

// entries calls each with every entry of a tree, if the tree is not missing.
func (v *visibleHistory) entries(tree string, each func(treeEntry) error) error {
	if v.there.lacks(tree) {
		return nil
	}
	raw, kept := v.raw[tree]
	if !kept {
		var err error
		if raw, err = v.objects.Object("tree", tree); err != nil {
			return err
		}
		if v.held += len(raw); v.held <= maxCachedBytes {
			v.raw[tree] = raw
		}
	}
	return eachEntry(raw, v.format, each)
}

// findSecrets collects the blobs of hidden files in a tree.
func (v *visibleHistory) findSecrets(tree, dir string, hidden bool) error {
	key := [2]string{tree, dir}
	if v.seen[key] {
		return nil
	}
	v.seen[key] = true
	if err := v.left.take(dir); v.bound && err != nil {
		return err
	}
	return v.entries(tree, func(e treeEntry) (err error) {
		path := dir + string(e.name)
		inside := hidden || v.hide.list.Entry(path, e.folder)
		switch {
		case e.folder:
			return v.findSecrets(e.id(), path+"/", inside)
		case e.submodule:
			return nil
		case !inside:
			if inside, err = v.hidesKey(path, e.id()); err != nil {
				return err
			}
		}
		if inside {
			v.secret[e.id()] = true
		}
		return nil
	})
}

// hidesKey reports whether a file is hidden because it is a private key. Only files with the usual
// names are checked.
func (v *visibleHistory) hidesKey(path, id string) (bool, error) {
	if !isKeyName(path) || !v.hide.hidesFormerKeys(path) {
		return false, nil
	}
	isKey, checked := v.keys[id]
	if checked {
		return isKey, nil
	}
	if v.there.lacks(id) {
		return false, nil // the agent does not get it either
	}
	content, _, err := v.objects.ReadWithin(id, largestKey)
	v.keys[id] = isPrivateKey(content)
	return v.keys[id], err
}

// collectShown collects the blobs of visible files in a tree.
func (v *visibleHistory) collectShown(tree, dir string) error {
	return v.entries(tree, func(e treeEntry) error {
		path := dir + string(e.name)
		switch {
		case v.hide.list.Entry(path, e.folder):
		case e.folder:
			return v.collectShown(e.id(), path+"/")
		case !e.submodule:
			isKey, err := v.hidesKey(path, e.id())
			if err != nil {
				return err
			}
			if isKey {
				v.lost = append(v.lost, path)
			} else {
				v.shown[e.id()] = true
			}
		}
		return nil
	})
}

// tree returns a tree without hidden files; "" if it is empty then.
func (v *visibleHistory) tree(tree, dir string) (string, error) {
	key := [2]string{tree, dir}
	if made, ok := v.trees[key]; ok {
		return made, nil
	}
	var out []byte
	changed := false
	err := v.entries(tree, func(e treeEntry) error {
		path := dir + string(e.name)
		switch {
		case v.hide.list.Entry(path, e.folder), !e.folder && v.secret[e.id()] && !v.shown[e.id()]:
			changed = true
			return nil
		case e.submodule:
		case e.folder:
			made, err := v.tree(e.id(), path+"/")
			if err != nil {
				return err
			}
			if changed = changed || made != e.id(); made == "" {
				return nil
			}
			id, err := hex.DecodeString(made)
			if err != nil {
				return err
			}
			out = append(append(out, e.raw[:len(e.raw)-len(id)]...), id...)
			return nil
		default:
			v.keep[e.id()] = true
		}
		out = append(out, e.raw...)
		return nil
	})
	made := tree
	switch {
	case err != nil:
		return "", err
	case !changed:
		v.keep[tree] = true
	case len(out) == 0 && dir != "":
		made = ""
	default:
		made, err = v.made.Add("tree", out)
	}
	v.trees[key] = made
	return made, err
}

// rewrite rewrites a commit, and its ancestors, without hidden files.
func (v *visibleHistory) rewrite(id string) (string, error) {
	if made, ok := v.commits[id]; ok {
		return made, nil
	}
	changed := false
	if !v.cut[id] {
		for _, parent := range v.parents[id] {
			made, err := v.rewrite(parent)
			if err != nil {
				return "", err
			}
			changed = changed || made != parent
		}
	}
	was, raw, err := v.commit(id)
	if err != nil {
		return "", err
	}
	tree, err := v.tree(was, "")
	if err != nil {
		return "", err
	}
	made := id
	if changed || tree != was {
		made, err = v.made.Add("commit", v.rewritten(raw, id, tree))
	} else {
		v.keep[id] = true
	}
	if v.bound && v.made.Size() > maxNewBytes {
		return "", errTooLong
	}
	v.commits[id] = made
	return made, err
}

// rewritten returns the text of a commit with another tree and other parents; without
// parents if they are missing from the history.
func (v *visibleHistory) rewritten(raw []byte, id, tree string) []byte {
	head, message, _ := bytes.Cut(raw, []byte("\n\n"))
	var out bytes.Buffer
	out.WriteString("tree " + tree + "\n")
	if !v.cut[id] {
		for _, parent := range v.parents[id] {
			out.WriteString("parent " + v.commits[parent] + "\n")
		}
	}
	dropping := false
	for line := range bytes.SplitSeq(head, []byte("\n")) {
		name, _, _ := bytes.Cut(line, []byte(" "))
		switch string(name) {
		case "": // a continuation line
		case "tree", "parent", "gpgsig", "gpgsig-sha256", "mergetag":
			dropping = true
		default:
			dropping = false
		}
		if !dropping {
			out.Write(line)
			out.WriteByte('\n')
		}
	}
	out.WriteByte('\n')
	out.Write(message)
	return out.Bytes()
}

// pack writes the objects into packs of the store, and returns their paths without the
// extension.
func (v *visibleHistory) pack(ctx context.Context, s *store) (packs []string, err error) {
	folder := filepath.Join(s.dir, "objects", "pack")
	if v.made.Count() > 0 {
		name, err := v.made.Store(ctx, s.git)
		if err != nil {
			return nil, err
		}
		packs = append(packs, filepath.Join(folder, "pack-"+name))
	}
	ids := make([]string, 0, len(v.keep))
	for id := range v.keep {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	ids = slices.DeleteFunc(ids, v.there.lacks)
	if len(ids) == 0 {
		return packs, nil
	}
	var out strings.Builder
	err = s.git.Run(ctx, lines(ids), &out, "-c", "pack.compression=1", "pack-objects", "-q", "--window=0", filepath.Join(folder, "pack"))
	if err != nil {
		return nil, fmt.Errorf("packing the history: %s", git.Message(err))
	}
	return append(packs, filepath.Join(folder, "pack-"+strings.TrimSpace(out.String()))), nil
}

func lines(ids []string) io.Reader { return strings.NewReader(strings.Join(ids, "\n") + "\n") }
