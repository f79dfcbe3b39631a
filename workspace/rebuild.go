package workspace

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/flock"
	"aibox/internal/git"
	"aibox/internal/paths"
	"aibox/internal/sorting"
	"aibox/internal/undo"
)

// restoringPrefix is the prefix of folders in which a workspace is being rebuilt.
const restoringPrefix = ".aibox-restoring-"

// RebuildRequest describes a workspace to rebuild.
type RebuildRequest struct {
	Of   *Workspace // the former workspace; its folder is gone
	Tree string     // the content of the folder: a tree or commit in Of.GitDir
	Dirs paths.Dirs

	// Made is called with the new workspace once it is complete, before it gets its name.
	// If it returns an error, the workspace is removed.
	Made func(*Workspace) error
}

// Rebuild creates the workspace of an ended session again, with the files of a saved tree
// and the former baseline, so that the change set is that of the tree. It leaves out
// ignored files and the agent's own commits; files with a clean filter are as the user's
// repository stores them. If another folder has the former name, the workspace gets a new
// one. From the user's repository it reads only the ignore rules and the user's name. On
// error it removes everything it has created.
func Rebuild(ctx context.Context, req RebuildRequest) (_ *Workspace, err error) {
	if gone, err := req.Of.Gone(); err != nil || !gone {
		return nil, errors.Join(err, fmt.Errorf("the workspace %s is still there", req.Of.Path))
	}
	if err := paths.MakePrivate(req.Dirs.Workspace); err != nil {
		return nil, fmt.Errorf("the folder for workspaces cannot be used: %w", err)
	}
	var steps undo.Stack
	defer func() {
		if err = explainFull(err, req.Dirs); err != nil {
			if undone := steps.Run(ctx, 5*time.Minute); undone != nil {
				err = fmt.Errorf("%w (and cleaning up: %w)", err, undone)
			}
		}
	}()
	st, err := reopenStore(ctx, req, &steps)
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp(req.Dirs.Workspace, restoringPrefix)
	if err != nil {
		return nil, err
	}
	steps.Add(func(context.Context) error { return removeTree(scratch) })
	p, err := newRebuilding(ctx, req, st, scratch)
	if err != nil {
		return nil, err
	}
	if err := p.rebuild(ctx, req.Tree); err != nil {
		return nil, err
	}
	path, err := reserveName(req)
	if err != nil {
		return nil, err
	}
	steps.Add(func(context.Context) error { return ignoreAbsent(unix.Rmdir(path)) })
	p.ws.Path = path
	if err := req.Made(p.ws); err != nil {
		return nil, err
	}
	if err := unix.Rename(scratch, path); err != nil { // over our own empty folder, which os.Rename refuses
		return nil, fmt.Errorf("giving the workspace its name: %w", err)
	}
	st.unlock()
	return p.ws, nil
}

// reopenStore opens the repository that the workspace was made from. Until unlock it is
// neither removed nor garbage-collected.
func reopenStore(ctx context.Context, req RebuildRequest, steps *undo.Stack) (*store, error) {
	lock, err := flock.Wait(ctx, storesLock(req.Dirs.Repos()), flock.Shared)
	if err != nil {
		return nil, err
	}
	st := &store{git: git.Owned(req.Of.GitDir), dir: req.Of.GitDir, lock: lock}
	steps.Add(func(context.Context) error { st.unlock(); return nil })
	st.free, err = Hold(ctx, req.Of.GitDir)
	return st, err
}

// reserveName creates an empty folder under an unused name.
func reserveName(req RebuildRequest) (string, error) {
	name := folderName(req.Of.Name)
	candidates := []string{filepath.Base(req.Of.Path), name, name + "-" + req.Of.Owner()}
	for n := 2; n < 1000; n++ {
		candidates = append(candidates, fmt.Sprintf("%s-%s-%d", name, req.Of.Owner(), n))
	}
	for _, candidate := range candidates {
		path := filepath.Join(req.Dirs.Workspace, candidate)
		err := os.Mkdir(path, 0o700)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("making the workspace: %w", err)
		}
	}
	return "", fmt.Errorf("every name for a workspace of %s is taken", name)
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTEMPTY) {
		return nil
	}
	return err
}

// newRebuilding returns a preparation whose source is the repository that aibox owns.
func newRebuilding(ctx context.Context, req RebuildRequest, st *store, folder string) (*preparation, error) {
	old := req.Of
	format, err := st.git.Line(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return nil, fmt.Errorf("reading the repository %s: %s", st.dir, git.Message(err))
	}
	identified, err := identify(folder)
	if err != nil {
		return nil, err
	}
	ws := *old
	ws.Path, ws.Folder, ws.Files, ws.Bytes = folder, identified, 0, 0
	ws.Notes = []string{"brought back: ignored files and the agent's own commits are not in it"}
	return &preparation{
		req: Request{Session: old.Session, Hide: old.Hide, Dirs: req.Dirs}, store: st, hide: recordedGlobs(old.Hide), ws: &ws,
		src: &source{
			git: st.git, top: old.Repo, common: st.dir, name: old.Name, format: git.Format(format),
			head: old.Head, headRef: old.HeadRef, settings: settings{who: Identity(ctx, old)},
		},
	}, nil
}

// rebuild fills the folder: files, the agent's .git, the baseline.
func (p *preparation) rebuild(ctx context.Context, tree string) error {
	base, err := p.treeOf(ctx, p.ws.BaseTree, nil)
	if err != nil {
		return err
	}
	saved, err := p.treeOf(ctx, tree, base.head)
	if err != nil {
		return err
	}
	p.baseline.Racy, p.baseline.HashAll = trustCtime(p.ws.Path)
	p.list = saved
	if err := p.extractFiles(ctx); err != nil {
		return fmt.Errorf("writing the files: %w", err)
	}
	if p.history, err = p.store.copyHistory(ctx, p.src, p.hide, p.depth()); err != nil {
		return err
	}
	if p.list, err = p.treeOf(ctx, p.src.head, nil); err != nil {
		return err
	}
	if err := p.writeAgentGit(ctx); err != nil {
		return fmt.Errorf("making the agent's .git: %w", err)
	}
	p.summarize()
	if err := p.baseOn(ctx, base); err != nil {
		return err
	}
	return p.baseline.Save(p.ws.Baseline)
}

// treeOf lists the files of a tree in the store. base are the user's files: a file under a
// hidden name that differs from base was written by the agent, and is visible.
func (p *preparation) treeOf(ctx context.Context, tree string, base map[string]git.Entry) (*listing, error) {
	at := *p.src
	at.head = tree
	l := &listing{absent: map[string]bool{}, sparse: map[string]bool{}, hide: p.hide.Matcher()}
	if hidden := l.hide; base != nil {
		l.hide = func(path string) bool { return hidden(path) && l.head[path] == base[path] }
	}
	if err := at.listCommit(ctx, l); err != nil {
		return nil, fmt.Errorf("reading what was saved: %w", err)
	}
	l.notes = nil
	return l, nil
}

// baseOn creates the baseline of the files that the agent got. It does not read files
// again that are unchanged in the folder.
func (p *preparation) baseOn(ctx context.Context, base *listing) error {
	written := make(map[string]File, len(p.files))
	for _, f := range p.files {
		written[f.Path] = f.File
	}
	b := &p.baseline
	b.Format, b.Hidden = p.src.format, formerHidden(p.ws.Baseline)
	var rules []string
	for _, path := range base.visible {
		e := base.head[path]
		f, err := bareFile(e)
		if err != nil {
			return err
		}
		if now, ok := written[path]; ok && now.Raw == f.Raw && now.Mode == f.Mode {
			f = now
		}
		b.Files = append(b.Files, f)
		if name := filepath.Base(path); name == ".gitignore" && e.Mode != git.Symlink {
			rules = append(rules, path)
		}
	}
	for _, module := range base.modules {
		b.Modules = append(b.Modules, []byte(module))
	}
	b.Ignore = p.userIgnores(ctx)
	for _, path := range rules {
		data, err := p.store.git.Output(ctx, "cat-file", "blob", base.head[path].ID)
		if err != nil {
			return fmt.Errorf("reading the ignore rules: %s", git.Message(err))
		}
		b.Ignore = append(b.Ignore, IgnoreFile{Dir: []byte(strings.TrimSuffix(strings.TrimSuffix(path, ".gitignore"), "/")), Data: data})
	}
	sorting.StableFunc(b.Ignore, func(x, y *IgnoreFile) int { return bytes.Count(x.Dir, []byte("/")) - bytes.Count(y.Dir, []byte("/")) })
	b.Taken = time.Now()
	p.ws.Prepared = b.Taken.UTC()
	return nil
}

// userIgnores returns the user's ignore rules that are not files of the repository; none
// if the repository no longer exists.
func (p *preparation) userIgnores(ctx context.Context) []IgnoreFile {
	user := *p
	user.files = nil
	user.src = &source{git: git.User(p.ws.Repo), top: p.ws.Repo}
	if err := user.src.identify(ctx); err != nil {
		return nil
	}
	user.src.settings, _ = readSettings(ctx, user.src.git) // else git's default file counts
	return user.ignoreFiles()
}

// bareFile returns the baseline entry of a file that was written only from the tree.
func bareFile(e git.Entry) (File, error) {
	id, err := hex.DecodeString(e.ID)
	return File{Path: e.Path, Mode: e.Mode, Raw: string(id), Stored: string(id)}, err
}

// formerHidden returns the hidden files of the former baseline; nil if it no longer exists
// or does not list them.
func formerHidden(baseline string) [][]byte {
	file, err := os.Open(baseline)
	if err != nil {
		return nil
	}
	defer file.Close()
	b, err := readHeader(bufio.NewReader(file))
	if err != nil {
		return nil
	}
	return b.Hidden
}
