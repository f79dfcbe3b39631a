package review

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"aibox/internal/git"
	"aibox/internal/termtext"
	"aibox/review/risk"
)

const (
	maxHooks     = 200 // files that are read
	maxHookDepth = 3   // folders in each other
)

// hooks reads the user's hooks that are no files of the repository. It opens only what is in the
// user's own folder of hooks, or what a link there leads to outside of the working tree: an agent
// can have written what is in the working tree.
type hooks struct {
	repo   userRepo
	roots  *risk.Roots
	gitDir string        // links resolved
	folder string        // of the hooks; empty if they cannot be read
	own    bool          // the folder belongs to this repository
	found  []risk.Caller // settings that run programs, and hooks without their texts
	texts  []risk.Caller // of hooks, in which relative names start from the repository
	linked []string      // files of the repository that are hooks by a link
	notes  []string
	files  int
}

// find asks git for the folder of the hooks. setting is core.hooksPath, which may be empty.
func (h *hooks) find(ctx context.Context, setting string) error {
	dir, err := h.repo.git.Line(ctx, "rev-parse", "--git-common-dir")
	if err != nil {
		return err
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(h.repo.git.Dir(), dir)
	}
	if h.gitDir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	folder := setting
	if expands(setting) {
		if folder, err = h.expanded(ctx); err != nil {
			h.unread(setting, err)
			return nil
		}
	}
	switch h.own = !filepath.IsAbs(folder); {
	case folder == "":
		h.folder = filepath.Join(h.gitDir, "hooks")
	case h.own:
		h.folder = filepath.Join(h.repo.dir, folder)
	default:
		h.folder = folder
	}
	return nil
}

// readAll reads the hooks that git runs. known has the folders that were read for other repositories.
func (h *hooks) readAll(known map[string]*hooks) {
	if h.folder == "" {
		return
	}
	folder := h.folder
	if resolved, err := filepath.EvalSymlinks(folder); err == nil {
		folder = resolved
	} else if !errors.Is(err, fs.ErrNotExist) {
		h.unread(folder, err)
		return
	}
	if inside, ok := h.inTree(folder); ok {
		h.found = append(h.found, risk.HookFolder("your folder of hooks", inside, h.roots))
		return
	}
	if same := known[folder]; same != nil {
		for _, c := range same.texts { // relative names in them start from this repository
			c.Dir = h.repo.module
			h.texts = append(h.texts, c)
		}
		return
	}
	known[folder] = h
	h.read(folder, 1)
}

// expands reports whether git replaces the beginning of a path in a setting: ~/ by the user's home,
// ~name/ by another's, %(prefix)/ and what later versions may read.
func expands(path string) bool {
	return strings.HasPrefix(path, "~") || strings.HasPrefix(path, "%(") || strings.HasPrefix(path, ":(")
}

// expanded asks git for core.hooksPath with its beginning replaced.
func (h *hooks) expanded(ctx context.Context) (string, error) {
	paths, err := h.repo.git.Records(ctx, "config", "-z", "--type=path", "--get-all", "core.hooksPath")
	if err != nil {
		return "", errors.New(git.Message(err))
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return path == os.DevNull }) // which this call of git sets
	if len(paths) == 0 || expands(paths[len(paths)-1]) {
		return "", errors.New("git does not say which folder it is")
	}
	return paths[len(paths)-1], nil
}

// inTree is the name in the repository of an absolute path; ok is false if it leads elsewhere,
// such as into .git.
func (h *hooks) inTree(path string) (inside string, ok bool) {
	if within, err := filepath.Rel(h.gitDir, path); err == nil && filepath.IsLocal(within) {
		return "", false
	}
	inside, ok = h.roots.Inside(path)
	return inside, ok && inside != ".git" && !strings.HasPrefix(inside, ".git/")
}

// read reads a folder of hooks. Hooks that cannot be read may run any script.
func (h *hooks) read(folder string, depth int) {
	dir, err := os.Open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		h.unread(folder, err)
		return
	}
	names, err := dir.Readdirnames(maxHooks + 1)
	dir.Close()
	if err != nil && !errors.Is(err, io.EOF) {
		h.unread(folder, err)
		return
	}
	more := len(names) > maxHooks // even if samples are among them
	slices.Sort(names)
	for _, name := range names {
		if strings.HasSuffix(name, ".sample") {
			continue
		}
		if h.files >= maxHooks {
			more = true
			break
		}
		h.files++
		h.file(filepath.Join(folder, name), depth)
	}
	if more {
		h.unread(folder, fmt.Errorf("it has more than %d files", maxHooks))
	}
}

// file reads one file of the folder of hooks.
func (h *hooks) file(path string, depth int) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		h.unread(path, err)
	case info.IsDir() && depth < maxHookDepth:
		h.read(path, depth+1)
	case info.IsDir():
		h.unread(path, errors.New("it is too deep"))
	case info.Mode().IsRegular():
		h.text(path, path)
	case info.Mode()&fs.ModeSymlink != 0:
		h.link(path)
	}
}

// link follows a link of the user, unless it leads into the working tree: there, it only names the
// file that git runs.
func (h *hooks) link(path string) {
	target, err := os.Readlink(path)
	if err != nil {
		h.unread(path, err)
		return
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	if h.names(path, target) {
		return
	}
	resolved, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		h.unread(path, err)
	case !h.names(path, resolved):
		h.text(path, resolved)
	}
}

// names adds a hook that is a file of the repository.
func (h *hooks) names(hook, target string) bool {
	inside, ok := h.inTree(target)
	if ok {
		h.found = append(h.found, risk.Hook(h.name(hook), []byte(inside), h.roots))
		h.linked = append(h.linked, inside)
	}
	return ok
}

// text reads the regular file that a hook leads to.
func (h *hooks) text(hook, path string) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		h.unread(hook, err)
		return
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return // git cannot run it either
	}
	text, err := io.ReadAll(io.LimitReader(file, risk.MaxCaller+1))
	switch {
	case err != nil:
		h.unread(hook, err)
	case len(text) <= risk.MaxCaller:
		h.add(hook, text)
	case bytes.IndexByte(text, 0) >= 0:
		h.notes = append(h.notes, h.name(hook)+" is a program, so which files it runs is not known")
	default:
		h.unread(hook, errors.New("it is too long"))
	}
}

// unread adds a hook that may run any script.
func (h *hooks) unread(path string, err error) {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	h.found = append(h.found, risk.UnreadHook(h.name(path)))
	h.notes = append(h.notes, fmt.Sprintf("%s could not be read (%v), so scripts that it may run are held back", h.name(path), err))
}

// name names a hook for display.
func (h *hooks) name(path string) string {
	name := "your hook " + termtext.Escape(filepath.Base(path))
	if h.repo.module != "" && h.own {
		name += " of " + termtext.Escape(h.repo.module)
	}
	return name
}

// add adds the text of a hook.
func (h *hooks) add(path string, text []byte) {
	c := risk.Hook(h.name(path), text, h.roots)
	c.Dir = h.repo.module
	h.texts = append(h.texts, c)
}

// fromTree adds the texts of hooks that are files of the repository, as they are in the baseline.
func (h *hooks) fromTree(ctx context.Context, repo *git.Repo, tree string) (err error) {
	if len(h.linked) == 0 {
		return nil
	}
	blobs := repo.Blobs(ctx)
	defer func() { err = errors.Join(err, blobs.Close()) }()
	for e, err := range repo.EntriesAt(ctx, tree, slices.Compact(slices.Sorted(slices.Values(h.linked)))) {
		if err != nil {
			return err
		}
		if e.Mode != git.File && e.Mode != git.Executable {
			continue
		}
		text, cut, err := blobs.ReadWithin(e.ID, risk.MaxCaller)
		switch {
		case err != nil:
			return err
		case cut:
			h.unread(e.Path, errors.New("it is too long"))
		default:
			h.add(e.Path, text)
		}
	}
	return nil
}
