package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"aibox/internal/lifeline"
	"aibox/internal/screen"
	"aibox/session/control"
)

// stage is the terminal of an interactive session behind a real control socket, with a
// connection to a sandbox that the test simulates.
type stage struct {
	*Terminal
	t         *testing.T
	client    control.Client
	container *lifeline.Conn
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Terminal: New(screen.Size{Rows: 5, Cols: 20}, nil), t: t}
	dir := t.TempDir()
	listener, err := control.Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	server := control.Serve(listener, terminalOnly{term: s.Terminal})
	s.client = control.Dial(dir, control.AnswerTimeout)
	ours, theirs := net.Pipe()
	line := lifeline.NewConn(ours)
	s.container = lifeline.NewConn(theirs)
	go func() { // takes acknowledgements, as the supervisor does
		for {
			if _, err := line.Receive(); err != nil {
				return
			}
		}
	}()
	s.Connect(line)
	t.Cleanup(func() {
		s.Close()
		_ = line.Close()
		_ = s.container.Close()
		s.Wait()
		_ = server.Close()
	})
	return s
}

// terminalOnly is a session that has only a terminal.
type terminalOnly struct {
	control.Session
	term control.Terminal
}

func (s terminalOnly) Terminal() control.Terminal { return s.term }

func (s terminalOnly) Processes() control.Processes { return nil }

// attached is the user's terminal, attached to a stage.
type attached struct {
	*control.Attachment
	t     *testing.T
	shows *screen.Screen
}

func (s *stage) attach(size screen.Size) *attached {
	s.t.Helper()
	a, err := s.client.Attach(s.t.Context(), size, screen.NoColors)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = a.Close() })
	return &attached{a, s.t, screen.New(size)}
}

// until reads views until the terminal shows text.
func (a *attached) until(text string) {
	a.t.Helper()
	for !strings.Contains(string(a.shows.Text(screen.NoColors, false)), text) {
		view, err := a.Next()
		if err != nil || view.Ended {
			a.t.Fatalf("it never shows %q but %q: %v", text, a.shows.Text(screen.NoColors, false), err)
		}
		_, _ = a.shows.Write(view.Paint)
	}
}

// receive waits for messages of a type to the sandbox, and merges input.
func (s *stage) receive(kind lifeline.Type) lifeline.Frame {
	s.t.Helper()
	for {
		frame, err := s.container.Receive()
		if err != nil {
			s.t.Fatal(err)
		}
		if frame.Type == lifeline.TypeStdin {
			_ = s.container.Acknowledge(len(frame.Payload))
		}
		if frame.Type == kind {
			return frame
		}
	}
}

// resizedTo waits until the sandbox receives a size.
func (s *stage) resizedTo(rows, cols uint16) {
	s.t.Helper()
	for {
		size, err := lifeline.Decode[lifeline.Resize](s.receive(lifeline.TypeResize))
		if err != nil {
			s.t.Fatal(err)
		}
		if size.Rows == rows && size.Cols == cols {
			return
		}
	}
}

func TestAViewerSeesTheCurrentScreenAndItsUpdates(t *testing.T) {
	s := newStage(t)
	s.Feed([]byte("long ago\x1b]0;title\x07"), nil)
	a := s.attach(screen.Size{Rows: 5, Cols: 20})
	a.until("long ago")
	s.Feed([]byte("\r\nand now"), nil)
	a.until("and now")
	b := s.attach(screen.Size{Rows: 5, Cols: 20})
	b.until("and now")
}

func TestUserInputReachesTheAgent(t *testing.T) {
	s := newStage(t)
	a := s.attach(screen.Size{Rows: 5, Cols: 20})
	if err := a.Type([]byte("ls\r\x03")); err != nil {
		t.Fatal(err)
	}
	if got := string(s.receive(lifeline.TypeStdin).Payload); got != "ls\r\x03" {
		t.Errorf("the agent gets %q", got)
	}
	long := bytes.Repeat([]byte("x"), 200_000) // more than one frame
	go func() { _ = a.Type(long) }()
	var got []byte
	for len(got) < len(long) {
		got = append(got, s.receive(lifeline.TypeStdin).Payload...)
	}
	if !bytes.Equal(got, long) {
		t.Error("a long paste arrives changed")
	}
}

func TestTheScreenAnswersTheAgentWithoutViewers(t *testing.T) {
	s := newStage(t)
	s.Feed([]byte("ab\x1b[6n"), nil)
	if got := string(s.receive(lifeline.TypeStdin).Payload); got != "\x1b[1;3R" {
		t.Errorf("the agent is answered %q", got)
	}
}

func TestTheSmallestViewerSetsTheSizeAndTheLastKeepsIt(t *testing.T) {
	s := newStage(t)
	large := s.attach(screen.Size{Rows: 40, Cols: 100})
	s.resizedTo(40, 100)
	small := s.attach(screen.Size{Rows: 30, Cols: 120})
	s.resizedTo(30, 100)
	if err := small.Resize(screen.Size{Rows: 10, Cols: 50}); err != nil {
		t.Fatal(err)
	}
	s.resizedTo(10, 50)
	_ = small.Close()
	s.resizedTo(40, 100)
	_ = large.Close()
	again := s.attach(screen.Size{Rows: 12, Cols: 34})
	s.resizedTo(12, 34)
	if err := again.Resize(screen.Size{Rows: 65535, Cols: 65535}); err != nil {
		t.Fatal(err)
	}
	s.resizedTo(300, 600)
}

func TestAStalledViewerDoesNotBlockOthers(t *testing.T) {
	s := newStage(t)
	asleep := s.attach(screen.Size{Rows: 5, Cols: 20})
	awake := s.attach(screen.Size{Rows: 5, Cols: 20})
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		for i := range 20_000 {
			s.Feed(fmt.Appendf(nil, "\x1b[H\x1b[3%dmnumber %d", i%8, i), nil)
		}
	}()
	select {
	case <-fed:
	case <-time.After(time.Minute):
		t.Fatal("the agent waits for a terminal")
	}
	awake.until("number 19999")
	asleep.until("number 19999") // and sees the newest output afterwards
}

func TestAnAgentThatDoesNotReadInputBlocksNoViewer(t *testing.T) {
	s := newStage(t)
	a := s.attach(screen.Size{Rows: 5, Cols: 20})
	sent := make(chan error, 1)
	go func() { sent <- a.Type(make([]byte, 4<<20)) }() // the sandbox reads nothing
	s.Feed([]byte(strings.Repeat("\x1b[6n", 100_000)+"shown"), nil)
	a.until("shown")
	_ = a.Close()
	select {
	case err := <-sent:
		if err == nil {
			t.Error("an agent that reads nothing has taken it all")
		}
	case <-time.After(time.Minute):
		t.Fatal("a user cannot leave an agent that does not read")
	}
}

func TestEveryViewerSeesTheEndWithoutDelayingIt(t *testing.T) {
	s := newStage(t)
	s.Feed([]byte("good-bye\x1b[?1049hother"), nil)
	a := s.attach(screen.Size{Rows: 5, Cols: 20})
	a.until("other")
	s.attach(screen.Size{Rows: 200, Cols: 500}) // it never reads, and its socket is soon full
	s.Feed([]byte("\x1b[?1049l"), nil)
	a.until("good-bye")
	_ = a.Resize(screen.Size{Rows: 200, Cols: 500})
	a.shows.Resize(screen.Size{Rows: 200, Cols: 500})
	s.resizedTo(200, 500)
	for i := range 2 {
		s.Feed([]byte("\x1b[?1049h\x1b[H"+strings.Repeat(fmt.Sprintf("\x1b[1m%d\x1b[m ", i%10), 40_000)), nil)
		a.until(strings.Repeat(fmt.Sprintf("\x1b[0;1m%d\x1b[0m ", i%10), 3))
	}
	begin, closed := time.Now(), make(chan time.Duration, 1)
	go func() { s.Close(); closed <- time.Since(begin) }()
	for {
		view, err := a.Next()
		if err != nil {
			t.Fatal(err)
		}
		if view.Ended {
			if got := string(view.Paint); got != "good-bye\n" {
				t.Errorf("what stays is %q", got)
			}
			break
		}
	}
	if took := <-closed; took > time.Minute {
		t.Errorf("the end takes %v", took)
	}
	late, err := s.client.Attach(t.Context(), screen.Size{Rows: 5, Cols: 20}, screen.NoColors)
	if err != nil {
		t.Fatal(err)
	}
	if view, err := late.Next(); err != nil || !view.Ended {
		t.Errorf("a viewer who comes too late receives %+v, %v", view, err)
	}
}

func TestAttachReportsADeadSupervisor(t *testing.T) {
	s := newStage(t)
	a := s.attach(screen.Size{Rows: 5, Cols: 20})
	if _, err := a.Next(); err != nil { // now it is one of the viewers
		t.Fatal(err)
	}
	s.mu.Lock()
	for v := range s.viewers {
		_ = v.conn.Close()
	}
	s.mu.Unlock()
	for {
		if _, err := a.Next(); err != nil {
			if !errors.Is(err, control.ErrNoSupervisor) {
				t.Errorf("the error is %v", err)
			}
			return
		}
	}
}

func TestNoticesAreNotMixedWithTheAgentsScreen(t *testing.T) {
	s := newStage(t)
	a := s.attach(screen.Size{Rows: 5, Cols: 20})
	s.ShowNotice("the model is gone")
	for {
		view, err := a.Next()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(view.Paint), "model") {
			t.Errorf("it is painted: %q", view.Paint)
		}
		if view.Notice == "the model is gone" {
			return
		}
	}
}

func TestAHeadlessSessionHasNoTerminal(t *testing.T) {
	dir := t.TempDir()
	listener, err := control.Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	server := control.Serve(listener, terminalOnly{})
	t.Cleanup(func() { _ = server.Close() })
	c := control.Dial(dir, control.AnswerTimeout)
	if _, err := c.Attach(t.Context(), screen.Size{Rows: 5, Cols: 20}, screen.NoColors); err == nil || errors.Is(err, control.ErrNoSupervisor) {
		t.Errorf("attaching gives %v", err)
	}
	var none *Terminal
	none.Feed([]byte("x"), nil)
	none.ShowNotice("x")
	none.Prepare(nil)
	none.Connect(nil)
	none.Close()
	none.Wait()
}

func TestTheTerminalHasColorsUnlessTheUserTurnsThemOff(t *testing.T) {
	start := lifeline.Start{Env: []string{"TERM=dumb", "A=b", "TERM=vt100"}}
	New(screen.Size{Rows: 7, Cols: 70}, nil).Prepare(&start)
	want := []string{"TERM=xterm-256color", "COLORTERM=truecolor", "A=b", "TERM=vt100"}
	if !start.TTY || start.Rows != 7 || start.Cols != 70 || fmt.Sprint(start.Env) != fmt.Sprint(want) {
		t.Errorf("it starts with %+v", start)
	}
}

func TestFrameLengthIsLimited(t *testing.T) {
	in := control.NewFrameReader(strings.NewReader("i\x00\x00\x80\x01" + strings.Repeat("x", control.MaxInput+1)))
	if _, _, err := in.Next(); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("it is read with %v", err)
	}
}

func FuzzAttachFrames(f *testing.F) {
	f.Add([]byte("i\x00\x00\x00\x02hi" + "r\x00\x00\x00\x04\x00\x05\x00\x14"))
	f.Add([]byte("r\x00\x00\x00\x03\x00\x05\x00" + "i\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		term := New(screen.Size{Rows: 5, Cols: 20}, nil)
		defer term.cancel()
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		defer theirs.Close()
		ctx, cancel := context.WithCancel(t.Context())
		v := &viewer{conn: ours, painter: screen.NewPainter(term.size(), screen.NoColors), size: term.size(), changed: make(chan struct{}, 1), gone: make(chan struct{})}
		term.join(v)
		defer cancel()
		term.listen(ctx, v, control.NewFrameReader(bytes.NewReader(data)))
		if size := term.size(); size != size.Bound() {
			t.Errorf("the screen has %+v", size)
		}
	})
}

// An agent can keep the emulator busy for hours with output that takes a moment to print.
func TestAnAgentThatKeepsTheEmulatorBusyBlocksNoViewer(t *testing.T) {
	s := newStage(t)
	ending, fed := make(chan struct{}), make(chan struct{})
	go func() {
		s.Feed([]byte("\x1b[?1049h\x1b[Hshown"), ending)
		// Scrolling changes every cell of the screen, for one byte.
		s.Feed(bytes.Repeat([]byte("\x1b[H\x1b[L\x1b[99999b"), 10_000_000), ending)
		close(fed)
	}()
	a := s.attach(screen.Size{Rows: 300, Cols: 600})
	a.until("")
	for range 20 { // queries and keys during this work
		if text := s.Text(); text == nil {
			t.Fatal("there is no screen")
		}
		if err := a.Type([]byte("x")); err != nil {
			t.Fatal(err)
		}
		s.receive(lifeline.TypeStdin)
	}
	select {
	case <-fed:
		t.Fatal("the flood is over already, so this shows nothing")
	default:
	}
	close(ending)
	<-fed
	if s.Feed([]byte("\x1b[2Jnot shown any more"), ending); strings.Contains(string(s.Text()), "any more") {
		t.Error("the emulator works on although the session is ending")
	}
}

// Each of these sequences fills a screen with spaces in a color, and scrolls it off.
func TestScrolledLinesArePassedOnInPieces(t *testing.T) {
	const screens, line = 6, 600
	largest, total := 0, 0
	term := New(screen.Size{Rows: 300, Cols: line}, func(lines []byte) {
		largest, total = max(largest, len(lines)), total+len(lines)
	})
	term.Feed([]byte("\x1b[41m"+strings.Repeat("\x1b[2J\x1b[300S", screens)), nil)
	if total < screens*300*line {
		t.Errorf("only %d bytes scrolled off", total)
	}
	if largest > total/2 {
		t.Errorf("%d of %d bytes are held at once", largest, total)
	}
}

func TestFinalOutputOfAStoppedAgentIsShown(t *testing.T) {
	s := newStage(t)
	ending := make(chan struct{})
	close(ending)
	s.Feed([]byte("\x1b[?1049h\x1b[2Jdialog\x1b[?1049lgood-bye"), ending)
	if text := string(s.Text()); !strings.Contains(text, "good-bye") {
		t.Errorf("it shows %q", text)
	}
}
