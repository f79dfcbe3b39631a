package form

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"aibox/agents/spec"
	"aibox/internal/secret"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// defaults returns an everything with its default values.
func defaults(t *testing.T) *everything {
	t.Helper()
	options := &everything{}
	if err := spec.Defaults(options); err != nil {
		t.Fatal(err)
	}
	return options
}

// answers are keys for each question, by its label, and the resulting values.
var answers = []struct {
	label string
	keys  []string
	want  func(*everything)
}{
	{"Effort", []string{"enter", "down", "down", "enter"}, func(e *everything) { e.Effort = "mid" }},
	{"Format", []string{"'js", "enter"}, func(e *everything) { e.Format = "json" }},
	{"Fast", []string{"'y"}, func(e *everything) { e.Fast = true }},
	{"Turns", []string{"'12"}, func(e *everything) { e.Turns = 12 }},
	{"Patience", []string{"'90s"}, func(e *everything) { e.Patience = 90 * time.Second }},
	{"Model", []string{"'small"}, func(e *everything) { e.Model = "small" }},
	{"Tools", []string{"enter", "space", "down", "down", "space", "enter"}, func(e *everything) { e.Tools = []string{"saw", "pen"} }},
	{"Line", []string{"enter", "ctrl+u", "'yes q?"}, func(e *everything) { e.Line = "yes q?" }},
	{"Prose", []string{"'one", "enter", "'two"}, func(e *everything) { e.Prose = "one\ntwo" }},
	{"Place", []string{"enter", "'/a b"}, func(e *everything) { e.Place = "/a b" }},
	{"Names", []string{"'ann", "enter", `'"b,c"`}, func(e *everything) { e.Names = []string{"ann", "b,c"} }},
	{"Key", []string{"'canary"}, func(e *everything) { e.Key = secret.New("canary") }},
}

func TestEveryTypeOfOptionIsSetByKeysInTheDraftAlone(t *testing.T) {
	options, want := defaults(t), defaults(t)
	u := newUser(t, Request{Options: options}, 80, 24)
	for _, answer := range answers {
		u.goTo(answer.label)
		u.press(answer.keys...)
		answer.want(want)
		if strings.Contains(u.screen(), "canary") {
			t.Errorf("the screen tells the secret:\n%s", u.screen())
		}
	}
	u.leave()
	u.completes(want)
	if !reflect.DeepEqual(options, defaults(t)) {
		t.Errorf("the options were written: %+v", options)
	}
}

func TestTheKeysThatCancelAreLeftToTheScreenAtEveryQuestion(t *testing.T) {
	for _, answer := range answers {
		for _, cancel := range []string{"esc", "ctrl+c"} {
			options := defaults(t)
			options.Fast = true // so that every question is there
			before := spec.Clone(options)
			u := newUser(t, Request{Options: options}, 80, 24)
			u.goTo(answer.label)
			u.press(answer.keys...)
			u.press(cancel)
			if u.outcome != Stay {
				t.Fatalf("%s: %s does not leave", answer.label, cancel)
			}
			if !reflect.DeepEqual(options, before) {
				t.Errorf("%s, %s: %+v", answer.label, cancel, options)
			}
		}
	}
}

// The library ends the program if alt+d is pressed on the last character.
func TestNoKeyInAQuestionEndsTheProgram(t *testing.T) {
	u := newUser(t, Request{Options: &everything{Line: "ab"}}, 80, 24)
	for range u.part.f.rows {
		if kind := u.part.f.current.field.Type; kind != spec.Bool && kind != spec.Choices {
			u.press("enter", "x", "left", "alt+d", "alt+delete", "esc")
		}
		u.press("down")
	}
}

func TestLookingAtEveryQuestionChangesNothing(t *testing.T) {
	options := &everything{
		Line: "a\tb", Prose: "x\ty\n\nz", Names: []string{" a ", "", "b\nc"}, Tools: []string{"pen", "saw"}, Fast: true,
		Turns: 50, Key: secret.New("canary"),
	}
	before := spec.Clone(options)
	u := newUser(t, Request{Options: options}, 80, 24)
	for range u.part.f.rows {
		if u.part.f.current.field.Type != spec.Bool {
			u.press("enter", "enter", "tab", "up")
		}
		u.press("down")
	}
	u.leave()
	for range u.part.f.rows {
		u.press("up")
	}
	if u.press("shift+tab"); u.outcome != Previous {
		t.Errorf("outcome %d of shift+tab", u.outcome)
	}
	u.leave()
	u.completes(before)
	if !reflect.DeepEqual(options, before) {
		t.Errorf("the options were written: %+v", options)
	}
}

func TestAWrongAnswerIsReportedWhileTypingAndCannotBeConfirmed(t *testing.T) {
	options := defaults(t)
	options.Fast = true
	u := newUser(t, Request{Options: options}, 80, 24)
	u.goTo("Turns")
	u.press("'x")
	u.sees("must be a whole number")
	u.press("backspace", "'5")
	u.sees("must be a number from 10 to")
	for _, leave := range []string{"tab", "enter", "shift+tab", "ctrl+s", "down", "up"} {
		u.press(leave)
		u.sees("▸ Turns")
	}
	u.press("'0")
	if strings.Contains(u.screen(), "✗") {
		t.Errorf("a right answer is called wrong:\n%s", u.screen())
	}
	u.press("tab")
	u.sees("▸ Patience")
}

func TestAQuestionComesAndGoesWithTheOneItDependsOn(t *testing.T) {
	u := newUser(t, Request{Options: defaults(t)}, 80, 24)
	u.goTo("Fast")
	if strings.Contains(u.screen(), "Turns") {
		t.Errorf("it is there too soon:\n%s", u.screen())
	}
	u.press("'y")
	u.sees("Turns")
	if draft, ok := u.part.Draft().(*everything); !ok || !draft.Fast {
		t.Errorf("the draft is %+v", u.part.Draft())
	}
	u.press("'n")
	if strings.Contains(u.screen(), "Turns") {
		t.Errorf("it stays:\n%s", u.screen())
	}
	u.press("down")
	u.sees("▸ Patience")
}

func TestASwitchThatIsOnByDefaultIsSwitchedOff(t *testing.T) {
	type options struct {
		On bool `label:"On" help:"h" default:"true"`
	}
	o := &options{On: true}
	u := newUser(t, Request{Options: o}, 80, 24)
	u.press("right")
	u.leave()
	u.completes(&options{})
}

func TestADefaultChoiceIsTakenAwayAltogether(t *testing.T) {
	type options struct {
		Tools []string `label:"Tools" help:"h" choices:"saw axe" default:"saw"`
		One   string   `label:"One" help:"h" choices:"a b"`
	}
	o := &options{Tools: []string{"saw"}, One: "b"}
	u := newUser(t, Request{Options: o}, 80, 24)
	u.press("enter", "space", "tab", "enter")
	u.sees("(not set)")
	u.press("up", "up", "enter")
	u.leave()
	u.completes(&options{Tools: []string{}})
}

func TestOptionsThatDoNotGoTogetherAreAProblem(t *testing.T) {
	want := defaults(t)
	want.Format, want.Line = "json", "not"
	u := newUser(t, Request{Options: defaults(t)}, 80, 24)
	u.goTo("Format")
	u.press("enter", "down")
	u.goTo("Line")
	u.press("'no")
	u.leave()
	if err := u.part.Problem(); err == nil || err.Error() != "json and no do not go together" {
		t.Errorf("the problem is %v", err)
	}
	u.goTo("Line")
	u.press("enter", "'t")
	u.leave()
	u.completes(want)
}

func TestASecretThatIsSetStaysUnlessAnotherIsTyped(t *testing.T) {
	for _, typed := range []string{"", "'other"} {
		options := defaults(t)
		options.Key = secret.New("canary")
		u := newUser(t, Request{Options: options}, 80, 24)
		u.goTo("Key")
		u.sees("leave it empty to")
		u.press("'x", "backspace")
		want := defaults(t)
		want.Key = secret.New("canary")
		if typed != "" {
			u.press(typed)
			want.Key = secret.New("other")
		}
		u.leave()
		u.completes(want)
	}
}

func TestSuggestionsAreShownFilteredAndTakenWithAKey(t *testing.T) {
	want := defaults(t)
	want.Model = "llama3:8b"
	u := newUser(t, Request{Options: defaults(t)}, 80, 24)
	u.goTo("Model")
	u.press("enter")
	u.part.Update(suggested{u.part.f, u.part.f.asked, "model", []string{"qwen3:8b", "llama3:8b", "bad\x1b[31m"}})
	u.sees("llama3:8b")
	if strings.Contains(u.screen(), "bad") {
		t.Error("a name with a control sequence was offered")
	}
	u.press("'ll")
	if strings.Contains(u.screen(), "qwen3") {
		t.Errorf("what does not match is offered:\n%s", u.screen())
	}
	u.press("ctrl+e")
	u.leave()
	u.completes(want)
	u.goTo("Model")
	u.press("'q", "down", "enter")
	want.Model = "qwen3:8b"
	u.leave()
	u.completes(want)
}

func TestTheMarkedSuggestionStaysMarkedWhenOthersArrive(t *testing.T) {
	for _, c := range []struct {
		late []string
		want string
	}{
		{[]string{"aya:8b", "llama3:8b"}, "llama3:8b"},
		{[]string{"aya:8b"}, defaults(t).Model}, // it has gone, so the text is taken
	} {
		want := defaults(t)
		want.Model = c.want
		u := newUser(t, Request{Options: defaults(t)}, 80, 24)
		u.goTo("Model")
		u.press("enter")
		u.part.Update(suggested{u.part.f, u.part.f.asked, "model", []string{"llama3:8b", "qwen3:8b"}})
		u.press("down")
		u.part.Update(suggested{u.part.f, u.part.f.asked, "model", c.late})
		u.press("enter")
		u.leave()
		u.completes(want)
	}
}

func TestTypingReplacesAValueAndEnterEditsIt(t *testing.T) {
	for keys, want := range map[string]string{"'ab": "ab", "enter 'ab": "xab", "backspace": "", "'ab esc": "x", "enter 'ab esc": "x"} {
		u := newUser(t, Request{Options: defaults(t), Only: []string{"line"}}, 80, 24)
		u.press(strings.Fields(keys)...)
		if draft, ok := u.part.Draft().(*everything); !ok || draft.Line != want {
			t.Errorf("%s makes %+v", keys, u.part.Draft())
		}
	}
}

func TestTypingFiltersChoicesAndTakesTheFirstThatBeginsWithIt(t *testing.T) {
	type options struct {
		One string `label:"One" help:"h" choices:"alpha beta gamma gabeta" default:"gamma"`
	}
	u := newUser(t, Request{Options: &options{One: "gamma"}}, 80, 24)
	u.press("'bet")
	u.sees("filter: bet")
	if strings.Contains(u.screen(), "alpha") {
		t.Errorf("a choice that does not match is shown:\n%s", u.screen())
	}
	u.press("enter")
	u.leave()
	u.completes(&options{One: "beta"})
}

func TestAnUndoneAnswerAndADeletedChangeLeaveTheEarlierValue(t *testing.T) {
	u := newUser(t, Request{Options: defaults(t)}, 120, 40)
	u.goTo("Patience")
	u.press("'5m", "esc")
	u.completesDraft(defaults(t))
	u.press("'5m", "enter")
	u.sees("• 5m")
	u.sees("Without this change: 1m")
	u.press("delete")
	u.completesDraft(defaults(t))
	if strings.Contains(u.screen(), "•") {
		t.Errorf("the restored field is marked:\n%s", u.screen())
	}
}

func TestNoLineIsWiderThanThePart(t *testing.T) {
	long := strings.Repeat("wide 漢字 ", 30)
	options := defaults(t)
	options.Line, options.Prose, options.Names = long, long, []string{long, long}
	for _, size := range [][2]int{{50, 12}, {77, 20}, {78, 13}, {200, 60}} {
		u := newUser(t, Request{Options: options}, size[0], size[1])
		for range 2 * len(u.part.f.all) {
			lines := u.lines()
			if len(lines) != size[1] {
				t.Errorf("%v: %d lines", size, len(lines))
			}
			for _, line := range lines {
				if width := ansi.StringWidth(line); width > size[0] {
					t.Errorf("%v: %d columns: %q", size, width, line)
				}
			}
			if u.part.Editing() {
				u.press("esc", "down")
			} else {
				u.press("enter")
			}
		}
	}
}

func TestMovingAmongNoChoicesIsNoHarm(t *testing.T) {
	for _, label := range []string{"Tools", "Effort"} {
		u := newUser(t, Request{Options: defaults(t)}, 80, 24)
		u.goTo(label)
		u.press("'zz", "space", "down", "up", "home", "end", "pgup", "backspace", "backspace", "enter")
		u.sees("▸ " + label)
		u.press("space", "tab")
	}
}

func TestColorsFollowTheThemeAndNeverCarryAMeaningAlone(t *testing.T) {
	views := map[string]string{}
	for name, dark := range map[string]bool{"light": false, "dark": true} {
		u := newUser(t, Request{Options: defaults(t)}, 80, 24)
		u.press("enter", "down")
		u.part.SetTheme(theme.New(dark))
		u.sees("▸ low")
		views[name] = strings.Join(u.part.View(true), "\n")
	}
	if views["light"] == views["dark"] {
		t.Error("a light terminal has the colors of a dark one")
	}
	if ansi.Strip(views["light"]) != ansi.Strip(views["dark"]) {
		t.Error("the words depend on the colors")
	}
}

func TestTheSelectedFieldStaysSelectedWhenFieldsComeAndGoAboveIt(t *testing.T) {
	type options struct {
		Detail string `label:"Detail" help:"h" when:"more"`
		More   bool   `label:"More" help:"h"`
		Last   string `label:"Last" help:"h"`
	}
	u := newUser(t, Request{Options: &options{}}, 80, 24)
	u.sees("▸ More")
	u.press("enter")
	u.sees("Detail")
	u.sees("▸ More")
	u.press("enter")
	u.sees("▸ More")
}

func TestASearchFindsAFieldByItsWordsAndEndsAtIt(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		u := newUser(t, Request{Options: defaults(t)}, size[0], size[1])
		u.press("/", "'waits")
		u.sees("▸ Patience")
		if strings.Contains(u.screen(), "Effort") {
			t.Errorf("a field that does not match is shown:\n%s", u.screen())
		}
		if !u.part.TakesEsc() {
			t.Error("esc leaves the form")
		}
		u.press("'zz")
		u.sees("no field matches")
		u.press("ctrl+u", "'pat", "enter")
		u.sees("▸ Patience")
		u.sees("Effort")
		u.press("'5m", "enter")
		u.sees("• 5m")
	}
}

func TestTheMouseSelectsAndEditsFields(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		u := newUser(t, Request{Options: defaults(t)}, size[0], size[1])
		click := func(label string) {
			t.Helper()
			for y, line := range u.lines() {
				if strings.HasPrefix(strings.TrimLeft(line, "▸ "), label) {
					u.part.Click(4, y)
					return
				}
			}
			t.Fatalf("no %s:\n%s", label, u.screen())
		}
		click("Patience")
		u.sees("▸ Patience")
		if click("Patience"); !u.part.Editing() {
			t.Error("a click on the selected field does not edit it")
		}
		click("Fast")
		u.sees("▸ Fast")
		click("Fast")
		u.sees("Turns")
		u.part.Wheel(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
		u.sees("▸ Turns")
	}
}
