package cli

import (
	"context"

	"aibox/app"
	"aibox/config"
	"aibox/ui/settings"
)

// settingsScreen is what the screen of settings works with: the files and the variables
// that a run in this folder would go by.
type settingsScreen struct{ cli *cli }

// Read reads everything again, for this process too: the settings may have been changed
// by another one.
func (d settingsScreen) Read(context.Context) (settings.Book, error) {
	d.cli.app.ForgetUserSettings()
	file, err := app.UserSettingsFile()
	if err != nil {
		return settings.Book{}, err
	}
	held, err := d.cli.app.Settings(".")
	if err != nil {
		return settings.Book{}, err
	}
	document, err := config.ReadUser(file)
	if err != nil {
		return settings.Book{}, app.SettingsFault(err)
	}
	catalog := d.cli.app.Catalog()
	own, err := catalog.Resolve(config.Input{User: document})
	if err != nil {
		return settings.Book{}, app.SettingsFault(err)
	}
	book := settings.Book{
		Held: held.All(), Own: map[string]config.Setting{}, File: file, Repository: app.WorkingTree("."),
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
		book.Own[setting.Key] = setting
	}
	return book, nil
}

// Set writes one setting into the user's own file.
func (d settingsScreen) Set(_ context.Context, key, text string) error {
	return d.change(func(document *config.Document) ([]byte, error) { return d.cli.app.Catalog().With(document, key, text) })
}

// Unset takes one out of it.
func (d settingsScreen) Unset(_ context.Context, key string) error {
	return d.change(func(document *config.Document) ([]byte, error) { return d.cli.app.Catalog().Without(document, key) })
}

func (d settingsScreen) change(change func(*config.Document) ([]byte, error)) error {
	_, err := rewriteSettings(change)
	return err
}
