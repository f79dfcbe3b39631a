package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aibox/internal/command"
)

// Signature is the author or committer of a commit, with the time.
type Signature struct {
	Name, Email string
	When        time.Time
}

// String returns the signature as commit objects hold it. Characters that git does
// not allow in a name are left out.
func (s Signature) String() string {
	clean := strings.NewReplacer("<", "", ">", "", "\n", " ", "\x00", "")
	name, email := clean.Replace(s.Name), clean.Replace(s.Email)
	return fmt.Sprintf("%s <%s> %d %s", name, email, s.When.Unix(), s.When.Format("-0700"))
}

// Commit is a commit to import: a starting point and edits.
type Commit struct {
	Ref     string   // the ref to set; an existing one is overwritten
	Parent  string   // commit id, or empty for a first commit
	Merge   []string // more parents
	Tree    string   // tree id to start from instead of Parent's; empty: Parent's
	Who     Signature
	Message string
	Remove  []string // paths to remove, before the files of Put are added
	Put     []Entry  // files to put, in any order
}

// Import streams blobs and commits into a repository with git fast-import.
type Import struct {
	pipe    *io.PipeWriter
	out     *bufio.Writer
	answers *bufio.Reader
	done    chan error
}

// Import starts an import into r. The caller must call End.
func (r *Repo) Import(ctx context.Context) *Import {
	read, write := io.Pipe()
	im := &Import{pipe: write, out: bufio.NewWriterSize(write, 256<<10), done: make(chan error, 1)}
	answers, answer, err := os.Pipe()
	if err != nil {
		read.CloseWithError(err)
		im.done <- err
		return im
	}
	im.answers = bufio.NewReader(answers)
	go func() {
		defer answers.Close()
		err := command.Cmd{
			Name:  "git",
			Args:  slices.Concat(r.args, []string{"-c", "pack.compression=1", "fast-import", "--quiet", "--force", "--done", "--cat-blob-fd=3"}),
			Dir:   "/",
			Env:   r.env,
			Stdin: read,
			Files: []*os.File{answer},
		}.Run(ctx)
		answer.Close() // a reader that waits for an answer sees the end
		if err != nil {
			r.removeReports()
		}
		im.done <- err
	}()
	return im
}

// removeReports removes git fast-import's crash reports: the error has their content, and
// nothing else would remove the files.
func (r *Repo) removeReports() {
	reports, _ := filepath.Glob(filepath.Join(r.dir, "fast_import_crash_*"))
	for _, report := range reports {
		_ = os.Remove(report)
	}
}

// Blob adds a blob of exactly size bytes.
func (im *Import) Blob(size int64, content io.Reader) error {
	if _, err := fmt.Fprintf(im.out, "blob\ndata %d\n", size); err != nil {
		return err
	}
	if _, err := io.CopyN(im.out, content, size); err != nil {
		return fmt.Errorf("storing a file's content: %w", err)
	}
	return im.out.WriteByte('\n')
}

// Commit adds a commit. The objects it names must exist or have been added.
func (im *Import) Commit(c Commit) error {
	im.Begin(c)
	return im.Finish()
}

// Begin starts a commit, to which Remove and Put can add edits until Finish. All calls of
// Remove must come before those of Put. Finish returns the error.
func (im *Import) Begin(c Commit) {
	fmt.Fprintf(im.out, "commit %s\nmark :1\ncommitter %s\ndata %d\n%s\n", c.Ref, c.Who, len(c.Message), c.Message)
	if c.Parent != "" {
		fmt.Fprintf(im.out, "from %s\n", c.Parent)
	}
	for _, parent := range c.Merge {
		fmt.Fprintf(im.out, "merge %s\n", parent)
	}
	if c.Tree != "" {
		fmt.Fprintf(im.out, "M 040000 %s \"\"\n", c.Tree)
	}
	for _, path := range c.Remove {
		im.Remove(path)
	}
	for _, e := range c.Put {
		im.Put(e)
	}
}

// Remove removes a path from the current commit.
func (im *Import) Remove(path string) { fmt.Fprintf(im.out, "D %s\n", Quote(path)) }

// Put adds a file to the current commit.
func (im *Import) Put(e Entry) { fmt.Fprintf(im.out, "M %s %s %s\n", e.Mode, e.ID, Quote(e.Path)) }

// Finish ends the current commit.
func (im *Import) Finish() error { return im.out.WriteByte('\n') }

// Made returns the ids of the last added commit and of its tree.
func (im *Import) Made() (commit, tree string, err error) {
	if _, err := im.out.WriteString("get-mark :1\nls :1 \"\"\n"); err != nil {
		return "", "", err
	}
	if err := im.out.Flush(); err != nil {
		return "", "", err
	}
	var lines [2]string
	for i := range lines {
		if lines[i], err = im.answers.ReadString('\n'); err != nil {
			return "", "", fmt.Errorf("waiting for git fast-import: %w", err)
		}
	}
	commit = strings.TrimSuffix(lines[0], "\n")
	// "040000 tree ID<tab>\n"
	if fields := strings.Fields(lines[1]); len(fields) == 3 && fields[1] == "tree" {
		return commit, fields[2], nil
	}
	return "", "", fmt.Errorf("unexpected answer from git fast-import: %q", lines[1])
}

// ImportCommit imports one commit, and returns its id and that of its tree.
func (r *Repo) ImportCommit(ctx context.Context, c Commit) (commit, tree string, err error) {
	im := r.Import(ctx)
	if err = im.Commit(c); err == nil {
		commit, tree, err = im.Made()
	}
	return commit, tree, im.End(err)
}

// End finishes the import and waits for git. After an error, pass the error, so that git
// discards the import.
func (im *Import) End(failed error) error {
	if failed == nil {
		_, failed = im.out.WriteString("done\n")
		failed = errors.Join(failed, im.out.Flush())
	}
	im.pipe.CloseWithError(failed)
	if err := <-im.done; err != nil {
		return errors.Join(failed, err)
	}
	return failed
}
