package archive

import (
	"archive/tar"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// reservedSpace and reservedInodes stay free on the disk.
	reservedSpace  = 256 << 20
	reservedInodes = 1000
	// checkEvery is the number of entries between checks of the free inodes.
	checkEvery = 500
	// maxListed bounds the names in a Result.
	maxListed = 20
	// maxNameLength bounds the path of an entry, in bytes.
	maxNameLength = 4096
	// maxDepth bounds the names in the path of an entry, since each system call opens all of its
	// folders.
	maxDepth = 128
	// maxKnownFolders and maxKnownBytes bound the folders that are remembered, and their paths.
	maxKnownFolders = 100_000
	maxKnownBytes   = 16 << 20
)

// Options say what Extract accepts.
type Options struct {
	// AnyLinks keeps all symlinks. Otherwise those that could lead out of the destination
	// are refused.
	AnyLinks bool
	// Git keeps entries that git could take for a repository's own.
	Git bool
	// IsGit reports whether an entry's name is one that git could take for .git. It is
	// needed unless Git is set.
	IsGit func(name string) bool
	// NoHeads leaves out each file HEAD with which git could take its folder for a bare
	// repository, whose configuration names programs that git runs.
	NoHeads bool
	// AnyDepth accepts entries in any number of folders. Otherwise a small archive could take hours,
	// and one with an entry in too many is ErrTooDeep.
	AnyDepth bool
	// MaxBytes and MaxEntries limit an archive; 0 means no limit. A folder that is only part of
	// the names of others counts as an entry. A larger archive is ErrTooLarge.
	MaxBytes   int64
	MaxEntries int
	// Reserve, which may be nil, is called with the disk space of all entries up to the next one,
	// in bytes, before that is written. Its error ends the extraction.
	Reserve func(bytes int64) error
}

// ErrTooLarge reports that an archive exceeds the limits of its Options.
var ErrTooLarge = errors.New("the archive is too large")

// ErrTooDeep reports that an archive has an entry in too many folders; see Options.AnyDepth.
var ErrTooDeep = errors.New("an entry of the archive is in too many folders")

// Result describes the work of Extract.
type Result struct {
	Files   int   // regular files and symlinks
	Bytes   int64 // of the files
	Refused List  // links that lead out, devices, pipes, hard links
	Git     List  // names that were left out with everything below them; see Options.Git and Options.NoHeads
}

// List is the beginning of a list of names. They come from the archive, so escape them.
type List struct {
	Names []string
	Count int
}

func (l *List) add(name string) {
	if l.Count++; len(l.Names) < maxListed {
		l.Names = append(l.Names, name)
	}
}

// Extract extracts an archive. name is the name of its only top entry, Contents if it has
// the contents of a folder, or "" for any entries, which need an existing folder. If dest is
// a folder, the entries are extracted into it; otherwise the top entry becomes dest.
func Extract(r io.Reader, dest, name string, o Options) (Result, error) {
	base, rename, err := place(dest, name)
	if err != nil {
		return Result{}, err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return Result{}, err
	}
	defer root.Close()
	x := &extraction{Options: o, root: root, base: base, top: name, rename: rename, folders: map[string]bool{".": true}}
	err = x.run(tar.NewReader(r))
	if err == nil {
		// Read the rest of the stream, so that its writer can end.
		_, err = io.Copy(io.Discard, r)
	}
	return x.result, err
}

// CheckDestination returns an error if Extract cannot extract an archive whose top entry has this
// name to dest: a folder is missing, or something else is in its place. It creates nothing.
func CheckDestination(dest, name string) error {
	_, _, _, err := locate(dest, name)
	return err
}

// place returns the folder to extract to, which it creates if necessary, and the new name of the
// top entry, "" if it keeps its own.
func place(dest, name string) (base, rename string, err error) {
	base, rename, create, err := locate(dest, name)
	if err == nil && create {
		err = os.Mkdir(base, 0o777) //nolint:gosec // the umask decides
	}
	return base, rename, err
}

// locate is place without creating the folder; create reports that it does not exist.
func locate(dest, name string) (base, rename string, create bool, err error) {
	info, err := os.Stat(dest)
	switch {
	case err == nil && info.IsDir():
		return dest, "", false, nil
	case err == nil && (name == Contents || name == "" || strings.HasSuffix(dest, "/")):
		return "", "", false, fmt.Errorf("%s is not a folder", dest)
	case err == nil:
		return dirOf(dest), filepath.Base(dest), false, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", "", false, err
	case name == "", name != Contents && strings.HasSuffix(dest, "/"):
		return "", "", false, fmt.Errorf("there is no folder %s", dest)
	}
	base = dirOf(dest)
	if info, err := os.Stat(base); err != nil || !info.IsDir() {
		return "", "", false, fmt.Errorf("there is no folder %s", base)
	}
	if name == Contents {
		return dest, "", true, nil
	}
	return base, filepath.Base(dest), false, nil
}

// dirOf returns the folder of a path. Unlike filepath.Dir, it does not clean the path: after a symlink,
// ".." is the folder above its target.
func dirOf(file string) string {
	file = strings.TrimRight(file, "/")
	switch end := strings.LastIndexByte(file, '/'); end {
	case -1:
		return "."
	case 0:
		return "/"
	default:
		return file[:end]
	}
}

// extraction is the extraction of one archive.
type extraction struct {
	Options

	root    *os.Root
	base    string
	top     string
	rename  string
	folders map[string]bool // paths that are known to be folders and not symlinks
	known   int             // bytes of these paths
	entries int
	lastGit string // the last name of git that was left out
	space   int64  // disk space of the entries, in bytes
	contents
	result Result
}

func (x *extraction) run(in *tar.Reader) error {
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the archive: %w", err)
		}
		if err := x.count(); err != nil {
			return err
		}
		if h.Typeflag == tar.TypeXGlobalHeader { // it is about the entries, and is none
			continue
		}
		if err := x.entry(h, in); err != nil {
			return err
		}
	}
}

// count counts an entry, and refuses one too many.
func (x *extraction) count() error {
	if x.entries++; x.MaxEntries > 0 && x.entries > x.MaxEntries {
		return fmt.Errorf("%w: it has more than %d entries", ErrTooLarge, x.MaxEntries)
	}
	if x.entries%checkEvery == 1 {
		return x.checkSpace(0)
	}
	return nil
}

// entry extracts one entry.
func (x *extraction) entry(h *tar.Header, in io.Reader) error {
	name, err := x.name(h.Name)
	if err != nil {
		return err
	}
	if !x.Git {
		found := cmp.Or(x.findGit(path.Clean(h.Name)), x.findGit(name))
		if found != "" && found != x.lastGit {
			x.result.Git.add(found)
		}
		if x.lastGit = cmp.Or(found, x.lastGit); found != "" {
			return nil
		}
	}
	if x.NoHeads && isNamedHead(h.Name, name) {
		head, rest, err := readHead(h, in)
		if err != nil {
			return fmt.Errorf("reading the archive: %w", err)
		}
		if head {
			x.result.Git.add(name)
			return nil
		}
		in = rest
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return x.folder(name, fs.FileMode(h.Mode).Perm())
	case tar.TypeReg:
		if name == Contents {
			return fmt.Errorf("the archive has a file in place of the folder %s", x.base)
		}
		return x.file(name, h, in)
	case tar.TypeSymlink:
		if name == Contents || !x.AnyLinks && !staysInside(name, h.Linkname) {
			x.result.Refused.add(name + " -> " + h.Linkname)
			return nil
		}
		return x.link(name, h.Linkname)
	default:
		x.result.Refused.add(name)
		return nil
	}
}

// name returns the path of an entry beneath the base.
func (x *extraction) name(given string) (string, error) {
	name := path.Clean(given)
	if !filepath.IsLocal(name) || strings.ContainsRune(given, 0) || len(name) > maxNameLength {
		return "", fmt.Errorf("the archive has an entry %.100q, which is not beneath its top", given)
	}
	if depth := strings.Count(name, "/") + 1; depth > maxDepth && !x.AnyDepth {
		return "", fmt.Errorf("%w: %.100q is in %d, more than %d", ErrTooDeep, given, depth-1, maxDepth-1)
	}
	first, rest, _ := strings.Cut(name, "/")
	if x.top != Contents && x.top != "" && first != x.top {
		return "", fmt.Errorf("the archive has an entry %.100q beside %.100q", given, x.top)
	}
	if x.rename != "" {
		name = path.Join(x.rename, rest)
	}
	return name, nil
}

// findGit returns the part of a path up to the first name that git could take for .git, or "".
func (x *extraction) findGit(name string) string {
	end := 0
	for part := range strings.SplitSeq(name, "/") {
		end += len(part)
		if x.IsGit == nil || x.IsGit(part) {
			return name[:end]
		}
		end++
	}
	return ""
}

// staysInside reports whether a symlink cannot lead out of the destination. Its ".." parts
// must come first: after a name, they would be relative to another link's target.
func staysInside(name, target string) bool {
	if target == "" || path.IsAbs(target) || strings.ContainsRune(target, 0) {
		return false
	}
	named := false
	for part := range strings.SplitSeq(target, "/") {
		if part == ".." && named {
			return false
		}
		named = named || part != ".." && part != "." && part != ""
	}
	return filepath.IsLocal(path.Join(path.Dir(name), target)) || path.Join(path.Dir(name), target) == "."
}

// folder creates a folder, or accepts an existing one.
func (x *extraction) folder(name string, mode fs.FileMode) error {
	if x.folders[name] {
		return nil
	}
	return x.makeFolder(name, mode, x.there(name))
}

// makeFolder is folder for one that is not in x.folders. there reports whether it exists.
func (x *extraction) makeFolder(name string, mode fs.FileMode, there bool) error {
	if err := x.parents(name); err != nil {
		return err
	}
	if !there {
		if err := x.reserve(0); err != nil {
			return err
		}
	}
	err := x.root.Mkdir(name, mode|0o700)
	if errors.Is(err, fs.ErrExist) {
		var info fs.FileInfo
		if info, err = x.root.Lstat(name); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is in the way of a folder: it is a file or a link", filepath.Join(x.base, name))
		}
	} else if err != nil {
		err = x.unwritten(name, err)
	}
	if err == nil && len(x.folders) < maxKnownFolders && x.known+len(name) <= maxKnownBytes {
		x.folders[name] = true
		x.known += len(name)
	}
	return err
}

// parents creates the folders of an entry. None may be a symlink, which could come from the
// archive.
func (x *extraction) parents(name string) error {
	parent := path.Dir(name)
	if parent == "." || x.folders[parent] {
		return nil
	}
	there := x.there(parent)
	if !there {
		if err := x.count(); err != nil {
			return err
		}
	}
	return x.makeFolder(parent, 0o777, there)
}

// there reports whether a folder exists: not all that do are in x.folders.
func (x *extraction) there(name string) bool {
	info, err := x.root.Lstat(name)
	return err == nil && info.IsDir()
}

// file writes a file beside its place and renames it, so that it replaces a link and never
// writes through one.
func (x *extraction) file(name string, h *tar.Header, in io.Reader) (err error) {
	if err := x.parents(name); err != nil {
		return err
	}
	if x.MaxBytes > 0 && h.Size > x.MaxBytes-x.result.Bytes {
		return fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, x.MaxBytes)
	}
	if err := errors.Join(x.checkSpace(h.Size), x.reserve(h.Size)); err != nil {
		return err
	}
	temporary := path.Join(path.Dir(name), ".aibox-"+rand.Text())
	f, err := x.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(h.Mode).Perm()|0o600)
	if err != nil {
		return x.unwritten(name, err)
	}
	defer func() {
		if err != nil {
			_ = x.root.Remove(temporary)
		}
	}()
	n, err := x.copy(f, in, h.Size)
	if err := errors.Join(bare(err), bare(f.Close())); err != nil {
		return x.unwritten(name, err)
	}
	if !h.ModTime.IsZero() {
		_ = x.root.Chtimes(temporary, h.ModTime, h.ModTime) // the copy is usable without the time
	}
	if err := x.root.Rename(temporary, name); err != nil {
		return fmt.Errorf("replacing %s: %w", filepath.Join(x.base, name), bare(err))
	}
	x.result.Files++
	x.result.Bytes += n
	return nil
}

// unwritten returns the error for an entry that could not be written.
func (x *extraction) unwritten(name string, err error) error {
	return fmt.Errorf("writing %s: %w", filepath.Join(x.base, name), bare(err))
}

// bare returns an error of a system call without the name of the file, which may be a temporary one.
func bare(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok {
		return at.Err
	}
	return err
}

// link creates a symlink. It replaces a file or a link, but not a folder.
func (x *extraction) link(name, target string) error {
	if err := x.parents(name); err != nil {
		return err
	}
	if info, err := x.root.Lstat(name); err == nil {
		if info.IsDir() {
			return fmt.Errorf("%s is in the way of a link: it is a folder", filepath.Join(x.base, name))
		}
		if err := x.root.Remove(name); err != nil {
			return x.unwritten(name, err)
		}
	}
	if err := x.reserve(0); err != nil {
		return err
	}
	if err := x.root.Symlink(target, name); err != nil {
		return x.unwritten(name, err)
	}
	x.result.Files++
	return nil
}

// block is the disk space that an entry takes in addition to its content: for its inode and its
// name, and for the last block of its content.
const block = 4 << 10

// reserve reserves the disk space of another entry.
func (x *extraction) reserve(size int64) error {
	x.space += size + block
	if x.Reserve == nil {
		return nil
	}
	return x.Reserve(x.space)
}

// checkSpace refuses to fill the disk, with ENOSPC.
func (x *extraction) checkSpace(size int64) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(x.base, &disk); err != nil {
		return err
	}
	free := int64(min(disk.Bavail, 1<<50)) * disk.Bsize
	if size > free-min(reservedSpace, free/10) {
		return fmt.Errorf("the disk of %s has no room for %d bytes more: %w", x.base, size, unix.ENOSPC)
	}
	if disk.Files > 0 && disk.Ffree < reservedInodes {
		return fmt.Errorf("the disk of %s has no room for more files: %w", x.base, unix.ENOSPC)
	}
	return nil
}
