package session

import (
	"encoding/json"
	"errors"
	"fmt"

	"aibox/internal/fault"
)

// recordFormat is the format of the spec and the state that this version writes. It is
// increased when an earlier version would misread a record. Records without a number are of
// format 0, which this version reads, too.
const recordFormat = 1

// ErrNewer reports that a newer version of aibox wrote a record. Such a record is never
// rewritten.
var ErrNewer = errors.New("a newer version of aibox wrote it")

// DamagedError reports that a file of a record has content that aibox did not write.
type DamagedError struct {
	id   ID
	file string
	err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("session %s: %s is damaged: %v", e.id, e.file, e.err)
}

func (e *DamagedError) Unwrap() error { return e.err }

// IsUnreadable reports whether an error is that of a record which is damaged, or of a newer version of
// aibox.
func IsUnreadable(err error) bool {
	var damaged *DamagedError
	return errors.As(err, &damaged) || errors.Is(err, ErrNewer)
}

// recordError explains why a file of the session's record cannot be read; nil for no error.
func recordError(id ID, file string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNewer):
		return fmt.Errorf("session %s cannot be read: %w", id, err)
	default:
		return &DamagedError{id, file, err}
	}
}

// storedSpec is the content of the spec file.
type storedSpec struct {
	Spec
	Format int `json:"format"`
}

// storedState is the content of the state file.
type storedState struct {
	State
	Format int `json:"format"`
}

// checkFormat refuses a spec or a state that a newer version of aibox wrote.
func checkFormat(data []byte) error {
	var written struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &written); err != nil {
		return err
	}
	if written.Format > recordFormat {
		return fault.New(fault.Environment, "its record has format %d, and this version of aibox reads up to %d: %w", written.Format, recordFormat, ErrNewer).
			Hint("update aibox, or use the version that started the session")
	}
	return nil
}

// decodeState reads a state. It refuses one with a phase that this version does not know.
func decodeState(data []byte) (State, error) {
	if err := checkFormat(data); err != nil {
		return State{}, err
	}
	var state State
	if err := json.Unmarshal(data, &state); err != nil {
		return State{}, err
	}
	if !state.Phase.known() {
		return State{}, fault.New(fault.Environment, "it is %q, a phase that this version of aibox does not know: %w", string(state.Phase), ErrNewer).
			Hint("update aibox, or use the version that started the session")
	}
	return state, nil
}
