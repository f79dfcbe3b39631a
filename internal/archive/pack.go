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
	"slices"
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
	if _, err := p.entry(root, ".", name); err != nil {
		return err
	}
	return p.below(root, ".", name)
}

// below adds the folder inside of root as name, with all that it contains, in the order of names.
// fs.WalkDir would refuse folders whose names are not valid UTF-8.
func (p *packer) below(root *os.Root, inside, name string) error {
	names, err := readNames(root, inside)
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
	if gone && inside != "." {
		return nil // removed or replaced meanwhile
	}
	if err != nil {
		return err
	}
	for _, base := range names {
		isFolder, err := p.entry(root, path.Join(inside, base), path.Join(name, base))
		if err == nil && isFolder {
			err = p.below(root, path.Join(inside, base), path.Join(name, base))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readNames returns the sorted names in a folder.
func readNames(root *os.Root, folder string) ([]string, error) {
	f, err := root.OpenFile(folder, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// entry adds one entry, and reports whether it is a folder. It omits an entry that no longer
// exists.
func (p *packer) entry(root *os.Root, inside, name string) (isFolder bool, err error) {
	info, err := root.Lstat(inside)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if info.IsDir() {
		if name != Contents {
			err = p.out.WriteHeader(header(info, name+"/", tar.TypeDir))
		}
		return true, err
	}
	return false, p.file(root, inside, name, info)
}

// file adds an entry that is not a folder.
func (p *packer) file(root *os.Root, inside, name string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
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
