package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/termtext"
)

// source is the repository that a workspace is made from.
type source struct {
	git       *git.Repo
	top       string // top of the working tree, or the bare clone of a URL; empty for a submodule that is not checked out
	common    string // the git directory shared by all worktrees: identifies the repository
	gitDir    string // the git directory
	prefix    string // of a submodule: its folder in the workspace and a slash
	outermost string // of a submodule: the path of the submodule that contains it, or its own
	start     string // the requested subfolder, relative to the top; empty for the top itself
	name      string // for folders
	url       string
	cloner    *moduleCloner // of its submodules, where it is aibox's clone of url
	format    git.Format
	head      string // commit to start from
	headRef   string
	asIs      bool // start from the files on disk, not from the commit
	unborn    bool // the branch that is checked out has no commit yet
	who       git.Signature
}

// openSource finds the repository that req names and the commit to start from.
func openSource(ctx context.Context, req Request) (*source, error) {
	src := &source{asIs: !req.Clean && req.Branch == ""}
	if IsURL(req.Repo) {
		dir, err := cloneURL(ctx, req)
		if err != nil {
			return nil, err
		}
		src.git, src.top, src.url, src.asIs = git.User(dir), dir, req.Repo, false
		src.cloner = &moduleCloner{req: req, left: maxClonedModules}
		src.name = folderName(strings.TrimSuffix(filepath.Base(strings.TrimRight(req.Repo, "/")), ".git"))
	} else if err := src.locate(ctx, req.Repo, req.Dirs.Workspace); err != nil {
		return nil, err
	}
	if err := src.identify(ctx); err != nil {
		return nil, err
	}
	if err := notBelow(src.common, req.Dirs.Workspace); err != nil {
		return nil, err
	}
	var asking sync.WaitGroup
	asking.Go(func() { src.who = identity(ctx, src.git) })
	err := src.choose(ctx, req.Branch)
	asking.Wait()
	if err != nil {
		return nil, err
	}
	return src, nil
}

// locate finds the top of the working tree around path.
func (s *source) locate(ctx context.Context, path, workspaces string) error {
	shown := termtext.Escape(path)
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.Usage, "there is no %s", shown).Hint("name a folder inside a git repository with --repo")
	case err != nil:
		return fault.New(fault.Usage, "%s cannot be read: %w", shown, err)
	case !info.IsDir():
		return fault.New(fault.Usage, "%s is a file, not a folder", shown).Hint("give the repository's folder with --repo")
	}
	if err := notBelow(abs, workspaces); err != nil {
		return err
	}
	repo := git.User(abs)
	// One process gives all three answers. Without a working tree it fails after the first two.
	out, err := repo.Line(ctx, "rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--show-toplevel")
	bare, rest, ok := strings.Cut(out, "\n")
	inside, top, _ := strings.Cut(rest, "\n")
	if !ok {
		return notARepository(abs, cmp.Or(err, errors.New("it does not say what it is")))
	}
	if bare == "true" {
		return fault.New(fault.Usage, "%s is a bare repository: it has no files to work on", shown).
			Hint("clone it first: git clone %s", shown)
	}
	if inside != "true" {
		return fault.New(fault.Usage, "%s is inside a .git folder", shown).Hint("give the repository's folder with --repo")
	}
	if err != nil {
		return notARepository(abs, err)
	}
	s.git, s.top, s.name = git.User(top), top, folderName(filepath.Base(top))
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		if rel, err := filepath.Rel(top, real); err == nil && rel != "." && filepath.IsLocal(rel) {
			s.start = rel
		}
	}
	return nil
}

// notBelow refuses a path in the folder of workspaces before git reads it: an agent may have
// written a configuration there, and git would run its commands.
func notBelow(path, workspaces string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fault.New(fault.Usage, "%s cannot be read: %w", termtext.Escape(path), err)
	}
	top, err := filepath.EvalSymlinks(workspaces)
	if err != nil {
		return nil //nolint:nilerr // there are no workspaces yet
	}
	if rel, err := filepath.Rel(top, real); err == nil && filepath.IsLocal(rel) {
		return fault.New(fault.Usage, "%s is an agent's workspace, where nothing may be trusted", termtext.Escape(path)).
			Hint("`aibox ls` names its session; `aibox accept` with that id brings the work back on a branch").
			Hint("then run in your own repository, with --branch and that branch")
	}
	return nil
}

func notARepository(path string, err error) error {
	shown, said := termtext.Escape(path), git.Message(err)
	if strings.Contains(said, "dubious ownership") {
		return fault.New(fault.Usage, "%s belongs to another user, so git will not read it", shown).
			Hint("if you trust it: git config --global --add safe.directory %s", shown)
	}
	if _, err := os.Lstat(filepath.Join(path, ".git")); err == nil && strings.Contains(said, "not a git repository") {
		return fault.New(fault.Usage, "git cannot read the repository in %s: %s", shown, said).
			Hint("its .git is damaged, or names a repository that is gone")
	}
	if strings.Contains(said, "not a git repository") {
		return fault.New(fault.Usage, "%s is not in a git repository", shown).
			Hint("go into a repository, or name one with --repo").
			Hint("to make one here: git init && git add -A && git commit -m start")
	}
	return fault.New(fault.Usage, "git cannot read the repository at %s: %s", shown, said)
}

// identify reads the repository's identity and its object format.
func (s *source) identify(ctx context.Context) error {
	out, err := s.git.Line(ctx, "rev-parse", "--show-object-format", "--absolute-git-dir", "--git-common-dir")
	if err != nil {
		return notARepository(s.top, err)
	}
	format, rest, _ := strings.Cut(out, "\n")
	gitDir, common, _ := strings.Cut(rest, "\n")
	if strings.Contains(common, "\n") { // the paths have line ends, too
		if gitDir, err = s.git.Line(ctx, "rev-parse", "--absolute-git-dir"); err != nil {
			return notARepository(s.top, err)
		}
		if common, err = s.git.Line(ctx, "rev-parse", "--git-common-dir"); err != nil {
			return notARepository(s.top, err)
		}
	}
	s.format, s.gitDir = git.Format(format), gitDir
	if !filepath.IsAbs(common) {
		common = filepath.Join(s.top, common)
	}
	if s.common, err = filepath.EvalSymlinks(common); err != nil {
		return fault.New(fault.Usage, "%s cannot be read: %w", termtext.Escape(common), err)
	}
	return nil
}

// choose finds the commit to start from.
func (s *source) choose(ctx context.Context, branch string) error {
	if branch == "" {
		head, err := s.git.Line(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
		s.headRef, _ = s.git.Line(ctx, "symbolic-ref", "--quiet", "HEAD")
		if err != nil {
			if s.unborn = s.isUnborn(ctx); s.unborn {
				return nil
			}
			return fault.New(fault.Usage, "HEAD of %s cannot be read: %s", termtext.Escape(s.top), git.Message(err)).
				Hint("look at the repository: git -C %s fsck", termtext.Escape(s.top))
		}
		s.head = head
		return nil
	}
	shown := termtext.Escape(branch)
	if strings.HasPrefix(branch, "-") {
		return fault.New(fault.Usage, "%s is not the name of a branch", shown)
	}
	for _, ref := range []string{"refs/heads/" + branch, "refs/remotes/origin/" + branch, "refs/tags/" + branch, branch} {
		head, err := s.git.Line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
		if err != nil {
			continue
		}
		s.head = head
		if strings.HasPrefix(ref, "refs/heads/") {
			s.headRef = ref
		}
		return nil
	}
	return fault.New(fault.Usage, "there is no branch, tag or commit %s in %s", shown, termtext.Escape(s.top)).
		Hint("`git branch --all` lists the branches")
}

// identity returns the user's name and e-mail from git's configuration, else aibox's.
func identity(ctx context.Context, repo *git.Repo) git.Signature {
	who := git.Signature{Name: "aibox", Email: "aibox@localhost", When: time.Now()}
	settings, err := repo.Records(ctx, "config", "-z", "--get-regexp", `^user\.(name|email)$`)
	if err != nil {
		return who // nothing is set
	}
	for _, setting := range settings { // if there are several, the last one counts
		switch name, value, _ := strings.Cut(setting, "\n"); {
		case value == "":
		case name == "user.name":
			who.Name = value
		case name == "user.email":
			who.Email = value
		}
	}
	return who
}

// Identity returns the committer for ws's repository: the user's name and e-mail from git's
// configuration, else aibox's.
func Identity(ctx context.Context, ws *Workspace) git.Signature {
	return identity(ctx, git.User(ws.Repo))
}

// folderName turns a repository's name into a folder's: characters other than letters,
// digits, dots, dashes and underscores become dashes.
func folderName(name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, name)
	safe = strings.TrimLeft(safe, ".-")
	if safe == "" {
		return "repository"
	}
	return safe[:min(len(safe), 100)]
}
