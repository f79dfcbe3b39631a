package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// Pack collects new objects for a repository, compressed in memory.
type Pack struct {
	format Format
	ids    map[string]bool
	body   bytes.Buffer
}

// NewPack returns an empty pack for a repository of the format.
func NewPack(format Format) *Pack { return &Pack{format: format, ids: map[string]bool{}} }

// packKinds has the numbers of the kinds of objects in packs.
var packKinds = map[string]byte{"commit": 1, "tree": 2, "blob": 3}

// Add adds an object once and returns its id.
func (p *Pack) Add(kind string, content []byte) (string, error) {
	h := p.format.hash()
	fmt.Fprintf(h, "%s %d\x00", kind, len(content))
	h.Write(content)
	id := hex.EncodeToString(h.Sum(nil))
	if p.ids[id] {
		return id, nil
	}
	p.ids[id] = true
	// The kind and four bits of the size, then seven bits at a time.
	size := len(content)
	first := packKinds[kind]<<4 | byte(size&15)
	if size >>= 4; size > 0 {
		first |= 0x80
	}
	p.body.WriteByte(first)
	if size > 0 {
		p.body.Write(binary.AppendUvarint(nil, uint64(size)))
	}
	z, err := zlib.NewWriterLevel(&p.body, zlib.BestSpeed)
	if err != nil {
		return "", err
	}
	if _, err := z.Write(content); err != nil {
		return "", err
	}
	return id, z.Close()
}

// Size returns the size of the objects in bytes.
func (p *Pack) Size() int { return p.body.Len() }

// Count returns the number of objects.
func (p *Pack) Count() int { return len(p.ids) }

// Store writes the objects to a repository as one pack. It returns the pack's name without
// "pack-" and the extension.
func (p *Pack) Store(ctx context.Context, r *Repo) (name string, err error) {
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(p.ids)))
	h := p.format.hash()
	h.Write(head)
	h.Write(p.body.Bytes())
	var out strings.Builder
	in := bytes.NewReader(append(append(head, p.body.Bytes()...), h.Sum(nil)...))
	if err := r.Run(ctx, in, &out, "index-pack", "--stdin"); err != nil {
		return "", fmt.Errorf("storing new objects: %s", Message(err))
	}
	_, name, ok := strings.Cut(strings.TrimSpace(out.String()), "\t")
	if !ok {
		return "", fmt.Errorf("unexpected answer of git index-pack: %q", out.String())
	}
	return name, nil
}
