package changes

import (
	"fmt"
	"maps"
	"strings"

	"aibox/internal/amount"
	"aibox/review"
	"aibox/ui/widget/dialog"

	tea "charm.land/bubbletea/v2"

	"aibox/review/accept"
)

// before is what was decided about a file, or about one hunk of it, to be put back.
type before struct {
	file int
	risk bool
	hunk review.HunkID // empty: all that follows counts
	was  decision      // of the hunk

	whole  decision
	own    map[review.HunkID]decision
	count  [decisions]int
	sums   [decisions]size
	hunks  []review.Hunk // before a hunk was divided; else nil
	parted map[review.HunkID]bool
}

// undo is what is put back at once: the steps of one key, and where the person was.
type undo struct {
	steps []before
	at    int
	row   row
}

// remember begins a step back, with all that was decided about these files.
func (m *Model) remember(files ...int) {
	u := undo{at: m.at, row: m.here()}
	for _, i := range files {
		f := m.files[i]
		u.steps = append(u.steps, before{file: i, risk: f.risk, whole: f.whole, own: f.own, count: f.count, sums: f.sums})
	}
	m.undo = append(m.undo, u)
}

// rememberHunk begins a step back for one hunk of the file a person is at.
func (m *Model) rememberHunk(id review.HunkID) {
	f := m.file()
	m.undo = append(m.undo, undo{[]before{{file: m.at, risk: f.risk, hunk: id, was: f.of(id)}}, m.at, m.here()})
}

// back takes the last step back.
func (m *Model) back() {
	if len(m.undo) == 0 {
		m.note.Say("there is nothing to undo", nil)
		return
	}
	u := m.undo[len(m.undo)-1]
	m.undo = m.undo[:len(m.undo)-1]
	for _, b := range u.steps {
		f := m.files[b.file]
		f.risk = b.risk
		switch {
		case b.hunk == "":
			f.whole, f.own, f.count, f.sums = b.whole, b.own, b.count, b.sums
		default:
			if i := f.number(b.hunk); i >= 0 {
				f.decide(i, b.was)
			}
		}
		if b.hunks != nil {
			f.hunks, f.parted = b.hunks, b.parted
			f.renew()
			f.loaded = f.loaded && len(b.hunks[0].Lines) > 0
			f.measure()
		}
	}
	m.decided()
	m.goTo(u.at)
	m.row = m.file().layout.find(u.row)
	m.scroll()
}

// decided counts anew what accepting would do, and what the tree says of it.
func (m *Model) decided() {
	m.tally, m.marked = tallyOf(m.files, m.target), markedOf(m.files, m.target)
}

// tally is what accepting would do, in numbers.
type tally struct {
	files, taken, partly, rejected, open int
	done                                 int // undecided ones that were accepted before
	risky                                int // undecided ones with risks
	lines                                size
}

func tallyOf(files []*file, target accept.Target) tally {
	t := tally{files: len(files)}
	for _, f := range files {
		t.lines = t.lines.plus(f.takes())
		switch d, mixed := f.sum(); {
		case mixed:
			t.partly++
		case d == taken:
			t.taken++
		case d == rejected:
			t.rejected++
		case f.isDone(target):
			t.done++
		default:
			t.open++
			if f.risky {
				t.risky++
			}
		}
	}
	return t
}

// takesAny reports whether there is anything to accept.
func (t tally) takesAny() bool { return t.taken+t.partly > 0 }

// chosen is what the decisions mean for an accept. A file of which no hunk was read
// is taken as a whole, by its exact path.
func (m *Model) chosen() review.Choice {
	var c review.Choice
	for _, f := range m.files {
		before := len(c.Files) + len(c.Hunks)
		switch d, mixed := f.sum(); {
		case mixed:
			for i := range f.hunks {
				if id := f.hunks[i].ID; f.of(id) == taken {
					c.Hunks = append(c.Hunks, string(id))
				}
			}
		case d == taken:
			c.Files = append(c.Files, f.change.Path.Raw())
		}
		if f.risk && len(c.Files)+len(c.Hunks) > before {
			c.Risky = append(c.Risky, f.change.Path.Raw())
		}
	}
	return c
}

// refused are the hunks that the person rejected, of the files that were read.
func (m *Model) refused() []review.HunkID {
	var ids []review.HunkID
	for _, f := range m.files {
		for i := range f.hunks {
			if id := f.hunks[i].ID; f.of(id) == rejected {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// decideHunk decides about the hunk a person is at and goes on to the next.
func (m *Model) decideHunk(d decision) tea.Cmd {
	f, i := m.file(), m.hunkAt()
	if i < 0 {
		m.note.Say("no hunk is here: [ and ] go to one", nil)
		return nil
	}
	id := f.hunks[i].ID
	return m.despiteRisks(d, func() tea.Cmd {
		i := f.number(id)
		if i < 0 {
			return nil
		}
		m.rememberHunk(id)
		f.risk = f.risk || d == taken && f.risky
		f.decide(i, d)
		m.decided()
		if d != open && !m.toHunk(1) && m.at+1 < len(m.files) {
			m.goTo(m.at + 1)
		}
		m.scroll()
		return m.load()
	})
}

// decideFile decides about the file a person is at and goes on to the next.
func (m *Model) decideFile(d decision) tea.Cmd {
	f, at := m.file(), m.at
	return m.despiteRisks(d, func() tea.Cmd {
		m.remember(at)
		f.risk = f.risk || d == taken && f.risky
		f.decideAll(d)
		m.decided()
		if d != open && at+1 < len(m.files) {
			m.goTo(at + 1)
		}
		return m.load()
	})
}

// despiteRisks does what decides about the file a person is at. Where that takes
// something of a file with risks, they are asked about first.
func (m *Model) despiteRisks(d decision, do func() tea.Cmd) tea.Cmd {
	f := m.file()
	if d != taken || !f.risky || f.risk {
		return do()
	}
	var why strings.Builder
	for _, r := range f.change.Risks {
		if r.Holds() {
			fmt.Fprintf(&why, "• %s\n", r.String())
		}
	}
	m.ask = dialog.Ask(dialog.Confirm{
		Title: "Take " + f.change.Path.String() + " in spite of this?", Text: strings.TrimRight(why.String(), "\n"), Yes: "take it",
		Do: func() tea.Msg { return confirmed{sent{m}, do} },
	}, m.now())
	return nil
}

// decideRest decides about the files from up to to that are open as a whole and not
// accepted before. Those with risks are not taken this way: each waits for a decision of its own.
func (m *Model) decideRest(from, to int, d decision) {
	var files []int
	left := 0
	for i := from; i < to; i++ {
		f := m.files[i]
		switch was, mixed := f.sum(); {
		case mixed || was != open || f.isDone(m.target):
		case f.risky && d == taken:
			left++
		default:
			files = append(files, i)
		}
	}
	if len(files) > 0 {
		m.remember(files...)
	}
	for _, i := range files {
		m.files[i].decideAll(d)
	}
	m.decided()
	text := amount.Of(len(files), "file") + " " + map[decision]string{taken: "taken", rejected: "rejected"}[d]
	if left > 0 {
		text += fmt.Sprintf("; %d with risks wait for a decision of their own", left)
	}
	m.note.Say(text, nil)
}

// forget takes every decision back.
func (m *Model) forget() {
	var files []int
	for i, f := range m.files {
		if d, mixed := f.sum(); mixed || d != open {
			files = append(files, i)
		}
	}
	if len(files) == 0 {
		m.note.Say("nothing is decided yet", nil)
		return
	}
	m.remember(files...)
	for _, i := range files {
		m.files[i].decideAll(open)
		m.files[i].risk = false
	}
	m.decided()
	m.note.Say("no decision is left of "+amount.Of(len(files), "file")+"; u brings them back", nil)
}

// divide puts the parts of a hunk in its place.
func (m *Model) divide() {
	f, i := m.file(), m.hunkAt()
	if i < 0 {
		return
	}
	b := before{file: m.at, risk: f.risk, whole: f.whole, own: maps.Clone(f.own), count: f.count, sums: f.sums, hunks: f.hunks, parted: f.parted}
	here := m.here()
	if !f.split(i) {
		m.note.Say("this hunk has no parts", nil)
		return
	}
	m.undo = append(m.undo, undo{[]before{b}, m.at, here})
	m.arrangeRows()
	m.toHead(i)
	m.scroll()
}
