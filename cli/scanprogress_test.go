package cli

import (
	"bytes"
	"testing"
	"time"
)

func TestOnlyALongScanOfAWorkspaceIsShown(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	l := &scanProgress{out: &out, clock: func() time.Time { return now }, begun: now}
	l.progress(10)
	l.over()
	if out.Len() > 0 {
		t.Errorf("a short look prints %q", out.String())
	}
	for i, after := range []time.Duration{1500, 1510, 1700} {
		now = time.Unix(0, 0).Add(after * time.Millisecond)
		l.progress(100 * (i + 1))
	}
	l.over()
	const want = "\r\x1b[Klooking at the workspace: 100 names\r\x1b[Klooking at the workspace: 300 names\r\x1b[K"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestScanProgressIsShownOnlyOnATerminal(t *testing.T) {
	a := &console{err: new(bytes.Buffer)}
	if progress, over := a.watchScan(); progress != nil || over == nil {
		t.Error("progress is written to a pipe")
	}
}
