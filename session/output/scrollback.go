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

// scrollbackFile holds what scrolled off the screen of an interactive session's agent, as
// text with colors.
const scrollbackFile = "scrolled.txt"

// maxScrollback bounds it in bytes. What comes after is in the record alone, and that is the
// last line.
const (
	maxScrollback  = 64 << 20
	scrollbackFull = "… what came then is in the record alone\n"
)

// ScrollbackWriter appends what scrolls off a screen to a session's folder. One goroutine
// may use it. A nil one, which is a headless session's, does nothing.
type ScrollbackWriter struct {
	dir  string
	file *os.File // nil until something has scrolled off
	size int
	full bool // or it cannot be written
}

// NewScrollbackWriter keeps what scrolls off in the session folder dir.
func NewScrollbackWriter(dir string) *ScrollbackWriter { return &ScrollbackWriter{dir: dir} }

// Append appends whole lines. That they cannot be kept ends no session.
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

// Scrollback is what the terminal of an interactive session's agent has shown up to a
// moment: what scrolled off its screen, and below that the screen. What an agent drew
// on an alternate screen, or drew over, is not in it. It is read like a record: raw
// text that must pass the terminal filter before it is shown.
type Scrollback struct {
	file  string
	size  int64 // of it at that moment
	shown []byte
}

// OpenScrollback opens what the terminal of the session in dir has shown so far; shown is its
// screen now, nil for none. Without either it is fs.ErrNotExist.
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

// Size is the bytes that there are.
func (p *Scrollback) Size() (int64, error) { return p.size + int64(len(p.shown)), nil }

// Output visits what there is from an offset on. The data is only lent.
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

// read visits the file, and says where it ends.
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

// Follow is Output: what comes after that moment is not in it.
func (p *Scrollback) Follow(_ context.Context, from int64, visit func(Chunk) error) error {
	return p.Output(from, visit)
}
