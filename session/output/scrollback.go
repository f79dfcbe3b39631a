package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// scrollbackFile holds the lines that scrolled off an interactive agent's screen, as text
// with colors.
const scrollbackFile = "scrolled.txt"

// maxScrollback limits its size in bytes. Its last line then says that later output is only
// in the record.
const (
	maxScrollback  = 64 << 20
	scrollbackFull = "… later output is only in the record\n"
)

// ScrollbackWriter appends lines that scroll off a screen to a session's folder. It is
// not safe for concurrent use. A nil writer, as in headless sessions, does nothing.
type ScrollbackWriter struct {
	dir  string
	file *os.File // nil until a line has scrolled off
	size int
	full bool // the limit is reached, or the file is not writable
}

// NewScrollbackWriter returns a writer for the session folder dir.
func NewScrollbackWriter(dir string) *ScrollbackWriter { return &ScrollbackWriter{dir: dir} }

// Append appends whole lines. It ignores write errors, which must not end a session.
func (k *ScrollbackWriter) Append(lines []byte) {
	if k == nil || len(lines) == 0 || k.full {
		return
	}
	if k.full = k.size+len(lines) > maxScrollback; k.full {
		lines = []byte(scrollbackFull)
	}
	err := k.open()
	if err == nil {
		_, err = k.file.Write(lines)
	}
	if k.size += len(lines); err != nil {
		k.full = true
		fmt.Fprintln(os.Stderr, "storing what scrolled off the screen:", err)
	}
}

func (k *ScrollbackWriter) open() (err error) {
	if k.file == nil {
		k.file, err = os.OpenFile(filepath.Join(k.dir, scrollbackFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	}
	return err
}

func (k *ScrollbackWriter) Close() {
	if k != nil && k.file != nil {
		_ = k.file.Close()
	}
}

// Scrollback is the text that an interactive agent's terminal has shown until a point in
// time: the lines that scrolled off its screen, followed by the screen. It lacks text of
// the alternate screen and overwritten text. It is read like a record: raw text that must
// pass the terminal filter before it is shown.
type Scrollback struct {
	file  string
	size  int64 // size of the file at that time
	shown []byte
}

// OpenScrollback opens the scrollback of the session in dir; shown is its current screen,
// or nil. If both are missing, it returns fs.ErrNotExist.
func OpenScrollback(dir string, shown []byte) (*Scrollback, error) {
	p := &Scrollback{file: filepath.Join(dir, scrollbackFile), shown: shown}
	info, err := os.Stat(p.file)
	switch {
	case err == nil:
		p.size = info.Size()
	case !errors.Is(err, fs.ErrNotExist) || shown == nil:
		return nil, err
	}
	return p, nil
}

// Size returns the number of bytes.
func (p *Scrollback) Size() (int64, error) { return p.size + int64(len(p.shown)), nil }

// Output visits the text from the given offset on. visit must not keep the data.
func (p *Scrollback) Output(from int64, visit func(Chunk) error) error {
	if from < p.size {
		end, err := p.read(from, visit)
		if err != nil {
			return err
		}
		from = end
	}
	if shown := from - p.size; shown < int64(len(p.shown)) {
		return visit(Chunk{Offset: from, Stream: Stdout, Data: p.shown[shown:]})
	}
	return nil
}

// read visits the file and returns its end offset.
func (p *Scrollback) read(from int64, visit func(Chunk) error) (int64, error) {
	file, err := os.Open(p.file)
	if err != nil {
		return from, err
	}
	defer file.Close()
	buf := make([]byte, 64<<10)
	for from < p.size {
		n, err := file.ReadAt(buf[:min(int64(len(buf)), p.size-from)], from)
		if n == 0 {
			return from, errors.Join(err, io.ErrUnexpectedEOF)
		}
		if err := visit(Chunk{Offset: from, Stream: Stdout, Data: buf[:n]}); err != nil {
			return from, err
		}
		from += int64(n)
	}
	return from, nil
}

// Follow is the same as Output: a Scrollback does not grow.
func (p *Scrollback) Follow(_ context.Context, from int64, visit func(Chunk) error) error {
	return p.Output(from, visit)
}
