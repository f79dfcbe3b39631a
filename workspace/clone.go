package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"aibox/internal/command"
	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/lazyregexp"
	"aibox/internal/paths"
	"aibox/internal/termtext"
)

// scp is git's short form of an SSH address, user@host:path.
var scp = lazyregexp.New(`^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^:]`)

// IsURL reports whether repo is an address rather than a path.
func IsURL(repo string) bool {
	return strings.Contains(repo, "://") || strings.Contains(repo, "::") || scp.MatchString(repo)
}

// CheckURL refuses addresses that would make git run anything but a plain transport.
func CheckURL(address string) error {
	shown := termtext.Escape(address)
	if scp.MatchString(address) && !strings.Contains(address, "://") {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || strings.HasPrefix(address, "-") {
		return fault.New(fault.Usage, "the address of the repository cannot be read")
	}
	switch u.Scheme {
	case "https", "ssh", "git", "file":
	default:
		return fault.New(fault.Usage, "%s is not an address that aibox clones", shown).
			Hint("use https://, ssh://, git:// or file://, or a path")
	}
	if strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-") || strings.HasPrefix(u.Path, "/-") {
		return fault.New(fault.Usage, "%s is not an address that aibox clones: a part of it starts with a dash", shown)
	}
	if _, secret := u.User.Password(); secret {
		return fault.New(fault.Usage, "the address of the repository contains a password").
			Hint("leave it out and let git ask your credential helper, or clone by ssh")
	}
	return nil
}

// cloneURL clones req.Repo into a bare repository that aibox owns, or updates the
// clone of an earlier run. It returns the repository's folder.
func cloneURL(ctx context.Context, req Request) (string, error) {
	if err := CheckURL(req.Repo); err != nil {
		return "", err
	}
	report(req, Progress{Stage: "cloning"})
	dir := cloneFolder(req.Dirs, req.Repo)
	err := cloneOrFetch(ctx, req.Dirs, req.Repo, dir, []string{"GIT_ALLOW_PROTOCOL=https:ssh:git:file"})
	if failed, ok := errors.AsType[*command.Error](err); ok {
		return "", fault.New(fault.Usage, "cloning %s failed: %s", termtext.Escape(req.Repo), git.Message(failed)).
			Hint("check the address and your access to it: git ls-remote %s", termtext.Escape(req.Repo))
	}
	return dir, err
}

// cloneFolder is the folder of the clone of an address.
func cloneFolder(dirs paths.Dirs, address string) string {
	sum := sha256.Sum256([]byte(address))
	base := folderName(strings.TrimSuffix(filepath.Base(strings.TrimRight(address, "/")), ".git"))
	return filepath.Join(dirs.Repos(), "clone-"+base+"-"+hex.EncodeToString(sum[:6])+".git")
}

// cloneOrFetch clones an address to dir, or fetches the branches if the clone is there. env
// is for git.
func cloneOrFetch(ctx context.Context, dirs paths.Dirs, address, dir string, env []string) error {
	if _, err := os.Stat(dir); err == nil {
		return git.User(dir).With(env...).Run(ctx, nil, nil, "fetch", "--quiet", "--no-recurse-submodules", "origin", "+refs/heads/*:refs/heads/*")
	}
	if err := paths.MakePrivate(dirs.Repos()); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(dirs.Repos(), ".clone-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := git.Anywhere().With(env...).Run(ctx, nil, nil, "clone", "--quiet", "--bare", "--no-hardlinks", "--template=", "--", address, tmp); err != nil {
		return err
	}
	err = os.Rename(tmp, dir)
	if _, other := os.Stat(dir); err != nil && other == nil { // another run has cloned it meanwhile
		return nil
	}
	return err
}
