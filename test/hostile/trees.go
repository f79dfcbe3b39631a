package hostile

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Tree is something that an agent may leave beside .git, and what a review must
// make of it.
type Tree struct {
	Name string
	// Make adds it to the files below dir, where a.txt and sub/b.txt are; outside is
	// a folder on the same file system with a file a.txt that holds Secret.
	Make    func(dir, outside string) error
	Refused map[string]string // path → words of the reason
	Taken   map[string]string // path → words of a note; empty: without a note
	Gone    []string          // files of the baseline that are deleted
	Whole   string            // words of a note on the whole; empty: there is none
	Most    int               // new files that may be taken; 0: no limit
}

func tree(f func(t *trap, outside string)) func(dir, outside string) error {
	return func(dir, outside string) error {
		t := &trap{dir: dir}
		f(t, outside)
		return t.err
	}
}

// file is a tree with one odd name, which is taken with a note.
func file(name, path, note string) Tree {
	return Tree{Name: name, Make: tree(func(t *trap, _ string) { t.write(path, "text\n", 0o644) }), Taken: map[string]string{path: note}}
}

// lookAlike is a tree with one name that is taken for .git somewhere.
func lookAlike(path string) Tree {
	top := strings.TrimSuffix(path, "/config")
	return Tree{
		Name:    "the name " + path,
		Make:    tree(func(t *trap, _ string) { t.write(path, "[core]\n\tfsmonitor = evil\n", 0o644) }),
		Refused: map[string]string{top: "takes for .git"},
	}
}

// Trees is the corpus of threats 3 to 5.
func Trees() []Tree {
	all := []Tree{
		{Name: "a symlink to a file outside", Make: tree(func(t *trap, outside string) { t.symlink(outside+"/a.txt", "link") }), Taken: map[string]string{"link": ""}},
		{Name: "a file that became a symlink", Make: tree(func(t *trap, outside string) { t.symlink(outside+"/a.txt", "a.txt") }), Taken: map[string]string{"a.txt": ""}},
		{
			Name: "a folder that became a symlink", Make: tree(func(t *trap, outside string) { t.symlink(outside, "sub") }),
			Taken: map[string]string{"sub": ""}, Gone: []string{"sub/b.txt"},
		},
		{Name: "a symlink upwards", Make: tree(func(t *trap, _ string) { t.symlink("../../../../../../etc", "up") }), Taken: map[string]string{"up": ""}},
		{Name: "a symlink to itself", Make: tree(func(t *trap, _ string) { t.symlink("loop", "loop") }), Taken: map[string]string{"loop": ""}},
		{Name: "a symlink to a process's root", Make: tree(func(t *trap, _ string) { t.symlink("/proc/self/root", "root") }), Taken: map[string]string{"root": ""}},
		{
			Name: "a hard link to a file outside", Make: tree(func(t *trap, outside string) {
				t.do(func() error { return os.Link(outside+"/a.txt", t.path("linked")) })
			}),
			Refused: map[string]string{"linked": "hard link"},
		},
		{
			Name: "a file that became a hard link to one outside", Make: tree(func(t *trap, outside string) {
				t.do(func() error { return os.Remove(t.path("a.txt")) })
				t.do(func() error { return os.Link(outside+"/a.txt", t.path("a.txt")) })
			}),
			Refused: map[string]string{"a.txt": "hard link"},
		},
		{
			Name: "two of three names of a file", Make: tree(func(t *trap, outside string) {
				t.do(func() error { return os.Link(outside+"/a.txt", t.path("one")) })
				t.do(func() error { return os.Link(outside+"/a.txt", t.path("two")) })
			}),
			Refused: map[string]string{"one": "hard link", "two": "hard link"},
		},
		{
			Name: "a symlink that is a hard link", Make: tree(func(t *trap, outside string) {
				t.do(func() error { return os.Symlink("/etc/passwd", outside+"/link") })
				t.do(func() error { return os.Link(outside+"/link", t.path("link")) })
			}),
			Taken: map[string]string{"link": ""},
		},
		special("a pipe", func(path string) error { return unix.Mkfifo(path, 0o644) }, "named pipe"),
		special("a socket", func(path string) error { return unix.Mknod(path, unix.S_IFSOCK|0o644, 0) }, "socket"),
		{
			Name: "a file that became a pipe", Make: tree(func(t *trap, _ string) {
				t.do(func() error { return os.Remove(t.path("a.txt")) })
				t.do(func() error { return unix.Mkfifo(t.path("a.txt"), 0o644) })
			}),
			Refused: map[string]string{"a.txt": "named pipe"},
		},
		{
			Name: "a pipe called .gitattributes", Make: tree(func(t *trap, _ string) {
				t.do(func() error { return unix.Mkfifo(t.path(".gitattributes"), 0o644) })
				t.do(func() error { return unix.Mkfifo(t.path("sub/.gitignore"), 0o644) })
			}),
			Refused: map[string]string{".gitattributes": "named pipe", "sub/.gitignore": "named pipe"},
		},
		{
			Name: "a file without rights", Make: tree(func(t *trap, _ string) {
				t.write("closed/file", "text\n", 0o644)
				t.do(func() error { return os.Chmod(t.path("closed/file"), 0) })
				t.do(func() error { return os.Chmod(t.path("closed"), 0) })
			}),
			Taken: map[string]string{"closed/file": ""},
		},
		{
			Name: "a file that runs as its owner", Make: tree(func(t *trap, _ string) {
				t.write("tool", "#!/bin/sh\n", 0o755)
				t.do(func() error { return unix.Chmod(t.path("tool"), 0o6755) })
			}),
			Taken: map[string]string{"tool": ""},
		},
		{Name: "a .gitmodules", Make: tree(func(t *trap, _ string) {
			t.write(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = -u./evil\n", 0o644)
		}), Refused: map[string]string{".gitmodules": "submodules"}},
		{Name: "a .gitmodules that is a symlink", Make: tree(func(t *trap, outside string) { t.symlink(outside+"/a.txt", ".gitmodules") }), Refused: map[string]string{".gitmodules": "submodules"}},
		{Name: "a .GITMODULES", Make: tree(func(t *trap, _ string) { t.write(".GitModules", "x\n", 0o644) }), Refused: map[string]string{".GitModules": "submodules"}},
		{Name: "the short name of .gitmodules", Make: tree(func(t *trap, _ string) { t.write("GITMOD~1", "x\n", 0o644) }), Refused: map[string]string{"GITMOD~1": "submodules"}},

		{
			Name: "a .gitmodules in a folder that is a symlink", Make: tree(func(t *trap, _ string) { t.symlink("b.txt", "sub/.gitmodules") }),
			Refused: map[string]string{"sub/.gitmodules": "submodules"},
		},
		{
			Name: "a .gitmodules in a folder with an option for a URL",
			Make: tree(func(t *trap, _ string) {
				t.write("sub/.gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = -u./evil\n", 0o644)
			}),
			Refused: map[string]string{"sub/.gitmodules": "submodules"},
		},
		{
			Name:    "a .gitattributes with a line that git does not take",
			Make:    tree(func(t *trap, _ string) { t.write("sub/.gitattributes", "* "+strings.Repeat("x", 3000)+"\n", 0o644) }),
			Refused: map[string]string{"sub/.gitattributes": "line"},
		},
		{
			Name:  "a .gitattributes that is a symlink",
			Make:  tree(func(t *trap, _ string) { t.symlink("/etc/passwd", "sub/.gitattributes") }),
			Taken: map[string]string{"sub/.gitattributes": ""},
		},

		file("a newline in a name", "new\nline", "control"),
		file("a tab in a name", "tab\there", "control"),
		file("an escape in a name", "\x1b]0;title\x07", "control"),
		file("a C1 byte in a name", "c1\u009b31m", "control"),
		file("a name that is an option", "--upload-pack=evil", "dash"),
		file("a name below a dash", "sub/-rf", "dash"),
		file("a name that is not UTF-8", "\xff\xfe", "not UTF-8"),
		file("a half of a character", "half\xe2\x82", "not UTF-8"),
		file("a zero-width space", "zero\u200bwidth", "invisible"),
		file("a name that runs backwards", "exe\u202etxt.sh", "invisible"),
		file("a byte order mark", "\ufeffname", "invisible"),
		file("a name of 255 bytes", strings.Repeat("n", 255), ""),
		file("a quoted name", "\"quoted\"", ""),
		file("a name that is a glob", "*", ""),
		file("a name that is a pathspec", ":(top)x", ""),
		file("a name of dots", "...", ""),
		file("a device of Windows", "sub/aux", ""),
		file("another case", "A.TXT", "case"),
		file("another case of a folder", "SUB/b.txt", "case"),
		file("another case of a folder alone", "SUB/c.txt", "case"),
		file("a file called as a folder in another case", "Sub", "case"),
	}
	for _, name := range []string{
		".GIT/config", ".Git", "sub/.git/config", "sub/.git", "deep/er/.git/config", "git~1/config", "GIT~2", "sub/git~11", ".g\u200cit/config", ".gi\u200dt", "\ufeff.git", ".git./config", ".git ",
		".git . .", ".git::$INDEX_ALLOCATION/config", ".git\\config", "sub\\.git\\config", ".git:stream", ".git\xff/config", ".gi\u200dt\x80",
	} {
		all = append(all, lookAlike(name))
	}
	return append(all, sizes()...)
}

func special(name string, create func(path string) error, reason string) Tree {
	return Tree{
		Name:    name,
		Make:    tree(func(t *trap, _ string) { t.do(func() error { return create(t.path("special")) }) }),
		Refused: map[string]string{"special": reason},
	}
}

// sizes are the trees of threat 5, and those that clash by their normal form.
func sizes() []Tree {
	sparse := func(path string, size int64) Tree {
		return Tree{
			Name: path, Refused: map[string]string{path: "larger than"},
			Make: tree(func(t *trap, _ string) {
				t.write(path, "", 0o644)
				t.do(func() error { return os.Truncate(t.path(path), size) })
			}),
		}
	}
	return []Tree{
		sparse("a sparse file of 1 TB", 1<<40),
		sparse("a line of 2 GB", 2<<30),
		{
			Name: "more files than the limit", Most: 50, Whole: "limit is 50",
			Make: tree(func(t *trap, _ string) {
				for i := range 300 {
					t.write(filepath.Join("many", strings.Repeat("x", i%20+1), strings.Repeat("y", i/20+1)), "x\n", 0o644)
				}
			}),
		},
		{
			Name: "empty folders without end", Whole: "more empty folders",
			Make: tree(func(t *trap, _ string) {
				for i := range 100 {
					t.do(func() error { return os.MkdirAll(t.path("empty/"+strings.Repeat("e", i+1)), 0o755) })
				}
			}),
		},
		{
			Name: "names of two normal forms", Taken: map[string]string{"caf\u00e9": "Unicode", "cafe\u0301": "Unicode"},
			Make: tree(func(t *trap, _ string) {
				t.write("caf\u00e9", "composed\n", 0o644)
				t.write("cafe\u0301", "decomposed\n", 0o644)
			}),
		},
		{
			Name: "a folder deeper than any path", Make: func(dir, _ string) error { return deep(dir, 4000) },
			Refused: map[string]string{strings.Repeat("d/", 99) + "d/": "too long"}, // its name is cut
		},
	}
}

// deep makes folders in each other below dir, and a file in the last.
func deep(dir string, depth int) error {
	at, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { unix.Close(at) }()
	for range depth {
		if err := unix.Mkdirat(at, "d", 0o755); err != nil {
			return err
		}
		next, err := unix.Openat(at, "d", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		unix.Close(at)
		at = next
	}
	fd, err := unix.Openat(at, "file", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}
