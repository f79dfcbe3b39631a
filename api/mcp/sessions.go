package mcp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"aibox/agents"
	aiboxv1 "aibox/api/aibox/v1"
	"aibox/app/agentsession"
	"aibox/review"
	"aibox/session"
	"aibox/session/summary"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Sessions are the sessions of coding agents of one tenant; see agentsession.Service.
type Sessions interface {
	Records
	Runs
	Reviews
}

// Records finds sessions.
type Records interface {
	Find(id session.ID) (session.Session, error)
	List() []session.Session
}

// Runs starts, follows and stops agents.
type Runs interface {
	Start(ctx context.Context, request agentsession.Request, step func(session.Step)) (session.Session, error)
	SendFeedback(ctx context.Context, id session.ID, given agentsession.Feedback, step func(session.Step)) (session.Session, error)
	Wait(ctx context.Context, id session.ID, most time.Duration, changed func(session.Live)) (session.Session, error)
	Transcript(id session.ID, from int64, most int) (agentsession.Transcript, error)
	Stop(ctx context.Context, id session.ID, reason string, grace time.Duration) (session.Session, error)
}

// Reviews reads changes, and decides about them.
type Reviews interface {
	Changes(ctx context.Context, id session.ID) (agentsession.Changes, error)
	Files(ctx context.Context, id session.ID, names []string, visit func(review.FileDiff) error) error
	Accept(ctx context.Context, id session.ID, request agentsession.AcceptRequest) (agentsession.Accepted, error)
}

// sessionTools are the tools for coding agents.
type sessionTools struct {
	sessions     Sessions
	repositories []string
	agents       agents.Set
	authorize    func(ctx context.Context, header http.Header, right aiboxv1.Right) error // see Config
}

// addSessionTools adds the tools for coding agents.
func addSessionTools(server *mcp.Server, config Config) {
	t := &sessionTools{sessions: config.Sessions, repositories: config.Repositories, agents: config.Agents, authorize: config.Authorize}
	addTool(server, config, t.describeRunAgent(), t.runAgent)
	addTool(server, config, listSessionsTool, t.listSessions)
	addTool(server, config, waitSessionTool, t.waitSession)
	addTool(server, config, readOutputTool, t.readOutput)
	addTool(server, config, listChangesTool, t.listChanges)
	addTool(server, config, readDiffTool, t.readDiff)
	addTool(server, config, acceptChangesTool, t.acceptChanges)
	addTool(server, config, sendFeedbackTool, t.sendFeedback)
	addTool(server, config, stopSessionTool, t.stopSession)
}

// sessionFacts describes a session in answers.
type sessionFacts struct {
	ID        session.ID     `json:"session"`
	Agent     string         `json:"agent"`
	Status    summary.Status `json:"status"`
	Ended     bool           `json:"ended"`
	Created   time.Time      `json:"created"`
	Network   string         `json:"network,omitempty"`
	ExitCode  *int           `json:"exit_code,omitempty"`
	Seconds   float64        `json:"seconds,omitempty"`
	Tokens    int            `json:"tokens,omitempty"`
	Cost      float64        `json:"cost_usd,omitempty"`
	Files     int            `json:"changed_files,omitempty"`
	Added     int            `json:"added_lines,omitempty"`
	Deleted   int            `json:"deleted_lines,omitempty"`
	Branch    string         `json:"branch,omitempty"`       // the commit that an accept made
	Continued session.ID     `json:"continued_by,omitempty"` // the session that resumed it
	Failure   string         `json:"failure,omitempty"`      // its kind
	Queue     string         `json:"queue,omitempty"`        // the reason why it waits
}

// factsOf describes a session.
func factsOf(s *session.Session) sessionFacts {
	summary := summary.Of(s)
	facts := sessionFacts{
		ID: s.ID, Agent: s.Agent, Status: summary.Status(), Ended: s.State.Phase == session.Ended, Created: s.Created, Network: s.Network,
		Tokens: summary.Tokens, Cost: summary.Cost, Files: summary.Files, Added: summary.Added, Deleted: summary.Deleted,
		Branch: s.State.Branch, Continued: s.State.ContinuedBy, Queue: summary.Queue,
	}
	if r := s.State.Result; r != nil {
		facts.ExitCode, facts.Seconds = &r.ExitCode, r.Seconds
		if r.Fault != nil {
			facts.Failure = r.Fault.Kind
		}
	}
	return facts
}

var listSessionsTool = tool{
	name: "list_sessions", title: "List agent sessions", effect: reads, right: aiboxv1.Right_RIGHT_READ,
	description: `List the sessions of coding agents, newest first, with their state. Other sessions of the machine's user may be among them.`,
}

type listSessionsInput struct {
	Open  bool `json:"open,omitempty" jsonschema:"list only sessions that run, or whose changes are not accepted or discarded yet"`
	Limit int  `json:"limit,omitempty" jsonschema:"list at most this many sessions; 20 if absent, at most 50"`
}

func (t *sessionTools) listSessions(_ context.Context, _ *call, in listSessionsInput) (*answer, error) {
	limit := 20
	if in.Limit > 0 {
		limit = min(in.Limit, 50)
	}
	var found []sessionFacts
	var tasks []string
	more := 0
	for _, s := range t.sessions.List() {
		summary := summary.Of(&s)
		if in.Open && s.State.Phase == session.Ended && !summary.Open() {
			continue
		}
		if len(found) == limit {
			more++
			continue
		}
		found, tasks = append(found, factsOf(&s)), append(tasks, fmt.Sprintf("%s: %s", s.ID, summary.Task))
	}
	count, err := fitting(found)
	if err != nil {
		return nil, err
	}
	facts := struct {
		Sessions []sessionFacts `json:"sessions"`
		More     int            `json:"more,omitempty"` // sessions that are not listed
	}{append([]sessionFacts{}, found[:count]...), more + len(found) - count}
	made := &answer{facts: facts}
	if count > 0 {
		made.data = []block{{"the tasks of these sessions", strings.Join(tasks[:count], "\n")}}
	}
	return made, nil
}

var stopSessionTool = tool{
	name: "stop_session", title: "Stop an agent", effect: replaces, right: aiboxv1.Right_RIGHT_SESSIONS, again: true,
	description: `End the agent of a running session and wait until it has ended. What it changed so far is kept and can be reviewed.`,
}

type sessionInput struct {
	Session string `json:"session" jsonschema:"id of the session, as run_agent returned it"`
}

func (t *sessionTools) stopSession(ctx context.Context, _ *call, in sessionInput) (*answer, error) {
	ended, err := t.sessions.Stop(ctx, session.ID(in.Session), "stopped by an MCP client", 0)
	if err != nil {
		return nil, err
	}
	return answerAbout(&ended), nil
}

// answerAbout returns the state of a session, and the possible next steps.
func answerAbout(s *session.Session) *answer {
	made := &answer{facts: factsOf(s), next: nextAfter(s)}
	if r := s.State.Result; r != nil && r.Fault != nil {
		made.data = []block{{"why the session failed", bounded(r.Fault.Message, maxError)}}
	}
	return made
}

// nextAfter returns the possible next steps with a session.
func nextAfter(s *session.Session) string {
	switch {
	case s.State.Phase != session.Ended:
		return "The agent is at work. Call wait_session to wait for it, and read_output to see what it does."
	case s.State.Result != nil && s.State.Result.Changed:
		return "Call list_changes and read_diff to review the changes, then accept_changes or send_feedback."
	default:
		return "The agent changed nothing. Call read_output to see what it did."
	}
}
