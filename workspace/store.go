package workspace

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aibox/internal/flock"
	"aibox/internal/git"
	"aibox/internal/paths"
	"aibox/internal/undo"
)

// defaultDepth is how many commits of history an agent gets by default: enough for log and
// blame, and a bound on the time to copy them.
const defaultDepth = 1000

// store is the bare repository that aibox owns for one repository of the user.
type store struct {
	git  *git.Repo
	dir  string
	lock *flock.Lock // shared by every run of Prepare, exclusive while a store is removed
	free func()      // releases the repository; nil until it is held
}

// openStore creates the bare repository for src, or opens that of an earlier run. It
// registers the removal of a new one with steps. Call unlock when done.
func openStore(ctx context.Context, src *source, repos string, steps *undo.Stack) (*store, error) {
	if err := paths.MakePrivate(repos); err != nil {
		return nil, fmt.Errorf("making the folder for repositories: %w", err)
	}
	sum := sha256.Sum256([]byte(src.common))
	dir := filepath.Join(repos, src.name+"-"+hex.EncodeToString(sum[:6])+".git")
	lock, err := flock.Wait(ctx, storesLock(repos), flock.Shared)
	if err != nil {
		return nil, err
	}
	s := &store{git: git.Owned(dir), dir: dir, lock: lock}
	steps.Add(func(context.Context) error { s.unlock(); return nil })
	if err := s.create(ctx, src, repos, steps); err != nil {
		return s, err
	}
	s.free, err = Hold(ctx, dir)
	return s, err
}

// storesLock is the lock of the folder repos: shared while a store is used, exclusive while
// one is removed.
func storesLock(repos string) string { return filepath.Join(repos, ".lock") }

// create creates the repository unless it exists. Concurrent runs take turns.
func (s *store) create(ctx context.Context, src *source, repos string, steps *undo.Stack) error {
	turn, err := flock.Wait(ctx, filepath.Join(repos, ".making.lock"), flock.Exclusive)
	if err != nil {
		return err
	}
	defer turn.Close()
	marker := filepath.Join(s.dir, "aibox", "repository")
	if _, err := os.Stat(marker); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Without the marker, an earlier run was killed while it created the repository, and git may
	// have left locks there. One with refs has the work of sessions. Git is not asked for them: it
	// fails in a repository that is not finished, and also for other reasons.
	used, err := hasRefs(s.dir)
	if err != nil {
		return err
	}
	if !used {
		if err := removeTree(s.dir); err != nil {
			return err
		}
	}
	if err := paths.MakePrivate(s.dir); err != nil {
		return err
	}
	steps.Add(s.takeBack)
	if err := s.git.Run(ctx, nil, nil, "init", "--quiet", "--bare", "--template=", "--initial-branch=none", "--object-format="+string(src.format), s.dir); err != nil {
		return fmt.Errorf("making the repository %s: %s", s.dir, git.Message(err))
	}
	if err := paths.MakePrivate(filepath.Dir(marker)); err != nil {
		return err
	}
	return paths.WriteFile(marker, []byte(src.top))
}

// hasRefs reports whether a bare repository has refs. It may be incomplete.
func hasRefs(dir string) (bool, error) {
	if _, err := os.Lstat(filepath.Join(dir, "packed-refs")); !errors.Is(err, fs.ErrNotExist) {
		return err == nil, err
	}
	found := false
	err := filepath.WalkDir(filepath.Join(dir, "refs"), func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !strings.HasSuffix(entry.Name(), ".lock") {
			found = true
			return fs.SkipAll
		}
		return err
	})
	return found, ignoreAbsent(err)
}

// unlock allows garbage collection and removal of the store again.
func (s *store) unlock() {
	if s.free != nil {
		s.free()
		s.free = nil
	}
	_ = s.lock.Close()
}

// takeBack removes a store that this run created, unless another run uses it.
func (s *store) takeBack(ctx context.Context) error {
	if err := s.lock.Change(flock.Exclusive); err != nil {
		if errors.Is(err, flock.ErrHeld) {
			return nil
		}
		return err
	}
	if refs, err := s.git.Output(ctx, "for-each-ref", "--count=1"); err != nil || len(refs) > 0 {
		return err
	}
	return removeTree(s.dir)
}

// history describes the objects that an agent gets.
type history struct {
	packs   []string            // paths without .pack and .idx
	parents map[string][]string // of each commit
	shallow []string            // commits whose parents are cut off
	hidden  bool                // a hidden file occurs in it, or it is too long to be sure of the contrary
	cut     bool                // there are more commits
	partial bool                // contents that the user has not fetched are missing
	there   objects             // the objects that are not missing, if partial; git ends with an error if it is asked for another
	alone   bool                // only the last commit, because more would take too long
	keys    []string            // paths of private keys that the last commit had, so that the agent's does not have them
}

// copyHistory packs the last depth commits up to head, from the user's repository into the
// store, and reports in its result whether one of them has a hidden file.
func (s *store) copyHistory(ctx context.Context, src *source, hide *Globs, depth int) (*history, error) {
	h := &history{parents: map[string][]string{}}
	limit := []string{}
	if depth > 0 {
		limit = []string{fmt.Sprintf("--max-count=%d", depth)}
	}
	var commits []string
	each := func(id string, parents []string) {
		commits = append(commits, id)
		h.parents[id] = parents
	}
	// Git writes temporary files beside new objects: in the store, not in the user's
	// repository, which may be read-only or on another disk.
	from := src.git.With(
		"GIT_OBJECT_DIRECTORY="+filepath.Join(s.dir, "objects"),
		"GIT_ALTERNATE_OBJECT_DIRECTORIES="+git.Quote(filepath.Join(src.common, "objects")),
	)
	pack, err := packObjects(ctx, from, src.head, limit, filepath.Join(s.dir, "objects", "pack", "pack"), each)
	if err != nil {
		return nil, fmt.Errorf("copying the history: %s", git.Message(err))
	}
	h.packs = []string{pack}
	h.findShallow(commits, src.common)
	if h.partial = src.isPartial(); h.partial {
		if err := s.promise(ctx, pack); err != nil {
			return nil, err
		}
		if h.there, err = packed(ctx, s.git, pack); err != nil {
			return nil, err
		}
	}
	if err := h.findHidden(ctx, from, src.format, commits, hide); err != nil {
		return nil, err
	}
	return h, s.addShallow(ctx, h.shallow)
}

// findShallow lists the commits whose parents are missing. common is the user's git directory.
func (h *history) findShallow(commits []string, common string) {
	already := map[string]bool{}
	if data, err := os.ReadFile(filepath.Join(common, "shallow")); err == nil {
		for line := range strings.FieldsSeq(string(data)) {
			already[line] = true
		}
	}
	for _, id := range commits {
		missing := slices.ContainsFunc(h.parents[id], func(parent string) bool {
			_, present := h.parents[parent]
			return !present
		})
		if missing || already[id] {
			h.shallow = append(h.shallow, id)
		}
		h.cut = h.cut || missing
	}
}

// packObjects packs the objects that commit reaches within limit into files that begin with
// base, and returns their path without the extension. It leaves out what a partial clone has not
// fetched. It calls each, which can be nil, with the commits.
func packObjects(
	ctx context.Context, from *git.Repo, commit string, limit []string, base string, each func(id string, parents []string),
) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	read, write := io.Pipe()
	listed := make(chan error, 1)
	go func() {
		err := from.Run(ctx, nil, write, slices.Concat([]string{"rev-list", "--parents", "--objects", "--missing=allow-promisor"}, limit, []string{commit})...)
		write.CloseWithError(err)
		listed <- err
	}()
	input, feed := io.Pipe()
	go func() { feed.CloseWithError(relay(read, feed, each)) }()
	var out strings.Builder
	// A limit in the user's settings would make several packs.
	err := from.Run(ctx, input, &out, "-c", "pack.compression=1", "-c", "pack.packSizeLimit=0", "pack-objects", "-q", "--window=0", base)
	input.Close()
	read.Close()
	if listErr := <-listed; listErr != nil && err == nil {
		err = listErr
	}
	return base + "-" + strings.TrimSpace(out.String()), err
}

// relay copies the output of rev-list --parents --objects without the parents. First there are the
// commits, with which it calls each, and then the objects with their paths. The first object is the
// folder at the top of a commit, whose path is empty, so that its line ends with a space.
func relay(from io.Reader, to io.Writer, each func(id string, parents []string)) error {
	lines := bufio.NewReaderSize(from, 256<<10)
	out := bufio.NewWriterSize(to, 256<<10)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return out.Flush()
		}
		if err != nil {
			return err
		}
		if strings.HasSuffix(line, " \n") {
			_, err := io.Copy(out, io.MultiReader(strings.NewReader(line), lines))
			return cmp.Or(err, out.Flush())
		}
		ids := strings.Fields(line)
		if each != nil {
			each(ids[0], ids[1:])
		}
		if _, err := out.WriteString(ids[0] + "\n"); err != nil {
			return err
		}
	}
}

// lockConfig locks the files that change how git reads the store.
func (s *store) lockConfig(ctx context.Context) (*flock.Lock, error) {
	return flock.Wait(ctx, filepath.Join(s.dir, "aibox", "lock"), flock.Exclusive)
}

// addShallow lists commits whose parents are not in the store. It locks the file, since
// concurrent runs may write it.
func (s *store) addShallow(ctx context.Context, commits []string) error {
	if len(commits) == 0 {
		return nil
	}
	turn, err := s.lockConfig(ctx)
	if err != nil {
		return err
	}
	defer turn.Close()
	file := filepath.Join(s.dir, "shallow")
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	all := append(strings.Fields(string(data)), commits...)
	slices.Sort(all)
	return paths.WriteFile(file, []byte(strings.Join(slices.Compact(all), "\n")+"\n"))
}

// ref returns the name of a session's ref in the store.
func ref(session, name string) string { return "refs/aibox/" + session + "/" + name }
