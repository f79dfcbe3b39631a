package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"aibox/internal/git"
	"aibox/internal/paths"
)

// serverFile is the file in a clone with the branches that its server had at the last update, as
// ls-remote prints them.
const serverFile = "aibox-server"

// largestServerFile is the maximum size of that file in bytes.
const largestServerFile = 256 << 20

// branchFormat prints branches as ls-remote does.
const branchFormat = "--format=%(objectname)%09%(refname)"

// keepWork keeps the user's commits on branches that the server has too, before an update replaces
// them: those of an accept whose branch the user had pushed before. They get refs like those of
// makeWay. The returned function moves the branches back to which the user has only added commits.
func keepWork(ctx context.Context, clone *git.Repo, dir string, server map[string]string) (restore func() error, err error) {
	data, err := paths.ReadSmall(filepath.Join(dir, serverFile), largestServerFile)
	known := !errors.Is(err, fs.ErrNotExist) // or an earlier version has made the clone: all differing commits can be the user's
	if known && err != nil {
		return nil, err
	}
	out, err := clone.Output(ctx, "for-each-ref", branchFormat, "refs/heads/")
	if err != nil {
		return nil, err
	}
	before, work := branchCommits(string(data)), branchCommits(string(out))
	var ids []string
	for ref, id := range work {
		if now, there := server[ref]; !there || id == now || id == before[ref] {
			delete(work, ref)
			continue
		}
		ids = append(ids, id)
	}
	var edits strings.Builder
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		fmt.Fprintf(&edits, "update refs/aibox/replaced/%s %s\n", id, id)
	}
	if edits.Len() > 0 {
		if err := clone.Run(ctx, strings.NewReader(edits.String()), nil, "update-ref", "--no-deref", "--stdin"); err != nil {
			return nil, err
		}
	}
	return func() error {
		ctx := context.WithoutCancel(ctx)
		for ref, id := range work {
			fetched, err := clone.Line(ctx, "rev-parse", "--verify", ref)
			if !known || err != nil || clone.Run(ctx, nil, nil, "merge-base", "--is-ancestor", fetched, id) != nil {
				continue // the server has other commits
			}
			// An accept, which does not take the clone's lock, may have moved the branch meanwhile.
			_ = clone.Run(ctx, nil, nil, "update-ref", "--no-deref", ref, id, fetched)
		}
		return nil
	}, nil
}

// branchCommits returns the commits of the branches, by ref, in the output of ls-remote.
func branchCommits(out string) map[string]string {
	commits := map[string]string{}
	for line := range strings.Lines(out) {
		if id, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); strings.HasPrefix(ref, "refs/heads/") {
			commits[ref] = id
		}
	}
	return commits
}

// recordServer records the branches of a new clone as those of its server.
func recordServer(ctx context.Context, clone *git.Repo, dir string) error {
	out, err := clone.Output(ctx, "for-each-ref", branchFormat, "refs/heads/")
	if err != nil {
		return err
	}
	return paths.WriteFile(filepath.Join(dir, serverFile), out)
}
