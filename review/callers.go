package review

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"aibox/internal/amount"
	"aibox/internal/git"
	"aibox/internal/sorting"
	"aibox/internal/termtext"
	"aibox/review/risk"
	"aibox/workspace"
)

// callers are the texts that can run other files: the user's git settings, and files
// such as scripts and build files.
type callers struct {
	repo     *git.Repo
	settings []risk.Caller
	files    []git.Entry   // descriptions of packages last, since others start their scripts
	unread   []risk.Caller // changed files that are not searched, one of each kind
	long     []git.Entry   // files of the baseline that are too long to be searched
}

// maxChangedCallers limits the bytes of changed files that are searched for names of others. An
// agent can add thousands, all with the same large content.
const maxChangedCallers = 16 << 20

// maxLongCallers limits the bytes of files of the baseline longer than risk.MaxCaller that are
// searched. Folders such as .github/actions hold bundled programs and lock files.
const maxLongCallers = 32 << 20

// userCallers returns the user's git settings that run programs, and the user's hooks that are no
// files of the repository, with notes on those that could not be read. Those of the submodules in the
// workspace are among them.
func userCallers(ctx context.Context, repo *git.Repo, ws *workspace.Workspace, base string) (found []risk.Caller, notes []string, err error) {
	shown := termtext.Escape(ws.Repo)
	if !mayBeRepository(ws.Repo) {
		return nil, []string{"your repository is not at " + shown + " any more, so its settings and hooks were not searched"}, nil
	}
	roots, err := rootsOf(ws.Repo)
	if err != nil {
		return nil, nil, err
	}
	repos := []userRepo{{dir: ws.Repo, git: git.User(ws.Repo)}}
	for i := range ws.Modules {
		if at, ok := moduleRepo(ws, &ws.Modules[i]); ok {
			repos = append(repos, at)
		}
	}
	all := make([]*hooks, len(repos))
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, at := range repos {
		g.Go(func() (err error) { all[i], err = askGit(within, at, roots); return err })
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	known := map[string]*hooks{}
	for _, h := range all {
		h.readAll(known)
		if err := h.fromTree(ctx, repo, base); err != nil {
			return nil, nil, fmt.Errorf("reading your hooks: %w", err)
		}
		found, notes = append(append(found, h.found...), h.texts...), append(notes, h.notes...)
	}
	return found, notes, nil
}

// moduleRepo is the repository of a submodule; ok is false if the user runs no git there. It need not
// be checked out: a branch that has the agent's work can be, later.
func moduleRepo(ws *workspace.Workspace, m *workspace.Module) (at userRepo, ok bool) {
	if m.Repo == "" && m.URL != "" {
		return userRepo{}, false // aibox's clone
	}
	at = userRepo{dir: filepath.Join(ws.Repo, m.Path), module: m.Path, git: m.Git()}
	if mayBeRepository(m.GitDir) {
		return at, true
	}
	at.git = git.User(at.dir) // the repository may have moved
	_, err := os.Lstat(filepath.Join(at.dir, ".git"))
	return at, !errors.Is(err, fs.ErrNotExist)
}

// mayBeRepository reports whether the folder of a repository is still there.
func mayBeRepository(dir string) bool {
	info, err := os.Stat(dir)
	return !errors.Is(err, fs.ErrNotExist) && (err != nil || info.IsDir())
}

// userRepo is the user's repository, or that of a submodule.
type userRepo struct {
	dir    string // of its files, which need not be there
	module string // the submodule's path from the top; empty for the repository itself
	git    *git.Repo
}

// askGit returns the settings of one repository that run programs, and its hooks before they are read.
func askGit(ctx context.Context, at userRepo, roots *risk.Roots) (*hooks, error) {
	records, err := gitSettings(ctx, at.git)
	if noRepository(err) {
		records, err = gitSettings(ctx, git.User("/")) // those of every repository
	}
	if err != nil {
		return nil, fmt.Errorf("reading your git settings: %w", err)
	}
	h := &hooks{repo: at, roots: roots}
	hooksPath := ""
	for _, record := range records {
		key, value, _ := strings.Cut(record, "\n")
		if key == "core.hookspath" && value != os.DevNull { // which this call of git sets
			hooksPath = value
		}
		if c, ok := risk.GitSetting(key, value, roots); ok {
			c.Dir = at.module
			h.found = append(h.found, c)
		}
	}
	err = h.find(ctx, hooksPath)
	if noRepository(err) {
		h.found = append(h.found, risk.UnreadHook("your hooks"))
		h.notes = append(h.notes, termtext.Escape(at.dir)+" is no git repository any more, so scripts that your hooks may run are held back")
	} else if err != nil {
		return nil, fmt.Errorf("reading your hooks: %w", err)
	}
	return h, nil
}

// gitSettings are the settings that the user's git has in a repository.
func gitSettings(ctx context.Context, in *git.Repo) ([]string, error) {
	return in.Records(ctx, "config", "--list", "-z", "--includes")
}

// noRepository reports whether git found no repository, or one whose parts are gone.
func noRepository(err error) bool {
	return strings.Contains(git.Stderr(err), "not a git repository")
}

// rootsOf returns the folders from which names in the user's settings start.
func rootsOf(repo string) (*risk.Roots, error) {
	home, _ := os.UserHomeDir() // without one, no name starts there
	resolved, err := filepath.EvalSymlinks(repo)
	if err != nil {
		return nil, err
	}
	return &risk.Roots{Tops: []string{repo, resolved}, Home: home}, nil
}

// findCallers finds the files that can run others, both in the baseline and in the agent's version.
// It returns notes if there are too many.
func (a *assessment) findCallers(ctx context.Context, old *Callers) (notes []string, err error) {
	behind := &Callers{}
	if notes, err = a.behindLinks(ctx, func(e git.Entry) { behind.add(e.Path, func() git.Entry { return e }) }); err != nil {
		return nil, err
	}
	changed, sizes := &Callers{}, map[string]int64{}
	var long []git.Entry
	for i := range a.set.Changes {
		c := &a.set.Changes[i]
		for _, path := range a.changedNames(c) {
			e := git.Entry{ID: c.NewBlob, Path: path}
			if c.Size <= risk.MaxCaller {
				changed.add(path, func() git.Entry { return e })
			} else if risk.CallsIfLong(path) {
				long = append(long, e)
			}
		}
		sizes[c.NewBlob] = c.Size
	}
	entries, left, _ := old.nearest()
	linked, more, _ := behind.nearest()
	if left += more; left > 0 {
		notes = append(notes, fmt.Sprintf("%s, such as package.json, may run changed files too, but only the %d of each kind that are nearest to the top were searched", amount.Of(left, "other file"), maxCallers))
	}
	changes, left, deep := changed.nearest()
	if left > 0 {
		notes = append(notes, notSearched(amount.Of(left, "changed file"), deep[0].Path, fmt.Sprintf("only the %d of each kind that are nearest to the top are", maxCallers)))
	}
	changes, beyond := upToLimit(changes, sizes)
	if len(beyond) > 0 {
		notes = append(notes, notSearched(amount.Of(len(beyond), "changed file"), beyond[0].Path, "those before them have "+amount.Bytes(maxChangedCallers)))
	}
	if len(long) > 0 {
		notes = append(notes, notSearched(amount.Of(len(long), "changed file"), long[0].Path, "they are longer than "+amount.Bytes(risk.MaxCaller)))
	}
	packages, others := []git.Entry{}, []git.Entry{}
	for _, e := range slices.Concat(entries, linked, changes) {
		if risk.DescribesPackage(e.Path) {
			packages = append(packages, e)
		} else {
			others = append(others, e)
		}
	}
	a.callers.files, a.callers.unread = append(others, packages...), unsearched(slices.Concat(deep, beyond, long))
	return notes, nil
}

// notSearched is the note on files that are not searched for names of others.
func notSearched(files, first, why string) string {
	return fmt.Sprintf("%s, such as %s, are not searched for names of others, because %s, so scripts that they may run are held back", files, termtext.Escape(first), why)
}

// upToLimit divides changed files into those that are searched and those beyond maxChangedCallers.
func upToLimit(changes []git.Entry, sizes map[string]int64) (searched, beyond []git.Entry) {
	total := int64(0)
	for i, e := range changes {
		if total += sizes[e.ID]; total > maxChangedCallers {
			return changes[:i], changes[i:]
		}
	}
	return changes, nil
}

// unsearched are callers that may name any script: the first file of each kind.
func unsearched(files []git.Entry) (found []risk.Caller) {
	kinds := map[string]bool{}
	for _, e := range files {
		if kind := risk.CallerKind(e.Path); !kinds[kind] {
			kinds[kind] = true
			found = append(found, risk.UnreadFile(e.Path))
		}
	}
	return found
}

// each visits the callers one at a time. An error ends the iteration and is stored in failed.
func (a *callers) each(ctx context.Context, failed *error) iter.Seq[risk.Caller] {
	return func(yield func(risk.Caller) bool) {
		var scripts risk.Scripts
		for _, c := range slices.Concat(a.settings, a.unread) {
			if scripts.Note(c); !yield(c) {
				return
			}
		}
		if len(a.files) == 0 {
			return
		}
		blobs := a.repo.Blobs(ctx)
		defer func() { *failed = errors.Join(*failed, blobs.Close()) }()
		a.long = nil
		searched := int64(0)        // bytes of long files
		for _, e := range a.files { // changed ones are not longer than MaxCaller
			most := int64(risk.MaxContent)
			if !risk.CallsIfLong(e.Path) {
				most = risk.MaxCaller
			}
			content, size, err := blobs.ReadSized(e.ID, most)
			if err != nil {
				*failed = err
				return
			}
			if size > risk.MaxCaller {
				if most == risk.MaxCaller || looksBinary(content) {
					continue
				}
				if size > most || searched+size > maxLongCallers {
					a.long = append(a.long, e)
					continue
				}
				searched += size
			}
			c, ok := risk.CallerOf(e.Path, content)
			if !ok {
				continue
			}
			if scripts.Note(c); !yield(c) {
				return
			}
			if started, ok := scripts.Started(c, content); ok && !yield(started) {
				return
			}
		}
		for _, c := range unsearched(a.long) {
			if !yield(c) {
				return
			}
		}
	}
}

// changedPaths returns the paths at which accepting c, or a part of it, can change a file's content
// or mode: also the old one of a renamed file, where its other changes go without the rename. There are
// none of a removed file and of a folded folder.
func (c *Change) changedPaths() []string {
	if c.NewBlob == "" || c.Kind == Folded {
		return nil
	}
	if c.OldPath == "" || c.OldBlob == c.NewBlob && c.OldMode == c.NewMode {
		return []string{c.Path.Raw()}
	}
	return []string{c.Path.Raw(), c.OldPath.Raw()}
}

// changedNames are the changedPaths with the names by which symlinks lead to them.
func (a *assessment) changedNames(c *Change) []string {
	paths := c.changedPaths()
	for _, path := range slices.Clone(paths) {
		paths = append(paths, a.links.aliases(path)...)
	}
	return paths
}

// called adds the risks of changed files that other files run.
func (a *assessment) called(ctx context.Context) error {
	var names []string    // of changed files, one after the other; a script is one under any of them
	var owners []*Change  // by name: the change
	var folded []string   // by name: the path of a file in a folded folder
	var executable []bool // by name
	for i := range a.set.Changes {
		c := &a.set.Changes[i]
		for _, name := range a.changedNames(c) {
			names, owners, folded = append(names, name), append(owners, c), append(folded, "")
			executable = append(executable, c.OldMode == string(git.Executable) || c.NewMode == string(git.Executable) || risk.IsScript(c.Path.Raw()))
		}
	}
	err := a.calledFolded(ctx, func(fold *Change, d git.Difference) {
		for _, name := range append([]string{d.Path}, a.links.aliases(d.Path)...) {
			names, owners, folded, executable = append(names, name), append(owners, fold), append(folded, d.Path), append(executable, d.Now.Mode == git.Executable || risk.IsScript(d.Path))
		}
	})
	if err != nil {
		return err
	}
	all := risk.Called(names, func(i int) bool { return executable[i] }, a.callers.each(ctx, &err))
	last := "" // the folded file that has the risk
	for i, c := range owners {
		found, ok := all[i]
		switch {
		case !ok:
		case c.Kind == Folded:
			if folded[i] != last { // by one of its names
				a.fold(c, folded[i], []risk.Risk{found})
			}
			last = folded[i]
		case !slices.Contains(c.Risks, found): // by several names of a file
			c.Risks = append(c.Risks, found)
			sorting.StableFunc(c.Risks, func(x, y *risk.Risk) int { return int(x.Severity) - int(y.Severity) })
		}
	}
	return err
}

// CallersOf returns the files of the baseline that can run others, and its symlinks.
func CallersOf(b *workspace.Baseline) *Callers {
	found := &Callers{}
	for i := range b.Files {
		f := &b.Files[i]
		entry := func() git.Entry {
			return git.Entry{Mode: f.Mode, ID: hex.EncodeToString([]byte(f.Stored)), Path: f.Path}
		}
		if f.Mode == git.Symlink {
			found.addLink(entry())
		} else {
			found.add(f.Path, entry)
		}
	}
	return found
}
