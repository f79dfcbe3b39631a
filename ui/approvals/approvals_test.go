package approvals

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/internal/golden"
	"aibox/session"
	"aibox/ui/page"
	"aibox/ui/uitest"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// fakeSessions are sessions with questions.
type fakeSessions struct {
	open  []session.Request
	said  []string
	fails error
	watch func(context.Context) error // nil: ends at once
}

func (d *fakeSessions) Changed(context.Context) (<-chan struct{}, error) {
	return make(chan struct{}), nil
}

func (d *fakeSessions) Requests() ([]session.Request, error) {
	return append([]session.Request(nil), d.open...), nil
}

func (d *fakeSessions) Answer(_ context.Context, id session.ID, request int, answer session.Answer) error {
	d.said = append(d.said, fmt.Sprintf("%s %d %s", id, request, answer))
	return d.fails
}

func (d *fakeSessions) WatchAllRequests(ctx context.Context) error {
	if d.watch == nil {
		return nil
	}
	return d.watch(ctx)
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)

func asks(id session.ID, number int) session.Request {
	return session.Request{
		Session: id, ID: number, What: session.RequestTime, Question: "The time of " + string(id) + " is almost up. Without an answer it is ended then; its work so far is kept.",
		Yes: "give it 1h more", No: "let it end", Until: noon.Add(time.Minute),
	}
}

// user uses a screen over which questions appear.
type user struct {
	t            testing.TB
	m            *Model
	fakeSessions *fakeSessions
	now          time.Time
}

func newUser(t testing.TB, open ...session.Request) *user {
	p := &user{t: t, fakeSessions: &fakeSessions{open: open}, now: noon}
	p.m = New(t.Context(), p.fakeSessions)
	p.m.Now = func() time.Time { return p.now }
	p.m.Tick = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	p.m.SetSize(80, 24)
	p.look(false)
	return p
}

// look loads the currently open questions.
func (p *user) look(busy bool) {
	p.run(p.m.list())
	p.m.Let(busy)
}

func (p *user) run(cmd tea.Cmd) {
	p.t.Helper()
	if cmd == nil {
		return
	}
	msg, current := page.Current(cmd())
	if !current {
		return
	}
	next, own := p.m.Take(msg)
	if !own {
		p.t.Error("a message of its own is not taken")
	}
	p.run(next)
}

// press presses keys with long pauses between them.
func (p *user) press(names ...string) {
	for _, name := range names {
		p.now = p.now.Add(dialog.Grace)
		p.run(p.m.Press(keymap.Press(name)))
	}
}

func (p *user) view() string {
	return ansi.Strip(p.m.View(strings.Repeat(strings.Repeat(".", p.m.width)+"\n", p.m.height-1) + strings.Repeat(".", p.m.width)))
}

func TestAQuestionAppearsAndItsAnswerCounts(t *testing.T) {
	for key, want := range map[string]string{"y": "0a-x 1 yes", "n": "0a-x 1 no"} {
		p := newUser(t, asks("0a-x", 1))
		if !p.m.Open() || !strings.Contains(p.view(), "0a-x asks") || !strings.Contains(p.view(), "at 12:01:00") {
			t.Fatalf("it does not appear:\n%s", p.view())
		}
		p.press(key)
		if len(p.fakeSessions.said) != 1 || p.fakeSessions.said[0] != want {
			t.Errorf("%s says %v", key, p.fakeSessions.said)
		}
		p.look(false) // the text read from the screen still contains it
		if p.m.Open() || p.m.Waiting() != 0 {
			t.Error("it is asked again")
		}
	}
}

func TestKeysMeantForTheScreenDoNotAnswerAQuestion(t *testing.T) {
	p := newUser(t, asks("0a-x", 1))
	for range 50 { // the user keeps typing
		p.now = p.now.Add(dialog.Grace - time.Millisecond)
		for _, name := range []string{"y", "n", "enter", "esc"} {
			p.run(p.m.Press(keymap.Press(name)))
		}
	}
	if p.fakeSessions.said != nil || !p.m.Open() {
		t.Errorf("said %v, open %v", p.fakeSessions.said, p.m.Open())
	}
	p.press("enter") // later has the focus
	if p.fakeSessions.said != nil || p.m.Open() || p.m.Waiting() != 1 {
		t.Errorf("said %v, open %v, %d wait", p.fakeSessions.said, p.m.Open(), p.m.Waiting())
	}
}

func TestAQuestionWaitsWhileTheUserTypes(t *testing.T) {
	p := newUser(t)
	p.fakeSessions.open = []session.Request{asks("0a-x", 1)}
	p.look(true)
	if p.m.Open() || !strings.Contains(p.m.Mark(), "! 1 question") {
		t.Errorf("open %v, marked %q", p.m.Open(), p.m.Mark())
	}
	p.m.Let(false)
	if !p.m.Open() {
		t.Error("it does not appear when the typing is over")
	}
}

func TestAQuestionThatIsPutOffStaysAsAMarkAndIsNotLost(t *testing.T) {
	p := newUser(t, asks("0a-x", 1), asks("0b-y", 3))
	if !strings.Contains(p.view(), "one of 2 questions") {
		t.Error(p.view())
	}
	p.press("esc")
	p.look(false)
	if !strings.Contains(p.view(), "0b-y asks") {
		t.Error(p.view())
	}
	p.press("q")
	p.look(false)
	if p.m.Open() || p.m.Mark() == "" {
		t.Error("they appear again by themselves, or are forgotten")
	}
	p.m.Show()
	p.press("y")
	p.m.Show()
	p.press("tab", "enter")
	if got := strings.Join(p.fakeSessions.said, ", "); got != "0a-x 1 yes, 0b-y 3 no" {
		t.Errorf("said %s", got)
	}
}

func TestAQuestionThatIsAnsweredElsewhereCloses(t *testing.T) {
	p := newUser(t, asks("0a-x", 1))
	p.fakeSessions.open = nil
	p.look(false)
	if !strings.Contains(p.view(), "! No longer open: the question from 0a-x was answered elsewhere") || p.m.Mark() != "" || p.m.Open() {
		t.Errorf("it does not become a line:\n%s", p.view())
	}
	if p.m.Pass(keymap.Press("y")) || !p.m.Outcome() {
		t.Error("a key that was meant for the question reaches the screen below")
	}
	if !p.m.Pass(keymap.Press("j")) || p.m.Outcome() {
		t.Error("a key for the screen below is lost, or the line stays")
	}
	if p.fakeSessions.said != nil {
		t.Error("it is answered")
	}
	p.fakeSessions.open = []session.Request{asks("0a-x", 2)}
	p.look(false)
	if !p.m.Open() {
		t.Error("the session's next one does not appear")
	}
	p.fakeSessions.open = nil
	p.now = noon.Add(time.Minute)
	p.look(false)
	if !strings.Contains(p.view(), "! Too late: the question from 0a-x expired") {
		t.Errorf("the expiry is not reported:\n%s", p.view())
	}
	p.now = p.now.Add(dialog.Grace)
	if !p.m.Pass(keymap.Press("y")) {
		t.Error("the line takes a key")
	}
}

func TestALookThatBeganEarlierAndEndsLaterDoesNotCount(t *testing.T) {
	p := newUser(t)
	early := p.m.list()() // sees nothing
	p.fakeSessions.open = []session.Request{asks("0a-x", 1)}
	p.look(false)
	p.run(func() tea.Msg { return early })
	if p.m.Waiting() != 1 || !strings.Contains(p.view(), "0a-x asks") {
		t.Errorf("the question is lost:\n%s", p.view())
	}
}

func TestAnAnswerThatIsNotAcceptedIsReported(t *testing.T) {
	p := newUser(t, asks("0a-x", 1))
	p.fakeSessions.fails = fault.New(fault.Internal, "the supervisor \x1b choked")
	p.press("y")
	if p.m.Open() || !strings.Contains(p.view(), "Your answer was not accepted") || !strings.Contains(p.view(), `the supervisor \x1b choked`) {
		t.Error(p.view())
	}
	if p.m.Waiting() != 1 {
		t.Error("it cannot be answered again")
	}
	p.fakeSessions.fails = fault.New(fault.Usage, "the question is not open any more: %w", session.ErrWrongState)
	p.m.Show()
	p.press("y")
	if p.m.Waiting() != 0 {
		t.Error("one that is over waits")
	}
}

func TestAnAnswerThatIsNotAcceptedIsReportedAfterTheNextQuestion(t *testing.T) {
	p := newUser(t, asksAccess("0a-x", 1, "one.example"), asksAccess("0a-x", 2, "two.example"))
	p.fakeSessions.fails = fault.New(fault.Usage, "the question about one.example:443 is no longer open: %w", session.ErrWrongState)
	p.press("d")
	p.m.Let(false)
	if !strings.Contains(p.view(), "two.example:443") {
		t.Fatal(p.view())
	}
	p.fakeSessions.open = nil
	p.look(false)
	if text := strings.Join(strings.Fields(p.view()), " "); !strings.Contains(text, "Your answer was not accepted: the question about one.example:443") {
		t.Error(p.view())
	}
}

func TestAClickChoosesAndASecondOneAnswers(t *testing.T) {
	p := newUser(t, asks("0a-x", 1))
	click := func(text string) {
		t.Helper()
		p.now = p.now.Add(dialog.Grace)
		for y, row := range strings.Split(p.view(), "\n") {
			if at := strings.Index(row, text); at >= 0 {
				p.run(p.m.Click(tea.MouseClickMsg{Button: tea.MouseLeft, X: ansi.StringWidth(row[:at]), Y: y}))
				return
			}
		}
		t.Errorf("no %q:\n%s", text, p.view())
	}
	click("asks")
	click("give it")
	if p.fakeSessions.said != nil || !strings.Contains(p.view(), "[give it 1h more (y)]") {
		t.Errorf("said %v:\n%s", p.fakeSessions.said, p.view())
	}
	click("give it")
	if len(p.fakeSessions.said) != 1 || p.fakeSessions.said[0] != "0a-x 1 yes" {
		t.Errorf("said %v", p.fakeSessions.said)
	}
}

func TestAQuestionIsSafeToShowAndFits(t *testing.T) {
	r := asks("0a-x", 1)
	r.Question, r.Yes, r.No = "\x1b]0;CANARY\x07"+strings.Repeat("wörter ", 20), "\x1b[2Jyes", strings.Repeat("no ", 30)
	p := newUser(t, r)
	for _, size := range [][2]int{{40, 12}, {80, 24}, {200, 60}} {
		p.m.SetSize(size[0], size[1])
		if strings.Contains(p.m.box(), "\x1b]") || strings.Contains(p.m.box(), "\x1b[2J") {
			t.Error("it is shown raw")
		}
		rows := strings.Split(p.view(), "\n")
		if len(rows) != size[1] {
			t.Errorf("%v: %d rows", size, len(rows))
		}
		for _, row := range rows {
			if ansi.StringWidth(row) > size[0] {
				t.Errorf("%v: %q is too wide", size, row)
			}
		}
	}
}

func TestALongQuestionInALowTerminalIsScrolledAndKeepsItsButtons(t *testing.T) {
	r := asks("0abcd-codex", 1)
	r.Question = "0abcd-codex has used up its limit of $5 for the model. Its next request waits. Without an answer the session is ended; its work so far is kept."
	r.Yes, r.No, r.Until = "raise the limit to $10", "let it end", noon.Add(time.Minute)
	p := newUser(t, r, asks("0bbbb-codex", 2))
	if p.press("down"); len(p.m.Short()) != 4 || strings.Contains(p.view(), "↑↓") {
		t.Errorf("a question that fits is scrolled:\n%s", p.view())
	}
	p.m.SetSize(40, 11)
	seen := ""
	for range 6 {
		view := p.view()
		for _, want := range []string{"╭", "0abcd-codex asks", "later (esc)", "let it end (n)", "raise the limit to $10 (y)", "↑↓ ", "╰"} {
			if !strings.Contains(view, want) {
				t.Fatalf("no %q:\n%s", want, view)
			}
		}
		seen += view
		p.press("down")
	}
	for _, want := range []string{"has used up its limit", "is kept.", "It expires at"} {
		if !strings.Contains(seen, want) {
			t.Errorf("%q cannot be reached:\n%s", want, p.view())
		}
	}
	if len(p.m.Short()) != 6 || len(p.fakeSessions.said) > 0 {
		t.Errorf("the keys are %v, answered %v", p.m.Short(), p.fakeSessions.said)
	}
}

func TestTheQuestionLooksAsItDid(t *testing.T) {
	for _, size := range [][2]int{{40, 12}, {80, 24}, {120, 40}} {
		p := newUser(t, asks("0abcd-codex", 1))
		p.m.SetSize(size[0], size[1])
		golden.Check(t, fmt.Sprintf("%dx%d.golden", size[0], size[1]), p.view()+"\n")
	}
}

func FuzzKeys(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 2))
		p := newUser(t, asks("0a-x", 1), asks("0b-y", 1))
		names := []string{"y", "n", "enter", "esc", "tab", "left", "q", "x", "!"}
		for range 60 { // faster than the grace: nothing may be answered
			p.now = p.now.Add(dialog.Grace / 3)
			p.run(p.m.Press(keymap.Press(names[random.IntN(len(names))])))
			p.run(p.m.Click(tea.MouseClickMsg{Button: tea.MouseLeft, X: random.IntN(80), Y: random.IntN(24)}))
			p.look(random.IntN(2) == 0)
			_ = p.view()
		}
		if p.fakeSessions.said != nil {
			t.Errorf("said %v", p.fakeSessions.said)
		}
	})
}

func asksAccess(id session.ID, number int, host string) session.Request {
	return session.Request{
		Session: id, ID: number, What: session.RequestAccess, Question: "codex asks for " + host, Yes: "allow it once", No: "refuse it", Until: noon.Add(time.Minute),
		Access: &session.AccessRequest{Agent: "codex", Host: host, Port: 443, Method: "CONNECT", Reason: "no entry of the allow list names this host", Allow: host + ":443"},
	}
}

func TestAQuestionAboutAccessHasFourAnswers(t *testing.T) {
	for key, want := range map[string]string{"o": "once", "s": "session", "d": "deny", "a": "always"} {
		p := newUser(t, asksAccess("0a-x", 1, "example.org"))
		remembered := ""
		p.m.Remember = func(_ context.Context, _ session.ID, entry string) (string, error) {
			remembered = entry
			return "/home/ann/.config/aibox/config.toml", nil
		}
		for _, text := range []string{"0a-x asks for access to", "example.org:443", "by CONNECT: no entry of the allow list names this host.", "Refused in 1m"} {
			if !strings.Contains(p.view(), text) {
				t.Fatalf("%q is not shown:\n%s", text, p.view())
			}
		}
		p.press("y", "n", "x") // of other questions
		if p.fakeSessions.said != nil || !p.m.Open() {
			t.Errorf("a key of other questions says %v", p.fakeSessions.said)
		}
		p.press(key)
		if got := strings.Join(p.fakeSessions.said, ", "); got != "0a-x 1 "+want {
			t.Errorf("%s says %s", key, got)
		}
		if want == "always" {
			if remembered != "example.org:443" || !strings.Contains(p.view(), "✓ example.org:443 is now allowed in /home/ann/.config/aibox/config.toml") {
				t.Errorf("remembered %q:\n%s", remembered, p.view())
			}
		} else if remembered != "" || p.m.Outcome() {
			t.Errorf("%s remembers %q", key, remembered)
		}
	}
}

func TestAlwaysWithoutSettingsIsReportedAndNotOfferedWhereItCannotBe(t *testing.T) {
	p := newUser(t, asksAccess("0a-x", 1, "example.org"))
	if strings.Contains(p.view(), "always") {
		t.Error(p.view())
	}
	p.press("a")
	if p.fakeSessions.said != nil {
		t.Errorf("said %v", p.fakeSessions.said)
	}
	p.m.Remember = func(context.Context, session.ID, string) (string, error) {
		return "", fault.New(fault.Usage, "a \x1b line is wrong")
	}
	p.press("a")
	if !strings.Contains(p.view(), `! example.org:443 is allowed for this session only: a \x1b line is wrong`) {
		t.Error(p.view())
	}
}

func TestTheOutcomeOfAlwaysIsShownAfterTheNextQuestion(t *testing.T) {
	for _, fails := range []error{nil, fault.New(fault.Usage, "a line is wrong")} {
		p := newUser(t, asksAccess("0a-x", 1, "one.example"), asksAccess("0a-x", 2, "two.example"))
		p.m.Remember = func(context.Context, session.ID, string) (string, error) { return "config.toml", fails }
		p.press("a")
		p.m.Let(false)
		if !strings.Contains(p.view(), "two.example:443") {
			t.Fatal(p.view())
		}
		p.press("d")
		want := "one.example:443 is now allowed in config.toml"
		if fails != nil {
			want = "one.example:443 is allowed for this session only: a line is wrong"
		}
		if !strings.Contains(p.view(), want) {
			t.Error(p.view())
		}
		p.now = p.now.Add(time.Minute)
		if !p.m.Pass(keymap.Press("down")) || p.m.Outcome() {
			t.Error("the outcome stays after a key")
		}
	}
}

func TestALongRemainingTimeIsShownInMinutes(t *testing.T) {
	r := asksAccess("0a-x", 1, "example.org")
	r.Until = noon.Add(30*time.Minute - time.Millisecond)
	p := newUser(t, r)
	p.now = noon.Add(8 * time.Second)
	if !strings.Contains(p.view(), "Refused in 29m52s") {
		t.Error(p.view())
	}
}

func TestTheRemainingTimeCountsDown(t *testing.T) {
	p := newUser(t, asksAccess("0a-x", 1, "example.org"))
	ticks := 0
	p.m.Tick = func(time.Duration, tea.Msg) tea.Cmd { ticks++; return nil }
	p.m.ticking = false
	p.now = noon.Add(18 * time.Second)
	p.run(p.m.countDown())
	p.look(false)
	if !strings.Contains(p.view(), "Refused in 42s") || ticks != 1 {
		t.Errorf("%d ticks:\n%s", ticks, p.view())
	}
	p.press("esc")
	if !strings.Contains(p.m.Mark(), "! 1 question 42s") {
		t.Errorf("marked %q", p.m.Mark())
	}
	p.fakeSessions.open = nil
	p.look(false)
	p.m.ticking = false
	if p.m.countDown() != nil {
		t.Error("it ticks without a question")
	}
}

func TestSeveralQuestionsAreSteppedThrough(t *testing.T) {
	p := newUser(t, asksAccess("0a-x", 1, "one.example"), asksAccess("0a-x", 2, "two.example"), asks("0b-y", 1))
	p.press("esc")
	p.look(false)
	p.press("esc")
	p.look(false)
	p.press("esc")
	p.m.Show()
	p.press("o")
	if !strings.Contains(p.view(), "two.example") {
		t.Fatal(p.view())
	}
	p.press("esc")
	if !strings.Contains(p.view(), "0b-y asks") {
		t.Fatal(p.view())
	}
	p.press("n")
	if p.m.Open() || strings.Join(p.fakeSessions.said, ", ") != "0a-x 1 once, 0b-y 1 no" {
		t.Errorf("open %v, said %v", p.m.Open(), p.fakeSessions.said)
	}
}

func TestAHostileHostIsSafeToShowAndKeepsItsEnd(t *testing.T) {
	r := asksAccess("0a-x", 1, strings.Repeat("google.com.", 40)+"evil.example")
	r.Access.Method, r.Access.Agent, r.Access.Reason = "GET\x1b]0;CANARY\x07\n", "x\x1b[2J", "\u202ereversed"
	for _, size := range [][2]int{{40, 12}, {80, 24}, {200, 60}} {
		p := newUser(t, r)
		p.m.SetSize(size[0], size[1])
		box := p.m.box()
		if strings.Contains(box, "\x1b]") || strings.Contains(box, "\x1b[2J") || strings.Contains(box, "\u202e") || strings.Count(box, "\n")+1 > size[1] || !strings.Contains(strings.Join(strings.Fields(ansi.Strip(box)), ""), "evil.") {
			t.Errorf("%v: %q", size, box)
		}
		rows := strings.Split(p.view(), "\n")
		for _, row := range rows {
			if ansi.StringWidth(row) > size[0] {
				t.Errorf("%v: %q is too wide", size, row)
			}
		}
		if len(rows) != size[1] {
			t.Errorf("%v: %d rows", size, len(rows))
		}
	}
}

func TestTheQuestionAboutAccessLooksAsItDid(t *testing.T) {
	for _, size := range [][2]int{{40, 12}, {80, 24}, {120, 40}} {
		p := newUser(t, asksAccess("0abcd-codex", 1, "registry.example.org"), asksAccess("0abcd-codex", 2, "other.example.org"))
		p.m.Remember = func(context.Context, session.ID, string) (string, error) { return "", nil }
		p.m.SetSize(size[0], size[1])
		golden.Check(t, fmt.Sprintf("access-%dx%d.golden", size[0], size[1]), p.view()+"\n")
	}
}

func TestAWatchThatFailsIsReportedOnceAndStartsAgain(t *testing.T) {
	p := newUser(t)
	watches := 0
	p.fakeSessions.watch = func(context.Context) error {
		if watches++; watches < 3 {
			return errors.New("the folder of sessions\x1b[2J cannot be read")
		}
		return nil
	}
	p.m.Tick = func(d time.Duration, msg tea.Msg) tea.Cmd {
		shown := p.m.Outcome() && strings.Contains(p.view(), `Sessions refuse instead of asking: the folder of sessions\x1b[2J`)
		if d != watchPause || shown != (watches == 1) {
			t.Errorf("after %d watches it waits %v and shows the error: %t", watches, d, shown)
		}
		p.m.Pass(keymap.Press("x"))
		return func() tea.Msg { return msg }
	}
	p.run(p.m.Resume())
	if watches != 3 {
		t.Errorf("it has watched %d times", watches)
	}
}

func TestAFailureOfTheWatchThatComesBackIsReportedAgain(t *testing.T) {
	p := newUser(t)
	lasts := time.Duration(0)
	p.fakeSessions.watch = func(context.Context) error {
		p.now = p.now.Add(lasts)
		return errors.New("the folder of sessions cannot be read")
	}
	for _, step := range []struct {
		name     string
		lasts    time.Duration
		pause    bool
		reported bool
	}{
		{name: "the first", reported: true},
		{name: "one without a watch in between", lasts: watchPause},
		{name: "one after a long watch", lasts: time.Hour, reported: true},
		{name: "one right after it"},
		{name: "one after a pause", pause: true, reported: true},
	} {
		if step.pause {
			p.m.Pause()
		}
		lasts = step.lasts
		p.m.Take(uitest.Answer(p.m.Resume()))
		if p.m.Outcome() != step.reported {
			t.Errorf("%s is reported: %t", step.name, p.m.Outcome())
		}
		p.m.Pass(keymap.Press("x"))
	}
}

func TestRequestsAreNotWatchedDuringAPause(t *testing.T) {
	p := newUser(t)
	var watch context.Context
	p.fakeSessions.watch = func(ctx context.Context) error {
		watch = ctx
		return ctx.Err()
	}
	p.run(p.m.Resume())
	first := watch
	if first.Err() != nil {
		t.Fatal("they are not watched")
	}
	p.m.Pause()
	if first.Err() == nil {
		t.Error("they are watched during a pause")
	}
	p.run(p.m.Resume())
	if watch == first || watch.Err() != nil {
		t.Error("they are not watched after the pause")
	}
}
