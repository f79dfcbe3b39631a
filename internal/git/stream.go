package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// EachRecord runs a git command with -z output and yields its records as they arrive. The
// last one can have an error. Stopping early ends the command.
func (r *Repo) EachRecord(ctx context.Context, args ...string) iter.Seq2[string, error] {
	return r.EachRecordOf(ctx, nil, args...)
}

// EachRecordOf is like EachRecord for a command that reads stdin.
func (r *Repo) EachRecordOf(ctx context.Context, stdin io.Reader, args ...string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		read, write := io.Pipe()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			write.CloseWithError(r.Run(ctx, stdin, write, args...))
		}()
		defer func() {
			cancel()
			read.CloseWithError(io.ErrClosedPipe)
			<-ended
		}()
		in := bufio.NewReaderSize(read, 64<<10)
		for {
			record, err := in.ReadString(0)
			if errors.Is(err, io.EOF) && record == "" {
				return
			}
			if err != nil {
				yield("", err)
				return
			}
			if !yield(record[:len(record)-1], nil) {
				return
			}
		}
	}
}

// Entries returns the files of a tree or a commit, submodules included, in the order of
// their paths, as git lists them.
func (r *Repo) Entries(ctx context.Context, treeish string) iter.Seq2[Entry, error] {
	return r.entries(ctx, "ls-tree", "-r", "-z", "--full-tree", treeish)
}

func (r *Repo) entries(ctx context.Context, args ...string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for record, err := range r.EachRecord(ctx, args...) {
			var e Entry
			if err == nil {
				e, err = parseEntry(record)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// argBytes is the maximum size of the paths in one process's arguments.
const argBytes = 256 << 10

// EntriesAt returns the entries, files and folders, of those paths that exist in a tree or
// a commit.
func (r *Repo) EntriesAt(ctx context.Context, treeish string, paths []string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for len(paths) > 0 {
			args, size := []string{"ls-tree", "-z", "--full-tree", treeish, "--"}, 0
			for len(paths) > 0 && size < argBytes {
				args, size, paths = append(args, paths[0]), size+len(paths[0])+1, paths[1:]
			}
			for e, err := range r.entries(ctx, args...) {
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

// parseEntry reads "MODE TYPE ID<tab>PATH".
func parseEntry(record string) (Entry, error) {
	meta, path, ok := strings.Cut(record, "\t")
	fields := strings.Fields(meta)
	if !ok || len(fields) != 3 {
		return Entry{}, fmt.Errorf("unexpected line from git ls-tree: %q", record)
	}
	return Entry{Mode: Mode(fields[0]), ID: fields[2], Path: path}, nil
}

// Index returns the entries of the index by their paths. For a conflict it returns any one stage.
func (r *Repo) Index(ctx context.Context) (map[string]string, error) {
	ids := map[string]string{}
	for record, err := range r.EachRecord(ctx, "ls-files", "-s", "-z") {
		if err != nil {
			return nil, err
		}
		meta, path, ok := strings.Cut(record, "\t")
		fields := strings.Fields(meta)
		if !ok || len(fields) != 3 {
			return nil, fmt.Errorf("unexpected line from git ls-files: %q", record)
		}
		ids[path] = fields[1]
	}
	return ids, nil
}
