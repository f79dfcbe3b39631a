package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aibox/internal/command"
	"aibox/internal/diskerr"
	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/internal/git"
	"aibox/internal/lazyregexp"
	"aibox/internal/paths"
	"aibox/internal/slashpath"
	"aibox/internal/termtext"
)

// scp is git's short form of an SSH address, user@host:path.
var scp = lazyregexp.New(`^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^:]`)

// token matches a user name that is a token of a git server: GitHub's, GitLab's, Bitbucket's, or 40
// hexadecimal digits.
var token = lazyregexp.New(`^(?:(?:gh[a-z]_|github_pat_|gl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|agent|soat|ffct)-|ATBB|ATCTT)[A-Za-z0-9_.=-]{20,}|[0-9a-f]{40})$`)

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
	if _, secret := u.User.Password(); secret || token.MatchString(u.User.Username()) {
		return fault.New(fault.Usage, "the address of the repository contains a password or a token").
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
	if err != nil && ctx.Err() != nil {
		return "", err
	}
	if err = diskerr.Explain(err, req.Dirs.Repos()); diskerr.Is(err) {
		return "", err
	}
	if failed, ok := errors.AsType[*command.Error](err); ok {
		return "", fault.New(fault.Usage, "cloning %s failed: %s", termtext.Escape(req.Repo), git.Message(failed)).
			Hint("check the address and your access to it: git ls-remote %s", termtext.Escape(req.Repo))
	}
	if errors.Is(err, errNoRoom) {
		return "", fault.New(fault.Environment, "cloning %s was stopped: %w", termtext.Escape(req.Repo), err).
			Hint("free some space: `df -h %s` shows how much is left", req.Dirs.Repos())
	}
	return dir, err
}

// clonePrefix begins the names of clones.
const clonePrefix = "clone-"

// cloneFolder is the folder of the clone of an address.
func cloneFolder(dirs paths.Dirs, address string) string {
	sum := sha256.Sum256([]byte(address))
	base := folderName(strings.TrimSuffix(filepath.Base(strings.TrimRight(address, "/")), ".git"))
	return filepath.Join(dirs.Repos(), clonePrefix+base+"-"+hex.EncodeToString(sum[:6])+".git")
}

// cloneOrFetch clones an address to dir, or brings the clone up to date if it is there. env is
// for git. Concurrent calls take turns.
func cloneOrFetch(ctx context.Context, dirs paths.Dirs, address, dir string, env []string) error {
	if err := paths.MakePrivate(dirs.Repos()); err != nil {
		return err
	}
	turn, err := flock.Wait(ctx, dir+".lock", flock.Exclusive)
	if err != nil {
		return err
	}
	defer turn.Close()
	return withRoom(ctx, dirs.Repos(), func(ctx context.Context) error {
		if _, err := os.Stat(dir); err != nil {
			return makeClone(ctx, dirs, address, dir, env)
		}
		err := update(ctx, git.User(dir).With(env...), dir)
		if errors.Is(context.Cause(ctx), errNoRoom) {
			dropPartial(dir)
		}
		return err
	})
}

// makeClone clones an address to dir, which is not there.
func makeClone(ctx context.Context, dirs paths.Dirs, address, dir string, env []string) error {
	tmp, err := os.MkdirTemp(dirs.Repos(), ".clone-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	// The user's git can be set up to give the remote another name.
	clone := []string{"-c", "clone.defaultRemoteName=origin", "clone", "--quiet", "--bare", "--no-hardlinks", "--template=", "--", address, tmp}
	if err := git.Anywhere().With(env...).Run(ctx, nil, nil, clone...); err != nil {
		return err
	}
	if err := recordServer(ctx, git.User(tmp), tmp); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

// serverRefs is the prefix of refs in a clone to the commits of its server's branches.
const serverRefs = "refs/aibox/server/"

// maxMoves is how often an update tries to move the branches of a clone. It fails if one of them is moved
// meanwhile, as by an accept, which does not take the clone's lock.
const maxMoves = 5

// update fetches the branches and tags of a clone. It keeps those that its server does not have, and what the
// user has added to others: the user's accepted work is on some of them. HEAD becomes the server's
// default branch. The caller has locked the clone.
func update(ctx context.Context, clone *git.Repo, dir string) error {
	if err := dropLocks(dir, staleLock); err != nil {
		return err
	}
	out, err := clone.Output(ctx, "ls-remote", "--quiet", "--symref", "origin", "HEAD", "refs/heads/*", "refs/tags/*")
	if err != nil {
		return err
	}
	if err := makeWay(ctx, clone, string(out)); err != nil {
		return err
	}
	// The user's git can be set up to prune, which deletes the tags that the server does not have.
	if err := clone.Run(ctx, nil, nil, "fetch", "--quiet", "--no-recurse-submodules", "--no-prune", "origin", "+refs/heads/*:"+serverRefs+"*", "+refs/tags/*:refs/tags/*"); err != nil {
		return err
	}
	for range maxMoves {
		if err = moveBranches(ctx, clone, dir); err == nil || ctx.Err() != nil || fault.KindOf(err) == fault.Conflict {
			break // it is done, or no other try would do better
		}
	}
	if err != nil {
		return err
	}
	if err := recordUpdate(dir, out); err != nil {
		return err
	}
	branch := "refs/heads/" + defaultBranch(string(out))
	known, err := clone.Output(ctx, "for-each-ref", "--format=%(refname)", branch)
	if err != nil || strings.TrimSpace(string(known)) != branch { // the server does not say, or its HEAD is no branch
		return err
	}
	return clone.Run(ctx, nil, nil, "symbolic-ref", "HEAD", branch)
}

// replacedRefs is the prefix of refs in a clone that keep commits of branches that a server has replaced.
const replacedRefs = "refs/aibox/replaced/"

// makeWay moves branches of a clone that are in the way of the server's, as a folder of branches is
// in that of a branch with its name, to refs that keep their commits. It deletes tags that are in the way of
// the server's, and refs to branches that the server does not have any more. server is what ls-remote printed.
func makeWay(ctx context.Context, clone *git.Repo, server string) error {
	out, err := clone.Output(ctx, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/", "refs/tags/", serverRefs)
	if err != nil {
		return err
	}
	taken := map[string]bool{}  // the server's refs
	folder := map[string]bool{} // the folders that they are in
	for line := range strings.Lines(server) {
		_, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		taken[ref] = true
		for _, dir := range slashpath.Parents(ref) {
			folder[dir] = true
		}
	}
	inWay := func(ref string) bool {
		return folder[ref] || slices.ContainsFunc(slashpath.Parents(ref), func(dir string) bool { return taken[dir] })
	}
	var edits strings.Builder
	kept := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		id, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		branch, isServers := strings.CutPrefix(ref, serverRefs)
		if isServers && taken["refs/heads/"+branch] || !isServers && !inWay(ref) {
			continue
		}
		if fmt.Fprintf(&edits, "delete %s %s\n", ref, id); strings.HasPrefix(ref, "refs/heads/") && !kept[id] {
			fmt.Fprintf(&edits, "update %s%s %s\n", replacedRefs, id, id)
			kept[id] = true
		}
	}
	if edits.Len() == 0 {
		return nil
	}
	return clone.Run(ctx, strings.NewReader(edits.String()), nil, "update-ref", "--no-deref", "--stdin")
}

// staleLock is the age from which a lock in a clone is one that a killed git has left. An accept to
// the clone holds one for a moment, and the clone's own lock does not keep it away.
const staleLock = time.Minute

// dropLocks removes the locks in a bare repository that git left when it was killed. They were made at
// least age ago.
func dropLocks(dir string, age time.Duration) error {
	locks, _ := filepath.Glob(filepath.Join(dir, "*.lock"))
	err := filepath.WalkDir(filepath.Join(dir, "refs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".lock") { // no ref ends so
			locks = append(locks, path)
		}
		return ignoreAbsent(err) // git removes the folder with its last ref
	})
	for _, lock := range locks {
		if info, statErr := os.Lstat(lock); statErr != nil || time.Since(info.ModTime()) < age {
			continue
		}
		err = errors.Join(err, ignoreAbsent(os.Remove(lock)))
	}
	return err
}
