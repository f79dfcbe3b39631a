package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"aibox/internal/command"
	"aibox/internal/eol"
	"aibox/internal/git"
	"aibox/review/userrepo"
	"aibox/workspace"
)

// maxMerge is the size limit for merges and for checks of line endings.
const maxMerge = 16 << 20

// versions are the three contents of a merge.
type versions struct{ base, yours, theirs []byte }

// normal returns the sides with LF line endings, if they can be compared that way, and the
// line endings of the result. If git converts line endings, mixed ones on disk do not count
// as a difference.
func (s versions) normal(c userrepo.LineEndings) (versions, eol.Style, bool) {
	base, yours, theirs := eol.StyleOf(s.base), eol.StyleOf(s.yours), eol.StyleOf(s.theirs)
	if yours == eol.Mixed && c.Converts && (base == eol.LF || base == eol.None) {
		yours = eol.Prevailing(s.yours)
	}
	if base == eol.Mixed || yours == eol.Mixed || theirs == eol.Mixed {
		return s, eol.Mixed, false
	}
	result := theirs // the agent changed the endings, or the file has none
	if yours != eol.None && (theirs == base || theirs == eol.None || base == eol.None) {
		result = yours
	}
	return versions{workspace.UnixLines(s.base), workspace.UnixLines(s.yours), workspace.UnixLines(s.theirs)}, result, true
}

// errConflict reports that both sides changed the same lines.
var errConflict = errors.New("both changed the same lines")

// merge combines both sides' changes. It fails with errConflict and the input for
// parseConflicts, or with a reason.
func (p *transaction) merge(ctx context.Context, s versions, c userrepo.LineEndings, driver string) ([]byte, error) {
	if eol.IsBinary(s.base) || eol.IsBinary(s.yours) || eol.IsBinary(s.theirs) {
		return nil, reason("you changed it, too, and it is binary")
	}
	s, style, normal := s.normal(c)
	merged, err := p.mergeLines(ctx, s, driver)
	if err != nil || !normal || style != eol.CRLF {
		return merged, err
	}
	return eol.ToCRLF(merged), nil
}

// mergeLines merges line by line, and without git if one side changed nothing.
func (p *transaction) mergeLines(ctx context.Context, s versions, driver string) ([]byte, error) {
	switch {
	case bytes.Equal(s.yours, s.base):
		return s.theirs, nil
	case bytes.Equal(s.theirs, s.base), bytes.Equal(s.yours, s.theirs):
		return s.yours, nil
	}
	args := slices.Clone(mergeArgs)
	switch driver {
	case "", "unspecified", "set", "text":
	case "union":
		args = append(args, "--union")
	default:
		return nil, reason("you changed it, too, and your attributes do not let it be merged as text")
	}
	dir := mergeDir(p.job.Workspace.GitDir)
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		return nil, fmt.Errorf("merging: %w", err)
	}
	defer os.RemoveAll(dir)
	for i, data := range [][]byte{s.yours, s.base, s.theirs} {
		file := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return nil, fmt.Errorf("merging: %w", err)
		}
		args = append(args, file)
	}
	var merged bytes.Buffer
	err := p.repo.Run(ctx, nil, &merged, args...)
	if failed, ok := errors.AsType[*command.Error](err); ok && failed.Code > 0 && failed.Code < 128 {
		return merged.Bytes(), errConflict // the exit code is the number of conflicts
	}
	if err != nil {
		return nil, fmt.Errorf("merging: %s", git.Message(err))
	}
	return merged.Bytes(), nil
}

// mergeDir holds the three sides while git merges them; only under the lock.
func mergeDir(gitDir string) string { return filepath.Join(gitDir, "aibox", "worktree.merge") }

// readMergeable returns the content of a blob, or a reason if it is larger than maxMerge.
func readMergeable(blobs *git.Blobs, id string) ([]byte, error) {
	data, cut, err := blobs.ReadWithin(id, maxMerge)
	if cut && err == nil {
		err = reason("you changed it, too, and it is too large to merge")
	}
	return data, err
}
