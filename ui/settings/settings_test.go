package settings

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"aibox/ui/page"
	"aibox/ui/uitest"

	tea "charm.land/bubbletea/v2"
)

func TestEachSettingIsShownWithItsValueAndWhereThatCameFrom(t *testing.T) {
	for _, size := range uitest.Sizes {
		p, _ := newUser(t, newFake(), size[0], size[1])
		p.Show("opened")
		goTo(p, "timeout")
		p.Show("a setting of three places")
		p.Press("esc", "c")
		p.Show("only changed settings")
		p.Press("tab", "enter")
		p.Type("x")
		p.Show("a value that cannot stand")
		p.Press("esc", "c")
		goTo(p, "color")
		p.Press("enter", "down")
		p.Show("a value to choose")
		p.Press("esc", "esc")
		goTo(p, "nothing like it")
		p.Show("nothing found")
		p.Golden("")
	}
}

func TestAHeadingIsShownAgainWithItsFirstSetting(t *testing.T) {
	p, _ := newUser(t, newFake(), 120, 20)
	p.Sees("\nsandbox  ")
	p.Resize(120, 4) // a single row is left to the list
	p.DoesNotSee("\nsandbox  ")
	p.Resize(120, 20)
	p.Sees("\nsandbox  ")
	p.Press("end", "home")
	p.Sees("\nsandbox  ")
}

func TestAValueIsWrittenToTheFileAndTheRestOfItStays(t *testing.T) {
	d := newFake()
	p, _ := newUser(t, d, 120, 40)
	goTo(p, "pids")
	p.Press("enter", "backspace", "backspace", "backspace", "backspace")
	p.Type("100")
	p.Sees("✓ valid")
	p.Press("enter")
	p.Sees("saved pids in your file")
	if want := "# mine\ntimeout = \"30m\"\nhide = [\"*.key\"]\npids = 100\n[agents.painter]\nlayers = 5\n"; d.user != want {
		t.Errorf("the file is\n%s", d.user)
	}
	p.Sees("your file") // the repository's lower value still counts
	p.Sees("100; overridden")
}

func TestAValueThatCannotStandIsNotWritten(t *testing.T) {
	d := newFake()
	before := d.user
	p, m := newUser(t, d, 120, 40)
	goTo(p, "painter layers")
	for _, typed := range []string{"0", "99", "x"} {
		p.Press("enter", "backspace")
		p.Type(typed)
		if p.Press("enter"); m.edit == nil || m.edit.problem == nil {
			t.Errorf("%q is taken", typed)
		}
		p.Sees("✗")
		p.Press("esc")
	}
	if d.user != before || d.writes > 0 {
		t.Errorf("the file is\n%s", d.user)
	}
}

func TestWhatIsTypedIsCheckedByEachKey(t *testing.T) {
	p, _ := newUser(t, newFake(), 120, 40)
	goTo(p, "verify-timeout")
	p.Press("enter", "backspace", "backspace", "backspace")
	p.Type("90")
	p.Sees("✗")
	p.Type("s")
	p.Sees("✓ valid")
	p.Send(tea.PasteMsg{Content: "oon"})
	p.Sees("✗")
}

func TestAFieldThatOpensEmptyIsNotFoundFaultWithBeforeItIsChanged(t *testing.T) {
	for _, name := range []string{"pager", "system", "notes"} {
		d := newFake()
		before := d.user
		p, m := newUser(t, d, 120, 40)
		goTo(p, name)
		p.Press("enter")
		p.Sees("no value")
		p.DoesNotSee("✗")
		p.Press("left", "enter")
		p.Sees("nothing typed; not changed")
		if d.writes > 0 || d.user != before || m.edit != nil {
			t.Errorf("%s: the file is\n%s", name, d.user)
		}
		p.Press("enter")
		p.Type("x")
		p.DoesNotSee("no value")
		p.Press("backspace")
		p.DoesNotSee("no value")
	}
}

func TestTheFirstChoiceCanBeTakenWhereNothingIsSet(t *testing.T) {
	for _, first := range []string{"down", "up"} {
		d := newFake()
		p, _ := newUser(t, d, 120, 40)
		goTo(p, "agent")
		p.Press("enter")
		p.Sees("no value")
		p.Press(first)
		p.Sees("✓ valid")
		p.Press("enter")
		if !strings.Contains(d.user, "\nagent = \"painter\"\n") {
			t.Errorf("the file is\n%s", d.user)
		}
	}
}

func TestEnterPressedTwiceSavesNothing(t *testing.T) {
	for name, want := range map[string]string{
		"agent": "nothing chosen; not changed", "color": "nothing chosen; not changed", "brushes": "nothing chosen; not changed",
		"pager": "nothing typed; not changed", "verify-timeout": "nothing typed; not changed",
	} {
		d := newFake()
		before := d.user
		p, _ := newUser(t, d, 120, 40)
		goTo(p, name)
		p.Press("enter", "enter")
		p.Sees(want)
		if d.user != before {
			t.Errorf("%s: the file is\n%s", name, d.user)
		}
	}
}

func TestAListThatIsEmptiedIsSavedAsEmpty(t *testing.T) {
	d := newFake()
	p, _ := newUser(t, d, 120, 40)
	goTo(p, "hide")
	p.Press("enter", "ctrl+u")
	p.Sees("✓ valid")
	p.Press("enter")
	if !strings.Contains(d.user, "\nhide = []\n") {
		t.Errorf("the file is\n%s", d.user)
	}
}

func TestASettingIsTakenOutOfTheFile(t *testing.T) {
	d := newFake()
	p, _ := newUser(t, d, 120, 40)
	goTo(p, "painter layers")
	p.Press("u")
	p.Sees("removed agents.painter.layers from your file; it was 5")
	if strings.Contains(d.user, "layers") {
		t.Errorf("the file is\n%s", d.user)
	}
	p.Press("u") // it is not there any more
	if d.writes != 1 {
		t.Errorf("the file was written %d times", d.writes)
	}
}

func TestChoicesArePickedByKeyAndByMouse(t *testing.T) {
	d := newFake()
	p, _ := newUser(t, d, 120, 40)
	goTo(p, "painter color")
	p.Press("enter", "down", "down", "enter")
	if !strings.Contains(d.user, `color = "blue"`) {
		t.Errorf("the file is\n%s", d.user)
	}
	p.Press("enter")
	p.ClickOn("  green") // goes there
	p.ClickOn("▸ green") // and takes it
	if !strings.Contains(d.user, `color = "green"`) {
		t.Errorf("the file is\n%s", d.user)
	}
	p.Press("esc")
	goTo(p, "brushes")
	p.Press("enter", "space", "down", "down", "space", "enter")
	if !strings.Contains(d.user, `brushes = ["flat", "fan"]`) {
		t.Errorf("the file is\n%s", d.user)
	}
	p.Press("enter", "space", "down", "down", "space", "enter")
	if !strings.Contains(d.user, `brushes = []`) {
		t.Errorf("nothing picked is no empty list:\n%s", d.user)
	}
}

func TestASecretIsNeitherShownNorTaken(t *testing.T) {
	p, m := newUser(t, newFake(), 120, 40)
	goTo(p, "painter key")
	p.Sees("••••")
	p.DoesNotSee("hush")
	if p.Press("enter"); m.edit != nil {
		t.Error("a secret can be typed")
	}
	p.Sees("is a secret")
	p.Sees("export PAINTER_KEY")
}

func TestAValueOfSeveralLinesIsLeftToTheEditor(t *testing.T) {
	d := newFake()
	d.user = "[agents.painter]\nnotes = \"one\\ntwo\"\n"
	p, m := newUser(t, d, 120, 40)
	goTo(p, "notes")
	if p.Press("enter"); m.edit != nil {
		t.Error("it can be typed, and would lose its lines")
	}
	p.Sees("o opens your file")
	p.Press("o")
	if command, ok := p.Asked[0].(page.Command); !ok || strings.Join(command.Args, " ") != "config edit" {
		t.Errorf("asked for %v", p.Asked)
	}
}

func TestABrokenFileIsReportedWithItsLineAndAHint(t *testing.T) {
	d := newFake()
	d.user = "timeout = 5\npids = \n"
	p, _ := newUser(t, d, 80, 24)
	p.Sees("config.toml:2:")
	p.Sees("opens your file in an editor")
	p.Fits("broken")
	d.user = "timeout = \"5m\"\n"
	p.Send(page.Returned{})
	goTo(p, "timeout")
	p.Sees("25m")
	p.Sees("AIBOX_TIMEOUT")
}

func TestNothingIsChangedWhileTheFileIsBroken(t *testing.T) {
	d := newFake()
	p, m := newUser(t, d, 120, 40)
	goTo(p, "pids")
	p.Press("esc")
	good := d.user
	d.user = "timeout = 5\npids = \n"
	p.Send(page.Returned{})
	p.Sees("config.toml:2:")
	for _, key := range []string{"enter", "e", "u"} {
		if p.Press(key); m.Typing() || d.writes > 0 {
			t.Errorf("%s acts on a setting that is not shown", key)
		}
	}
	p.Press("o")
	if len(p.Asked) != 1 {
		t.Errorf("asked for %v", p.Asked)
	}
	d.user = good
	p.Send(page.Returned{})
	if setting, _ := m.list.current(); setting.Key != "pids" {
		t.Errorf("%q is selected", setting.Key)
	}
}

func TestAFileThatCannotBeWrittenLosesNothingTyped(t *testing.T) {
	d := newFake()
	p, m := newUser(t, d, 120, 40)
	goTo(p, "verify-timeout")
	d.fail = errors.New("the disk is full\x1b[2J")
	p.Press("enter", "backspace")
	p.Type("5m")
	p.Press("enter")
	p.Sees("the disk is full")
	if m.edit == nil || m.edit.line.Value() != "105m" {
		t.Error("what was typed is gone")
	}
	d.fail = nil
	p.Press("enter")
	p.Sees("saved verify-timeout in your file")
}

func TestOnlyTheLastReadingCounts(t *testing.T) {
	d := newFake()
	p, m := newUser(t, d, 120, 40)
	old := m.reread()
	p.Press("r")
	user := d.user
	d.user = "too late"
	stale := old()
	d.user = user
	p.Send(stale)
	p.DoesNotSee("too late")
}

func TestLeavingIsByEscOrQ(t *testing.T) {
	for _, name := range []string{"esc", "q"} {
		p, _ := newUser(t, newFake(), 80, 24)
		p.Press(name)
		if len(p.Asked) != 1 || p.Asked[0] != (page.Close{}) {
			t.Errorf("%s asks for %v", name, p.Asked)
		}
	}
}

func TestTheMouseGoesToASettingAndOpensIt(t *testing.T) {
	p, m := newUser(t, newFake(), 120, 40)
	p.ClickOn("ask-timeout")
	if m.list.at != "ask-timeout" || m.edit != nil {
		t.Fatalf("at %s", m.list.at)
	}
	p.ClickOn("egress proxy") // a heading is no setting
	if m.list.at != "ask-timeout" {
		t.Errorf("at %s", m.list.at)
	}
	p.ClickOn("▸ ask-timeout")
	if m.edit == nil {
		t.Error("a second click does not begin to change it")
	}
	p.Press("esc")
	p.Send(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	if m.list.at == "ask-timeout" {
		t.Error("the wheel does not move")
	}
}

var names = []string{
	"enter", "esc", "up", "down", "pgup", "pgdown", "home", "end", "tab", "shift+tab", "/", "c", "u", "r", "o", "e", "space", "a", "5", "m",
	"backspace", "delete", "ctrl+s", "ctrl+c", "[", "]", "漢",
}

func TestRandomKeysNeverBreakTheScreenOrTheFile(t *testing.T) {
	d := newFake()
	p, _ := newUser(t, d, 80, 24)
	p.ActRandomly(rand.New(rand.NewPCG(1, 2)), 700, names)
	if _, err := d.Read(t.Context()); err != nil && !strings.Contains(err.Error(), "looser") {
		t.Errorf("%v\n%s", err, d.user)
	}
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte{0, 2, 3, 10, 11})
	f.Fuzz(func(t *testing.T, pressed []byte) {
		p, _ := newUser(t, newFake(), 60, 20)
		for _, b := range pressed {
			p.Press(names[int(b)%len(names)])
		}
		p.Fits("fuzzed")
	})
}

func TestTypingFindsAValueInAListOfChoices(t *testing.T) {
	d := newFake()
	p, _ := newUser(t, d, 120, 40)
	goTo(p, "agents.painter.color")
	p.Press("enter")
	p.Type("gr")
	p.Sees("▸ green")
	p.DoesNotSee("blue ")
	p.Press("backspace", "backspace")
	p.Type("lu")
	p.Press("enter")
	if !strings.Contains(d.user, `color = "blue"`) {
		t.Errorf("your file is %q", d.user)
	}
	p.Press("esc")
	goTo(p, "agent default")
	p.Press("enter")
	p.Type("paintre") // a typing error is explained, and not saved
	p.Sees("✗")
	writes := d.writes
	p.Press("enter")
	if d.writes != writes {
		t.Errorf("an unknown agent was saved: %q", d.user)
	}
	p.Press("esc")
}

func TestEveryGeneralSettingHasAGroup(t *testing.T) {
	book, err := newFake().Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, setting := range book.Held {
		known[setting.Key] = true
		if heading(setting) == "other" {
			t.Errorf("%s is in no group", setting.Key)
		}
	}
	for _, group := range groups {
		for _, key := range group.keys {
			if !known[key] {
				t.Errorf("there is no setting %s", key)
			}
		}
	}
}

func TestTheScreenOpensAtTheSettingThatWasAskedFor(t *testing.T) {
	m := New(t.Context(), newFake())
	m.Select("pids")
	p := uitest.New(t, m, 120, 40)
	p.Run(m.Init())
	if got, _ := m.list.current(); got.Key != "pids" {
		t.Errorf("the cursor is at %q", got.Key)
	}
}
