package userrepo

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/git"
)

// ReadUnmodified adds the files that git finds unmodified to index, by their paths after prefix:
// not those in which it looks for no changes. It runs no filter, so a file that has one is
// unmodified only if its times on disk prove it.
func (u *Settings) ReadUnmodified(ctx context.Context, prefix string, index map[string]string) error {
	own, err := u.Git.Index(ctx)
	if err != nil {
		return fmt.Errorf("reading your index: %s", git.Message(err))
	}
	off := map[string]string{}
	for name := range u.Filters {
		off["filter."+name+".clean"], off["filter."+name+".process"], off["filter."+name+".required"] = "", "", "false"
	}
	// A file that was written in the same second as the index may have changed since. Git reads it,
	// and without its filter takes it for modified.
	modified := map[string]bool{}
	for path, err := range u.Git.With(git.Env(off)...).EachRecord(ctx, "diff-files", "--name-only", "-z", "--ignore-submodules=all", "--no-ext-diff") {
		if err != nil {
			return fmt.Errorf("asking your git what you modified: %s", git.Message(err))
		}
		modified[path] = true
	}
	if len(off) > 0 && len(modified) > 0 {
		if err := u.dropUntouched(ctx, modified); err != nil {
			return fmt.Errorf("reading your index: %s", git.Message(err))
		}
	}
	for path, id := range own {
		if !u.assumed[path] && !modified[path] {
			index[prefix+path] = id
		}
	}
	return nil
}

// dropUntouched drops the files that have the times in the index to the nanosecond. Git compares only
// seconds, unless it is built otherwise.
func (u *Settings) dropUntouched(ctx context.Context, modified map[string]bool) error {
	out, err := u.Git.Line(ctx, "ls-files", "--cached", "--debug", "-z")
	if err != nil {
		return err
	}
	for out != "" {
		path, rest, _ := strings.Cut(out, "\x00")
		lines := strings.SplitN(rest, "\n", debugLines+1)
		if out = ""; len(lines) > debugLines {
			out = lines[debugLines]
		}
		if modified[path] && u.untouched(path, lines) {
			delete(modified, path)
		}
	}
	return nil
}

// debugLines is how many lines git ls-files --debug prints after a path.
const debugLines = 5

// untouched reports whether the file at path has the times, number and size in lines.
func (u *Settings) untouched(path string, lines []string) bool {
	var st unix.Stat_t
	if len(lines) < debugLines || unix.Lstat(filepath.Join(u.Git.Dir(), path), &st) != nil || st.Ctim.Nsec == 0 {
		return false // a time without nanoseconds proves nothing
	}
	size, _, _ := strings.Cut(lines[4], "\t")
	_, ino, _ := strings.Cut(lines[2], "\t")
	return lines[0] == fmt.Sprintf("  ctime: %d:%d", st.Ctim.Sec, st.Ctim.Nsec) &&
		lines[1] == fmt.Sprintf("  mtime: %d:%d", st.Mtim.Sec, st.Mtim.Nsec) &&
		ino == fmt.Sprintf("ino: %d", uint32(st.Ino)) && size == fmt.Sprintf("  size: %d", uint32(st.Size))
}
