// Package prompts is the user's library of system prompts: Markdown files in the user's
// configuration folder and in the repository. It reads and writes only these files, follows
// no symlink in a repository, and never decides which prompt to use.
package prompts

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"aibox/internal/fault"
	"aibox/internal/lazyregexp"
	"aibox/internal/sorting"

	"golang.org/x/sys/unix"
)

// Limit is the maximum size of a prompt in bytes. Every conversation contains the whole prompt.
const Limit = 64 << 10

// RepositoryFolder is where a repository keeps its prompts, below its top.
const RepositoryFolder = ".aibox/prompts"

// repositoryPrefix selects a prompt of the repository if the user has one with the same
// name.
const repositoryPrefix = "repo:"

const suffix = ".md"

var nameForm = lazyregexp.New(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// Source says where a prompt comes from.
type Source string

// The sources.
const (
	User       Source = "user"
	Repository Source = "repository" // an agent may have written it
)

// Prompt is one entry of the library.
type Prompt struct {
	Name   string `json:"name"` // its name; "repo:NAME" if the user has a prompt with the same name
	Source Source `json:"source"`
	Path   string `json:"path"`
	Text   string `json:"-"`
}

// Title returns the prompt's first nonempty line, without heading marks. It is not escaped.
func (p Prompt) Title() string {
	for line := range strings.Lines(p.Text) {
		if line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#")); line != "" {
			return line
		}
	}
	return ""
}

// Library has the prompts of a user and of an optional repository.
type Library struct {
	user, repository string
}

// Open opens the library in the folder user and, unless repository is empty, in the
// repository with that top folder. Neither has to exist.
func Open(user, repository string) Library { return Library{user, repository} }

// All returns every prompt, sorted by name. The error names the files that are not valid
// prompts; the list is valid even then.
func (l Library) All() ([]Prompt, error) {
	mine, err := readFolder(l.user, User)
	var theirs []Prompt
	if l.repository != "" {
		var repoErr error
		theirs, repoErr = l.fromRepository()
		err = errors.Join(err, repoErr)
	}
	for i, prompt := range theirs {
		if slices.ContainsFunc(mine, func(p Prompt) bool { return p.Name == prompt.Name }) {
			theirs[i].Name = repositoryPrefix + prompt.Name
		}
	}
	all := slices.Concat(mine, theirs)
	sorting.Func(all, func(a, b *Prompt) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}

// Find returns the prompt called name. "repo:NAME" is the repository's. An unknown name is
// a Usage fault that lists the known ones.
func (l Library) Find(name string) (Prompt, error) {
	all, err := l.All()
	plain, wantRepository := strings.CutPrefix(name, repositoryPrefix)
	var known []string
	for _, prompt := range all {
		if prompt.Name == name || wantRepository && prompt.Source == Repository && prompt.Name == plain {
			return prompt, nil
		}
		known = append(known, prompt.Name)
	}
	unknown := fault.New(fault.Usage, "there is no system prompt %q", name)
	if err != nil {
		unknown = fault.New(fault.Usage, "the system prompt %q cannot be read: %w", name, err)
	}
	if len(known) > 0 {
		return Prompt{}, unknown.Hint("available: %s; see `aibox prompts`", strings.Join(known, ", "))
	}
	return Prompt{}, unknown.Hint("`aibox prompts edit %s` creates it", plain)
}

// Path returns the path of the user's prompt called name, whether it exists or not. An
// invalid name is a Usage fault.
func (l Library) Path(name string) (string, error) {
	if !nameForm.MatchString(name) {
		return "", fault.New(fault.Usage, "%q cannot be the name of a prompt", name).
			Hint("use at most 64 lowercase letters, digits, - and _")
	}
	return filepath.Join(l.user, name+suffix), nil
}

// fromRepository reads the repository's prompts. A sandbox may have written them, so no link
// is followed out of the repository.
func (l Library) fromRepository() ([]Prompt, error) {
	root, err := os.OpenRoot(l.repository)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return readRoot(root, RepositoryFolder, filepath.Join(l.repository, RepositoryFolder), Repository)
}

func readFolder(dir string, source Source) ([]Prompt, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return readRoot(root, ".", dir, source)
}

// readRoot reads the prompts in one folder below root; path is its full name.
func readRoot(root *os.Root, folder, path string, source Source) ([]Prompt, error) {
	entries, err := fs.ReadDir(root.FS(), folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var prompts []Prompt
	var errs []error
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), suffix)
		if !ok || !nameForm.MatchString(name) {
			continue
		}
		text, err := read(root, filepath.Join(folder, entry.Name()))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", filepath.Join(path, entry.Name()), err))
			continue
		}
		prompts = append(prompts, Prompt{Name: name, Source: source, Path: filepath.Join(path, entry.Name()), Text: text})
	}
	return prompts, errors.Join(errs...)
}

// read reads one prompt. It rejects other files before it opens them, since opening can
// block.
func read(root *os.Root, file string) (string, error) {
	info, err := root.Lstat(file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	in, err := root.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0) // it may have become a FIFO by now
	if err != nil {
		return "", err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, Limit+1))
	switch {
	case err != nil:
		return "", err
	case len(data) > Limit:
		return "", fmt.Errorf("it is larger than %d KiB", Limit>>10)
	case !utf8.Valid(data) || strings.ContainsRune(string(data), 0):
		return "", errors.New("it is not plain text in UTF-8")
	}
	return string(data), nil
}
