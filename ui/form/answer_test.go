package form

import (
	"image/color"
	"reflect"
	"strings"
	"testing"
	"time"

	"aibox/agents/spec"
	"aibox/internal/secret"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// defaults is an everything as nobody has touched it.
func defaults(t *testing.T) *everything {
	t.Helper()
	options := &everything{}
	if err := spec.Defaults(options); err != nil {
		t.Fatal(err)
	}
	return options
}

// answers are keys for each question, by its label, and what they make.
var answers = []struct {
	label string
	keys  []string
	want  func(*everything)
}{
	{"Effort", []string{"down", "down"}, func(e *everything) { e.Effort = "mid" }},
	{"Format", []string{"/", "'js", "enter"}, func(e *everything) { e.Format = "json" }},
	{"Fast", []string{"'y"}, func(e *everything) { e.Fast = true }},
	{"Turns", []string{"'12"}, func(e *everything) { e.Turns = 12 }},
	{"Patience", []string{"ctrl+u", "'90s"}, func(e *everything) { e.Patience = 90 * time.Second }},
	{"Model", []string{"'small"}, func(e *everything) { e.Model = "small" }},
	{"Tools", []string{"space", "down", "down", "'x"}, func(e *everything) { e.Tools = []string{"saw", "pen"} }},
	{"Line", []string{"ctrl+u", "'yes q?"}, func(e *everything) { e.Line = "yes q?" }},
	{"Prose", []string{"'one", "enter", "'two"}, func(e *everything) { e.Prose = "one\ntwo" }},
	{"Place", []string{"'/a b"}, func(e *everything) { e.Place = "/a b" }},
	{"Names", []string{"'ann", "enter", `'"b,c"`}, func(e *everything) { e.Names = []string{"ann", "b,c"} }},
	{"Key", []string{"'canary"}, func(e *everything) { e.Key = secret.New("canary") }},
}

func TestEveryTypeOfOptionIsSetByKeysAndWrittenOnlyAtTheEnd(t *testing.T) {
	options, want := defaults(t), defaults(t)
	p := newPerson(t, request(options), 80, 24)
	for _, answer := range answers {
		p.goTo(answer.label)
		p.press(answer.keys...)
		answer.want(want)
		if strings.Contains(p.screen(), "canary") {
			t.Errorf("the screen tells the secret:\n%s", p.screen())
		}
	}
	p.press("tab")
	p.sees("review")
	if !reflect.DeepEqual(options, defaults(t)) {
		t.Errorf("written before the end: %+v", options)
	}
	p.press("enter")
	done, err := p.m.finish()
	if !done || err != nil || !reflect.DeepEqual(options, want) {
		t.Errorf("done %t, %v\n got %+v\nwant %+v", done, err, options, want)
	}
}

func TestCancelingAtAnyQuestionLeavesTheOptionsAsTheyWere(t *testing.T) {
	for _, answer := range answers {
		for _, cancel := range []string{"esc", "ctrl+c"} {
			options := defaults(t)
			options.Fast = true // so that every question is there
			before := spec.Clone(options)
			p := newPerson(t, request(options), 80, 24)
			p.goTo(answer.label)
			p.press(answer.keys...)
			_, cmd := p.m.Update(keyNamed(t, cancel))
			if cmd == nil || cmd() != tea.Quit() {
				t.Fatalf("%s: %s does not leave", answer.label, cancel)
			}
			if done, err := p.m.finish(); done || err != nil || !reflect.DeepEqual(options, before) {
				t.Errorf("%s, %s: done %t, %v, %+v", answer.label, cancel, done, err, options)
			}
		}
	}
}

func TestLookingAtEveryQuestionChangesNothing(t *testing.T) {
	options := &everything{
		Line: "a\tb", Prose: "x\ty\n\nz", Names: []string{" a ", "", "b\nc"}, Tools: []string{"pen", "saw"}, Fast: true,
		Turns: 50, Key: secret.New("canary"),
	}
	before := spec.Clone(options)
	p := newPerson(t, request(options), 80, 24)
	for range len(p.m.fields) {
		p.press("tab")
	}
	for range len(p.m.fields) {
		p.press("shift+tab")
	}
	p.press("ctrl+s", "enter")
	if done, err := p.m.finish(); !done || err != nil || !reflect.DeepEqual(options, before) {
		t.Errorf("done %t, %v\n got %+v\nwant %+v", done, err, options, before)
	}
}

func TestAWrongAnswerIsToldWhileTypingAndCannotBeLeft(t *testing.T) {
	options := defaults(t)
	options.Fast = true
	p := newPerson(t, request(options), 80, 24)
	p.goTo("Turns")
	p.press("'x")
	p.sees("must be a whole number")
	p.press("backspace", "'5")
	p.sees("must be a number from 10 to")
	for _, leave := range []string{"tab", "enter", "shift+tab", "ctrl+s"} {
		p.press(leave)
		p.sees("▸ Turns")
	}
	p.press("'0")
	if strings.Contains(p.screen(), "✗") {
		t.Errorf("a right answer is called wrong:\n%s", p.screen())
	}
	p.press("tab")
	p.sees("▸ Patience")
}

func TestAQuestionComesAndGoesWithTheOneItDependsOn(t *testing.T) {
	p := newPerson(t, request(defaults(t)), 80, 24)
	p.goTo("Fast")
	if strings.Contains(p.screen(), "Turns") {
		t.Errorf("it is there too soon:\n%s", p.screen())
	}
	p.press("'y")
	p.sees("Turns")
	p.sees("--fast=true")
	p.press("'n")
	if strings.Contains(p.screen(), "Turns") {
		t.Errorf("it stays:\n%s", p.screen())
	}
	p.press("tab")
	p.sees("▸ Patience")
}

func TestASwitchThatIsOnByDefaultIsSwitchedOff(t *testing.T) {
	type options struct {
		On bool `label:"On" help:"h" default:"true"`
	}
	o := &options{On: true}
	p := newPerson(t, Request{Options: o}, 80, 24)
	p.press("right", "tab", "enter")
	if done, _ := p.m.finish(); !done || o.On {
		t.Errorf("done %t, %+v", done, o)
	}
}

func TestADefaultChoiceIsTakenAwayAltogether(t *testing.T) {
	type options struct {
		Tools []string `label:"Tools" help:"h" choices:"saw axe" default:"saw"`
		One   string   `label:"One" help:"h" choices:"a b"`
	}
	o := &options{Tools: []string{"saw"}, One: "b"}
	p := newPerson(t, Request{Options: o}, 80, 24)
	p.press("space", "tab")
	p.sees("(not set)")
	p.press("up", "up", "tab", "enter")
	if done, _ := p.m.finish(); !done || o.Tools == nil || len(o.Tools) > 0 || o.One != "" {
		t.Errorf("done %t, %#v", done, o)
	}
}

func TestOptionsThatDoNotGoTogetherAreToldInTheEnd(t *testing.T) {
	options := defaults(t)
	p := newPerson(t, request(options), 80, 24)
	p.goTo("Format")
	p.press("down")
	p.goTo("Line")
	p.press("ctrl+u", "'no", "ctrl+s", "enter")
	p.sees("✗ json and no do not go together")
	if done, _ := p.m.finish(); done {
		t.Error("it was finished all the same")
	}
	p.goBack("Line")
	p.press("'t", "ctrl+s", "enter")
	if done, err := p.m.finish(); !done || err != nil || options.Line != "not" {
		t.Errorf("done %t, %v, %+v", done, err, options)
	}
}

// goBack walks back to the question with the label.
func (p *person) goBack(label string) {
	p.t.Helper()
	for range len(p.m.fields) + 1 {
		if p.m.current != nil && p.m.current.field.Label == label {
			return
		}
		p.press("shift+tab")
	}
	p.t.Fatalf("there is no question %q", label)
}

func TestASecretThatIsSetStaysUnlessAnotherIsTyped(t *testing.T) {
	for _, typed := range []string{"", "'other"} {
		options := defaults(t)
		options.Key = secret.New("canary")
		p := newPerson(t, request(options), 80, 24)
		p.goTo("Key")
		p.sees("leave it empty to")
		p.press("'x", "backspace")
		want := "canary"
		if typed != "" {
			p.press(typed)
			want = "other"
		}
		p.press("ctrl+s", "enter")
		if _, err := p.m.finish(); err != nil || options.Key.Reveal() != want {
			t.Errorf("typed %q: the key is %q, %v", typed, options.Key.Reveal(), err)
		}
	}
}

func TestSuggestionsAreShownFilteredAndTakenWithAKey(t *testing.T) {
	options := defaults(t)
	p := newPerson(t, request(options), 80, 24)
	p.goTo("Model")
	p.m.Update(suggested{p.m.questions, p.m.asked, "model", []string{"qwen3:8b", "llama3:8b", "bad\x1b[31m"}})
	p.sees("llama3:8b")
	if strings.Contains(p.screen(), "bad") {
		t.Error("a name with a control sequence was offered")
	}
	p.press("'ll")
	if strings.Contains(p.screen(), "qwen3") {
		t.Errorf("what does not match is offered:\n%s", p.screen())
	}
	p.press("ctrl+e", "ctrl+s", "enter")
	if done, _ := p.m.finish(); !done || options.Model != "llama3:8b" {
		t.Errorf("done %t, %q", done, options.Model)
	}
}

func TestTheWholePreviewAndEveryKeyAreAKeyAway(t *testing.T) {
	options := defaults(t)
	r := request(options)
	r.Preview = func(any) string { return strings.Repeat("line\n", 99) + "the end \x1b]52;c;aGk=\x07" }
	p := newPerson(t, r, 80, 24)
	p.sees("ctrl+o shows all of it")
	p.press("ctrl+o")
	for range 9 {
		p.press("pgdown")
	}
	p.sees(`the end \x1b]52;c;aGk=\x07`)
	p.press("esc")
	p.sees("▸ Effort")
	p.press("f1")
	p.sees("cancel: nothing is changed")
	p.press("'?", "esc")
	p.sees("▸ Effort")
}

func TestATerminalThatIsTooSmallIsTold(t *testing.T) {
	for _, size := range [][2]int{{20, 5}, {49, 40}, {80, 11}, {1, 1}} {
		p := newPerson(t, request(defaults(t)), size[0], size[1])
		if text := strings.Join(strings.Fields(p.screen()), ""); !strings.Contains(text, "50×12") {
			t.Errorf("%v: %q", size, p.screen())
		}
	}
}

func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	long := strings.Repeat("wide 漢字 ", 30)
	options := defaults(t)
	options.Line, options.Prose, options.Names = long, long, []string{long, long}
	for _, size := range [][2]int{{50, 12}, {77, 20}, {78, 13}, {200, 60}} {
		p := newPerson(t, request(options), size[0], size[1])
		for range len(p.m.fields) + 1 {
			lines := strings.Split(p.screen(), "\n")
			if len(lines) != size[1] {
				t.Errorf("%v: %d lines", size, len(lines))
			}
			for _, line := range lines {
				if width := ansi.StringWidth(line); width > size[0] {
					t.Errorf("%v: %d columns: %q", size, width, line)
				}
			}
			p.press("tab")
		}
	}
}

func TestMovingAmongNoChoicesIsNoHarm(t *testing.T) {
	for _, label := range []string{"Tools", "Effort"} {
		p := newPerson(t, request(defaults(t)), 80, 24)
		p.goTo(label)
		p.press("/", "'zz", "down", "up", "ctrl+d", "home", "end", "backspace", "backspace", "enter")
		p.sees("▸ " + label)
		p.press("space", "tab")
	}
}

func TestOneTabTooManyDoesNotFinish(t *testing.T) {
	p := newPerson(t, request(defaults(t)), 80, 24)
	for range 3 * len(p.m.fields) {
		p.press("tab")
	}
	p.sees("review")
	if p.m.done {
		t.Error("it was finished without a word")
	}
}

func TestColorsFollowTheTerminalAndTellNothingAlone(t *testing.T) {
	views := map[string]string{}
	for name, background := range map[string]color.Color{"light": color.White, "dark": color.Black} {
		p := newPerson(t, request(defaults(t)), 80, 24)
		p.press("down")
		p.m.Update(tea.BackgroundColorMsg{Color: background})
		p.sees("> low")
		views[name] = p.m.View().Content
	}
	if views["light"] == views["dark"] {
		t.Error("a light terminal has the colors of a dark one")
	}
	if ansi.Strip(views["light"]) != ansi.Strip(views["dark"]) {
		t.Error("the words depend on the colors")
	}
}
