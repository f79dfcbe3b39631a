package git

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// Missing is the kind of an object that a repository does not have.
const Missing = "missing"

// Object is an object of a repository.
type Object struct {
	ID      string // as it was asked for if the object is missing
	Kind    string // blob, tree, commit, tag or Missing
	Content []byte
}

// EachObject calls each with the objects of the first names, which contain no space, and then with
// those that it asks for, in this order. One process reads them; it is asked while its answers are
// read. A blob with more than largest bytes has no Content. An error of each ends the call.
func (r *Repo) EachObject(ctx context.Context, first []string, largest int64, each func(o Object, ask func(name string)) error) error {
	ctx, cancel := context.WithCancel(ctx)
	questions, asked := io.Pipe()
	read, write := io.Pipe()
	var ending sync.WaitGroup
	defer ending.Wait()
	defer cancel()
	ending.Go(func() {
		write.CloseWithError(r.Run(ctx, questions, write, "cat-file", "--batch"))
		questions.CloseWithError(io.ErrClosedPipe)
	})
	defer read.CloseWithError(io.ErrClosedPipe)
	waiting := newLines()
	ending.Go(func() { asked.CloseWithError(waiting.copyTo(asked)) })
	defer waiting.close()
	open := 0
	ask := func(name string) {
		waiting.add(name)
		open++
	}
	for _, name := range first {
		ask(name)
	}
	for in := bufio.NewReaderSize(read, 256<<10); open > 0; open-- {
		object, err := readObject(in, largest)
		if err != nil {
			return err
		}
		if err := each(object, ask); err != nil {
			return err
		}
	}
	return nil
}

// lines are texts that wait for being written, each with a line end. There can be any number, so
// that adding one never waits for the reader.
type lines struct {
	mu     sync.Mutex
	more   *sync.Cond
	text   []byte
	closed bool
}

func newLines() *lines {
	l := &lines{}
	l.more = sync.NewCond(&l.mu)
	return l
}

func (l *lines) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(append(l.text, text...), '\n')
	l.more.Signal()
}

func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.more.Signal()
}

// copyTo writes all lines until close is called.
func (l *lines) copyTo(w io.Writer) error {
	for {
		l.mu.Lock()
		for len(l.text) == 0 && !l.closed {
			l.more.Wait()
		}
		text, closed := l.text, l.closed
		l.text = nil
		l.mu.Unlock()
		if closed {
			return nil
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
}

// readObject reads an answer of `git cat-file --batch`, without the content of a blob with more than
// largest bytes.
func readObject(in *bufio.Reader, largest int64) (Object, error) {
	id, kind, size, err := readHeader(in)
	if err != nil {
		return Object{}, fmt.Errorf("reading objects: %w", err)
	}
	if kind == Missing {
		return Object{ID: id, Kind: Missing}, nil
	}
	if kind == "blob" && size > largest {
		_, err := io.CopyN(io.Discard, in, size+1)
		return Object{ID: id, Kind: kind}, err
	}
	content, err := readContent(in, id, size)
	return Object{ID: id, Kind: kind, Content: content}, err
}

// readHeader reads the first line of an answer of `git cat-file --batch`: "ID KIND SIZE", or
// "NAME missing", after which no content follows.
func readHeader(in *bufio.Reader) (id, kind string, size int64, err error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", "", 0, err
	}
	fields := strings.Fields(line)
	if len(fields) == 2 && fields[1] == Missing {
		return fields[0], Missing, 0, nil
	}
	if len(fields) != 3 {
		return "", "", 0, fmt.Errorf("unexpected line from git cat-file: %q", line)
	}
	if size, err = strconv.ParseInt(fields[2], 10, 64); err != nil {
		return "", "", 0, fmt.Errorf("unexpected line from git cat-file: %q", line)
	}
	return fields[0], fields[1], size, nil
}

// readContent reads the content after a header, and its line end.
func readContent(in *bufio.Reader, id string, size int64) ([]byte, error) {
	content := make([]byte, size+1)
	if _, err := io.ReadFull(in, content); err != nil {
		return nil, fmt.Errorf("reading %s: %w", id, err)
	}
	return content[:size], nil
}
