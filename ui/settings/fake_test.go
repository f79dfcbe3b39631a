package settings

import (
	"context"
	"testing"

	"aibox/agents/spec"
	"aibox/app/settings"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/secret"
	"aibox/ui/uitest"
)

// painter is an agent with an option of every kind that is edited differently.
type painter struct {
	Color   string       `label:"Color" help:"What to paint with" choices:"red green blue" default:"red"`
	Layers  int          `label:"Layers" help:"How many layers of paint" min:"1" max:"9" default:"3" scope:"at-most"`
	Brushes []string     `label:"Brushes" help:"Which ones" choices:"flat round fan" scope:"at-most"`
	Notes   string       `label:"Notes" help:"What to keep in mind" type:"text"`
	Key     secret.Value `label:"Key" help:"To the studio" env:"PAINTER_KEY" secret:"true"`
}

// fakeSettings is a user with a settings file in memory, which the code for the real file writes.
type fakeSettings struct {
	user, repository string
	environment      []string
	fail             error // of the next write
	writes           int
}

func (d *fakeSettings) catalog() config.Catalog {
	options := new(painter)
	_ = spec.Defaults(options)
	return config.Catalog{Agents: []config.Agent{{Name: "painter", Options: options}}, Images: []string{"painter"}}
}

func (d *fakeSettings) document() (*config.Document, error) {
	return config.Parse(config.UserFile, "/home/ann/.config/aibox/config.toml", []byte(d.user))
}

func (d *fakeSettings) Read(context.Context) (settings.Overview, error) {
	document, err := d.document()
	if err != nil {
		return settings.Overview{}, fault.New(fault.Usage, "%w", err).Hint("`aibox config edit` opens it")
	}
	in := config.Input{User: document, Environment: d.environment}
	if d.repository != "" {
		if in.Repository, err = config.Parse(config.RepositoryFile, "/src/shop/.aibox.toml", []byte(d.repository)); err != nil {
			return settings.Overview{}, err
		}
	}
	held, err := d.catalog().Resolve(in)
	if err != nil {
		return settings.Overview{}, err
	}
	own, err := d.catalog().Resolve(config.Input{User: document})
	if err != nil {
		return settings.Overview{}, err
	}
	book := settings.Overview{
		Held: held.All(), Own: map[string]config.Setting{}, File: "/home/ann/.config/aibox/config.toml", Repository: "/home/ann/shop",
		Choices: func(setting config.Setting) []string {
			if setting.Key == "agent" {
				return d.catalog().Names()
			}
			return setting.Values()
		},
		Check: func(key, text string) error {
			_, err := d.catalog().With(document, key, text)
			return err
		},
	}
	for _, setting := range own.All() {
		book.Own[setting.Key] = setting
	}
	return book, nil
}

func (d *fakeSettings) write(change func(*config.Document) ([]byte, error)) error {
	if d.fail != nil {
		return d.fail
	}
	document, err := d.document()
	if err != nil {
		return err
	}
	data, err := change(document)
	if err == nil {
		d.user = string(data)
		d.writes++
	}
	return err
}

func (d *fakeSettings) Set(_ context.Context, key, text string) error {
	return d.write(func(document *config.Document) ([]byte, error) { return d.catalog().With(document, key, text) })
}

func (d *fakeSettings) Unset(_ context.Context, key string) error {
	return d.write(func(document *config.Document) ([]byte, error) { return d.catalog().Without(document, key) })
}

func newFake() *fakeSettings {
	return &fakeSettings{
		user:        "# mine\ntimeout = \"30m\"\nhide = [\"*.key\"]\n[agents.painter]\nlayers = 5\n",
		repository:  "pids = 64\n",
		environment: []string{"AIBOX_TIMEOUT=25m", "PAINTER_KEY=hush"},
	}
}

// newUser opens the screen for the user.
func newUser(t testing.TB, d *fakeSettings, width, height int) (*uitest.User, *Model) {
	t.Setenv("HOME", "/home/ann")
	m := New(t.Context(), d)
	p := uitest.New(t, m, width, height)
	p.Run(m.Init())
	return p, m
}

// goTo goes to a setting by the filter.
func goTo(p *uitest.User, key string) {
	p.Press("/")
	p.Type(key)
	p.Press("enter")
}
