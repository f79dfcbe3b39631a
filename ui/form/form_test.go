package form

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"aibox/agents/spec"
	"aibox/internal/golden"
	"aibox/internal/secret"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// everything has an option of every type, in two groups, some of which depend on
// others.
type everything struct {
	Line     string        `label:"Line" help:"Some words" default:"x" group:"Words"`
	Effort   string        `label:"Effort" help:"How hard it tries" choices:"low mid high"`
	Format   string        `label:"Format" help:"How it answers" choices:"text json" default:"text"`
	Fast     bool          `label:"Fast" help:"Hurry"`
	Turns    int           `label:"Turns" help:"How often it may go on" min:"10" max:"99" when:"fast"`
	Patience time.Duration `label:"Patience" help:"How long it waits" max:"2h" default:"1m"`
	Model    string        `label:"Model" help:"Which one thinks" type:"model"`
	Tools    []string      `label:"Tools" help:"What it may use" choices:"saw axe pen"`
	Prose    string        `label:"Prose" help:"Several lines" type:"text" group:"Words"`
	Place    string        `label:"Place" help:"A file in the sandbox" type:"path" group:"Words"`
	Names    []string      `label:"Names" help:"Whom it knows" group:"Words"`
	Key      secret.Value  `label:"Key" help:"For its vendor" secret:"true" env:"KEY" group:"Access"`
}

func (e *everything) Validate() error {
	if e.Format == "json" && e.Line == "no" {
		return fmt.Errorf("json and no do not go together")
	}
	return nil
}

// told is a preview: the options as text.
func told(draft any) string {
	fields, err := spec.Of(draft)
	if err != nil {
		return err.Error()
	}
	var words []string
	for _, field := range fields {
		if text := field.Text(draft); text != "" && spec.Visible(draft, field) {
			words = append(words, "--"+field.Key+"="+strings.ReplaceAll(text, "\n", `\n`))
		}
	}
	return "agent " + strings.Join(words, " ") + "\nKEY=" + "••••••••"
}

func request(options any) Request {
	return Request{Title: "Options", Action: "Run", Options: options, Preview: told}
}

// person presses keys and looks at the screen, without a terminal.
type person struct {
	t *testing.T
	m *model
}

func newPerson(t *testing.T, r Request, width, height int) *person {
	t.Helper()
	p := &person{t, newModel(r)}
	p.m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return p
}

// press sends keys by name, and what is in quotes letter by letter.
func (p *person) press(keys ...string) {
	p.t.Helper()
	for _, name := range keys {
		if text, ok := strings.CutPrefix(name, "'"); ok {
			for _, r := range text {
				p.m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
			}
			continue
		}
		p.m.Update(keyNamed(p.t, name))
	}
}

func keyNamed(t *testing.T, name string) tea.KeyPressMsg {
	t.Helper()
	codes := map[string]rune{
		"enter": tea.KeyEnter, "tab": tea.KeyTab, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown,
		"left": tea.KeyLeft, "right": tea.KeyRight, "space": tea.KeySpace, "backspace": tea.KeyBackspace,
		"f1": tea.KeyF1, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "home": tea.KeyHome, "end": tea.KeyEnd,
	}
	msg := tea.KeyPressMsg{}
	if rest, ok := strings.CutPrefix(name, "ctrl+"); ok {
		msg.Mod, name = tea.ModCtrl, rest
	} else if rest, ok := strings.CutPrefix(name, "shift+"); ok {
		msg.Mod, name = tea.ModShift, rest
	}
	if code, ok := codes[name]; ok {
		msg.Code = code
	} else if len(name) == 1 {
		msg.Code = rune(name[0])
	} else {
		t.Fatalf("there is no key %q", name)
	}
	if name == "space" {
		msg.Text = " "
	}
	return msg
}

// screen is what the user sees, without colors.
func (p *person) screen() string { return ansi.Strip(p.m.View().Content) }

func (p *person) sees(want string) {
	p.t.Helper()
	if !strings.Contains(p.screen(), want) {
		p.t.Fatalf("no %q on the screen:\n%s", want, p.screen())
	}
}

// goTo walks to the question with the label.
func (p *person) goTo(label string) {
	p.t.Helper()
	for range len(p.m.fields) + 1 {
		if p.m.current != nil && p.m.current.field.Label == label {
			return
		}
		p.press("tab")
	}
	p.t.Fatalf("there is no question %q", label)
}

func TestTheFormLooksAsItDid(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 15}} {
		options := &everything{Prose: "one\ntwo", Names: []string{"a,b", "c"}, Key: secret.New("canary")}
		if err := spec.Defaults(options); err != nil {
			t.Fatal(err)
		}
		options.Key, options.Prose = secret.New("canary"), "one\ntwo"
		p := newPerson(t, request(options), size[0], size[1])
		var views strings.Builder
		for range len(p.m.fields) + 1 {
			views.WriteString(p.screen() + "\n" + strings.Repeat("=", size[0]) + "\n")
			if lines := strings.Split(p.screen(), "\n"); len(lines) != size[1] {
				t.Errorf("%d lines at %v", len(lines), size)
			}
			p.press("tab")
		}
		golden.Check(t, fmt.Sprintf("everything-%dx%d.golden", size[0], size[1]), views.String())
	}
}
