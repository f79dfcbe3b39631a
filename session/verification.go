package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/termtext"
	"aibox/session/output"
)

// A verification is a session of its own that runs one command of the user's on a
// tree of another session's work: a supervisor, a guarded and proven sandbox without a
// network to anywhere, the same image and limits. Its workspace is a throwaway copy,
// so that nothing it does comes back; it has no change set, it is never resumed, and
// once its result is kept with the other session nothing of it is left.

// Verification is what came of running a command on a tree of a session's work.
type Verification struct {
	Number   int       `json:"number"` // within the session, from 1
	Command  string    `json:"command"`
	Tree     string    `json:"tree"` // in the host-owned repository
	Begun    time.Time `json:"begun"`
	Seconds  float64   `json:"seconds"`         // of the command itself; 0 when it never ran
	ExitCode int       `json:"exit_code"`       // of the command; -1 when it never ended by itself
	Fault    *Failure  `json:"fault,omitempty"` // why it did not pass; none when it did
	Lines    []string  `json:"lines,omitempty"` // the last lines of its output, escaped, cut
	Bytes    int64     `json:"bytes"`           // of its output in all, of which the end is kept
	Notes    []string  `json:"notes,omitempty"` // what the copy lacked, escaped
}

// Passed reports whether the command ran and ended well.
func (v *Verification) Passed() bool { return v.Fault == nil && v.ExitCode == 0 }

// VerifyRequest says what to run on what.
type VerifyRequest struct {
	Command string                   // for /bin/sh in the workspace; empty means the one the session was started with
	Tree    string                   // in the host-owned repository; empty means all of the agent's work
	Timeout time.Duration            // 0 means the session's own, negative none
	Env     []string                 // NAME=VALUE, at the user's wish; stored nowhere
	Show    func(output.Chunk) error // receives the output while it comes; may be nil
}

const (
	verificationsFile = "verifications.json"
	maxVerifications  = 20      // kept with a session, the newest
	maxVerified       = 1 << 20 // bytes of output kept of each, the end
	shownLines        = 10      // of the output, in Verification.Lines
	shownLine         = 200     // bytes of one of them

	// DefaultVerifyTimeout is how long a verification may take unless the request says otherwise.
	DefaultVerifyTimeout = 10 * time.Minute
)

// verificationPrefix begins the id of a verification. The id of any other session
// begins with five digits, so that none is a prefix of the other's. openedPrefix begins
// that of a session that a workspace is looked at in.
const (
	verificationPrefix = "verify-"
	openedPrefix       = "open-"
)

// Verifies says that a session is a verification, or with Opens one in which the user
// looks at the workspace of another.
type Verifies struct {
	Session ID     `json:"session"`         // whose work
	Has     string `json:"has,omitempty"`   // the tree of that work
	Tree    string `json:"tree,omitempty"`  // what to run on
	Opens   bool   `json:"opens,omitempty"` // there are no trees: the workspace is copied as it is
	For     Waiter `json:"for"`             // without it the session ends
}

// Hidden reports whether the session works for another one, so that lists leave it out.
func (id ID) Hidden() bool {
	return strings.HasPrefix(string(id), verificationPrefix) || strings.HasPrefix(string(id), openedPrefix)
}

// verifications runs commands on the work of sessions and keeps the results.
type verifications struct {
	*changeSets
	*launches
	*containers
	store Store
}

// Verify runs a command on the work of an ended session, in a sandbox, and keeps the
// result with the session. A command that fails is no error but a result; an error
// means that the session cannot be verified at all. When ctx ends the command is
// ended, and the result says so.
func (s *verifications) Verify(ctx context.Context, id ID, req VerifyRequest) (Verification, error) {
	var v *VerificationRun
	err := s.withEnded(ctx, id, func(session *Session) error {
		if err := checkNotContinued(session); err != nil {
			return err
		}
		if req.Command == "" && session.Verify == "" {
			return fault.New(fault.Usage, "%s was started without a command to verify its work with", id).
				Hint("name one: aibox verify %s --verify 'make test'", id)
		}
		set, err := s.changes(ctx, session)
		if err != nil {
			return err
		}
		if req.Tree == "" {
			req.Tree = set.Tree
		}
		v = s.RunVerification(ctx, session, set.Tree, req, func(ID) {})
		return errors.Join(s.KeepVerification(id, v), s.append(id, audit.WorkVerified, VerifiedEvent(&v.Verification)))
	})
	if v == nil {
		return Verification{}, err
	}
	return v.Verification, err
}

// Verifier is what review.Accept is to ask before it delivers a tree of the
// session's work: nil when it passes the command. It is nil when there is no
// command, neither in req nor of the session. A tree that has passed the same
// command before is not run again. The function works only while Accept holds the
// session.
func (s *verifications) Verifier(session Session, req VerifyRequest) func(ctx context.Context, tree string) error {
	if req.Command == "" && session.Verify == "" {
		return nil
	}
	return func(ctx context.Context, tree string) error {
		set, err := s.FinalChanges(session.ID)
		if err != nil {
			return err
		}
		req.Tree = tree
		req.applyDefaults(session.Spec)
		if s.passedBefore(session.ID, req) {
			return nil
		}
		v := s.RunVerification(ctx, &session, set.Tree, req, func(ID) {})
		err = errors.Join(s.KeepVerification(session.ID, v), s.append(session.ID, audit.WorkVerified, VerifiedEvent(&v.Verification)))
		if v.Passed() || err != nil {
			return err
		}
		refused := fault.New(fault.ParseKind(v.Fault.Kind), "nothing was accepted, because %s", v.Fault.Message)
		for _, hint := range v.Fault.Hints {
			refused = refused.Hint("%s", hint)
		}
		return refused.Hint("`aibox verify %s --show` shows what it printed", session.ID).
			Hint("`aibox accept %s --no-verify` leaves it out", session.ID)
	}
}

// passedBefore reports whether the tree passed the command the last time.
func (s *verifications) passedBefore(id ID, req VerifyRequest) bool {
	all, err := s.Verifications(id)
	if err != nil {
		return false
	}
	for _, v := range slices.Backward(all) {
		if v.Tree == req.Tree && v.Command == req.Command {
			return v.Passed()
		}
	}
	return false
}

// Verifications are the results kept with the session, oldest first.
func (s *reader) Verifications(id ID) ([]Verification, error) {
	var all []Verification
	err := s.store.read(id, verificationsFile, &all)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return all, err
}

// VerificationOutput is the end of what a verification printed, raw: it must pass
// the terminal filter before it is shown.
func (s *reader) VerificationOutput(id ID, number int) ([]byte, error) {
	output, err := os.ReadFile(s.verificationOutput(id, number))
	if errors.Is(err, fs.ErrNotExist) {
		err = fault.New(fault.Usage, "%s has no output of verification %d", id, number).Hint("`aibox verify %s --show` lists what there is", id)
	}
	return output, err
}

func (s *reader) verificationOutput(id ID, number int) string {
	return filepath.Join(s.store.Dir(id), fmt.Sprintf("verification-%d.raw", number))
}

// KeepVerification stores a result with the session and gives it its number.
func (s *verifications) KeepVerification(id ID, v *VerificationRun) error {
	all, err := s.Verifications(id)
	if err != nil {
		return err
	}
	v.Number = 1
	if len(all) > 0 {
		v.Number = all[len(all)-1].Number + 1
	}
	if err := paths.WriteFile(s.verificationOutput(id, v.Number), v.output.tail()); err != nil {
		return err
	}
	all = append(all, v.Verification)
	for len(all) > maxVerifications {
		if err := os.Remove(s.verificationOutput(id, all[0].Number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		all = all[1:]
	}
	return s.store.write(id, verificationsFile, all)
}

// VerifiedEvent is what the log says of a verification.
func VerifiedEvent(v *Verification) map[string]any {
	return map[string]any{"command": ShortCommand(v.Command), "tree": v.Tree, "exit_code": v.ExitCode, "seconds": v.Seconds, "fault": v.Fault}
}

// ShortCommand is a command in one short line.
func ShortCommand(command string) string {
	line, rest, more := strings.Cut(strings.TrimSpace(command), "\n")
	if more && rest != "" || len(line) > 60 {
		line = strings.ToValidUTF8(line[:min(len(line), 60)], "") + "…"
	}
	return termtext.Escape(line)
}

// VerificationStart waits until a session whose agent has ended verifies the work,
// and returns where that begins in the record; -1 when the session ends without.
func (s *contact) VerificationStart(ctx context.Context, id ID) (int64, error) {
	for {
		alive := isLocked(s.store.Dir(id)) // first: a state that is read later is the last one
		session, err := s.store.Load(id)
		switch {
		case err != nil:
			return -1, err
		case session.State.Phase == Verifying:
			return session.State.VerifyFrom, nil
		case session.Verify == "" || session.State.Phase == Ended || !alive:
			return -1, nil
		}
		pause(ctx, reconnectPause)
		if ctx.Err() != nil {
			return -1, ctx.Err()
		}
	}
}

// VerificationSummaries is every session that works for another one, in a line.
func (s *reader) VerificationSummaries() ([]Summary, error) {
	all, err := s.List()
	var briefs []Summary
	for _, session := range all {
		if session.Verifies != nil {
			brief := summarize(session)
			brief.Task = "(verifies " + string(session.Verifies.Session) + ")"
			if session.Verifies.Opens {
				brief.Task = "(a look at " + string(session.Verifies.Session) + ")"
			}
			briefs = append(briefs, brief)
		}
	}
	return briefs, err
}
