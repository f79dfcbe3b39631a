package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/paths"
	"aibox/internal/termtext"
)

// serverFile is the file in a clone with the branches that its server had at the last update, as
// ls-remote prints them, and after them those that it had before. Its time is that of the last use.
const serverFile = "aibox-server"

// largestServerFile is the maximum size of that file in bytes.
const largestServerFile = 256 << 20

// branchFormat prints branches as ls-remote does.
const branchFormat = "--format=%(objectname)%09%(refname)"

// moveBranches moves the branches of a clone to the commits that its server's had at the last fetch. The
// user's commits on them get refs like those of makeWay: those of an accept whose branch the user had
// pushed before. Branches to which the user has only added commits stay. It fails, and moves none, if one of
// them is moved meanwhile, or is checked out in a worktree.
func moveBranches(ctx context.Context, clone *git.Repo, dir string) error {
	data, err := paths.ReadSmall(filepath.Join(dir, serverFile), largestServerFile)
	known := !errors.Is(err, fs.ErrNotExist) // or an earlier version has made the clone: all differing commits can be the user's
	if known && err != nil {
		return err
	}
	fetched, err := clone.Output(ctx, "for-each-ref", "--format=%(objectname)%09refs/heads/%(refname:lstrip=3)", serverRefs)
	if err != nil {
		return err
	}
	out, err := clone.Output(ctx, "for-each-ref", branchFormat, "refs/heads/")
	if err != nil {
		return err
	}
	worktrees, err := clone.Output(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return err
	}
	before, has := branchCommits(string(data)), branchCommits(string(out))
	var edits strings.Builder
	kept := map[string]bool{}
	for ref, id := range branchCommits(string(fetched)) {
		was, exists := has[ref]
		switch {
		case !exists:
			fmt.Fprintf(&edits, "create %s %s\n", ref, id)
			continue
		case was == id:
			continue
		case was != before[ref]: // the user's
			if known && clone.Run(ctx, nil, nil, "merge-base", "--is-ancestor", id, was) == nil {
				continue
			}
			if !kept[was] {
				fmt.Fprintf(&edits, "update %s%s %s\n", replacedRefs, was, was)
			}
			kept[was] = true
		}
		if strings.Contains(string(worktrees), "\nbranch "+ref+"\n") {
			return fault.New(fault.Conflict, "the branch %s of aibox's clone is checked out in a worktree, so the clone cannot be updated", termtext.Escape(strings.TrimPrefix(ref, "refs/heads/"))).
				Hint("`git -C %s worktree list` shows it", dir)
		}
		fmt.Fprintf(&edits, "update %s %s %s\n", ref, id, was)
	}
	if edits.Len() == 0 {
		return nil
	}
	return clone.Run(ctx, strings.NewReader(edits.String()), nil, "update-ref", "--no-deref", "--stdin")
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
