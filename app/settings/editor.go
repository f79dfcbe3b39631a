// Package settings reads and changes the user's settings file, for the commands and for
// the settings screen. It never changes a repository's file.
package settings

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"

	"aibox/config"
	"aibox/workspace"
)

// Source resolves settings; *app.App implements it.
type Source interface {
	Catalog() config.Catalog
	Settings(repo string, flags ...config.Override) (*config.Resolved, error)
	ForgetUserSettings()
}

// Editor reads and changes the user's settings. Several editors, also of several processes, can
// be used at the same time: each change is made to the file that the one before has left.
type Editor struct{ source Source }

// NewEditor returns an Editor of the settings that source resolves.
func NewEditor(source Source) Editor { return Editor{source} }

// Overview holds all settings at one point in time.
type Overview struct {
	Held       []config.Setting          // the effective settings in the current folder, in the order of the documentation
	Own        map[string]config.Setting // by key: the values in the user's file, or the defaults
	File       string                    // the user's file, which need not exist
	Repository string                    // top folder of the repository with the current folder; empty for none
	// Choices returns the values to choose from, or nil if they cannot be listed.
	Choices func(setting config.Setting) []string
	// Check reports whether Set would accept text as the value of a setting. It writes
	// nothing.
	Check func(key, text string) error
}

// Read reads the settings of the current folder. It reads the files again, because
// another process may have changed them. An error names the file and the line.
func (e Editor) Read(context.Context) (Overview, error) {
	e.source.ForgetUserSettings()
	file, err := File()
	if err != nil {
		return Overview{}, err
	}
	effective, err := e.source.Settings(".")
	if err != nil {
		return Overview{}, err
	}
	document, err := config.ReadUser(file)
	if err != nil {
		return Overview{}, Fault(err)
	}
	catalog := e.source.Catalog()
	own, err := e.resolve(document)
	if err != nil {
		return Overview{}, Fault(err)
	}
	overview := Overview{
		Held: effective.All(), Own: map[string]config.Setting{}, File: file, Repository: workspace.WorkingTree("."),
		Choices: func(setting config.Setting) []string {
			if setting.Key == "agent" {
				return catalog.Names()
			}
			return setting.Values()
		},
		Check: func(key, text string) error {
			_, err := catalog.With(document, key, text)
			return err
		},
	}
	for _, setting := range own.All() {
		overview.Own[setting.Key] = setting
	}
	return overview, nil
}

// Set writes one setting to the user's file. The rest of the file stays unchanged.
func (e Editor) Set(ctx context.Context, key, text string) error {
	return e.rewrite(ctx, e.with(key, text))
}

// Unset removes one setting from the user's file. The rest of the file stays unchanged.
func (e Editor) Unset(ctx context.Context, key string) error { return e.rewrite(ctx, e.without(key)) }

// Change is a new value of a setting in the user's file. An empty text removes the setting.
type Change struct{ Key, Text string }

// Change makes several changes at once, in their order.
func (e Editor) Change(ctx context.Context, changes ...Change) error {
	edits := make([]edit, len(changes))
	for i, change := range changes {
		edits[i] = e.with(change.Key, change.Text)
		if change.Text == "" {
			edits[i] = e.without(change.Key)
		}
	}
	return e.rewrite(ctx, edits...)
}

// edit returns the text of a changed settings file. It gets nil if the file does not exist.
type edit func(*config.Document) ([]byte, error)

func (e Editor) with(key, text string) edit {
	return func(document *config.Document) ([]byte, error) { return e.source.Catalog().With(document, key, text) }
}

func (e Editor) without(key string) edit {
	return func(document *config.Document) ([]byte, error) { return e.source.Catalog().Without(document, key) }
}

// resolve resolves the settings of a user's file; nil means that there is none.
func (e Editor) resolve(document *config.Document) (*config.Resolved, error) {
	return e.source.Catalog().Resolve(config.Input{User: document})
}

// Validate checks the user's file.
func (e Editor) Validate() error {
	file, err := File()
	if err != nil {
		return err
	}
	document, err := config.ReadUser(file)
	if err == nil {
		_, err = e.resolve(document)
	}
	return err
}

// Create writes a settings file that lists every setting, unless there is a file.
// discard removes the new file if it still has that content.
func (Editor) Create(ctx context.Context) (discard func(), err error) {
	file, err := File()
	if err != nil {
		return nil, err
	}
	template, err := config.Template()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	lock, err := lock(ctx, file)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) { // made meanwhile
		return func() {}, nil
	}
	return func() {
		if data, err := os.ReadFile(file); err == nil && bytes.Equal(data, template) {
			_ = os.Remove(file)
		}
	}, write(file, template)
}

// rewrite replaces the user's file with the result of edits, each of which gets that of the one
// before. It writes nothing if there was no file and there is still nothing in it, and refuses
// edits after which the settings could no longer be read.
func (e Editor) rewrite(ctx context.Context, edits ...edit) error {
	file, err := File()
	if err != nil {
		return err
	}
	lock, err := lock(ctx, file)
	if err != nil {
		return err
	}
	defer lock.Close()
	document, err := config.ReadUser(file)
	if err != nil {
		return Fault(err)
	}
	isNew := document == nil
	_, readable := e.resolve(document)
	var data []byte
	for i, change := range edits {
		if i > 0 && data != nil {
			if document, err = config.Parse(config.UserFile, config.UserName, data); err != nil {
				return err
			}
		}
		if data, err = change(document); err != nil {
			return err
		}
	}
	if isNew && len(data) == 0 {
		return nil
	}
	if readable == nil {
		if err := e.check(data); err != nil {
			return err
		}
	}
	return write(file, data)
}

// check returns why the settings could not be read with the text of a user's file.
func (e Editor) check(data []byte) error {
	document, err := config.Parse(config.UserFile, config.UserName, data)
	if err == nil {
		_, err = e.resolve(document)
	}
	return err
}
