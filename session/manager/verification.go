package manager

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
	"aibox/session"
	"aibox/session/output"
)

// A verification is a separate session that runs one command of the user on a tree of
// another session's work. It has a supervisor, a guarded and probed sandbox without a
// network, and the same image and limits as the other session. Its workspace is a temporary
// copy. It has no change set and cannot be resumed, and it is removed once its result is
// stored with the other session.

// VerifyRequest describes a verification.
type VerifyRequest struct {
	Command string                   // command for /bin/sh in the workspace; empty means the session's own
	Tree    string                   // tree in the host-owned repository; empty means all of the agent's work
	Timeout time.Duration            // 0 means the session's own, negative means none
	Env     []string                 // NAME=VALUE, chosen by the user; never stored
	Show    func(output.Chunk) error // receives the output while the command runs; may be nil
}

const (
	verificationsFile = "verifications.json"
	maxVerifications  = 20      // number of results kept with a session, the newest
	maxVerified       = 1 << 20 // bytes of output kept for each, the end
	shownLines        = 10      // number of lines in session.Verification.Lines
	shownLine         = 200     // bytes of one line

	// DefaultVerifyTimeout is the time limit of a verification unless the request sets one.
	DefaultVerifyTimeout = 10 * time.Minute
)

// verifications runs commands on the work of sessions and keeps the results.
type verifications struct {
	*changeSets
	*launches
	*containers
	store session.Store
}

// Verify runs a command on the work of an ended session, in a sandbox, and stores the result
// with the session. A failing command is a result, not an error; an error means that the
// session cannot be verified. When ctx ends, it ends the command and records that.
func (s *verifications) Verify(ctx context.Context, id session.ID, req VerifyRequest) (session.Verification, error) {
	var v *VerificationRun
	err := s.withEnded(ctx, id, func(record *session.Session) error {
		if err := record.NotContinued(); err != nil {
			return err
		}
		if req.Command == "" && record.Verify == "" {
			return fault.New(fault.Usage, "%s was started without a command to verify its work with", id).
				Hint("name one: aibox verify %s --verify 'make test'", id)
		}
		set, err := s.changes(ctx, record)
		if err != nil {
			return err
		}
		if req.Tree == "" {
			req.Tree = set.Tree
		}
		v = s.RunVerification(ctx, record, set.Tree, req, func(session.ID) {})
		return errors.Join(s.KeepVerification(id, v), s.append(id, audit.WorkVerified, VerifiedEvent(&v.Verification)))
	})
	if v == nil {
		return session.Verification{}, err
	}
	return v.Verification, err
}

// Verifier returns a function that accept.Run calls before it delivers a tree of the
// session's work; it returns nil if the tree passes the command. Verifier returns nil if
// neither req nor the session has a command. A tree that has passed the same command
// before is not verified again. The function works only while the caller holds the
// session.
func (s *verifications) Verifier(record session.Session, req VerifyRequest) func(ctx context.Context, tree string) error {
	if req.Command == "" && record.Verify == "" {
		return nil
	}
	return func(ctx context.Context, tree string) error {
		set, err := s.FinalChanges(record.ID)
		if err != nil {
			return err
		}
		req.Tree = tree
		req.applyDefaults(record.Spec)
		if s.passedBefore(record.ID, req) {
			return nil
		}
		v := s.RunVerification(ctx, &record, set.Tree, req, func(session.ID) {})
		err = errors.Join(s.KeepVerification(record.ID, v), s.append(record.ID, audit.WorkVerified, VerifiedEvent(&v.Verification)))
		if v.Passed() || err != nil {
			return err
		}
		refused := fault.New(fault.ParseKind(v.Fault.Kind), "nothing was accepted, because %s", v.Fault.Message)
		for _, hint := range v.Fault.Hints {
			refused = refused.Hint("%s", hint)
		}
		return refused.Hint("`aibox verify %s --show` shows its output", record.ID).
			Hint("`aibox accept %s --no-verify` skips the verification", record.ID)
	}
}

// passedBefore reports whether the tree passed the command in its last verification.
func (s *verifications) passedBefore(id session.ID, req VerifyRequest) bool {
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

// Verifications returns the results stored with the session, oldest first.
func (s *workReader) Verifications(id session.ID) ([]session.Verification, error) {
	var all []session.Verification
	err := s.store.Read(id, verificationsFile, &all)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return all, err
}

// VerificationOutput returns the end of a verification's output, raw: it must pass the
// terminal filter before it is shown.
func (s *workReader) VerificationOutput(id session.ID, number int) ([]byte, error) {
	output, err := os.ReadFile(s.verificationOutput(id, number))
	if errors.Is(err, fs.ErrNotExist) {
		err = fault.New(fault.Usage, "%s has no output of verification %d", id, number).Hint("`aibox verify %s --show` lists the verifications", id)
	}
	return output, err
}

func (s *workReader) verificationOutput(id session.ID, number int) string {
	return filepath.Join(s.store.Dir(id), fmt.Sprintf("verification-%d.raw", number))
}

// KeepVerification stores a result with the session and numbers it.
func (s *verifications) KeepVerification(id session.ID, v *VerificationRun) error {
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
	return s.store.Write(id, verificationsFile, all)
}

// VerifiedEvent returns the log's record of a verification.
func VerifiedEvent(v *session.Verification) map[string]any {
	return map[string]any{"command": ShortCommand(v.Command), "tree": v.Tree, "exit_code": v.ExitCode, "seconds": v.Seconds, "fault": v.Fault}
}

// ShortCommand returns a command as one short line.
func ShortCommand(command string) string {
	line, rest, more := strings.Cut(strings.TrimSpace(command), "\n")
	if more && rest != "" || len(line) > 60 {
		line = strings.ToValidUTF8(line[:min(len(line), 60)], "") + "…"
	}
	return termtext.Escape(line)
}
