package form

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"aibox/agents/spec"
	"aibox/internal/golden"
	"aibox/internal/secret"
	"aibox/ui/widget/keymap"

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

// user presses keys and reads the view of a part.
type user struct {
	t       *testing.T
	part    *Part
	outcome Outcome // of the last key
}

func newUser(t *testing.T, r Request, width, height int) *user {
	t.Helper()
	return &user{t: t, part: partOf(t, r, width, height)}
}

// press presses keys by name, and types text in quotes.
func (u *user) press(keys ...string) {
	u.t.Helper()
	for _, name := range keys {
		if text, ok := strings.CutPrefix(name, "'"); ok {
			for _, r := range text {
				u.outcome = u.part.Update(keymap.Press(string(r)))
			}
			continue
		}
		u.outcome = u.part.Update(keymap.Press(name))
	}
}

// lines are the lines of the view, without colors.
func (u *user) lines() []string { return strings.Split(u.screen(), "\n") }

// screen is the view, without colors.
func (u *user) screen() string { return ansi.Strip(strings.Join(u.part.View(true), "\n")) }

func (u *user) sees(want string) {
	u.t.Helper()
	if !strings.Contains(u.screen(), want) {
		u.t.Fatalf("no %q on the screen:\n%s", want, u.screen())
	}
}

// goTo ends editing and selects the field with the label.
func (u *user) goTo(label string) {
	u.t.Helper()
	if u.part.Editing() {
		u.press("tab")
	}
	u.press("home")
	for range u.part.f.rows {
		if u.part.f.current.field.Label == label {
			return
		}
		u.press("down")
	}
	u.t.Fatalf("there is no field %q", label)
}

// completes checks that the last key left the form, with valid answers that make want.
func (u *user) completes(want any) {
	u.t.Helper()
	if err := u.part.Problem(); u.outcome != Next || err != nil || !reflect.DeepEqual(u.part.Draft(), want) {
		u.t.Errorf("outcome %d, %v\n got %+v\nwant %+v", u.outcome, err, u.part.Draft(), want)
	}
}

// completesDraft checks the draft.
func (u *user) completesDraft(want any) {
	u.t.Helper()
	if !reflect.DeepEqual(u.part.Draft(), want) {
		u.t.Errorf(" got %+v\nwant %+v", u.part.Draft(), want)
	}
}

// leave ends editing and leaves the form.
func (u *user) leave() {
	u.t.Helper()
	if u.part.Editing() {
		u.press("tab")
	}
	if u.press("tab"); u.outcome != Next {
		u.t.Fatalf("tab does not leave the form:\n%s", u.screen())
	}
}

func TestTheFormLooksAsItDid(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 15}} {
		options := &everything{Prose: "one\ntwo", Names: []string{"a,b", "c"}, Key: secret.New("canary")}
		if err := spec.Defaults(options); err != nil {
			t.Fatal(err)
		}
		options.Key, options.Prose = secret.New("canary"), "one\ntwo"
		u := newUser(t, Request{Options: options}, size[0], size[1])
		var views strings.Builder
		show := func() {
			views.WriteString(u.screen() + "\n" + strings.Repeat("=", size[0]) + "\n")
			if lines := u.lines(); len(lines) != size[1] {
				t.Errorf("%d lines at %v", len(lines), size)
			}
		}
		for range u.part.f.rows {
			show()
			if u.part.f.current.field.Type != spec.Bool {
				u.press("enter")
				show()
				u.press("esc")
			}
			u.press("down")
		}
		golden.Check(t, fmt.Sprintf("everything-%dx%d.golden", size[0], size[1]), views.String())
	}
}
