package compose

import (
	"errors"
	"testing"

	"aibox/app/run"
)

func TestABatchReportsTheSessionsThatDidNotStart(t *testing.T) {
	full, gone := errors.New("the disk is full"), errors.New("Docker is gone")
	for name, c := range map[string]struct {
		starts       []run.BatchStart
		id           string
		failed, want string
	}{
		"all start":  {[]run.BatchStart{{ID: "1"}, {ID: "2"}}, "1", "", ""},
		"one fails":  {[]run.BatchStart{{Err: full}, {ID: "2"}, {ID: "3"}}, "2", "1 of 3 sessions did not start: the disk is full", ""},
		"none start": {[]run.BatchStart{{Err: full}, {Err: gone}}, "", "", "the disk is full"},
	} {
		t.Run(name, func(t *testing.T) {
			var s Started
			err := s.take(c.starts)
			if got := text(err); got != c.want || text(s.Failed) != c.failed || string(s.ID) != c.id {
				t.Errorf("%+v, %q", s, got)
			}
		})
	}
}

// text returns the text of an error; empty for nil.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
