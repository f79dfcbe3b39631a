package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	events "aibox/agents/conversation"
	"aibox/ui/uitest"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/stream"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// script is a source with the events of a test.
type script struct {
	parts [][]events.Event
	fail  error // after the parts
}

func (s *script) Follow(_ context.Context, visit func([]events.Event) error) error {
	for _, part := range s.parts {
		if err := visit(part); err != nil {
			return err
		}
	}
	return s.fail
}

// screen is a conversation on a screen of its own.
type screen struct {
	*Model
	note          frame.Note
	width, height int
}

func (s *screen) Init() tea.Cmd { return s.Start() }

func (s *screen) Update(msg tea.Msg) tea.Cmd {
	if press, ok := msg.(tea.KeyPressMsg); ok {
		return s.Press(press)
	}
	return s.Model.Update(msg)
}

func (s *screen) View() string {
	foot := s.note.View(s.theme, s.width)
	if s.Typing() {
		foot = s.Line()
	}
	return strings.Join(append(frame.Fill(s.Model.View(), s.height-1), foot), "\n")
}

func (s *screen) SetSize(width, height int) {
	s.width, s.height = width, height
	s.Model.SetSize(width, height-1)
}

func (s *screen) Keys() []keymap.Group { return []keymap.Group{{Keys: s.Model.Keys().All()}} }
func (s *screen) Short() []key.Binding { return nil }

// user is a user of the screen.
type user struct {
	*uitest.User
	m *screen
}

func open(t testing.TB, width, height int, all ...events.Event) *user {
	t.Helper()
	s := &screen{}
	s.Model = New(t.Context(), &script{parts: [][]events.Event{all}}, &s.note)
	p := &user{uitest.New(t, s, width, height), s}
	p.Run(s.Init())
	return p
}

// noon is when conversations start.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)

// work is n calls with their results, a second apart, and a message after every tenth.
func work(n int) []events.Event {
	var all []events.Event
	for i := range n {
		id, at := fmt.Sprint(i), noon.Add(time.Duration(i)*time.Second)
		all = append(all,
			events.Event{Kind: events.Call, Time: at, ID: id, Tool: "bash", Command: "make step-" + id},
			events.Event{Kind: events.Result, Time: at.Add(time.Second / 2), ID: id, Text: "made " + id + "\nand more"})
		if i%10 == 9 {
			all = append(all, events.Event{Kind: events.Message, Role: events.Agent, Time: at.Add(time.Second / 2), Text: "That was step " + id + "."})
		}
	}
	return all
}

func TestNewEventsFollowAtTheEndUntilTheUserScrollsUp(t *testing.T) {
	p := open(t, 80, 12, work(30)...)
	p.Sees("That was step 29.")
	p.m.take(batchOf(events.Event{Kind: events.Message, Role: events.Agent, Time: noon.Add(time.Hour), Text: "One more."}))
	p.Sees("One more.")
	p.Press("up", "up")
	p.Sees("end follows")
	p.m.take(batchOf(events.Event{Kind: events.Message, Role: events.Agent, Time: noon.Add(time.Hour), Text: "Unseen."}))
	p.DoesNotSee("Unseen.")
	p.Press("end")
	p.Sees("Unseen.")
	p.DoesNotSee("end follows")
}

func TestPiecesOfAMessageAreOneItem(t *testing.T) {
	p := open(t, 80, 12,
		events.Event{Kind: events.Message, Role: events.Agent, Text: "one ", Delta: true},
		events.Event{Kind: events.Message, Role: events.Agent, Text: "message", Delta: true},
		events.Event{Kind: events.Text, Text: "first line"}, events.Event{Kind: events.Text, Text: "second line", Stderr: true})
	p.Sees("● one message\n")
	if n := len(p.m.list.items); n != 2 {
		t.Errorf("there are %d items", n)
	}
}

func TestPiecesOfAThoughtAreOneItem(t *testing.T) {
	p := open(t, 80, 12,
		events.Event{Kind: events.Reasoning, Text: "one ", Delta: true}, events.Event{Kind: events.Reasoning, Text: "thought", Delta: true},
		events.Event{Kind: events.Reasoning, Text: "another"})
	p.Sees("+ thinking: one thought\n")
	if n := len(p.m.list.items); n != 2 {
		t.Errorf("there are %d items", n)
	}
}

func TestColorsOfProgramsAreNotShownAsEscapes(t *testing.T) {
	p := open(t, 80, 12,
		events.Event{Kind: events.Text, Text: "\x1b[93m\x1b[1m! \x1b[0mno agent", Stderr: true}, events.Event{Kind: events.Text, Text: "\x1b[31mred\x1b[2J"},
		events.Event{Kind: events.Call, ID: "1", Tool: "bash", Command: "ls"}, events.Event{Kind: events.Result, ID: "1", Text: "\x1b[34mfolder\x1b[0m"})
	p.Press("z")
	p.Sees("  ! no agent\n  red\\x1b[2J\n")
	p.Sees("│ folder")
}

func TestNotesAreMergedByTime(t *testing.T) {
	p := open(t, 80, 40, work(5)...)
	p.m.AddNotes(Note{Time: noon.Add(3700 * time.Millisecond), Text: "late"}, Note{Time: noon.Add(1700 * time.Millisecond), Mark: "✗", Text: "early", Tone: Bad})
	shown := p.View()
	order := []string{"step-1", "✗ early", "step-2", "step-3", "· late", "step-4"}
	for i, want := range order[1:] {
		if strings.Index(shown, order[i]) > strings.Index(shown, want) || !strings.Contains(shown, want) {
			t.Errorf("%q is not after %q:\n%s", want, order[i], shown)
		}
	}
}

func TestAResultWithoutItsCallIsAnItem(t *testing.T) {
	code := 3
	p := open(t, 80, 20,
		events.Event{Kind: events.Result, ID: "1", Text: "the first answer"}, events.Event{Kind: events.Result, Text: "the second answer", Failed: true, ExitCode: &code},
		events.Event{Kind: events.Call, ID: "2", Tool: "bash", Command: "ls"}, events.Event{Kind: events.Result, ID: "2", Text: "one"}, events.Event{Kind: events.Result, ID: "2", Text: "one more"},
		events.Event{Kind: events.Plan, ID: "3", Tasks: []events.Task{{Text: "mend it"}}}, events.Event{Kind: events.Result, ID: "3", Text: "the plan is written"},
		events.Event{Kind: events.Plan, ID: "4", Tasks: []events.Task{{Text: "mend it"}}}, events.Event{Kind: events.Result, ID: "4", Text: "the plan is refused", Failed: true})
	if len(p.m.list.items) != 7 {
		t.Errorf("there are %d items", len(p.m.list.items))
	}
	p.Press("z")
	for _, want := range []string{"│ the first answer", "│ the second answer", "✗ exit 3", "│ one more", "│ the plan is refused"} {
		p.Sees(want)
	}
	p.DoesNotSee("the plan is written")
	p.DoesNotSee("…")
	p.Press("up", "down", "pgup", "pgdown", "home", "end", "enter", "z", "n")
}

func TestSearchFindsItemsInBothDirectionsAndUnfoldsThem(t *testing.T) {
	p := open(t, 80, 12, work(100)...)
	p.Press("home", "/")
	p.Type("MADE 50")
	p.Press("enter")
	p.Sees("│ made 50")
	p.Sees("1/1 · ")
	p.Press("/")
	p.Type("that was")
	p.Press("enter")
	p.Sees("That was step 59.")
	p.Sees("6/10 · ")
	p.Press("N")
	p.Sees("5/10 · ")
	p.Press("n", "n")
	p.Sees("That was step 69.")
	p.Press("/")
	p.Type("nowhere")
	p.Press("enter")
	p.Sees("no match for nowhere")
}

func TestSearchShowsTheHiddenPartOfAnEdit(t *testing.T) {
	all := []events.Event{{Kind: events.Call, ID: "1", Tool: "edit", Edits: []events.Edit{{Path: "a.go", Change: events.Update, Diff: strings.Repeat("+a line\n", 2*diffShown) + "+the total"}}}}
	p := open(t, 80, 40, append(all, work(1)...)...)
	p.DoesNotSee("the total")
	p.Press("/")
	p.Type("the total")
	p.Press("enter")
	p.Sees("+the total")
}

func TestThePromptIsShownOnceAlsoIfTheAgentRepeatsItWithInstructions(t *testing.T) {
	const task = "Mend the total."
	for _, repeated := range []string{task, "You are in a sandbox." + events.InstructionsEnd + task} {
		p := open(t, 80, 12)
		p.m.SetPrompt(task, noon)
		p.m.take(batchOf(events.Event{Kind: events.Message, Role: events.User, Text: repeated}, events.Event{Kind: events.Message, Role: events.User, Text: "And the tests."}))
		if n := len(p.m.list.items); n != 2 {
			t.Errorf("after %q there are %d items", repeated, n)
		}
		p.Sees("And the tests.")
	}
}

func TestEveryItemIsReachedByTheArrowKeys(t *testing.T) {
	all := work(20)
	all = append(all, events.Event{Kind: events.Message, Role: events.Agent, Time: noon.Add(time.Minute), Text: strings.Repeat("a line of a long message\n", 60) + "its end"})
	all = append(all, events.Event{Kind: events.Message, Role: events.Agent, Time: noon.Add(time.Minute), Text: "after it"})
	p := open(t, 80, 10, all...)
	p.Press("home")
	seen := map[*item]bool{}
	for range 200 {
		seen[p.m.window.selected] = true
		p.Press("down")
	}
	if len(seen) != len(p.m.list.items) || !p.m.window.follow {
		t.Errorf("%d of %d items are reached, following %t", len(seen), len(p.m.list.items), p.m.window.follow)
	}
	for range 200 {
		p.Press("up")
	}
	if p.m.window.selected != p.m.list.items[0] || p.m.window.row != 0 {
		t.Error("the first item is not reached")
	}
}

// Three hundred thousand events stay fast: keys and views take a few milliseconds, even on
// a slow machine.
func BenchmarkKeysInALongConversation(b *testing.B) {
	s := &screen{}
	s.Model = New(b.Context(), &script{}, &s.note)
	all := work(143_000) // 300,300 events
	begin := time.Now()
	for len(all) > 0 {
		n := min(1000, len(all))
		s.list.add(all[:n])
		s.window.settle()
		all = all[n:]
	}
	loaded := time.Since(begin)
	s.SetSize(120, 40)
	keys := []string{"home", "down", "pgdown", "end", "up", "pgup"}
	i := 0
	for b.Loop() {
		s.Press(press(keys[i%len(keys)]))
		_ = s.View()
		i++
	}
	b.ReportMetric(float64(loaded.Milliseconds()), "ms/load")
}

// press returns the message of a named key.
func press(name string) tea.KeyPressMsg {
	codes := map[string]rune{"home": tea.KeyHome, "end": tea.KeyEnd, "up": tea.KeyUp, "down": tea.KeyDown, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown}
	return tea.KeyPressMsg{Code: codes[name]}
}

// batchOf returns events as the stream delivers them.
func batchOf(all ...events.Event) stream.Batch[[]events.Event] {
	return stream.Batch[[]events.Event]{All: [][]events.Event{all}}
}

func TestAPieceOfAMessageThatIsTooLongCopiesNothing(t *testing.T) {
	var list timeline
	piece := func(text string) events.Event {
		return events.Event{Kind: events.Message, Role: events.Agent, Delta: true, Text: text}
	}
	list.add([]events.Event{piece("a"), piece(strings.Repeat("b", 2*maxBody))})
	more := piece("c")
	if n := testing.AllocsPerRun(10, func() { list.extend(more) }); n > 0 {
		t.Errorf("a piece makes %v allocations", n)
	}
}

func TestAFailureToReadIsShownAndTheEndReadsAgain(t *testing.T) {
	source := &script{parts: [][]events.Event{work(1)}, fail: errors.New("the supervisor does not\x1b[2J answer")}
	s := &screen{}
	s.Model = New(t.Context(), source, &s.note)
	s.SetPrompt("Fix it", noon)
	p := uitest.New(t, s, 80, 24)
	p.Run(s.Init())
	p.Sees("the supervisor does not")
	p.Sees("make step-0")
	source.parts, source.fail = [][]events.Event{work(2)}, nil
	s.note.Say("", nil)
	p.Press("end")
	p.DoesNotSee("the supervisor does not")
	p.Sees("make step-1")
	if n := strings.Count(p.View(), "make step-0"); n != 1 {
		t.Errorf("an event is there %d times:\n%s", n, p.View())
	}
	p.Sees("Fix it")
}

func TestAConversationThatCannotBeReadIsNotCalledEmpty(t *testing.T) {
	s := &screen{}
	s.Model = New(t.Context(), &script{fail: errors.New("the record is damaged")}, &s.note)
	s.SetOver(true)
	p := uitest.New(t, s, 80, 24)
	p.Run(s.Init())
	s.note.Say("", nil)
	p.Sees("the record is damaged")
}

// A hostile agent prints events of three bytes, or large ones, until its output is full.
func TestALongConversationKeepsItsLatestPartInMemory(t *testing.T) {
	small := slices.Repeat([]events.Event{{Kind: events.Other, Time: noon, Raw: json.RawMessage("{}")}}, 10_000)
	large := slices.Repeat([]events.Event{{Kind: events.Message, Time: noon, Role: events.Agent, Text: strings.Repeat("x", maxBody)}}, 50)
	for name, all := range map[string][]events.Event{"many small events": small, "large events": large} {
		p := open(t, 80, 24)
		p.m.SetPrompt("Fix it", noon)
		total := 0
		p.Press("home")
		for total < 2*maxItems+maxItems/2 && total*len(all[0].Text) < 2*maxSize {
			p.m.take(batchOf(all...))
			p.m.take(batchOf(events.Event{Kind: events.Call, Time: noon, ID: fmt.Sprint(total), Tool: "look"}))
			total += len(all) + 1
		}
		kept, size := len(p.m.list.items), 0
		there := map[*item]bool{}
		for _, it := range p.m.list.items {
			size += it.size()
			there[it] = true
		}
		if kept > maxItems+2 || size > maxSize+maxBody || kept < 100 {
			t.Errorf("%s: %d items of %d bytes are kept", name, kept, size)
		}
		for _, it := range p.m.list.calls {
			if !there[it] {
				t.Fatalf("%s: a call is kept that is not shown", name)
			}
		}
		if p.m.list.size+len("Fix it") != size {
			t.Errorf("%s: %d bytes are counted as %d", name, size, p.m.list.size)
		}
		p.Press("home")
		p.Sees("❯ Fix it")
		p.Sees(fmt.Sprintf("… %d earlier items, only in the raw output", total-kept+2))
		p.Press("down", "down", "end", "up", "z", "z")
	}
}

func TestManyEntriesOfTheLogAreDroppedAndCounted(t *testing.T) {
	p := open(t, 80, 24, work(5)...)
	p.Press("home")
	for i := range 3 * maxItems / 10_000 {
		p.m.AddNotes(asked(noon.Add(time.Duration(i)*10*time.Second), 10_000, time.Millisecond)...)
	}
	if n := len(p.m.list.items); n > maxItems+20 {
		t.Errorf("there are %d items", n)
	}
	number := 3*maxItems - len(p.m.list.notes) + 1
	if got := p.m.list.pastNotes.number; got != number {
		t.Errorf("%d were dropped, not %d", got, number)
	}
	p.Press("home")
	p.Sees(fmt.Sprintf("… %d earlier events, only in the session's log", number))
	for range 100 {
		p.Press("down")
	}
}

func TestASearchSkipsHitsThatAreDroppedMeanwhile(t *testing.T) {
	all := said(noon, maxItems)
	for _, i := range []int{10, 20, 70_000, 80_000} {
		all[i].Text = "I found it."
	}
	for _, back := range []bool{false, true} {
		p := open(t, 80, 24, all...)
		p.m.SetPrompt("Fix the total", noon)
		p.Press("/")
		p.Type("found")
		p.Press("enter")
		p.Sees("/4 · ")
		p.m.window.selectAt(75_000)
		search := p.m.seek(back)
		p.m.take(batchOf(said(noon.Add(100*time.Hour), 1)...))
		p.DoesNotSee("/4 · ")
		p.Run(search)
		if back {
			p.Sees("1/2 · ")
		} else {
			p.Sees("2/2 · ")
		}
		p.Sees("▸ ● I found it.")
		p.m.window.selectAt(0)
		search = p.m.seek(true)
		p.m.AddNotes(asked(noon, maxItems+1, 0)...)
		p.DoesNotSee("/2 · ")
		p.Run(search)
		p.Sees("2/2 · ")
	}
}

func TestPartsOfLongTextsDoNotKeepThemInMemory(t *testing.T) {
	long := strings.Repeat(" ", 1<<18)
	part := func(text string) string { return (text + long)[:len(text)] }
	for name, event := range map[string]func(id string) events.Event{
		"title": func(id string) events.Event {
			return events.Event{Kind: events.Call, Tool: "look", Input: json.RawMessage(`{"path":"` + id + long + `"}`)}
		},
		"command": func(id string) events.Event { return events.Event{Kind: events.Call, Command: part(id)} },
		"result":  func(id string) events.Event { return events.Event{Kind: events.Result, Text: part(id)} },
		"colors": func(id string) events.Event {
			return events.Event{Kind: events.Result, Text: strings.Repeat("\x1b[m", maxBody/4) + id}
		},
		"patch": func(id string) events.Event {
			input := `{"patch":"*** Begin Patch\n*** Delete File: ` + id + `\n*** ` + long + `"}`
			line := `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"edit","input":` + input + `}]}}`
			e := events.NewDecoder(events.Claude).Decode(events.Piece{Data: []byte(line + "\n")})[0]
			if len(e.Edits) != 1 || e.Edits[0].Path != id {
				t.Fatalf("the patch is %+v", e.Edits)
			}
			return e
		},
	} {
		var list timeline
		before := heap()
		for i := range 40 {
			list.add([]events.Event{event(fmt.Sprint(i))})
		}
		if grown := heap() - before; grown > list.size+1<<20 {
			t.Errorf("%s: %d bytes are counted, and %d are kept", name, list.size, grown)
		}
		runtime.KeepAlive(list)
	}
}

// heap returns how many bytes are in use.
func heap() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// asked is n entries of the log from a time on.
func asked(from time.Time, n int, apart time.Duration) []Note {
	notes := make([]Note, n)
	for i := range notes {
		notes[i] = Note{Time: from.Add(time.Duration(i) * apart), Text: "asked"}
	}
	return notes
}

// said is n messages of the agent from a time on, a second apart.
func said(from time.Time, n int) []events.Event {
	all := make([]events.Event, n)
	for i := range all {
		all[i] = events.Event{Kind: events.Message, Role: events.Agent, Time: from.Add(time.Duration(i) * time.Second), Text: "I look."}
	}
	return all
}

func TestTheScreenStaysNearAnItemThatIsDropped(t *testing.T) {
	p := open(t, 80, 24)
	p.m.SetPrompt("Fix it", noon)
	p.m.AddNotes(asked(noon, 20_000, time.Millisecond)...)
	p.m.take(batchOf(said(noon.Add(time.Minute), maxItems)...))
	p.Press("up")
	p.m.window.selectAt(30_000)
	p.m.take(batchOf(said(noon.Add(100*time.Hour), 1)...))
	if it := p.m.window.selected; it != p.m.list.pastEvents.shown || p.m.window.top != it {
		t.Errorf("after a drop of events %+v is selected", *it)
	}
	p.Sees("▸ … 50001 earlier items, only in the raw output")

	p = open(t, 80, 24, said(noon, 1000)...)
	p.m.AddNotes(asked(noon, maxItems, 10*time.Millisecond)...)
	p.Press("up")
	p.m.window.selectAt(10_000)
	gone := p.m.window.selected
	if gone.note == nil {
		t.Fatal("no entry of the log is selected")
	}
	p.m.AddNotes(asked(noon.Add(time.Hour), 1, 0)...)
	if it := p.m.window.selected; it == gone || it.time.Before(gone.time) || it.time.After(gone.time.Add(time.Second)) {
		t.Errorf("after a drop of entries of the log %+v is selected in place of %+v", *it, *gone)
	}
}
