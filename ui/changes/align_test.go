package changes

import (
	"fmt"
	"strings"
	"testing"

	"aibox/review/reviewtest"
	"aibox/ui/changes/diff"
	"aibox/ui/widget/keymap"
)

func TestALongFileIsAlignedInTheBackground(t *testing.T) {
	var old, fresh strings.Builder
	for i := range diff.AlignedAtOnce {
		fmt.Fprintf(&old, "line %d\n", i)
		fmt.Fprintf(&fresh, "\tline %d\n", i)
	}
	set := reviewtest.ChangeSet(t, map[string]string{"a": "0\n" + old.String() + "x\n"}, map[string]string{"a": "1\n" + fresh.String() + "y\n"})
	p := newUser(t, &recorded{set: set}, 120, 40)
	before := p.m.diff.File().Layout.Rows
	compare := p.m.Update(keymap.Press("w"))
	if compare == nil || p.m.diff.File().Layout.Rows != before {
		t.Fatal("a key waits for all of the file")
	}
	p.Sees("comparing lines without whitespace…")
	p.Press("w", "w") // it is asked for once
	p.Send(compare())
	p.Sees("whitespace ignored: 5000 lines")
	if after := p.m.diff.File().Layout.Rows; after >= before {
		t.Errorf("%d rows, were %d", after, before)
	}
	f := p.m.diff.File()
	late := diff.FileAligned{File: p.m.diff.At, Revision: f.Revision}
	f.Reset() // as when a hunk is split
	p.Send(late)
	if len(f.Aligned) != len(f.Hunks()) || p.m.loader.Aligning {
		t.Error("what was compared before the hunks became others counts")
	}
}
