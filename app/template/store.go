package template

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"aibox/internal/diskerr"
	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/internal/paths"
	"aibox/internal/userfile"
)

const suffix = ".toml"

// The limits of a store. All of its files are read for each list, and for each sandbox.
const (
	maxFiles = 500     // files that are read
	maxBytes = 8 << 20 // of all files, when another one is stored
)

// Store keeps the user's own templates as files in a folder of the user's configuration.
// Templates never come from a repository, because such a file selects the image that the
// host's container daemon builds.
type Store struct {
	Dir string
	// Hidden reports that the templates are those of a caller who does not know this machine's
	// files: errors do not name them.
	Hidden bool
}

// Path returns the file of a template.
func (s Store) Path(name string) string { return filepath.Join(s.Dir, name+suffix) }

// AddTo returns a set with the store's templates. Unusable files become broken templates of
// the set. If the folder exists and cannot be read, the set says why.
func (s Store) AddTo(set Set) Set {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			set.unread = s.failed("cannot read the folder of your templates", err)
		}
		return set
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
			set = set.withBroken(name, s.brokenFault(name, err))
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
func (s Store) Create(ctx context.Context, set Set, name string, d *Definition) (Template, error) {
	if set.has(name) {
		taken := fault.New(fault.Usage, "there is already a template or an agent called %q", name).Hint("choose another name")
		if t, ok := set.byName[name]; !ok || t.Source == Own {
			taken = taken.Hint("`aibox template rm %s` removes yours", name)
		}
		return Template{}, taken
	}
	t, err := Check(set, name, d)
	if err != nil {
		return Template{}, err
	}
	return s.write(ctx, t, d, false)
}

// Put stores a template and replaces one with the same name in the store. For an invalid
// definition it returns a Usage fault with all problems.
func (s Store) Put(ctx context.Context, set Set, name string, d *Definition) (Template, error) {
	t, err := Check(set, name, d)
	if err != nil {
		return Template{}, err
	}
	return s.write(ctx, t, d, true)
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

// lockFile is locked while a template is stored. Its name is none of a template.
const lockFile = ".lock"

// write stores a checked template. Two that are stored at the same time can neither replace each
// other, unless replace is set, nor exceed the limits of the store together.
func (s Store) write(ctx context.Context, t Template, d *Definition, replace bool) (Template, error) {
	data, err := d.Text()
	if err != nil {
		return Template{}, err
	}
	if err := paths.MakePrivate(s.Dir); err != nil {
		return Template{}, s.failed("cannot create the folder of your templates", err)
	}
	lock, err := flock.Wait(ctx, filepath.Join(s.Dir, lockFile), flock.Exclusive)
	if err != nil {
		return Template{}, s.failed("cannot write the template", err)
	}
	defer lock.Close()
	if _, err := os.Lstat(s.Path(t.Name)); !replace && !errors.Is(err, fs.ErrNotExist) {
		return Template{}, fault.New(fault.Usage, "%s already exists", s.Path(t.Name)).Hint("`aibox template rm %s` removes it", t.Name)
	}
	if err := s.checkRoom(t.Name, int64(len(data))); err != nil {
		return Template{}, err
	}
	if err := paths.WriteFile(s.Path(t.Name), data); err != nil {
		return Template{}, s.failed("cannot write the template", err)
	}
	t.File = s.Path(t.Name)
	return t, nil
}

// checkRoom refuses a template with which the store would exceed its limits.
func (s Store) checkRoom(name string, size int64) error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return s.failed("cannot read the folder of your templates", err)
	}
	count, total := 1, size
	for _, entry := range entries {
		other, ok := strings.CutSuffix(entry.Name(), suffix)
		if !ok || other == name {
			continue
		}
		count++
		if info, err := entry.Info(); err == nil { // otherwise it is gone
			total += info.Size()
		}
	}
	if count > maxFiles || total > maxBytes {
		return fault.New(fault.Limit, "there are up to %d templates of yours, with %d MiB in total", maxFiles, maxBytes>>20).Hint("delete templates that are not needed")
	}
	return nil
}

// Remove removes one of the user's own templates, even if its file is broken. Sandboxes of
// it continue, and its image stays until `aibox gc` removes it.
func (s Store) Remove(set Set, name string) error {
	if set.broken[name] == nil { // a broken one can have the name of a template of aibox's own
		t, err := set.Find(name)
		if err != nil {
			return err
		}
		if t.Source != Own {
			return fault.New(fault.Usage, "%q is aibox's own and cannot be removed", name)
		}
	}
	err := os.Remove(s.Path(name))
	switch {
	case errors.Is(err, fs.ErrNotExist): // it was removed after the set was read
		return fault.New(fault.NotFound, "there is no template %q any more", name)
	case err != nil:
		return s.failed("cannot remove the template", err)
	}
	return nil
}

// failed is the error of an operation on the files.
func (s Store) failed(what string, err error) error {
	if s.Hidden {
		return fmt.Errorf("%s: %w", what, err) // only the machine's user sees an internal error
	}
	return diskerr.Explain(fault.New(fault.Environment, "%s: %w", what, err), s.Dir)
}

// brokenFault is the error of a template with an invalid file.
func (s Store) brokenFault(name string, err error) error {
	if !s.Hidden {
		return fault.New(fault.Usage, "the template %q cannot be used: %s: %w", name, s.Path(name), err).
			Hint("edit the file, or `aibox template rm %s`", name)
	}
	var wrong *Error
	if !errors.As(err, &wrong) {
		err = errors.New("its definition cannot be read, or a template or an agent of aibox has its name now")
	}
	return fault.New(fault.Usage, "the template %q cannot be used: %w", name, err).Hint("create it again, or delete it")
}
