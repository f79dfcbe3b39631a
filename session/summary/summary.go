// Package summary lists sessions: one Summary for each, with its status, the actions that it
// offers, and a filter. It caches those of ended sessions. It changes no record.
package summary

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aibox/agents"
	"aibox/internal/fault"
	"aibox/internal/shellquote"
	"aibox/internal/sorting"
	"aibox/session"
	"aibox/session/client"
)

// Summary describes a session in one line of a list.
type Summary struct {
	ID          session.ID      `json:"id"`
	Created     time.Time       `json:"created"`
	Agent       string          `json:"agent"`
	Template    string          `json:"template,omitempty"` // template of a sandbox; empty if the session has an agent
	Interactive bool            `json:"interactive,omitempty"`
	Repository  string          `json:"repository"`       // the top folder, or its URL
	Branch      string          `json:"branch,omitempty"` // branch on which the work is based; empty for the one checked out
	Task        string          `json:"task,omitempty"`   // the first line of the prompt, or of a shell's command, truncated
	Phase       session.Phase   `json:"phase"`
	Batch       session.BatchID `json:"batch,omitempty"`
	Started     time.Time       `json:"started,omitzero"` // when the agent started
	Ended       time.Time       `json:"ended,omitzero"`
	Review      session.Review  `json:"review,omitempty"`
	ContinuedBy session.ID      `json:"continued_by,omitempty"`
	Failed      bool            `json:"failed,omitempty"`
	Changed     bool            `json:"changed,omitempty"`
	Unknown     bool            `json:"unknown,omitempty"` // the changes are unknown
	Files       int             `json:"files,omitempty"`
	Added       int             `json:"added,omitempty"`
	Deleted     int             `json:"deleted,omitempty"`
	Refused     int             `json:"refused,omitempty"`   // number of network accesses that were refused
	Tokens      int             `json:"tokens,omitempty"`    // read and written
	Uncounted   bool            `json:"uncounted,omitempty"` // the number of tokens is unknown
	Cost        float64         `json:"cost_usd,omitempty"`  // as session.Tokens.Cost
	Unpriced    int             `json:"unpriced,omitempty"`  // as session.Tokens.Unpriced
	// Deadline and Waiting are set for a running session: the end of its time limit, zero
	// without one, and the number of requests that wait for an answer.
	Deadline time.Time `json:"deadline,omitzero"`
	Waiting  int       `json:"waiting,omitempty"`
	// Prompting reports that the agent of a running session waits for the user (see
	// session.Live.Waiting).
	Prompting bool `json:"prompting,omitempty"`
	// Usage is the resource usage of a running session's sandbox, if measured (see Usages).
	Usage session.Usage `json:"usage,omitzero"`
	// Position and Queue are set for a queued session: its place in the queue, from 1, and the
	// reason for the wait, a clause.
	Position int    `json:"position,omitempty"`
	Queue    string `json:"queue,omitempty"`
	Paused   bool   `json:"paused,omitempty"` // it is a paused sandbox
	// Done is set for a running session: a counter of its activity (model calls, refusals,
	// output). If it does not change, the agent is idle.
	Done int64 `json:"-"`
}

// NewestFirst compares sessions for sorting, newest first.
func NewestFirst(a, b *Summary) int {
	return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
}

// SortByAge sorts sessions, newest first.
func SortByAge(sessions []session.Session) {
	sorting.Func(sessions, func(a, b *session.Session) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
}

// taskLimit is the maximum length of Summary.Task in bytes.
const taskLimit = 200

// Of returns the summary of the session.
func Of(s *session.Session) Summary {
	b := Summary{
		ID: s.ID, Created: s.Created, Agent: s.Agent, Interactive: s.Interactive, Repository: s.Repository, Branch: s.Branch,
		Phase: s.State.Phase, Batch: s.Batch, Started: s.State.Started, Ended: s.State.Ended, Review: s.State.Review, ContinuedBy: s.State.ContinuedBy,
	}
	if s.Sandbox != nil {
		b.Template, b.Paused = s.Sandbox.Template, !s.State.Paused.IsZero()
		b.Task = s.Labels().Name
		b.setResult(s.State.Result)
		return b
	}
	if queue := s.State.Queue; queue != nil && b.Phase == session.Queued {
		b.Queue, b.Position = queue.Text, s.Position
	}
	if ws := s.State.Workspace; ws != nil && ws.Start != "" {
		b.Repository = ws.Repo // the user named a folder inside it
	}
	b.Task = s.Prompt
	if s.Prompt == "" && s.Agent == (&agents.Shell{}).Info().Name {
		b.Task = shellquote.Join(s.Args)
	}
	b.Task, _, _ = strings.Cut(strings.TrimSpace(b.Task), "\n")
	if s.Prompt == "" && s.Feedback != "" {
		b.Task = "(feedback on " + string(s.Continues()) + ")"
	}
	b.Task = strings.ToValidUTF8(b.Task[:min(len(b.Task), taskLimit)], "")
	b.setResult(s.State.Result)
	return b
}

// setResult adds the result of a session, which may be nil. A sandbox that was stopped has
// not failed, and has no changes.
func (b *Summary) setResult(r *session.Result) {
	if r == nil {
		return
	}
	b.Failed, b.Changed, b.Unknown = r.Fault != nil, r.Changed, r.LacksChanges()
	if b.Template != "" {
		b.Failed, b.Changed, b.Unknown = r.Fault != nil && fault.ParseKind(r.Fault.Kind) != fault.Interrupted, false, false
	}
	b.Files, b.Added, b.Deleted = r.Changes.Files, r.Changes.Added, r.Changes.Deleted
	b.setTokens(r.Tokens)
	for _, refusal := range r.Refused {
		b.Refused += refusal.Times
	}
}

// Place returns a raw word or two about the session's subject: the name of its repository,
// or the template of a sandbox.
func (b *Summary) Place() string {
	if b.Template != "" {
		return "template " + b.Template
	}
	return filepath.Base(b.Repository)
}

func (b *Summary) setTokens(t session.Tokens) {
	b.Tokens, b.Uncounted = t.Input+t.Output, t.Lost
	b.Cost, b.Unpriced = t.Cost, t.Unpriced
}

// CostText describes the cost of the model, as session.Tokens.CostText does.
func (b *Summary) CostText() string {
	return session.Tokens{Cost: b.Cost, Unpriced: b.Unpriced, Lost: b.Uncounted}.CostText()
}

// addLive adds the counters of a running session.
func (b *Summary) addLive(live session.Live) {
	b.setTokens(live.Tokens)
	b.Refused = 0
	for _, refusal := range live.Refused {
		b.Refused += refusal.Times
	}
	b.Deadline, b.Waiting, b.Prompting = live.Deadline, len(live.Requests), live.Waiting
	b.Done = int64(live.Calls) + int64(b.Refused) + live.Output
}

// Lister lists sessions by their summaries.
type Lister struct {
	client *client.Client
	store  session.Store
}

// New returns a Lister of the sessions in store.
func New(supervisors *client.Client, store session.Store) *Lister {
	return &Lister{client: supervisors, store: store}
}

// Summaries returns the summaries of all sessions, oldest first, except those of
// VerificationSummaries. It omits damaged sessions and names them in the error, which may
// accompany a list.
func (s *Lister) Summaries() ([]Summary, error) {
	root := s.store.Root()
	known := make(chan cachedSummaries, 1)
	go func() { known <- readSummaryCache(root) }() // takes as long as listing the folders
	ids, err := s.store.IDs()
	if err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, session.ID.Hidden)
	cache := &summaryCache{root: root, ids: ids, versions: stateVersions(root, ids), known: <-known}
	if all, ok := cache.current(); ok {
		return all, nil
	}
	briefs := make([]Summary, 0, len(ids))
	var errs []error
	for i, id := range ids {
		brief, version, ok := cache.find(i)
		if !ok {
			record, err := s.store.Load(id)
			if errors.Is(err, fs.ErrNotExist) {
				continue // the session is about to be created, or was just removed
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			brief = Of(&record)
			if brief.Phase != session.Ended {
				brief.addLive(s.store.Live(id))
			}
		}
		briefs = append(briefs, brief)
		cache.keep(briefs, version)
	}
	cache.save(briefs)
	setPositions(briefs)
	return briefs, errors.Join(errs...)
}

// Stale counts the sessions that a cleanup with this retention would consider: those that
// have ended, are reviewed or have no changes, and were not modified since. It does not
// read workspaces.
func (s *Lister) Stale(olderThan time.Duration) int {
	briefs, _ := s.Summaries()
	stale := 0
	for _, b := range briefs {
		if b.Phase != session.Ended || b.ContinuedBy != "" || b.Open() {
			continue
		}
		if s.store.Age(b.ID) >= olderThan {
			stale++
		}
	}
	return stale
}

// setPositions numbers the queued sessions among the summaries, which are in the order of
// their ids.
func setPositions(summaries []Summary) {
	position := 0
	for i := range summaries {
		if summaries[i].Phase == session.Queued {
			position++
			summaries[i].Position = position
		}
	}
}
