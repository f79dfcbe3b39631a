package session

import (
	"errors"
	"testing"
)

func TestASessionThatNeverStartedSaysHowToContinueTheSameWork(t *testing.T) {
	for want, spec := range map[string]Spec{
		"`aibox rerun 0dq5g-x` starts its task again": {Agent: "codex"},
		"`aibox run --resume 0dq4f-x`, with its task, continues 0dq4f-x; `aibox rerun 0dq5g-x` starts its task without that work":    {Agent: "codex", Resumes: "0dq4f-x"},
		"`aibox fork 0dq4f-x`, with its task, continues 0dq4f-x; `aibox rerun 0dq5g-x` starts its task without that work":            {Agent: "codex", Forks: "0dq4f-x"},
		"`aibox fork 0dq4f-x -- COMMAND`, with its task, continues 0dq4f-x; `aibox rerun 0dq5g-x` starts its task without that work": {Agent: "shell", Forks: "0dq4f-x"},
	} {
		spec.ID = "0dq5g-x"
		failed := FailedStart(errors.New("the image is gone"), &spec).Fault
		if hints := failed.Hints; len(hints) != 1 || hints[0] != want {
			t.Errorf("%s of %s%s says %q", spec.Agent, spec.Resumes, spec.Forks, hints)
		}
	}
}
