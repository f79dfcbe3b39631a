package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// pastFile holds what scrolled off the screen of an interactive session's agent, as
// text with colors.
const pastFile = "scrolled.txt"

// maxPast bounds it in bytes. What comes after is in the record alone, and that is the
// last line.
const (
	maxPast  = 64 << 20
	pastFull = "… what came then is in the record alone\n"
)

// pastKeeper appends what scrolls off a screen to a session's folder. One goroutine
// may use it. A nil one, which is a headless session's, does nothing.
type pastKeeper struct {
	dir  string
	file *os.File // nil until something has scrolled off
	size int
	full bool // or it cannot be written
}

// newPastKeeper keeps what scrolls off in the session folder dir.
func newPastKeeper(dir string) *pastKeeper { return &pastKeeper{dir: dir} }

// keep appends whole lines. That they cannot be kept ends no session.
func (k *pastKeeper) keep(lines []byte) {
	if k == nil || len(lines) == 0 || k.full {
		return
	}
	if k.full = k.size+len(lines) > maxPast; k.full {
		lines = []byte(pastFull)
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

func (k *pastKeeper) open() (err error) {
	if k.file == nil {
		k.file, err = os.OpenFile(filepath.Join(k.dir, pastFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	}
	return err
}

func (k *pastKeeper) close() {
	if k != nil && k.file != nil {
		_ = k.file.Close()
	}
}

// Past is what the terminal of an interactive session's agent has shown up to a
// moment: what scrolled off its screen, and below that the screen. What an agent drew
// on an alternate screen, or drew over, is not in it. It is read like a record: raw
// text that must pass the terminal filter before a person sees it.
type Past struct {
	file  string
	size  int64 // of it at that moment
	shown []byte
}

// Past is what a session's terminal has shown so far. ErrNoScreen says that it never
// had one, or that its supervisor died before anything scrolled off.
func (s *Sessions) Past(ctx context.Context, id ID) (*Past, error) {
	shown, screenErr := s.Screen(ctx, id)
	if screenErr != nil && !errors.Is(screenErr, ErrNoScreen) {
		return nil, screenErr
	}
	p, err := openPast(s.store.dir(id), shown)
	if errors.Is(err, fs.ErrNotExist) && screenErr != nil {
		return nil, screenErr
	}
	return p, err
}

// openPast opens what the terminal of the session in dir has shown so far; shown is its
// screen now, nil for none. Without either it is fs.ErrNotExist.
func openPast(dir string, shown []byte) (*Past, error) {
	p := &Past{file: filepath.Join(dir, pastFile), shown: shown}
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
func (p *Past) Size() (int64, error) { return p.size + int64(len(p.shown)), nil }

// Output visits what there is from an offset on. The data is only lent.
func (p *Past) Output(from int64, visit func(Chunk) error) error {
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
func (p *Past) read(from int64, visit func(Chunk) error) (int64, error) {
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
func (p *Past) Follow(_ context.Context, from int64, visit func(Chunk) error) error {
	return p.Output(from, visit)
}
