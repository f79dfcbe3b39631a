// Package archive copies files and folders as tar archives: Pack writes one, Extract reads
// one that a hostile sandbox may have made. Extract writes only beneath its destination, and
// through no symlink. Neither opens devices, pipes or sockets.
//
// No library does this: those that extract archives follow links of the archive, or leave
// the checks to the caller.
package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Contents is the name of an archive of a folder's contents without the folder itself.
const Contents = "."

// Name returns the name of the top entry in the archive of the file or folder at path:
// Contents for a path that ends in a slash or a dot.
func Name(file string) string {
	if file == "" || strings.HasSuffix(file, "/") || path.Base(file) == "." || path.Base(file) == ".." {
		return Contents
	}
	return path.Base(file)
}

// Pack writes the file or folder at file as an archive. Its top entry is named Name(file). A
// symlink at file itself is followed, others become entries. skipped is called with each
// entry that is left out, since it is a device, a pipe or a socket; it may be nil.
func Pack(w io.Writer, file string, skipped func(name string)) error {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file or folder %s", file)
	}
	if err != nil {
		return err
	}
	name := Name(file)
	p := packer{out: tar.NewWriter(w), skipped: skipped}
	switch {
	case info.IsDir():
		err = p.folder(file, name)
	case name == Contents:
		return fmt.Errorf("%s is not a folder", file)
	default:
		err = p.single(file, name)
	}
	return errors.Join(err, p.out.Close())
}

// packer writes one archive.
type packer struct {
	out     *tar.Writer
	skipped func(name string)
	contents
}

// single adds the file at path.
func (p *packer) single(file, name string) error {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return p.regular(f, name)
}

// maxUnsized bounds the content of a file whose size is given as 0, in bytes.
const maxUnsized = 16 << 20

// unsized adds a file whose size is given as 0: an empty one, or one such as /proc/meminfo, whose
// content the kernel makes when it is read.
func (p *packer) unsized(f *os.File, info fs.FileInfo, name string) error {
	data, err := io.ReadAll(io.LimitReader(f, maxUnsized+1))
	if err != nil {
		return err
	}
	if len(data) > maxUnsized {
		return fmt.Errorf("%s has no size, and more than %d bytes", f.Name(), maxUnsized)
	}
	h := header(info, name, tar.TypeReg)
	h.Size = int64(len(data))
	if err := p.out.WriteHeader(h); err != nil {
		return err
	}
	_, err = p.out.Write(data)
	return err
}

// folder adds the folder at dir as name, with all that it contains.
func (p *packer) folder(dir, name string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(inside string, entry fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) && inside != "." {
				return nil // removed meanwhile
			}
			return err
		}
		return p.entry(root, inside, path.Join(name, filepath.ToSlash(inside)), entry)
	})
}

func (p *packer) entry(root *os.Root, inside, name string, entry fs.DirEntry) error {
	info, err := root.Lstat(inside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		if name == Contents {
			return nil
		}
		return p.out.WriteHeader(header(info, name+"/", tar.TypeDir))
	case mode.IsRegular():
		f, err := root.OpenFile(inside, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		return p.regular(f, name)
	case mode&fs.ModeSymlink != 0:
		target, err := root.Readlink(inside)
		if err != nil {
			return err
		}
		h := header(info, name, tar.TypeSymlink)
		h.Linkname = target
		return p.out.WriteHeader(h)
	}
	if p.skipped != nil {
		p.skipped(name)
	}
	return nil
}

// regular adds an open file. If the file shrinks meanwhile, zeros replace the rest.
func (p *packer) regular(f *os.File, name string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		if p.skipped != nil {
			p.skipped(name)
		}
		return nil
	}
	if info.Size() == 0 {
		return p.unsized(f, info, name)
	}
	h := header(info, name, tar.TypeReg)
	h.Size = info.Size()
	if err := p.out.WriteHeader(h); err != nil {
		return err
	}
	written, err := p.copy(p.out, io.LimitReader(f, h.Size), h.Size)
	if err != nil {
		return err
	}
	_, err = io.CopyN(p.out, zeros{}, h.Size-written)
	return err
}

// header returns a header without the owner, since the ids differ on the other side.
func header(info fs.FileInfo, name string, kind byte) *tar.Header {
	return &tar.Header{Typeflag: kind, Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime().Truncate(time.Second), Format: tar.FormatPAX}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
