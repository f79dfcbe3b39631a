package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/paths"
	"aibox/internal/undo"
)

// agentGitName is the name under which the agent's .git is kept in the one that replaces
// it.
const agentGitName = "agent"

// startGit creates a .git in a copy of a workspace, to compare it with the files that the
// agent started from: HEAD is the starting commit, plus a commit with the user's
// uncommitted work, and the index matches it. Like the agent's own .git it holds no file
// that is hidden from the agent. The agent's .git, in whatever state it is, becomes
// .git/agent and is not read.
//
// No other process may write to the copy meanwhile.
func (req *ThrowawayRequest) startGit(ctx context.Context, to *Workspace) (err error) {
	old := req.Of
	var steps undo.Stack
	defer func() { err = errors.Join(err, steps.Run(ctx, 0)) }()
	st, err := reopenStore(ctx, RebuildRequest{Of: old, Dirs: req.Dirs}, &steps)
	if err != nil {
		return err
	}
	p, err := newRebuilding(ctx, RebuildRequest{Of: old, Dirs: req.Dirs}, st, to.Path)
	if err != nil {
		return err
	}
	own := &Workspace{Session: req.Session, GitDir: old.GitDir}
	steps.Add(func(ctx context.Context) error { return forget(ctx, own) })
	a, packs, err := p.start(ctx, req.Session)
	if err != nil {
		return fmt.Errorf("reading what the agent started from: %w", err)
	}
	baseline, err := LoadBaseline(old.Baseline)
	if err != nil {
		return err
	}
	if a.entries, err = old.startIndex(ctx, baseline, p.hide); err != nil {
		return err
	}
	if err := backdate(to.Path, a.entries); err != nil {
		return err
	}
	a.dir = filepath.Join(to.Path, ".git")
	if err := setAside(to.Path); err != nil {
		return fmt.Errorf("moving the agent's .git away: %w", err)
	}
	if err := a.write(packs...); err != nil {
		return fmt.Errorf("making a .git: %w", err)
	}
	return paths.WriteFile(filepath.Join(a.dir, "info/attributes"), []byte("* !filter !diff !merge !working-tree-encoding\n"))
}

// start returns a repository with the commits that the agent started from, without its
// index, and the packs that it consists of. The refs that this needs have the session's id.
func (p *preparation) start(ctx context.Context, session string) (*agentGit, []string, error) {
	var err error
	if p.history, err = p.store.copyHistory(ctx, p.src, p.hide, p.depth()); err != nil {
		return nil, nil, err
	}
	a := &agentGit{format: p.src.format, head: p.src.head, shallow: p.history.shallow, who: p.src.settings.who, exclude: p.ws.Scratch}
	packs := p.history.packs
	if p.history.hidden {
		h, commit, err := p.store.onlyVisible(ctx, p.src, p.history, p.hide)
		if err != nil {
			return nil, nil, err
		}
		a.head, a.shallow, packs = commit, h.shallow, h.packs
	}
	if p.ws.BaseCommit() == p.ws.Head {
		return a, packs, nil
	}
	pack, commit, err := p.store.visibleUncommitted(ctx, p, session, a.head)
	a.head = commit
	return a, append(packs, pack), err
}

// visibleUncommitted creates, in the store, the commit of the user's uncommitted work on top
// of parent, without hidden files, and packs its new objects.
func (s *store) visibleUncommitted(ctx context.Context, p *preparation, session, parent string) (pack, commit string, err error) {
	entries, err := s.git.Tree(ctx, p.ws.BaseTree)
	if err != nil {
		return "", "", err
	}
	c := git.Commit{
		Ref: ref(session, "start"), Parent: parent, Tree: p.ws.BaseTree, Who: p.src.settings.who,
		Message: "Uncommitted work before aibox session " + p.ws.Session + "\n",
	}
	hidden := p.hide.Matcher()
	for _, e := range entries {
		if hidden(e.Path) {
			c.Remove = append(c.Remove, e.Path)
		}
	}
	slices.Sort(c.Remove)
	if commit, _, err = s.git.ImportCommit(ctx, c); err != nil {
		return "", "", err
	}
	pack, err = packObjects(ctx, s.git, commit, []string{"^" + parent}, filepath.Join(s.dir, "objects", "pack", "pack"), nil)
	return pack, commit, err
}

// startIndex returns the index of the visible files that the agent started from. Files that
// it did not get are marked as not checked out. Files that have not changed since have
// their stat, so that git need not read them; the host checks that by ctime, which the
// agent cannot forge.
func (w *Workspace) startIndex(ctx context.Context, baseline *Baseline, hide *Globs) ([]indexEntry, error) {
	tree, err := git.Owned(w.GitDir).Tree(ctx, w.BaseTree)
	if err != nil {
		return nil, fault.New(fault.Internal, "reading what the agent started from: %s", git.Message(err))
	}
	root, err := unix.Open(w.Path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	given := make(map[string]*File, len(baseline.Files))
	for i := range baseline.Files {
		given[baseline.Files[i].Path] = &baseline.Files[i]
	}
	hidden := hide.Matcher()
	entries := make([]indexEntry, 0, len(tree))
	for _, e := range tree {
		file := given[e.Path]
		switch {
		case hidden(e.Path):
		case file == nil: // submodules, too
			entries = append(entries, indexEntry{Entry: e, Skip: true})
		case baseline.racy(file) || !file.untouched(root):
			entries = append(entries, indexEntry{Entry: e})
		default:
			entries = append(entries, indexEntry{Entry: e, Stat: file.Stat})
		}
	}
	slices.SortFunc(entries, func(a, b indexEntry) int { return strings.Compare(a.Path, b.Path) })
	return entries, nil
}

// backdate sets back the time of each unchanged file, so that it is older than the index that
// will be written. Git compares the content of files that are as new as the index ("racy
// git"), and without the user's filters it would report each filtered file as changed.
func backdate(folder string, entries []indexEntry) error {
	old := time.Now().Add(-2 * time.Second).Truncate(time.Second)
	var root *os.File
	for i := range entries {
		e := &entries[i]
		if e.Stat.Mtime < old.UnixNano() {
			continue
		}
		if root == nil {
			var err error
			if root, err = os.Open(folder); err != nil {
				return err
			}
			defer root.Close()
		}
		e.Stat.Mtime = old.UnixNano()
		if err := setTime(int(root.Fd()), e.Path, old); err != nil {
			e.Stat = Stat{} // git reads it
		}
	}
	return nil
}

// setTime sets the modification time of a regular file in the folder root. It follows no
// symlink.
func setTime(root int, path string, at time.Time) error {
	fd, err := unix.Openat2(root, path, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: confined})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Futimes(fd, []unix.Timeval{unix.NsecToTimeval(at.UnixNano()), unix.NsecToTimeval(at.UnixNano())})
}

// untouched reports whether the file in the folder root is unchanged since the agent got
// it. It follows no symlink.
func (f *File) untouched(root int) bool {
	fd, err := unix.Openat2(root, f.Path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: confined})
	if err != nil {
		return false // for example a symlink, which is quick to read
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && StatOf(&st) == f.Stat
}

// racy reports whether git, which compares whole seconds, may miss a change of the file. It
// only considers files that are stored unfiltered: from the content of others, git could
// not see whether they have changed.
func (b *Baseline) racy(f *File) bool {
	return f.Stored == f.Raw && (b.HashAll || f.Stat.Ctime/1e9 >= b.Taken.Add(-b.Racy).Unix())
}

// setAside replaces the folder's .git with an empty one that contains the former one.
func setAside(folder string) error {
	away := ".git-" + strings.ToLower(rand.Text()) // a name that the agent cannot have guessed
	root, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	err = unix.Renameat2(root, ".git", root, away, unix.RENAME_NOREPLACE)
	there := !errors.Is(err, fs.ErrNotExist)
	if err != nil && there {
		return err
	}
	if err := os.Mkdir(filepath.Join(folder, ".git"), 0o755); err != nil { //nolint:gosec // in a private folder
		return err
	}
	if !there {
		return nil
	}
	return unix.Renameat2(root, away, root, ".git/"+agentGitName, unix.RENAME_NOREPLACE)
}
