// Package recovery saves states of a workspace under refs before anything could lose them, and lists them. A
// saved state is kept for at least Retention. It never changes the user's repository.
package recovery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aibox/internal/diskerr"
	"aibox/internal/git"
	"aibox/internal/sorting"
	"aibox/review"
	"aibox/review/scan"
	"aibox/workspace"
)

// Reason is the reason why a state was saved.
type Reason string

// The occasions on which a state is saved.
const (
	Accepted  Reason = "accepted"
	Discarded Reason = "discarded"
	Removed   Reason = "removed"   // with the session's record
	Continued Reason = "continued" // another session took the workspace over
	Collected Reason = "collected" // the workspace was old and its work reviewed
)

// Retention is how long a saved state is kept at least.
const Retention = 30 * 24 * time.Hour

// Point is a saved state that can be restored. Only its ref keeps its objects.
type Point struct {
	Session string           `json:"session"`          // the session that the workspace was made for; names the ref
	By      string           `json:"by"`               // the session that had the workspace at the time
	Number  int              `json:"number"`           // counts up from 1 within Session
	Handle  string           `json:"handle,omitempty"` // the argument of `aibox recover By --ref`; set by session.Recoverable
	Ref     string           `json:"ref"`              // refs/aibox/<session>/<n> in GitDir
	GitDir  string           `json:"git_dir"`
	Commit  string           `json:"commit"`
	Base    string           `json:"base"` // its parent commit
	What    Reason           `json:"what"`
	Repo    string           `json:"repo"` // the user's repository
	When    time.Time        `json:"when"`
	Until   time.Time        `json:"until"` // kept at least until then
	Files   int              `json:"files"` // changed files compared with Base
	Added   int              `json:"added"` // lines
	Deleted int              `json:"deleted"`
	NotKept []review.Refusal `json:"not_kept,omitempty"` // after PutAway: files of the workspace that git cannot store
}

// PutAway saves the workspace under a ref in ws.GitDir and then removes the folder; what
// describes the reason. The returned Point can be restored for 30 days. It has no ignored
// and refused files.
func PutAway(ctx context.Context, ws *workspace.Workspace, what Reason, opts scan.Options) (*Point, error) {
	cs, err := scan.Workspace(ctx, ws, opts)
	if err != nil {
		return nil, fmt.Errorf("saving the workspace before it is removed: %w", err)
	}
	saved, err := Save(ctx, ws, cs, what)
	if err != nil {
		return nil, err
	}
	return saved, workspace.Remove(ctx, ws)
}

// Save saves the tree of cs, a change set of ws, under the next number of the session. It
// must precede every step that could lose work.
func Save(ctx context.Context, ws *workspace.Workspace, cs *review.ChangeSet, what Reason) (*Point, error) {
	release, err := workspace.Hold(ctx, ws.GitDir)
	if err != nil {
		return nil, fmt.Errorf("saving the work: %w", err)
	}
	defer release()
	repo := git.Owned(ws.GitDir)
	now := time.Now()
	message, err := withOrigin(subjectOf(what, ws.Owner()), ws)
	if err != nil {
		return nil, fmt.Errorf("saving the work: %w", err)
	}
	commit, err := repo.CommitTree(ctx, cs.Tree, ws.BaseCommit(), message, review.Signature(now))
	if err != nil {
		return nil, fmt.Errorf("saving the work: %w", diskerr.Explain(fmt.Errorf("making the commit: %w", git.Brief(err)), repo.Dir()))
	}
	saved := &Point{
		Session: ws.Session, By: ws.Owner(), GitDir: ws.GitDir, Commit: commit, Base: ws.BaseCommit(),
		What: what, Repo: ws.Repo, When: now.UTC(), Until: now.Add(Retention).UTC(), Files: cs.Count(), NotKept: cs.Refused,
	}
	saved.Added, saved.Deleted = cs.Totals()
	return saved, saved.name(ctx, repo)
}

// name gives the state the next free number of its session. A number whose lock file a dead
// git left behind is not free.
func (s *Point) name(ctx context.Context, repo *git.Repo) error {
	prefix := review.RefPrefix(s.Session)
	for try := 0; ; try++ {
		names, err := repo.Output(ctx, "for-each-ref", "--format=%(refname)", prefix)
		if err != nil {
			return fmt.Errorf("saving the work: %s", git.Message(err))
		}
		s.Number = 1
		for name := range strings.FieldsSeq(string(names)) {
			if n, err := strconv.Atoi(strings.TrimPrefix(name, prefix)); err == nil {
				s.Number = max(s.Number, n+1)
			}
		}
		for isLocked(s.GitDir, prefix+strconv.Itoa(s.Number)) {
			s.Number++
		}
		s.Ref = prefix + strconv.Itoa(s.Number)
		err = repo.Run(ctx, nil, nil, "update-ref", s.Ref, s.Commit, strings.Repeat("0", len(s.Commit)))
		if err == nil {
			return nil
		}
		if try == 10 { // other processes took that number every time
			return diskerr.Explain(fmt.Errorf("saving the work: %w", git.Brief(err)), s.GitDir)
		}
	}
}

// isLocked reports whether git's lock file of ref exists.
func isLocked(gitDir, ref string) bool {
	_, err := os.Lstat(filepath.Join(gitDir, ref+".lock"))
	return err == nil
}

// Drop deletes a state that is not needed, because the destructive step did not happen.
func (s *Point) Drop(ctx context.Context) error {
	if err := git.Owned(s.GitDir).Run(ctx, nil, nil, "update-ref", "--no-deref", "-d", s.Ref, s.Commit); err != nil {
		return fmt.Errorf("forgetting the saved state %s: %s", s.Ref, git.Message(err))
	}
	return nil
}

// subjectOf returns the subject of a saved state's commit.
func subjectOf(what Reason, by string) string { return "aibox: " + string(what) + " by " + by }

// parseSubject parses the result of subjectOf, or of an older version of it that named no
// session.
func parseSubject(subject string) (what Reason, by string, ours bool) {
	rest, ours := strings.CutPrefix(subject, "aibox: ")
	word, by, _ := strings.Cut(rest, " by ")
	return Reason(word), by, ours && word != ""
}

// Points lists the saved states in the repositories below repos (paths.Dirs.Repos),
// newest first; session "" means every session. Unreadable repositories are named in the
// error, which may come with a list.
func Points(ctx context.Context, repos, session string) ([]Point, error) {
	dirs, err := os.ReadDir(repos)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Point
	var errs []error
	for _, dir := range dirs {
		gitDir := filepath.Join(repos, dir.Name())
		if _, err := os.Stat(filepath.Join(gitDir, "aibox", "repository")); err != nil {
			continue // a clone of a URL, or something unfinished
		}
		found, err := PointsIn(ctx, gitDir)
		if err != nil {
			errs = append(errs, fmt.Errorf("reading %s: %w", gitDir, err))
		}
		for _, saved := range found {
			if session == "" || saved.Session == session || saved.By == session {
				all = append(all, saved)
			}
		}
	}
	sorting.Func(all, func(a, b *Point) int {
		return cmp.Or(b.When.Compare(a.When), cmp.Compare(a.Session, b.Session), cmp.Compare(b.Number, a.Number))
	})
	return all, errors.Join(errs...)
}

// PointsIn lists the saved states in one repository that aibox owns, in no order.
func PointsIn(ctx context.Context, gitDir string) ([]Point, error) {
	userRepo, err := os.ReadFile(filepath.Join(gitDir, "aibox", "repository"))
	if err != nil {
		return nil, err
	}
	repo := git.Owned(gitDir)
	out, err := repo.Output(ctx, "for-each-ref", "--format=%(refname) %(objectname) %(parent) %(committerdate:unix) %(subject)", "refs/aibox/")
	if err != nil {
		return nil, errors.New(git.Message(err))
	}
	var found []Point
	for line := range strings.Lines(string(out)) {
		if saved, ok := parseSaved(strings.TrimSpace(line)); ok {
			saved.GitDir, saved.Repo = gitDir, string(userRepo)
			found = append(found, saved)
		}
	}
	return found, countChanges(ctx, repo, found)
}

// parseSaved parses one line about a ref; ok is false for refs that are not saved states.
func parseSaved(line string) (Point, bool) {
	fields := strings.SplitN(line, " ", 5)
	if len(fields) != 5 {
		return Point{}, false
	}
	session, number, _ := strings.Cut(strings.TrimPrefix(fields[0], "refs/aibox/"), "/")
	n, err := strconv.Atoi(number)
	what, by, ours := parseSubject(fields[4])
	unix, timeErr := strconv.ParseInt(fields[3], 10, 64)
	if err != nil || timeErr != nil || !ours || n < 1 {
		return Point{}, false
	}
	when := time.Unix(unix, 0).UTC()
	return Point{
		Session: session, By: cmp.Or(by, session), Number: n, Ref: fields[0], Commit: fields[1], Base: fields[2],
		What: what, When: when, Until: when.Add(Retention),
	}, true
}

// countChanges fills in the size of each state's changes, with one process for all
// states.
func countChanges(ctx context.Context, repo *git.Repo, states []Point) error {
	if len(states) == 0 {
		return nil
	}
	index := make(map[string][]*Point, len(states))
	var ask, answer strings.Builder
	for i := range states {
		s := &states[i]
		if index[s.Commit] == nil {
			ask.WriteString(s.Commit + "\n")
		}
		index[s.Commit] = append(index[s.Commit], s)
	}
	args := slices.Concat(review.DiffTree, []string{"--stdin", "--shortstat"})
	if err := repo.Run(ctx, strings.NewReader(ask.String()), &answer, args...); err != nil {
		return fmt.Errorf("counting the changes: %s", git.Message(err))
	}
	var of []*Point
	for line := range strings.Lines(answer.String()) {
		line = strings.TrimSpace(line)
		if named := index[line]; named != nil {
			of = named
			continue
		}
		for _, s := range of {
			s.count(line)
		}
	}
	return nil
}

// count reads " 2 files changed, 3 insertions(+), 1 deletion(-)".
func (s *Point) count(line string) {
	for part := range strings.SplitSeq(line, ",") {
		number, unit, _ := strings.Cut(strings.TrimSpace(part), " ")
		n, err := strconv.Atoi(number)
		switch {
		case err != nil:
		case strings.HasPrefix(unit, "file"):
			s.Files = n
		case strings.HasPrefix(unit, "insertion"):
			s.Added = n
		case strings.HasPrefix(unit, "deletion"):
			s.Deleted = n
		}
	}
}

// Changes returns the change set of the saved state.
func (s Point) Changes(ctx context.Context) (*review.ChangeSet, error) {
	repo := git.Owned(s.GitDir)
	trees, err := repo.Line(ctx, "rev-parse", s.Base+"^{tree}", s.Commit+"^{tree}")
	if err != nil {
		return nil, fmt.Errorf("the saved state %s is not there: %s", s.Ref, git.Message(err))
	}
	base, tree, _ := strings.Cut(trees, "\n")
	cs := &review.ChangeSet{Session: s.Session, GitDir: s.GitDir, BaseTree: base, Tree: tree, Commit: s.Commit, Computed: s.When}
	if err := cs.Describe(ctx); err != nil {
		return nil, fmt.Errorf("comparing with the baseline: %w", err)
	}
	return cs, nil
}

// The lines of a saved state's message about its workspace: one begins with modulesLine and names
// the submodules, the other says that the agent got the files as they are stored.
const (
	modulesLine  = "submodules: "
	asStoredLine = "files: as stored"
)

// withOrigin adds to the message of a saved state what a restore must know of the workspace, so
// that it does not depend on the session's record, which may be removed earlier.
func withOrigin(message string, ws *workspace.Workspace) (string, error) {
	var lines []string
	if ws.AsStored {
		lines = append(lines, asStoredLine)
	}
	if len(ws.Modules) > 0 {
		named, err := json.Marshal(ws.Modules)
		if err != nil {
			return "", err
		}
		lines = append(lines, modulesLine+string(named))
	}
	if len(lines) == 0 {
		return message, nil
	}
	return message + "\n\n" + strings.Join(lines, "\n"), nil
}

// Origin reads the submodules, and whether the agent got the files as they are stored, in a message
// of withOrigin.
func (s *Point) Origin(ctx context.Context, repo *git.Repo) (modules []workspace.Module, asStored bool, err error) {
	body, err := repo.Line(ctx, "show", "--no-patch", "--format=%b", s.Commit)
	if err != nil {
		return nil, false, fmt.Errorf("reading the saved state %s: %s", s.Ref, git.Message(err))
	}
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if named, ok := strings.CutPrefix(line, modulesLine); ok {
			err = json.Unmarshal([]byte(named), &modules)
		}
		asStored = asStored || line == asStoredLine
	}
	return modules, asStored, err
}
