package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

var isGit = func(name string) bool { return strings.EqualFold(name, ".git") }

// made returns an archive of the headers. Files contain their own name.
func made(t testing.TB, headers ...tar.Header) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(h.Name))
		}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			_, _ = io.WriteString(w, h.Name)
		}
	}
	_ = w.Close()
	return &out
}

// outside makes a folder that must not change, and a destination in it.
func outside(t *testing.T) (top, dest string) {
	t.Helper()
	top = t.TempDir()
	dest = filepath.Join(top, "dest")
	if err := os.Mkdir(dest, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(top, "precious"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	return top, dest
}

// tree lists the files below dir, links with their targets.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, file)
		if entry.Type()&fs.ModeSymlink != 0 {
			target, _ := os.Readlink(file)
			name += " -> " + target
		}
		if !entry.IsDir() {
			all = append(all, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func file(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }

func link(name, target string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}
}

func TestHostileArchivesWriteNothingOutsideTheDestination(t *testing.T) {
	for name, attack := range map[string][]tar.Header{
		"an absolute name":              {file("/tmp/x")},
		"dots":                          {file("../precious")},
		"dots inside":                   {file("top/../../precious")},
		"another top":                   {file(".bashrc")},
		"a link and a file through it":  {link("top", ".."), file("top/precious")},
		"a link inside, then through":   {{Typeflag: tar.TypeDir, Name: "top"}, link("top/l", ".."), file("top/l/../../precious")},
		"a link to a link":              {{Typeflag: tar.TypeDir, Name: "top/a/b"}, link("top/a/b/d", "../.."), link("top/x", "a/b/d/../../../precious"), file("top/x")},
		"an absolute link":              {link("top", "/etc/passwd")},
		"a hard link":                   {{Typeflag: tar.TypeLink, Name: "top", Linkname: "../precious"}},
		"a hard link to a host file":    {{Typeflag: tar.TypeLink, Name: "top", Linkname: "/etc/passwd"}},
		"a device":                      {{Typeflag: tar.TypeChar, Name: "top", Devmajor: 1, Devminor: 3}},
		"a pipe":                        {{Typeflag: tar.TypeFifo, Name: "top"}},
		"a folder in place of a link":   {link("top", "../precious"), {Typeflag: tar.TypeDir, Name: "top"}},
		"the destination as a file":     {file(".")},
		"the destination as a link":     {link(".", "/etc")},
		"git":                           {file("top/.git/hooks/pre-commit"), file("top/.GIT/config")},
		"git through a link":            {{Typeflag: tar.TypeDir, Name: "top"}, link("top/l", ".git"), file("top/l/config")},
		"git as a link":                 {link("top/.git", "evil")},
		"an endless name":               {file("top/" + strings.Repeat("a/", 5000) + "x")},
		"a set-uid file, which is fine": {{Typeflag: tar.TypeReg, Name: "top", Mode: 0o6755}},
	} {
		t.Run(name, func(t *testing.T) {
			top, dest := outside(t)
			_, _ = Extract(made(t, attack...), dest, "top", Options{IsGit: isGit})
			data, err := os.ReadFile(filepath.Join(top, "precious"))
			if err != nil || string(data) != "mine" {
				t.Fatalf("the file outside is %q, %v", data, err)
			}
			for _, found := range tree(t, top) {
				switch {
				case found == "precious":
				case found == "dest/top":
					if info, err := os.Lstat(filepath.Join(top, found)); err != nil || info.Mode() != 0o755 {
						t.Errorf("%s has mode %v", found, info.Mode())
					}
				case strings.HasPrefix(found, "dest/top/l ->"): // the links' targets are checked through the files that exist
				case strings.Contains(found, "->"):
					if real, err := filepath.EvalSymlinks(filepath.Join(top, strings.Split(found, " ->")[0])); err == nil && !strings.HasPrefix(real, dest) {
						t.Errorf("there is a link that leads to %s", real)
					}
				case !strings.HasPrefix(found, "dest/top/") || strings.Contains(strings.ToLower(found), ".git"):
					t.Errorf("there is %s", found)
				}
			}
		})
	}
}

// A user's link in the destination must not be followed, either.
func TestExtractedFilesReplaceLinksAndDoNotFollowThem(t *testing.T) {
	top, dest := outside(t)
	if err := os.Symlink(filepath.Join(top, "precious"), filepath.Join(dest, "top")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(top, filepath.Join(dest, "folder")); err != nil {
		t.Fatal(err)
	}
	if _, err := Extract(made(t, file("top")), dest, "top", Options{IsGit: isGit}); err != nil {
		t.Fatal(err)
	}
	if _, err := Extract(made(t, file("folder/new")), dest, "folder", Options{IsGit: isGit}); err == nil {
		t.Error("a link in place of a folder was followed")
	}
	if got := tree(t, top); !slices.Equal(got, []string{"dest/folder -> " + top, "dest/top", "precious"}) {
		t.Errorf("%q", got)
	}
}

func TestLinksStayInside(t *testing.T) {
	for target, want := range map[string]bool{
		"b": true, "../b": true, "../../b": true, "./x/y": true, "..": true, "../..": true,
		"../../../b": false, "/etc": false, "": false, "x/../../y": false, "x/..": false, "a\x00": false,
	} {
		if got := staysInside("top/dir/link", target); got != want {
			t.Errorf("%q: %v", target, got)
		}
	}
}

// packed packs a file or folder.
func packed(t *testing.T, path string) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	if err := Pack(&out, path, nil); err != nil {
		t.Fatal(err)
	}
	return &out
}

func TestNamesThatAreNotUTF8AreCopied(t *testing.T) {
	source := filepath.Join(t.TempDir(), "src")
	if err := os.MkdirAll(filepath.Join(source, "caf\xe9"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(source, "caf\xe9/\xff"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	dest := t.TempDir()
	if _, err := Extract(packed(t, source), dest, Name(source), Options{IsGit: isGit}); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, dest); !slices.Equal(got, []string{"src/caf\xe9/\xff"}) {
		t.Errorf("%q", got)
	}
}

// `git archive` begins its archives with such a header.
func TestAGlobalHeaderIsNoEntry(t *testing.T) {
	for _, top := range []string{Contents, "src"} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range []*tar.Header{
			{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "abc"}},
			{Typeflag: tar.TypeReg, Name: "src/a", Mode: 0o644},
		} {
			if err := w.WriteHeader(h); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		dest := t.TempDir()
		result, err := Extract(&b, dest, top, Options{IsGit: isGit})
		if err != nil || result.Refused.Count > 0 || result.Files != 1 {
			t.Errorf("%s: %+v, %v", top, result, err)
		}
	}
}

func TestCopiesAreWholeAndPlacedAsCpDoes(t *testing.T) {
	source := filepath.Join(t.TempDir(), "src")
	for _, dir := range []string{"sub/empty", "sub/deep"} {
		if err := os.MkdirAll(filepath.Join(source, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	big := bytes.Repeat([]byte("0123456789"), 100_000)
	for name, data := range map[string][]byte{"a": []byte("a"), "sub/run": []byte("#!"), "sub/deep/big": big} {
		if err := os.WriteFile(filepath.Join(source, name), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../a", filepath.Join(source, "sub/link")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(source, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	whole := []string{"a", "sub/deep/big", "sub/link -> ../a", "sub/run"}
	below := func(prefix string) []string {
		var all []string
		for _, name := range whole {
			all = append(all, prefix+"/"+name)
		}
		return all
	}
	for name, c := range map[string]struct {
		source, dest string
		want         []string
	}{
		"a folder into a folder":   {source, "", below("src")},
		"a folder as a new one":    {source, "new", below("new")},
		"contents into a folder":   {source + "/.", "", whole},
		"contents as a new folder": {source + "/.", "new", below("new")},
		"a file into a folder":     {source + "/a", "", []string{"a"}},
		"a file as another":        {source + "/a", "b", []string{"b"}},
		"a link to a file":         {source + "/sub/link", "", []string{"link"}},
	} {
		dest := t.TempDir()
		if _, err := Extract(packed(t, c.source), filepath.Join(dest, c.dest), Name(c.source), Options{IsGit: isGit}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := tree(t, dest); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	dest := t.TempDir()
	if _, err := Extract(packed(t, source), dest, "src", Options{IsGit: isGit}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dest, "src/sub/deep/big")); err != nil || !bytes.Equal(got, big) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if info, err := os.Stat(filepath.Join(dest, "src/sub/run")); err != nil || info.Mode() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for name, c := range map[string]struct{ dest, top string }{
		"a missing folder":         {filepath.Join(dest, "no/such"), "src"},
		"a new folder with /":      {filepath.Join(dest, "new") + "/", "src"},
		"contents onto a file":     {filepath.Join(dest, "src/a"), Contents},
		"any entries as something": {filepath.Join(dest, "new"), ""},
	} {
		if _, err := Extract(packed(t, source), c.dest, c.top, Options{IsGit: isGit}); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestFileThatIsLargerThanTheDiskIsRefused(t *testing.T) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "top", Size: 1 << 55, Format: tar.FormatPAX}); err != nil {
		t.Fatal(err)
	}
	dest := t.TempDir()
	if _, err := Extract(&out, dest, "top", Options{IsGit: isGit}); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("got %v", err)
	}
	if got := tree(t, dest); len(got) > 0 {
		t.Errorf("left %q", got)
	}
}

func TestAnArchiveBeyondALimitIsRefused(t *testing.T) {
	for name, o := range map[string]Options{"bytes": {IsGit: isGit, MaxBytes: 12}, "entries": {IsGit: isGit, MaxEntries: 2}, "none": {IsGit: isGit, MaxEntries: 4}} {
		_, err := Extract(made(t, file("top/a"), file("top/b"), file("top/c")), t.TempDir(), "top", o)
		if errors.Is(err, ErrTooLarge) != (name != "none") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One entry can name thousands of folders, each of which takes an inode of the host.
func TestFoldersThatAnArchiveOnlyImpliesCountAsEntries(t *testing.T) {
	deep := strings.Repeat("x/", 100)
	for most, isTooLarge := range map[int]bool{101: true, 102: false} {
		_, err := Extract(made(t, file(deep+"a"), file(deep+"b")), t.TempDir(), "", Options{IsGit: isGit, MaxEntries: most})
		if errors.Is(err, ErrTooLarge) != isTooLarge || err != nil && !isTooLarge {
			t.Errorf("with up to %d entries: %v", most, err)
		}
	}
	dest := t.TempDir()
	if _, err := Extract(made(t, file(deep+"a")), dest, "", Options{IsGit: isGit, MaxEntries: 50}); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(dest, strings.Repeat("x/", 50))); err == nil {
		t.Error("more folders than the limit were made")
	}
}

// The time for a chain of folders grows with the square of its length.
func TestAnEntryInTooManyFoldersIsRefused(t *testing.T) {
	for depth, ok := range map[int]bool{maxDepth: true, maxDepth + 1: false} {
		dest := t.TempDir()
		_, err := Extract(made(t, file(strings.Repeat("x/", depth-1)+"a")), dest, "", Options{IsGit: isGit})
		if errors.Is(err, ErrTooDeep) == ok || ok && err != nil {
			t.Errorf("an entry with %d names: %v", depth, err)
		}
		if _, err := os.Lstat(filepath.Join(dest, "x")); (err == nil) != ok {
			t.Errorf("the folder of an entry with %d names: %v", depth, err)
		}
		if _, err := Extract(made(t, file(strings.Repeat("x/", depth-1)+"a")), t.TempDir(), "", Options{IsGit: isGit, AnyDepth: true}); err != nil {
			t.Errorf("an entry with %d names, where any number is accepted: %v", depth, err)
		}
	}
}

// Each path can have thousands of bytes.
func TestThePathsOfRememberedFoldersAreBounded(t *testing.T) {
	dest := t.TempDir()
	root, err := os.OpenRoot(dest)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	x := &extraction{Options: Options{IsGit: isGit}, root: root, base: dest, folders: map[string]bool{}, known: maxKnownBytes - 2}
	if err := x.run(tar.NewReader(made(t, file("aa/x"), file("b/x"), file("aa/y"), file("b/y")))); err != nil {
		t.Fatal(err)
	}
	if len(x.folders) != 1 || !x.folders["aa"] {
		t.Errorf("%d folders are remembered", len(x.folders))
	}
}

func TestFoldersThatAreNotRememberedCountOnce(t *testing.T) {
	dest := t.TempDir()
	root, err := os.OpenRoot(dest)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var reserved int64
	x := &extraction{
		Options: Options{IsGit: isGit, MaxEntries: 7, Reserve: func(bytes int64) error { reserved = bytes; return nil }},
		root:    root, base: dest, folders: map[string]bool{},
	}
	for i := range maxKnownFolders {
		x.folders[strconv.Itoa(i)] = true
	}
	err = x.run(tar.NewReader(made(t, file("top/in/a"), file("top/in/b"), file("top/in/c"), file("top/d"), file("e"))))
	if err != nil || reserved != 7*block+8+8+8+5+1 {
		t.Errorf("%d bytes are reserved: %v", reserved, err)
	}
}

// The kernel makes the content of such files when they are read, and gives their size as 0.
func TestAFileOfProcIsCopiedWithItsContent(t *testing.T) {
	dest := t.TempDir()
	if _, err := Extract(packed(t, "/proc/self/status"), dest, "status", Options{IsGit: isGit}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dest, "status")); err != nil || !bytes.HasPrefix(data, []byte("Name:")) {
		t.Errorf("%q is copied, %v", data, err)
	}
}

func TestFilesOfProcInAFolderAreCopiedWithTheirContent(t *testing.T) {
	dest := t.TempDir()
	if _, err := Extract(packed(t, "/proc/sys/kernel/random/"), dest, Contents, Options{IsGit: isGit}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dest, "boot_id")); err != nil || len(data) < 36 {
		t.Errorf("%q is copied, %v", data, err)
	}
}

// A file is first written under another name, which means nothing to the user.
func TestAFileThatCannotBeWrittenIsNamed(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root can write to every folder")
	}
	for name, entry := range map[string]tar.Header{
		"a": {Typeflag: tar.TypeReg, Name: "a"}, "b": {Typeflag: tar.TypeDir, Name: "b/"}, "c": {Typeflag: tar.TypeSymlink, Name: "c", Linkname: "a"},
	} {
		dest := t.TempDir()
		if err := os.Chmod(dest, 0o500); err != nil {
			t.Fatal(err)
		}
		_, err := Extract(made(t, entry), dest, name, Options{IsGit: isGit})
		if want := "writing " + filepath.Join(dest, name) + ": permission denied"; err == nil || err.Error() != want || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}

func TestAMissingFileIsNamedWithoutTheSystemCall(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "nope")
	if err := Pack(io.Discard, missing, nil); err == nil || err.Error() != "there is no file or folder "+missing {
		t.Errorf("got %v", err)
	}
}

func TestCutOffArchiveLeavesNoPartOfAFile(t *testing.T) {
	whole := made(t, file("top/a"), file("top/b")).Bytes()
	dest := t.TempDir()
	if _, err := Extract(bytes.NewReader(whole[:512+512+512+3]), dest, "top", Options{IsGit: isGit}); err == nil {
		t.Error("it was accepted")
	}
	if got := tree(t, dest); !slices.Equal(got, []string{"top/a"}) {
		t.Errorf("left %q", got)
	}
}

// FuzzExtract extracts hostile bytes: nothing outside the destination may change.
func FuzzExtract(f *testing.F) {
	f.Add(made(f, file("top/a"), link("top/l", "../a")).Bytes())
	f.Add(made(f, link("top", ".."), file("top/x")).Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		top := t.TempDir()
		dest := filepath.Join(top, "dest")
		if err := os.Mkdir(dest, 0o755); err != nil {
			t.Fatal(err)
		}
		_, _ = Extract(bytes.NewReader(data), dest, "top", Options{IsGit: isGit})
		entries, err := os.ReadDir(top)
		if err != nil || len(entries) != 1 {
			t.Fatalf("%d entries are outside, %v", len(entries)-1, err)
		}
		for _, found := range tree(t, dest) {
			if !strings.HasPrefix(found, "top") {
				t.Fatalf("there is %q", found)
			}
		}
	})
}
