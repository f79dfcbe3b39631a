package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/paths"
)

// Summary is a session in a line: what a list of many shows.
type Summary struct {
	ID          ID        `json:"id"`
	Created     time.Time `json:"created"`
	Agent       string    `json:"agent"`
	Interactive bool      `json:"interactive,omitempty"`
	Repository  string    `json:"repository"`       // the top of it, or its URL
	Branch      string    `json:"branch,omitempty"` // that the work started from; empty is the one checked out
	Task        string    `json:"task,omitempty"`   // the first line of the prompt, cut
	Phase       Phase     `json:"phase"`
	Started     time.Time `json:"started,omitzero"` // when the agent started
	Ended       time.Time `json:"ended,omitzero"`
	Review      Review    `json:"review,omitempty"`
	ContinuedBy ID        `json:"continued_by,omitempty"`
	Failed      bool      `json:"failed,omitempty"`
	Changed     bool      `json:"changed,omitempty"`
	Unknown     bool      `json:"unknown,omitempty"` // it is not known what was changed
	Files       int       `json:"files,omitempty"`
	Added       int       `json:"added,omitempty"`
	Deleted     int       `json:"deleted,omitempty"`
	Refused     int       `json:"refused,omitempty"`   // what the network refused, each time counted
	Tokens      int       `json:"tokens,omitempty"`    // read and written
	Uncounted   bool      `json:"uncounted,omitempty"` // it is not known how many tokens
	// Deadline and Waiting are of a session that runs: when its time is up, zero without
	// a limit, and the number of its questions that wait for an answer.
	Deadline time.Time `json:"deadline,omitzero"`
	Waiting  int       `json:"waiting,omitempty"`
	// Prompting is of a session that runs: its agent waits for the user (see Live.Waiting).
	Prompting bool `json:"prompting,omitempty"`
	// Done is of a session that runs: how much it is known to have done (called the
	// model, been refused, printed). Where it stays as it was the agent has rested.
	Done int64 `json:"-"`
}

// NewestFirst sorts the newest session first, as lists to choose from have it.
func NewestFirst(a, b *Summary) int {
	return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
}

// SortByAge puts the newest session first, as lists of them are printed.
func SortByAge(sessions []Session) {
	slices.SortFunc(sessions, func(a, b Session) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
}

// taskLimit is how many bytes of a prompt a Brief holds.
const taskLimit = 200

// Summary is the session in a line.
func (s *Session) Summary() Summary { return summarize(*s) }

func summarize(s Session) Summary {
	b := Summary{
		ID: s.ID, Created: s.Created, Agent: s.Agent, Interactive: s.Interactive, Repository: s.Repository, Branch: s.Branch,
		Phase: s.State.Phase, Started: s.State.Started, Ended: s.State.Ended, Review: s.State.Review, ContinuedBy: s.State.ContinuedBy,
	}
	if ws := s.State.Workspace; ws != nil && ws.Start != "" {
		b.Repository = ws.Repo // the user named a folder in it
	}
	b.Task, _, _ = strings.Cut(s.Prompt, "\n")
	if s.Prompt == "" && s.Feedback != "" {
		b.Task = "(feedback on " + string(s.Resumes) + ")"
	}
	b.Task = strings.ToValidUTF8(b.Task[:min(len(b.Task), taskLimit)], "")
	if r := s.State.Result; r != nil {
		b.Failed, b.Changed, b.Unknown = r.Fault != nil, r.Changed, r.unknown()
		b.Files, b.Added, b.Deleted = r.Changes.Files, r.Changes.Added, r.Changes.Deleted
		b.Tokens, b.Uncounted = r.Tokens.Input+r.Tokens.Output, r.Tokens.Lost
		for _, refusal := range r.Refused {
			b.Refused += refusal.Times
		}
	}
	return b
}

// addLive adds what a session that runs has come to so far.
func (b *Summary) addLive(live Live) {
	b.Tokens, b.Refused = live.Tokens.Input+live.Tokens.Output, 0
	for _, refusal := range live.Refused {
		b.Refused += refusal.Times
	}
	b.Deadline, b.Waiting, b.Prompting = live.Deadline, len(live.Requests), live.Waiting
	b.Done = int64(live.Calls) + int64(b.Refused) + live.Output
}

// summariesFile remembers the briefs of ended sessions between two lists. It is a
// cache: it may be deleted, and what does not fit it is read from the sessions.
const summariesFile = "briefs.json"

// cachedSummary is a brief with the mark of the state file it was made from. A state
// is replaced as a whole, so another content is another file.
type cachedSummary struct {
	Form    int     `json:"f"` // briefForm when it was made
	Inode   uint64  `json:"i"`
	Time    int64   `json:"t"` // of its last change (ctime), in nanoseconds
	Summary Summary `json:"b"`
}

// summaryFormat counts the changes of what a Brief holds: one remembered in another
// form is made again.
const summaryFormat = 4

// Summaries is every session in a line, oldest first, without those that verify (see
// VerifyingBriefs). Damaged ones are left out and named in the error, which may come
// beside a list.
func (s *reader) Summaries() ([]Summary, error) {
	ids, err := s.store.IDs()
	if err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, ID.Hidden)
	known := s.store.cachedSummaries()
	next := make([]cachedSummary, 0, len(ids))
	briefs := make([]Summary, 0, len(ids))
	var errs []error
	fresh := false
	for _, id := range ids {
		inode, changed := s.store.stateVersion(id)
		old, ok := known[id]
		if !ok || old.Form != summaryFormat || old.Inode != inode || old.Time != changed || inode == 0 {
			session, err := s.store.Load(id)
			if errors.Is(err, fs.ErrNotExist) {
				continue // about to be made, or just removed
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			old = cachedSummary{summaryFormat, inode, changed, summarize(session)}
			if old.Summary.Phase != Ended {
				old.Summary.addLive(s.store.live(id))
			}
			fresh = fresh || old.Summary.Phase == Ended
		}
		briefs = append(briefs, old.Summary)
		if old.Summary.Phase == Ended {
			next = append(next, old)
		}
	}
	if (fresh || len(known) > len(next)) && len(next) >= minCached {
		s.store.cacheSummaries(next)
	}
	return briefs, errors.Join(errs...)
}

// minCached is how many ended sessions make a memory worth its file.
const minCached = 20

// stateVersion identifies the content of a session's state; zero is none.
func (s Store) stateVersion(id ID) (inode uint64, changed int64) {
	var st unix.Stat_t
	if unix.Lstat(s.root+"/"+string(id)+"/"+stateFile, &st) != nil {
		return 0, 0
	}
	return st.Ino, st.Ctim.Nano()
}

func (s Store) cachedSummaries() map[ID]cachedSummary {
	data, err := os.ReadFile(filepath.Join(s.root, summariesFile))
	var all []cachedSummary
	if err != nil || json.Unmarshal(data, &all) != nil {
		return nil // as if it were not there
	}
	known := make(map[ID]cachedSummary, len(all))
	for _, r := range all {
		known[r.Summary.ID] = r
	}
	return known
}

// cacheSummaries replaces the memory. That it cannot be saved costs time only.
func (s Store) cacheSummaries(all []cachedSummary) {
	if data, err := json.Marshal(all); err == nil {
		_ = paths.WriteFile(filepath.Join(s.root, summariesFile), data)
	}
}

// Stale counts the sessions that a clean-up with this retention would look at: those
// that have ended, are reviewed or changed nothing, and that nothing has happened to.
// It looks into no workspace.
func (s *reader) Stale(olderThan time.Duration) int {
	briefs, _ := s.Summaries()
	stale := 0
	for _, b := range briefs {
		if b.Phase != Ended || b.ContinuedBy != "" || b.Open() {
			continue
		}
		if s.store.Age(b.ID) >= olderThan {
			stale++
		}
	}
	return stale
}
