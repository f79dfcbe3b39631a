package git

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
)

// Missing is the kind of an object that a repository does not have.
const Missing = "missing"

// Object is an object of a repository.
type Object struct {
	ID      string // as it was asked for if the object is missing
	Kind    string // blob, tree, commit, tag or Missing
	Content []byte
}

// EachObject yields the objects with these names, which contain no space, in their order. The
// last one can have an error. Stopping early ends the command.
func (r *Repo) EachObject(ctx context.Context, names []string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		read, write := io.Pipe()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			asked := strings.NewReader(strings.Join(names, "\n") + "\n")
			write.CloseWithError(r.Run(ctx, asked, write, "cat-file", "--batch", "--buffer"))
		}()
		defer func() {
			cancel()
			read.CloseWithError(io.ErrClosedPipe)
			<-ended
		}()
		in := bufio.NewReaderSize(read, 256<<10)
		for range names {
			object, err := readObject(in)
			if !yield(object, err) || err != nil {
				return
			}
		}
	}
}

// readObject reads "ID KIND SIZE", the content and a line end, or "NAME missing".
func readObject(in *bufio.Reader) (Object, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return Object{}, fmt.Errorf("reading objects: %w", err)
	}
	fields := strings.Fields(line)
	if len(fields) == 2 && fields[1] == Missing {
		return Object{ID: fields[0], Kind: Missing}, nil
	}
	if len(fields) != 3 {
		return Object{}, fmt.Errorf("unexpected line from git cat-file: %q", line)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return Object{}, fmt.Errorf("unexpected line from git cat-file: %q", line)
	}
	content := make([]byte, size+1) // git ends it with a newline
	if _, err := io.ReadFull(in, content); err != nil {
		return Object{}, fmt.Errorf("reading %s: %w", fields[0], err)
	}
	return Object{ID: fields[0], Kind: fields[1], Content: content[:size]}, nil
}
