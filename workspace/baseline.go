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
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"aibox/internal/git"
	"aibox/internal/paths"
)

// Baseline is what the workspace looked like before the agent started. It stays
// on the host, outside every mount.
type Baseline struct {
	Taken   time.Time     `json:"taken"`    // after the last file was written
	Racy    time.Duration `json:"racy"`     // a ctime later than Taken minus this may hide a change
	HashAll bool          `json:"hash_all"` // the file system's ctime cannot be trusted
	Format  git.Format    `json:"format"`   // of the object ids
	Device  uint64        `json:"device"`   // of the workspace; for the record only
	Ignore  []IgnoreFile  `json:"ignore"`   // the user's own ignore rules
	Modules [][]byte      `json:"modules"`  // submodules: folders that the agent may not fill
	Hidden  [][]byte      `json:"hidden"`   // files of the user that the agent did not get, sorted; nil if unknown
	Files   []File        `json:"-"`        // sorted by path
}

// IgnoreFile is one source of ignore rules as it was before the agent started.
type IgnoreFile struct {
	Dir  []byte `json:"dir"` // folder that it applies to, slash-separated; empty means the top
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

// Stat shows whether a file has changed without reading it.
type Stat struct {
	Size, Inode  uint64
	Mtime, Ctime int64  // nanoseconds since 1970
	Perm         uint32 // st_mode
}

// Find returns the index in Files of the file at path, or the index at which it would be.
func (b *Baseline) Find(path string) (i int, found bool) {
	return slices.BinarySearchFunc(b.Files, path, func(f File, path string) int { return strings.Compare(f.Path, path) })
}

const magic = "AIBOXBASELINE1\n"

const (
	flagExecutable = 1 << iota
	flagSymlink
	flagFiltered
	flagEOL
)

// header is the encoding of everything before the files.
type header struct {
	*Baseline
	Parts []part `json:"parts,omitempty"` // of the files; if there are none, the files are one part
}

// part is a part of the files that can be read without those before it: its first path is
// stored as a whole.
type part struct {
	Files int `json:"files"`
	Bytes int `json:"bytes"`
}

// partSize is the number of files in a part.
const partSize = 4096

// Save writes the baseline so that a reader sees all of it or nothing.
func (b *Baseline) Save(file string) error {
	head := header{Baseline: b, Parts: make([]part, 0, len(b.Files)/partSize+1)}
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	const longest = 64 // bytes: a part in JSON, the magic and the numbers
	room := len(text) + longest*(cap(head.Parts)+1)
	out := make([]byte, room, room+64*len(b.Files)) // the header, which is known last, and most of the files
	for group := range slices.Chunk(b.Files, partSize) {
		begin, last := len(out), ""
		for _, f := range group {
			out = f.append(out, last)
			last = f.Path
		}
		head.Parts = append(head.Parts, part{len(group), len(out) - begin})
	}
	if text, err = json.Marshal(head); err != nil {
		return err
	}
	begin := append([]byte(magic), binary.AppendUvarint(nil, uint64(len(text)))...)
	begin = append(begin, text...)
	begin = binary.AppendUvarint(begin, uint64(len(b.Files)))
	out = out[room-len(begin):]
	copy(out, begin)
	return paths.WriteFile(file, out)
}

// append encodes f. It stores only the part of the path that differs from the beginning of last.
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
	data, err := readText(file)
	if err != nil {
		return nil, err
	}
	b, err := decodeBaseline(data)
	if err != nil {
		return nil, fmt.Errorf("the baseline %s is damaged: %w", file, err)
	}
	return b, nil
}

// readText reads a file into a string without a second copy in memory.
func readText(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	var text strings.Builder
	text.Grow(int(info.Size()) + bytes.MinRead)
	_, err = io.Copy(&text, f)
	return text.String(), err
}

func decodeBaseline(data string) (*Baseline, error) {
	rest, ok := strings.CutPrefix(data, magic)
	if !ok {
		return nil, errors.New("it does not begin as a baseline does")
	}
	d := &decoder{data: rest}
	b := &Baseline{}
	head := header{Baseline: b}
	if err := json.Unmarshal([]byte(d.take(d.uvarint())), &head); err != nil {
		return nil, errors.Join(err, d.err)
	}
	if !b.Format.Known() {
		return nil, fmt.Errorf("it has object ids of the unknown format %q", b.Format)
	}
	count := d.uvarint()
	if d.err != nil {
		return nil, d.err
	}
	rest = d.data[d.at:]
	if count > uint64(len(rest)/minRecord) {
		return nil, io.ErrUnexpectedEOF
	}
	b.Files = make([]File, count)
	if len(head.Parts) == 0 {
		head.Parts = []part{{len(b.Files), len(rest)}}
	}
	if err := decodeParts(rest, head.Parts, b.Files, b.Format.Size()); err != nil {
		return nil, err
	}
	return b, nil
}

// decodeParts reads the parts in data into files, several at once. size is the length of an
// id.
func decodeParts(data string, parts []part, files []File, size int) error {
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	left := files
	for _, p := range parts {
		if p.Files < 0 || p.Files > len(left) || p.Bytes < 0 || p.Bytes > len(data) {
			return errors.Join(errors.New("its parts are longer than all of it"), all.Wait())
		}
		text, into := data[:p.Bytes], left[:p.Files]
		data, left = data[p.Bytes:], left[p.Files:]
		all.Go(func() error { return decodeFiles(text, into, uint64(size)) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	if len(left) > 0 {
		return io.ErrUnexpectedEOF
	}
	for i, first := 0, 0; i < len(parts); i++ {
		if first > 0 && first < len(files) && files[first].Path <= files[first-1].Path {
			return errOrder
		}
		first += parts[i].Files
	}
	return nil
}

var errOrder = errors.New("its files are not in order")

// decodeFiles reads one part.
func decodeFiles(data string, files []File, size uint64) error {
	d := &decoder{data: data}
	d.paths.Grow(len(data) / 2)
	last := ""
	for i := range files {
		f := &files[i]
		d.file(f, last, size)
		if d.err != nil {
			return d.err
		}
		if f.Path <= last {
			return errOrder
		}
		last = f.Path
	}
	return nil
}

const (
	minRecord = 9 + 20 // bytes: a path of one, the other fields of one, and an id
	maxPath   = 4096   // Linux takes no longer path in one call
)

// decoder reads the encoding of Save; after the first error it yields zeros. A baseline is read
// before each review and may have a million files, so files do not get separate strings.
type decoder struct {
	data  string
	at    int             // the rest of data
	paths strings.Builder // all paths, concatenated
	err   error
}

// file reads a record. last is the path before, size the length of an id.
func (d *decoder) file(f *File, last string, size uint64) {
	shared := d.uvarint()
	rest := d.take(d.uvarint())
	flags := d.take(1)
	if d.err != nil || shared > uint64(len(last)) || int(shared)+len(rest) > maxPath {
		d.fail()
		return
	}
	begin := d.paths.Len()
	d.paths.WriteString(last[:shared])
	d.paths.WriteString(rest)
	f.Path = d.paths.String()[begin:]
	switch {
	case flags[0]&flagSymlink != 0:
		f.Mode = git.Symlink
	case flags[0]&flagExecutable != 0:
		f.Mode = git.Executable
	default:
		f.Mode = git.File
	}
	f.EOL = flags[0]&flagEOL != 0
	f.Stat = Stat{Size: d.uvarint(), Inode: d.uvarint(), Perm: uint32(d.uvarint()), Mtime: d.varint(), Ctime: d.varint()}
	f.Raw = d.take(size)
	f.Stored = f.Raw
	if flags[0]&flagFiltered != 0 {
		f.Stored = d.take(size)
	}
}

func (d *decoder) fail() {
	d.at = len(d.data)
	d.err = io.ErrUnexpectedEOF
}

func (d *decoder) take(n uint64) string {
	at := d.at
	if n > uint64(len(d.data)-at) {
		d.fail()
		return ""
	}
	d.at += int(n)
	return d.data[at:d.at]
}

// uvarint reads what binary.AppendUvarint wrote.
func (d *decoder) uvarint() uint64 {
	var v uint64
	for i, shift := d.at, 0; i < len(d.data) && shift < 64; i, shift = i+1, shift+7 {
		c := d.data[i]
		v |= uint64(c&0x7f) << (shift & 63)
		if c < 0x80 {
			d.at = i + 1
			return v
		}
	}
	d.fail()
	return 0
}

// varint reads what binary.AppendVarint wrote.
func (d *decoder) varint() int64 {
	u := d.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// hexID turns a binary id into git's hex.
func hexID(id string) string { return hex.EncodeToString([]byte(id)) }
