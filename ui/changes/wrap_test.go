package changes

import (
	"fmt"
	"strings"
	"testing"

	"aibox/review/reviewtest"
	"aibox/ui/uitest"
)

// longLines is a change of long lines, and of short ones around them.
func longLines(t testing.TB, size int) *user {
	t.Helper()
	var words []string
	for i := range size {
		words = append(words, fmt.Sprintf("word%d", i))
	}
	long := strings.Join(words, " ")
	var around strings.Builder
	for i := range 30 {
		fmt.Fprintf(&around, "line %d\n", i)
	}
	set := reviewtest.ChangeSet(t, map[string]string{"a.txt": around.String() + long + "\nlast\n"},
		map[string]string{"a.txt": around.String() + strings.Replace(long, "word7 ", "世界世界世界 ", 1) + "\nthe end\n"})
	return newUser(t, &recorded{set: set}, 80, 24)
}

// textOf returns the text of the diff without line breaks and signs.
func (p *user) textOf() string {
	var out strings.Builder
	for _, line := range p.m.diff.View() {
		out.WriteString(strings.TrimRight(strings.NewReplacer("▌", "", "▸", "", "↳", "").Replace(stripped(line)), " ") + " ")
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

func TestLongLinesAreWrapped(t *testing.T) {
	p := longLines(t, 40)
	p.Fits("wrapped")
	text := strings.ReplaceAll(p.textOf(), " ", "")
	for _, want := range []string{"word38word39", "世界世界世界"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not shown:\n%s", want, p.View())
		}
	}
	p.Sees("↳")
	for range 12 {
		p.Press("down")
		p.Fits("down")
		if !strings.Contains(p.View(), "▸ ") {
			t.Fatalf("the cursor is out of the window:\n%s", p.View())
		}
	}
	p.Press("end")
	p.Sees("the end")
	p.Press("W")
	p.Sees("long lines cut (W)")
	p.DoesNotSee("↳")
	p.Sees("…+")
	p.Press("right", "right")
	p.Sees("from column 17")
	p.Press("W")
	p.Sees("↳")
	p.DoesNotSee("from column")
	for _, width := range []int{60, 200} {
		p.Resize(width, 24)
		p.Fits("resized")
	}
}

func TestACutLineSaysHowManyColumnsAreHidden(t *testing.T) {
	set := reviewtest.ChangeSet(t, map[string]string{"a.txt": "x\n"}, map[string]string{"a.txt": strings.Repeat("0123456789", 20) + "\n"})
	p := newUser(t, &recorded{set: set}, 80, 24)
	p.Press("W")
	for _, line := range p.m.diff.View() {
		text, hidden, ok := strings.Cut(stripped(line), "…+")
		if !ok {
			continue
		}
		_, text, _ = strings.Cut(text, "+")
		if want := fmt.Sprint(200 - len(text)); strings.TrimSpace(hidden) != want {
			t.Errorf("%q hides %s columns", stripped(line), want)
		}
		return
	}
	t.Errorf("nothing is said:\n%s", p.View())
}

func TestALineHigherThanTheScreenDoesNotHideTheOthers(t *testing.T) {
	p := longLines(t, 2000)
	p.Fits("very long")
	p.Sees("…+")
	for range 40 {
		p.Press("pgdown")
	}
	p.Sees("the end")
	for range 40 {
		p.Press("pgup")
	}
	p.Sees("a.txt  modified")
}

func TestPagesLeaveOutNoWrappedLine(t *testing.T) {
	set := reviewtest.ChangeSet(t, map[string]string{"a.txt": ""}, map[string]string{"a.txt": func() string {
		var out strings.Builder
		for i := range 100 {
			fmt.Fprintf(&out, "begin%d:%s\n", i, strings.Repeat("x", i*7%300))
		}
		return out.String()
	}()})
	p := newUser(t, &recorded{set: set}, 80, 24)
	seen := p.View()
	for range 60 {
		p.Press("pgdown")
		seen += p.View()
	}
	for i := range 100 {
		if !strings.Contains(seen, fmt.Sprintf("begin%d:", i)) {
			t.Errorf("line %d is never shown", i)
		}
	}
}

func TestAClickOnAWrappedLineGoesToIt(t *testing.T) {
	p := longLines(t, 40)
	p.Resize(80, 30)
	p.ClickOn("+the end")
	if r := p.m.diff.Current(); r.New != 32 {
		t.Errorf("it goes to %+v", r)
	}
	p.ClickOn("word39")
	if r := p.m.diff.Current(); r.Old != 31 && r.New != 31 {
		t.Errorf("it goes to %+v", r)
	}
}

func TestWrappedAndCutLinesMatchTheirGoldenViews(t *testing.T) {
	for _, size := range uitest.Sizes {
		p := longLines(t, 40)
		p.Resize(size[0], size[1])
		p.Show("wrapped")
		p.Press("W")
		p.Show("cut")
		p.Press("right")
		p.Show("shifted")
		if size[0] >= 120 {
			p.Press("W", "|")
			p.Show("the other layout")
		}
		p.Golden("wrap-")
	}
}
