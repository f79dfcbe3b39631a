package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

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
	tree      string // of head; empty if git was not asked yet
	headRef   string
	asIs      bool // start from the files on disk, not from the commit
	unborn    bool // the branch that is checked out has no commit yet
	settings  settings
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
		if err := src.identify(ctx); err != nil {
			return nil, err
		}
	} else if err := src.locate(ctx, req.Repo, req.Dirs.Workspace); err != nil {
		return nil, err
	}
	if err := notBelow(src.common, req.Dirs.Workspace); err != nil {
		return nil, err
	}
	var asking sync.WaitGroup
	var unread error
	asking.Go(func() { src.settings, unread = readSettings(ctx, src.git) })
	err := src.choose(ctx, req.Branch)
	asking.Wait()
	if err := cmp.Or(err, unread); err != nil {
		return nil, err
	}
	return src, nil
}

// locate finds the working tree around path, and identifies its repository.
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
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return fault.New(fault.Usage, "%s cannot be read: %w", shown, err)
	}
	repo := git.User(real)
	// Without a working tree it fails before the last answer.
	answers, err := ask(ctx, repo, slices.Concat([]string{"--is-bare-repository", "--is-inside-work-tree"}, identifying, []string{"--show-toplevel"}))
	if len(answers) < 2 {
		return notARepository(abs, cmp.Or(err, errors.New("it does not say what it is")))
	}
	if answers[0] == "true" {
		return fault.New(fault.Usage, "%s is a bare repository: it has no files to work on", shown).
			Hint("clone it first: git clone %s", shown)
	}
	if answers[1] != "true" {
		return fault.New(fault.Usage, "%s is inside a .git folder", shown).Hint("give the repository's folder with --repo")
	}
	if err != nil {
		return notARepository(abs, err)
	}
	answers = answers[2:]
	top := answers[len(identifying)]
	s.git, s.top, s.name = git.User(top), top, folderName(filepath.Base(top))
	if rel, err := filepath.Rel(top, real); err == nil && rel != "." && filepath.IsLocal(rel) {
		s.start = rel
	}
	return s.keepIdentity(real, answers)
}

// identifying asks rev-parse for a repository's object format and folders.
var identifying = []string{"--show-object-format", "--absolute-git-dir", "--git-common-dir"}

// ask asks rev-parse the questions: in one process, unless an answer has a line end. After an error
// there are the answers that git gave before it.
func ask(ctx context.Context, repo *git.Repo, questions []string) ([]string, error) {
	out, err := repo.Line(ctx, slices.Concat([]string{"rev-parse"}, questions)...)
	answers := strings.Split(out, "\n")
	if err != nil || len(answers) == len(questions) {
		return answers, err
	}
	answers = answers[:0]
	for _, question := range questions {
		answer, err := repo.Line(ctx, "rev-parse", question)
		if err != nil {
			return answers, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
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
	answers, err := ask(ctx, s.git, identifying)
	if err != nil {
		return notARepository(s.top, err)
	}
	return s.keepIdentity(s.top, answers)
}

// keepIdentity keeps the answers to identifying, which git gave in the folder dir.
func (s *source) keepIdentity(dir string, answers []string) (err error) {
	s.format, s.gitDir = git.Format(answers[0]), answers[1]
	common := answers[2]
	if !filepath.IsAbs(common) {
		common = filepath.Join(dir, common)
	}
	if s.common, err = filepath.EvalSymlinks(common); err != nil {
		return fault.New(fault.Usage, "%s cannot be read: %w", termtext.Escape(common), err)
	}
	return nil
}

// choose finds the commit to start from.
func (s *source) choose(ctx context.Context, branch string) error {
	if branch == "" {
		return s.chooseHead(ctx)
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

// chooseHead starts from HEAD: one process names its commit, that one's tree, and the branch.
func (s *source) chooseHead(ctx context.Context) error {
	out, err := s.git.Line(ctx, "rev-parse", "HEAD^{commit}", "HEAD^{tree}", "--symbolic-full-name", "HEAD")
	answers := strings.Split(out, "\n")
	if err == nil && len(answers) == 3 && len(answers[0]) == 2*s.format.Size() {
		s.head, s.tree = answers[0], answers[1]
		if answers[2] != "HEAD" { // a branch
			s.headRef = answers[2]
		}
		return nil
	}
	s.headRef, _ = s.git.Line(ctx, "symbolic-ref", "--quiet", "HEAD")
	if s.unborn = s.isUnborn(ctx); s.unborn {
		return nil
	}
	top, why := termtext.Escape(s.top), ""
	if err != nil && !strings.HasPrefix(git.Message(err), "ambiguous argument") { // which HEAD^{commit} is if there is none
		why = ": " + git.Message(err)
	}
	return fault.New(fault.Usage, "git finds no commit for HEAD of %s%s", top, why).Hint("look at the repository: git -C %s fsck", top)
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
