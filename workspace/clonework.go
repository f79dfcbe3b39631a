package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aibox/internal/git"
	"aibox/internal/paths"
)

// serverFile is the file in a clone with the branches that its server had at the last update, as
// ls-remote prints them, and after them those that it had before. Its time is that of the last use.
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
		fmt.Fprintf(&edits, "update %s%s %s\n", replacedRefs, id, id)
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

// recordUpdate records the branches of a clone's server after an update, where out is what ls-remote
// printed. It keeps those that the server does not have any more, since the clone keeps them too.
func recordUpdate(dir string, out []byte) error {
	name := filepath.Join(dir, serverFile)
	before, err := paths.ReadSmall(name, largestServerFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var record []byte
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, "\trefs/tags/") {
			record = append(record, line...)
		}
	}
	now := branchCommits(string(out))
	for line := range strings.Lines(string(before)) {
		if _, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); strings.HasPrefix(ref, "refs/heads/") && now[ref] == "" {
			record = append(record, line...)
		}
	}
	return paths.WriteFile(name, record)
}

// markUsed records that a clone was used without an update.
func markUsed(dir string) {
	now := time.Now()
	_ = os.Chtimes(filepath.Join(dir, serverFile), now, now) // one that an earlier version made has none
}

// recordServer records the branches of a new clone as those of its server.
func recordServer(ctx context.Context, clone *git.Repo, dir string) error {
	out, err := clone.Output(ctx, "for-each-ref", branchFormat, "refs/heads/")
	if err != nil {
		return err
	}
	return paths.WriteFile(filepath.Join(dir, serverFile), out)
}
