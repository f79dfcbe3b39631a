package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"aibox/internal/flock"
	"aibox/internal/git"
	"aibox/internal/paths"
)

// ErrBusy means that another process uses the repository.
var ErrBusy = errors.New("it is in use")

const (
	// minAge is the age from which an unreachable object is removed: a younger one may be
	// about to get a ref.
	minAge       = time.Hour
	pruneSettled = "--prune=1.hour.ago"
	// manyPacks is the number of packs from which a repository is repacked: every change
	// set adds one.
	manyPacks = 50
)

// Repositories lists the repositories that aibox owns, without incomplete ones.
func Repositories(dirs paths.Dirs) ([]string, error) {
	entries, err := os.ReadDir(dirs.Repos())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		dir := filepath.Join(dirs.Repos(), entry.Name())
		if _, err := os.Lstat(filepath.Join(dir, "aibox", "repository")); err == nil && entry.IsDir() {
			found = append(found, dir)
		}
	}
	return found, nil
}

// Named lists the sessions that have a ref or a baseline in a repository, some of them
// several times. It skips repositories that it cannot read.
func Named(ctx context.Context, dirs paths.Dirs) []string {
	repositories, err := Repositories(dirs)
	if err != nil {
		return nil
	}
	var names []string
	for _, dir := range repositories {
		out, err := git.Owned(dir).Output(ctx, "for-each-ref", "--format=%(refname)", ownRefs)
		if err != nil {
			continue
		}
		for ref := range strings.FieldsSeq(string(out)) {
			session, _, _ := strings.Cut(strings.TrimPrefix(ref, ownRefs), "/")
			names = append(names, session)
		}
		baselines, _ := filepath.Glob(filepath.Join(dir, "aibox", "*"+baselineSuffix))
		for _, file := range baselines {
			names = append(names, strings.TrimSuffix(filepath.Base(file), baselineSuffix))
		}
	}
	return names
}

// Maintenance is a repository of aibox that is locked for maintenance.
type Maintenance struct {
	dir  string
	git  *git.Repo
	refs map[string]bool // those that exist, or would after a dry run
	dry  bool
	free func()
}

// Maintain locks the repository at gitDir for maintenance until Close. It fails with ErrBusy if
// another process is writing to it. With dry its methods change nothing.
func Maintain(ctx context.Context, gitDir string, dry bool) (*Maintenance, error) {
	free, err := lockExclusive(gitDir)
	if err != nil {
		return nil, err
	}
	if !dry {
		if err := dropLocks(gitDir, minAge); err != nil {
			free()
			return nil, err
		}
	}
	t := &Maintenance{dir: gitDir, git: git.Owned(gitDir), refs: map[string]bool{}, dry: dry, free: free}
	out, err := t.git.Output(ctx, "for-each-ref", "--format=%(refname)")
	if err != nil {
		free()
		return nil, fmt.Errorf("reading %s: %s", gitDir, git.Message(err))
	}
	for name := range strings.FieldsSeq(string(out)) {
		t.refs[name] = true
	}
	return t, nil
}

// Close unlocks the repository.
func (t *Maintenance) Close() { t.free() }

// Sessions returns the sessions that have anything in the repository: a ref of a workspace,
// or a baseline.
func (t *Maintenance) Sessions() []string {
	seen := map[string]bool{}
	var names []string
	add := func(name string) {
		if !seen[name] {
			seen[name], names = true, append(names, name)
		}
	}
	for ref := range t.refs {
		if session, _, ok := workRef(ref); ok {
			add(session)
		}
	}
	baselines, _ := filepath.Glob(filepath.Join(t.dir, "aibox", "*"+baselineSuffix))
	for _, file := range baselines {
		add(strings.TrimSuffix(filepath.Base(file), baselineSuffix))
	}
	return names
}

// HasBaseline reports whether the repository has the baseline of a session's workspace.
func (t *Maintenance) HasBaseline(session string) bool {
	_, err := os.Lstat(filepath.Join(t.dir, "aibox", session+baselineSuffix))
	return err == nil
}

const (
	baselineSuffix = ".baseline"
	ownRefs        = "refs/aibox/" // prefix of sessions' refs
)

// workRef splits the ref of a workspace, such as refs/aibox/<session>/base. Refs of saved
// states, whose last part is a number, are not refs of a workspace.
func workRef(ref string) (session, name string, ok bool) {
	rest, ours := strings.CutPrefix(ref, ownRefs)
	session, name, cut := strings.Cut(rest, "/")
	_, err := strconv.Atoi(name)
	return session, name, ours && cut && err != nil
}

// Forget removes the refs of a session's workspace, and its baseline. It keeps saved
// states.
func (t *Maintenance) Forget(ctx context.Context, session string) error {
	var refs []string
	for ref := range t.refs {
		if owner, _, ok := workRef(ref); ok && owner == session {
			refs = append(refs, ref)
		}
	}
	if err := t.Drop(ctx, refs...); err != nil || t.dry {
		return err
	}
	return ignoreAbsent(os.Remove(filepath.Join(t.dir, "aibox", session+baselineSuffix)))
}

// Drop deletes refs.
func (t *Maintenance) Drop(ctx context.Context, refs ...string) error {
	if len(refs) == 0 {
		return nil
	}
	var orders bytes.Buffer
	for _, ref := range refs {
		fmt.Fprintf(&orders, "delete %s\n", ref)
	}
	if !t.dry {
		if err := t.git.Run(ctx, &orders, nil, "update-ref", "--no-deref", "--stdin"); err != nil {
			return fmt.Errorf("dropping refs of %s: %s", t.dir, git.Message(err))
		}
	}
	for _, ref := range refs {
		delete(t.refs, ref)
	}
	return nil
}

// Empty reports whether no session has anything in the repository.
func (t *Maintenance) Empty() bool {
	_, journal := os.Lstat(filepath.Join(t.dir, "aibox", "worktree.json"))
	return len(t.refs) == 0 && errors.Is(journal, fs.ErrNotExist)
}

// Remove deletes the repository, which must be Empty. It fails with ErrBusy while a session
// is being prepared.
func (t *Maintenance) Remove(ctx context.Context) error {
	alone, err := flock.Try(storesLock(filepath.Dir(t.dir)), flock.Exclusive)
	if errors.Is(err, flock.ErrHeld) {
		return ErrBusy
	}
	if err != nil {
		return err
	}
	defer alone.Close()
	if t.dry {
		return nil
	}
	return RemoveFolder(ctx, t.dir)
}

// Collect removes unreachable objects that are at least an hour old, and returns their
// number and their size on the disk in bytes. An unfinished file of a git that was killed counts as
// one object.
func (t *Maintenance) Collect(ctx context.Context) (objects int, size int64, err error) {
	unfinished, unfinishedSize, err := t.dropUnfinished()
	if err != nil {
		return 0, 0, err
	}
	objects, size, err = t.collectObjects(ctx)
	return objects + unfinished, size + unfinishedSize, err
}

func (t *Maintenance) collectObjects(ctx context.Context) (objects int, size int64, err error) {
	objects, size, err = t.unreachable(ctx)
	if err != nil || t.dry {
		return objects, size, err
	}
	packs, _ := filepath.Glob(filepath.Join(t.dir, "objects", "pack", "*.pack"))
	if objects == 0 && len(packs) < manyPacks {
		return 0, 0, nil
	}
	// A git that was killed leaves its process's number, which another process may have by now. No
	// other git runs, since the repository is locked.
	if err := t.git.Run(ctx, nil, nil, "gc", "--quiet", "--force", pruneSettled); err != nil {
		return 0, 0, fmt.Errorf("collecting garbage in %s: %s", t.dir, git.Message(err))
	}
	left, leftSize, err := t.unreachable(ctx)
	return objects - left, max(size-leftSize, 0), err
}

// dropUnfinished removes the files that git was writing when it was killed. No object in them is
// listed anywhere, so they would stay for as long as nothing else makes git collect garbage.
func (t *Maintenance) dropUnfinished() (files int, size int64, err error) {
	for _, pattern := range []string{"pack/tmp_*", "pack/.tmp-*", "[0-9a-f][0-9a-f]/tmp_obj_*"} {
		found, _ := filepath.Glob(filepath.Join(t.dir, "objects", filepath.FromSlash(pattern)))
		for _, path := range found {
			info, statErr := os.Lstat(path)
			if statErr != nil || time.Since(info.ModTime()) < minAge {
				continue
			}
			files, size = files+1, size+info.Size()
			if !t.dry {
				err = errors.Join(err, ignoreAbsent(os.Remove(path)))
			}
		}
	}
	return files, size, err
}

// unreachable counts the unreachable objects that are old enough to be removed.
func (t *Maintenance) unreachable(ctx context.Context) (objects int, size int64, err error) {
	all, err := t.git.Output(ctx, "cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname) %(objectsize:disk)")
	if err != nil {
		return 0, 0, fmt.Errorf("listing the objects of %s: %s", t.dir, git.Message(err))
	}
	var tips bytes.Buffer
	for ref := range t.refs {
		tips.WriteString(ref + "\n")
	}
	var reached bytes.Buffer
	if tips.Len() > 0 {
		if err := t.git.Run(ctx, &tips, &reached, "rev-list", "--objects", "--missing=allow-promisor", "--no-object-names", "--stdin"); err != nil {
			return 0, 0, fmt.Errorf("listing the objects of %s: %s", t.dir, git.Message(err))
		}
	}
	named := make(map[string]bool, bytes.Count(reached.Bytes(), []byte("\n")))
	for id := range strings.FieldsSeq(reached.String()) {
		named[id] = true
	}
	if err := t.addYoung(ctx, named); err != nil {
		return 0, 0, fmt.Errorf("listing the objects of %s: %s", t.dir, git.Message(err))
	}
	for line := range strings.Lines(string(all)) {
		id, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if named[id] {
			continue
		}
		n, _ := strconv.ParseInt(text, 10, 64)
		objects, size = objects+1, size+n
	}
	return objects, size, nil
}

// addYoung adds the objects that are too young to be removed.
func (t *Maintenance) addYoung(ctx context.Context, to map[string]bool) error {
	recent := func(path string) bool {
		info, err := os.Lstat(path)
		return err == nil && time.Since(info.ModTime()) < minAge
	}
	objects := filepath.Join(t.dir, "objects")
	loose, _ := filepath.Glob(filepath.Join(objects, "[0-9a-f][0-9a-f]", "*"))
	for _, path := range loose {
		if recent(path) {
			to[filepath.Base(filepath.Dir(path))+filepath.Base(path)] = true
		}
	}
	packs, _ := filepath.Glob(filepath.Join(objects, "pack", "*.pack"))
	for _, path := range packs {
		if !recent(path) {
			continue
		}
		young, err := packed(ctx, t.git, strings.TrimSuffix(path, ".pack"))
		if err != nil {
			return err
		}
		maps.Copy(to, young)
	}
	return nil
}
