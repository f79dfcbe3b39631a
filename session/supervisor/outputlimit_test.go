package supervisor

import (
	"bytes"
	"testing"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/output"
)

func TestTooMuchOutputCausesAQuestionAndThenTheEnd(t *testing.T) {
	_, s := watched(t)
	s.launch.Spec.Run = config.Run{MaxOutput: 1}
	s.startOutputLimit()
	piece := bytes.Repeat([]byte("x"), 64<<10)
	print := func(pieces int) {
		t.Helper()
		for range pieces {
			if err := s.recordOutput(output.Stdout, piece); err != nil {
				t.Fatal(err)
			}
		}
	}
	print(14)
	open := s.requests.pending()
	if len(open) != 1 || open[0].What != session.RequestOutput || s.isEnding() {
		t.Fatalf("open are %+v, it ends with %v", open, s.cause)
	}
	if err := s.Answer(open[0].ID, "yes"); err != nil {
		t.Fatal(err)
	}
	print(10)
	if s.isEnding() || s.record.Dropped() > 0 {
		t.Fatalf("above the first limit it ends with %v", s.cause)
	}
	print(10)
	if fault.KindOf(s.cause) != fault.Limit || s.record.Dropped() == 0 || s.record.Size() > 2<<20 {
		t.Errorf("it ends with %v after %d bytes", s.cause, s.record.Size())
	}
	before := s.record.Size()
	s.postNotice("the last word")
	if s.record.Size() == before {
		t.Error("no notice fits after the limit")
	}
}

func TestOutputInTinyPiecesIsWarnedOfBeforeItsLimit(t *testing.T) {
	_, s := watched(t)
	s.launch.Spec.Run = config.Run{MaxOutput: 1}
	s.startOutputLimit()
	for s.record.Dropped() == 0 && len(s.requests.pending()) == 0 { // each piece has an entry in the index
		if err := s.recordOutput(output.Stderr, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if s.record.Dropped() > 0 || s.isEnding() {
		t.Fatalf("without a warning it ends with %v after %d bytes", s.cause, s.record.Size())
	}
}
