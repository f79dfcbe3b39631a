package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"aibox/internal/diskerr"
	"aibox/internal/flock"
	"aibox/internal/git"
	"aibox/internal/termtext"
)

const (
	// maxClonedModules bounds the submodules that one run clones: a repository can name
	// any number of them.
	maxClonedModules = 100
	// moduleTime is how long cloning one of them may take.
	moduleTime = 15 * time.Minute
)

// errModuleTime reports that cloning a submodule took too long.
var errModuleTime = errors.New("cloning takes too long")

// moduleCloner clones the submodules of a repository that aibox cloned from a URL. Their
// addresses come from that repository, which may be hostile. git therefore gets only
// network protocols, never asks for a password, and the agent sees nothing but the files of
// the commits that the repository records by their ids.
type moduleCloner struct {
	req  Request
	left int // of maxClonedModules
}

// cloneModule opens aibox's clone of the submodule at path, and makes or updates the clone
// if it lacks the recorded commit. lack is the reason why that is not possible.
func (s *source) cloneModule(ctx context.Context, path, recorded string) (m *source, lack string, err error) {
	_, addresses := s.moduleSettings(ctx, path)
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	if len(addresses) == 0 {
		return nil, ".gitmodules has no address for it", nil
	}
	address := moduleAddress(s.url, addresses[0])
	shown := termtext.Escape(address)
	if !utf8.ValidString(address) || !IsURL(address) {
		return nil, fmt.Sprintf("its address %s is a path, not a URL", shown), nil
	}
	if err := CheckURL(address); err != nil {
		return nil, err.Error(), nil
	}
	protocols := "https:ssh:git"
	if strings.HasPrefix(address, "file:") {
		if allowed, _ := git.Anywhere().Line(ctx, "config", "--get", "protocol.file.allow"); allowed != "always" {
			return nil, fmt.Sprintf("git clones no submodule from %s; to allow it: git config --global protocol.file.allow always", shown), nil
		}
		protocols += ":file"
	}
	limited, cancel := context.WithTimeoutCause(ctx, moduleTime, errModuleTime)
	defer cancel()
	dir, err := s.cloner.clone(limited, address, recorded, append([]string{"GIT_ALLOW_PROTOCOL=" + protocols}, silent...))
	if err != nil {
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		if err = diskerr.Explain(err, s.cloner.req.Dirs.Repos()); diskerr.Is(err) {
			return nil, "", err
		}
		return nil, fmt.Sprintf("cloning %s failed: %s", shown, git.Message(cmp.Or(context.Cause(limited), err))), nil
	}
	m = &source{
		prefix: s.prefix + path + "/", outermost: cmp.Or(s.outermost, path), settings: s.settings, name: s.name,
		git: gitAt(dir), url: address, head: recorded, cloner: s.cloner,
	}
	return m, m.own(ctx, s.format, s.cloner.req.Dirs.Workspace), nil
}

// clone returns the folder of the clone of an address, which has the commit. env is for git
// where it connects.
func (c *moduleCloner) clone(ctx context.Context, address, commit string, env []string) (string, error) {
	dir := cloneFolder(c.req.Dirs, address)
	has := func() bool { return gitAt(dir).Run(ctx, nil, nil, "cat-file", "-e", commit+"^{commit}") == nil }
	if _, err := os.Stat(dir); err == nil && has() {
		markUsed(dir)
		return dir, nil
	}
	if c.left--; c.left < 0 {
		return "", fmt.Errorf("the repository has more than %d submodules", maxClonedModules)
	}
	report(c.req, Progress{Stage: "cloning"})
	if err := cloneOrFetch(ctx, c.req.Dirs, address, dir, env); err != nil {
		return "", err
	}
	if has() {
		return dir, nil
	}
	// The commit is on no branch. Many servers give it by its id.
	turn, err := flock.Wait(ctx, dir+".lock", flock.Exclusive)
	if err != nil {
		return "", err
	}
	defer turn.Close()
	err = withRoom(ctx, dir, func(ctx context.Context) error {
		return git.User(dir).With(env...).Run(ctx, nil, nil, "fetch", "--quiet", "--no-recurse-submodules", "origin", commit+":refs/aibox/"+commit)
	})
	if errors.Is(err, errNoRoom) {
		dropPartial(dir)
		return "", err
	}
	if diskerr.Is(err) {
		return "", err
	}
	if err != nil || !has() {
		return "", fmt.Errorf("the server does not give commit %s", commit[:min(len(commit), 12)])
	}
	return dir, nil
}

// moduleAddress resolves the address of a submodule in the .gitmodules of the repository at
// of: it is a complete address, or begins with ./ or ../ and is relative to of.
func moduleAddress(of, named string) string {
	if !strings.HasPrefix(named, "./") && !strings.HasPrefix(named, "../") {
		return named
	}
	base, separator := strings.TrimRight(of, "/"), "/"
	for {
		rest, up := strings.CutPrefix(named, "../")
		if !up {
			if rest, up = strings.CutPrefix(named, "./"); !up {
				return base + separator + strings.TrimRight(named, "/")
			}
			named = rest
			continue
		}
		named = rest
		i := strings.LastIndexByte(base, '/')
		if i < 0 {
			i, separator = strings.LastIndexByte(base, ':'), ":"
		}
		base = base[:max(i, 0)]
	}
}
