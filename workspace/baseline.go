package workspace

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"aibox/internal/git"
	"aibox/internal/paths"
)

// Baseline is what the workspace looked like before the agent started. It stays
// on the host, outside every mount.
type Baseline struct {
	Taken   time.Time     `json:"taken"`    // after the last file was written
	Racy    time.Duration `json:"racy"`     // a ctime later than Taken minus this may hide a change
	HashAll bool          `json:"hash_all"` // the file system's ctime is not to be trusted
	Format  git.Format    `json:"format"`   // of the object ids
	Device  uint64        `json:"device"`   // of the workspace; for the record only
	Ignore  []IgnoreFile  `json:"ignore"`   // the user's own ignore rules
	Modules [][]byte      `json:"modules"`  // submodules: folders that the agent may not fill
	Files   []File        `json:"-"`        // sorted by path
}

// IgnoreFile is one source of ignore rules as it stood before the agent.
type IgnoreFile struct {
	Dir  []byte `json:"dir"` // folder it counts for, slash-separated; empty: the top
	Data []byte `json:"data"`
}

// File is one file of the baseline.
type File struct {
	Path   string
	Mode   git.Mode // of the file as the user's repository has it
	Stat   Stat     // of the copy; zero when unknown, so that it is read
	Raw    string   // id of the content on disk as a blob, binary
	Stored string   // id of the blob the user's repository holds for it, binary; differs from Raw behind a filter
	EOL    bool     // Stored is Raw with CRLF turned into LF
}

// Stat is what tells a changed file from an unchanged one without reading it.
type Stat struct {
	Size, Inode  uint64
	Mtime, Ctime int64  // nanoseconds since 1970
	Perm         uint32 // st_mode
}

const magic = "AIBOXBASELINE1\n"

const (
	flagExecutable = 1 << iota
	flagSymlink
	flagFiltered
	flagEOL
)

// Save writes the baseline so that a reader sees all of it or nothing.
func (b *Baseline) Save(file string) error {
	header, err := json.Marshal(b)
	if err != nil {
		return err
	}
	out := append([]byte(magic), binary.AppendUvarint(nil, uint64(len(header)))...)
	out = append(out, header...)
	out = binary.AppendUvarint(out, uint64(len(b.Files)))
	last := ""
	for _, f := range b.Files {
		out = f.append(out, last)
		last = f.Path
	}
	return paths.WriteFile(file, out)
}

// append encodes f; its path is stored as what it does not share with last.
func (f File) append(out []byte, last string) []byte {
	shared := 0
	for shared < len(last) && shared < len(f.Path) && last[shared] == f.Path[shared] {
		shared++
	}
	out = binary.AppendUvarint(out, uint64(shared))
	out = binary.AppendUvarint(out, uint64(len(f.Path)-shared))
	out = append(out, f.Path[shared:]...)
	var flags byte
	if f.Mode == git.Executable {
		flags |= flagExecutable
	}
	if f.Mode == git.Symlink {
		flags |= flagSymlink
	}
	if f.Stored != f.Raw {
		flags |= flagFiltered
	}
	if f.EOL {
		flags |= flagEOL
	}
	out = append(out, flags)
	for _, n := range []uint64{f.Stat.Size, f.Stat.Inode, uint64(f.Stat.Perm)} {
		out = binary.AppendUvarint(out, n)
	}
	out = binary.AppendVarint(out, f.Stat.Mtime)
	out = binary.AppendVarint(out, f.Stat.Ctime)
	out = append(out, f.Raw...)
	if f.Stored != f.Raw {
		out = append(out, f.Stored...)
	}
	return out
}

// LoadBaseline reads what Save wrote.
func LoadBaseline(file string) (*Baseline, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	b, err := decodeBaseline(data)
	if err != nil {
		return nil, fmt.Errorf("the baseline %s is damaged: %w", file, err)
	}
	return b, nil
}

func decodeBaseline(data []byte) (*Baseline, error) {
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok {
		return nil, errors.New("it does not begin as a baseline does")
	}
	d := &decoder{data: rest}
	b := &Baseline{}
	if err := json.Unmarshal(d.take(d.uvarint()), b); err != nil {
		return nil, errors.Join(err, d.err)
	}
	count := d.uvarint()
	if count > uint64(len(rest)) {
		return nil, io.ErrUnexpectedEOF
	}
	b.Files = make([]File, 0, count)
	last := ""
	for range count {
		f := d.file(last, uint64(b.Format.Size()))
		if d.err != nil {
			return nil, d.err
		}
		b.Files = append(b.Files, f)
		last = f.Path
	}
	return b, d.err
}

// decoder reads the encoding of Save; after the first error it yields zeros.
type decoder struct {
	data []byte
	err  error
}

func (d *decoder) file(last string, size uint64) File {
	shared := d.uvarint()
	if shared > uint64(len(last)) {
		d.fail()
		return File{}
	}
	f := File{Path: last[:shared] + string(d.take(d.uvarint())), Mode: git.File}
	flags := d.take(1)
	if d.err != nil {
		return File{}
	}
	switch {
	case flags[0]&flagSymlink != 0:
		f.Mode = git.Symlink
	case flags[0]&flagExecutable != 0:
		f.Mode = git.Executable
	}
	f.EOL = flags[0]&flagEOL != 0
	f.Stat = Stat{Size: d.uvarint(), Inode: d.uvarint(), Perm: uint32(d.uvarint()), Mtime: d.varint(), Ctime: d.varint()}
	f.Raw = string(d.take(size))
	f.Stored = f.Raw
	if flags[0]&flagFiltered != 0 {
		f.Stored = string(d.take(size))
	}
	return f
}

func (d *decoder) fail() {
	d.data = nil
	d.err = io.ErrUnexpectedEOF
}

func (d *decoder) take(n uint64) []byte {
	if d.err != nil || n > uint64(len(d.data)) {
		d.fail()
		return nil
	}
	taken := d.data[:n]
	d.data = d.data[n:]
	return taken
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.data)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.data)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[n:]
	return v
}

// hexID turns a binary id into git's hex.
func hexID(id string) string { return hex.EncodeToString([]byte(id)) }
