package workspace

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/paths"
	"aibox/internal/termtext"
)

// Place describes a repository that an agent can work on.
type Place struct {
	Top    string // of the working tree; for a URL the URL itself
	Start  string // the subfolder of it that a run starts in; empty for the top
	Branch string // the branch that is checked out; empty for a URL and a detached HEAD
	Unborn bool   // there is no commit yet
}

// Look checks whether Prepare accepts a path in a working tree, or an address, without
// copying or fetching anything. Its errors are those of Prepare.
func Look(ctx context.Context, repo string, dirs paths.Dirs) (Place, error) {
	if IsURL(repo) {
		return Place{Top: repo}, CheckURL(repo)
	}
	src := &source{}
	if err := src.locate(ctx, repo, dirs.Workspace); err != nil {
		return Place{}, err
	}
	if err := notBelow(src.common, dirs.Workspace); err != nil {
		return Place{}, err
	}
	if err := src.choose(ctx, ""); err != nil {
		return Place{}, err
	}
	return Place{Top: src.top, Start: src.start, Branch: strings.TrimPrefix(src.headRef, "refs/heads/"), Unborn: src.unborn}, nil
}

// Files returns the paths that an agent would get (visible) and those that the globs
// hide, both sorted and unescaped. Like Prepare it reads the disk, or with a branch or
// Clean a commit. For an address both are empty, since it is not cloned yet.
func Files(ctx context.Context, req Request) (visible, hidden []string, err error) {
	if IsURL(req.Repo) {
		return nil, nil, CheckURL(req.Repo)
	}
	hide, err := ParseGlobs(req.Hide)
	if err != nil {
		return nil, nil, err
	}
	src, err := openSource(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	if src.unborn && !src.asIs {
		return nil, nil, nil
	}
	l, err := src.list(ctx, hide, aiboxFolders(req.Dirs))
	if err != nil {
		return nil, nil, err
	}
	return src.withModules(ctx, l, hide, req.Dirs)
}

// withModules returns the visible and the hidden paths of a listing, including those in
// submodules.
func (s *source) withModules(ctx context.Context, l *listing, hide *Globs, dirs paths.Dirs) (visible, hidden []string, err error) {
	modules, err := s.openModules(ctx, l, dirs.Workspace)
	visible, hidden = l.visible, l.hidden
	for _, m := range modules {
		inner, err := m.list(ctx, hide, aiboxFolders(dirs))
		if err != nil {
			return nil, nil, err
		}
		see, not, err := m.withModules(ctx, inner, hide, dirs)
		if err != nil {
			return nil, nil, err
		}
		folder := strings.TrimPrefix(m.prefix, s.prefix)
		for _, path := range see {
			visible = append(visible, folder+path)
		}
		for _, path := range not {
			hidden = append(hidden, folder+path)
		}
	}
	slices.Sort(visible)
	slices.Sort(hidden)
	return visible, hidden, err
}

// aiboxFolders returns aibox's folders, which are never copied, and where symlinks in their paths lead.
func aiboxFolders(dirs paths.Dirs) []string {
	folders := []string{dirs.Workspace, dirs.Data, dirs.State, dirs.Cache}
	for _, dir := range folders {
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
			folders = append(folders, real)
		}
	}
	return folders
}

// maxBranches bounds the result of Branches.
const maxBranches = 2000

// silent keeps ssh from asking for a password on the terminal, which may show a screen: ssh
// calls a program instead, which fails.
var silent = []string{"SSH_ASKPASS_REQUIRE=force", "SSH_ASKPASS=false"}

// Branches returns the branch names that Request.Branch accepts, unescaped. For a
// repository these are its own, most recently used first, and then those of its remote; for
// an address what its server reports, the default first. It never asks for a password.
func Branches(ctx context.Context, repo string, dirs paths.Dirs) ([]string, error) {
	if IsURL(repo) {
		return remoteBranches(ctx, repo)
	}
	src := &source{}
	if err := src.locate(ctx, repo, dirs.Workspace); err != nil {
		return nil, err
	}
	refs, err := src.git.Output(ctx, "for-each-ref", "--sort=-committerdate", "--format=%(refname)", "refs/heads/", "refs/remotes/origin/")
	if err != nil {
		return nil, notARepository(src.top, err)
	}
	var own, theirs []string
	known := map[string]bool{}
	for ref := range strings.Lines(string(refs)) {
		ref = strings.TrimSuffix(ref, "\n")
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			own, known[name] = append(own, name), true
		} else if name := strings.TrimPrefix(ref, "refs/remotes/origin/"); name != "HEAD" {
			theirs = append(theirs, name)
		}
	}
	all := own
	for _, name := range theirs {
		if !known[name] { // a server may have thousands, and they are sorted already
			all = append(all, name)
		}
	}
	return all[:min(len(all), maxBranches)], nil
}

func remoteBranches(ctx context.Context, address string) ([]string, error) {
	if err := CheckURL(address); err != nil {
		return nil, err
	}
	out, err := git.Anywhere().With(silent...).Output(ctx, "ls-remote", "--quiet", "--symref", "--", address, "HEAD", "refs/heads/*")
	if err != nil {
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), err)
		}
		return nil, fault.New(fault.Usage, "the branches of %s cannot be read: %s", termtext.Escape(address), git.Message(err)).
			Hint("check the address and your access to it: git ls-remote %s", termtext.Escape(address))
	}
	names := serverBranches(string(out))
	names = names[:min(len(names), maxBranches)]
	first := defaultBranch(string(out))
	if i := slices.Index(names, first); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, first)
	}
	return names, nil
}

// serverBranches returns the names of the branches in the output of ls-remote.
func serverBranches(out string) []string {
	var names []string
	for line := range strings.Lines(out) {
		_, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			names = append(names, name)
		}
	}
	return names
}

// defaultBranch returns the branch of HEAD in the output of ls-remote --symref; empty if there is
// none.
func defaultBranch(out string) string {
	for line := range strings.Lines(out) { // "ref: refs/heads/main<tab>HEAD"
		what, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if name, ok := strings.CutPrefix(what, "ref: refs/heads/"); ok && ref == "HEAD" {
			return name
		}
	}
	return ""
}
