package template

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/userfile"
)

const suffix = ".toml"

// maxFiles bounds the number of files that are read.
const maxFiles = 500

// Store keeps the user's own templates as files in a folder of the user's configuration.
// Templates never come from a repository, because such a file selects the image that the
// host's container daemon builds.
type Store struct{ Dir string }

// Path returns the file of a template.
func (s Store) Path(name string) string { return filepath.Join(s.Dir, name+suffix) }

// AddTo returns a set with the store's templates. Unusable files become broken templates of
// the set.
func (s Store) AddTo(set Set) Set {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return set // there are none; operations that write here report an unreadable folder
	}
	exposed := userfile.CheckDir(s.Dir)
	read := 0
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), suffix)
		if !ok || strings.HasPrefix(name, ".") || read == maxFiles {
			continue
		}
		read++
		t, err := Template{}, exposed
		if err == nil {
			t, err = s.read(name)
		}
		if err == nil && set.has(name) {
			err = errors.New("aibox has a template or an agent with this name; rename the file")
		}
		if err != nil {
			set = set.withBroken(name, brokenFault(name, s.Path(name), err))
			continue
		}
		set = set.With(t)
	}
	return set
}

// read reads one file.
func (s Store) read(name string) (Template, error) {
	data, err := userfile.Read(s.Path(name), MaxFile)
	if err != nil {
		return Template{}, err
	}
	t, err := Parse(name, data)
	t.File = s.Path(name)
	return t, err
}

// Create stores a template under a name that is not in set. For an invalid definition it
// returns a Usage fault with all problems.
func (s Store) Create(set Set, name string, d *Definition) (Template, error) {
	if set.has(name) {
		return Template{}, fault.New(fault.Usage, "there is already a template or an agent called %q", name).
			Hint("choose another name, or `aibox template rm %s` if it is yours", name)
	}
	t, err := Check(set, name, d)
	if err != nil {
		return Template{}, err
	}
	if _, err := os.Lstat(s.Path(name)); !errors.Is(err, fs.ErrNotExist) {
		return Template{}, fault.New(fault.Usage, "%s already exists", s.Path(name)).Hint("`aibox template rm %s` removes it", name)
	}
	return s.write(t, d)
}

// Put stores a template and replaces one with the same name in the store. For an invalid
// definition it returns a Usage fault with all problems.
func (s Store) Put(set Set, name string, d *Definition) (Template, error) {
	t, err := Check(set, name, d)
	if err != nil {
		return Template{}, err
	}
	return s.write(t, d)
}

// Check returns the template of a definition, which can be added to set. For an invalid
// definition it returns a Usage fault with all problems.
func Check(set Set, name string, d *Definition) (Template, error) {
	if t, ok := set.byName[name]; ok && t.Source != Own {
		return Template{}, fault.New(fault.Usage, "%q is aibox's own and cannot be changed", name).Hint("choose another name")
	}
	data, err := d.Text()
	if err != nil {
		return Template{}, err
	}
	t, err := Parse(name, data) // so that a stored template can be read again
	if err != nil {
		return Template{}, fault.New(fault.Usage, "the template %q cannot be used: %w", name, err)
	}
	return t, nil
}

// write stores a checked template.
func (s Store) write(t Template, d *Definition) (Template, error) {
	data, err := d.Text()
	if err != nil {
		return Template{}, err
	}
	if err := paths.MakePrivate(s.Dir); err != nil {
		return Template{}, fault.New(fault.Environment, "cannot create the folder of your templates: %w", err)
	}
	if err := paths.WriteFile(s.Path(t.Name), data); err != nil {
		return Template{}, fault.New(fault.Environment, "cannot write the template: %w", err)
	}
	t.File = s.Path(t.Name)
	return t, nil
}

// Remove removes one of the user's own templates, even if its file is broken. Sandboxes of
// it continue, and its image stays until `aibox gc` removes it.
func (s Store) Remove(set Set, name string) error {
	if t, err := set.Find(name); err == nil && t.Source != Own {
		return fault.New(fault.Usage, "%q is aibox's own and cannot be removed", name)
	} else if err != nil && set.broken[name] == nil {
		return err
	}
	if err := os.Remove(s.Path(name)); err != nil {
		return fault.New(fault.Environment, "cannot remove the template: %w", err)
	}
	return nil
}

// brokenFault is the error of a template with an invalid file.
func brokenFault(name, path string, err error) error {
	f := fault.New(fault.Usage, "the template %q cannot be used: %s: %w", name, path, err)
	return f.Hint("%s", fmt.Sprintf("edit the file, or `aibox template rm %s`", name))
}
