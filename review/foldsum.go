package review

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"

	"aibox/internal/git"
	"aibox/internal/sorting"
)

// sum returns the changes that represent the folded files.
func (f *folding) sum(ctx context.Context, repo *git.Repo) ([]Change, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ids, ask := io.Pipe()
	answers, answer := io.Pipe()
	asked, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(asked)
		out := bufio.NewWriter(ask)
		err := f.each(func(d difference, fold string) error {
			if fold == "" || d.op == 'D' {
				return nil
			}
			_, err := out.WriteString(d.entry.ID + "\n")
			return err
		})
		ask.CloseWithError(errors.Join(err, out.Flush()))
	}()
	go func() {
		defer close(ended)
		err := repo.Run(ctx, ids, answer, "cat-file", "--batch-check=%(objectsize)")
		answer.CloseWithError(err)
		ids.CloseWithError(io.ErrClosedPipe)
	}()
	changes, err := f.sums(bufio.NewReader(answers))
	cancel()
	answers.CloseWithError(io.ErrClosedPipe)
	<-ended
	<-asked
	return changes, err
}

// sums is sum, with the sizes of the new contents to read, one per line.
func (f *folding) sums(sizes *bufio.Reader) ([]Change, error) {
	folds, digests := map[string]*Change{}, map[string]hash.Hash{}
	err := f.each(func(d difference, fold string) error {
		if fold == "" {
			return nil
		}
		c := folds[fold]
		if c == nil {
			c = &Change{Path: Path(fold), Kind: Folded, Folder: &Folder{}}
			folds[fold], digests[fold] = c, sha256.New()
		}
		c.Folder.Files++
		fmt.Fprintf(digests[fold], "%c %s %s %s\x00", d.op, d.entry.Mode, d.entry.ID, d.entry.Path)
		if d.op == 'D' {
			c.Folder.Deleted++
			return nil
		}
		line, err := sizes.ReadString('\n')
		if err != nil {
			return fmt.Errorf("reading the sizes of files: %w", err)
		}
		size, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			return fmt.Errorf("the content of %q is missing", d.entry.Path)
		}
		c.Size += size
		return nil
	})
	if err != nil {
		return nil, err
	}
	changes := make([]Change, 0, len(folds))
	for path, c := range folds {
		c.Folder.Digest = hex.EncodeToString(digests[path].Sum(nil))
		changes = append(changes, *c)
	}
	sorting.Func(changes, func(a, b *Change) int { return cmp.Compare(a.Path, b.Path) })
	return changes, nil
}
