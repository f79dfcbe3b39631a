// Package sessions serves the service Sessions of the schema: agents on repositories, and the
// review of their changes. Each call acts for the tenant of its caller. The package maps the
// schema to the use cases of package agentsession, and adds none.
package sessions

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"aibox/agents"
	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/api/creation"
	"aibox/api/eventstream"
	"aibox/api/setting"
	"aibox/app/agentsession"
	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/summary"
)

// Handler serves the service.
type Handler struct {
	// Cases returns the use cases for a tenant.
	Cases func(tenant session.Tenant) (*agentsession.Service, error)
	// Creations makes starts repeatable. Nil refuses idempotency keys.
	Creations *creation.Recorder
	// Agents are those that can be run.
	Agents agents.Set
}

// cases returns the use cases of the caller's tenant.
func (h *Handler) cases(ctx context.Context) (*agentsession.Service, error) {
	tenant := auth.From(ctx).Tenant
	if tenant == "" {
		return nil, fault.New(fault.Refused, "the call has no tenant")
	}
	return h.Cases(tenant)
}

// respond returns the response for a session.
func respond(s session.Session, err error) (*connect.Response[aiboxv1.Session], error) {
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(toSession(&s)), nil
}

// Start starts an agent, or returns the session that an earlier call with the key started.
func (h *Handler) Start(ctx context.Context, r *connect.Request[aiboxv1.StartSessionRequest]) (*connect.Response[aiboxv1.Session], error) {
	cases, err := h.cases(ctx)
	if err != nil {
		return nil, err
	}
	request, err := fromStart(r.Msg)
	if err != nil {
		return nil, err
	}
	if setting.ChoosesNetwork(r.Msg.GetNetwork(), request.Settings) || setting.AgentChoosesNetwork(h.Agents, request.Agent, request.Options) {
		caller := auth.From(ctx)
		if err := caller.Check(aiboxv1.Right_RIGHT_NETWORK); err != nil {
			return nil, err
		}
	}
	key := r.Msg.GetIdempotencyKey()
	switch {
	case key == "":
		return respond(cases.Start(ctx, request, nil))
	case h.Creations == nil:
		return nil, fault.New(fault.Usage, "this server has no idempotency keys").Hint("leave out idempotency_key")
	}
	var started session.Session
	earlier, err := h.Creations.Do(ctx, auth.From(ctx).Tenant, key, r.Msg, func(record creation.Record) (err error) {
		request.RecordID = record
		started, err = cases.Start(ctx, request, nil)
		return err
	})
	if err == nil && earlier != "" {
		return respond(cases.Find(earlier))
	}
	return respond(started, err)
}

// Get returns a session.
func (h *Handler) Get(ctx context.Context, r *connect.Request[aiboxv1.GetSessionRequest]) (*connect.Response[aiboxv1.Session], error) {
	cases, err := h.cases(ctx)
	if err != nil {
		return nil, err
	}
	return respond(cases.Find(session.ID(r.Msg.GetSessionId())))
}

// The sizes of pages.
const (
	defaultPage = 100
	maxPage     = 1000
)

// List returns a page of sessions. The token of a page is the id of the last session before
// it. Sessions are in the order of their ids, the newest first.
func (h *Handler) List(ctx context.Context, r *connect.Request[aiboxv1.ListSessionsRequest]) (*connect.Response[aiboxv1.ListSessionsResponse], error) {
	cases, err := h.cases(ctx)
	if err != nil {
		return nil, err
	}
	size := int(r.Msg.GetPageSize())
	if size < 0 || size > maxPage {
		return nil, fault.New(fault.Usage, "a page has up to %d sessions, not %d", maxPage, size)
	}
	if size == 0 {
		size = defaultPage
	}
	before := session.ID(r.Msg.GetPageToken())
	if before != "" {
		if _, err := session.ParseID(string(before)); err != nil {
			return nil, fault.New(fault.Usage, "this is not the token of a page")
		}
	}
	metadata, err := setting.FromFilters(r.Msg.GetMetadata())
	if err != nil {
		return nil, err
	}
	all := cases.List()
	// Their ages can be in another order: sessions that start at once get their numbers first, and
	// clocks are set back.
	slices.SortFunc(all, func(a, b session.Session) int { return cmp.Compare(b.ID, a.ID) })
	out := &aiboxv1.ListSessionsResponse{}
	for _, s := range all {
		if before != "" && s.ID >= before {
			continue
		}
		shown := toSession(&s)
		if !matches(r.Msg, metadata, shown) {
			continue
		}
		if len(out.Sessions) == size {
			out.NextPageToken = out.Sessions[size-1].GetSessionId()
			break
		}
		out.Sessions = append(out.Sessions, shown)
	}
	return connect.NewResponse(out), nil
}

// matches reports whether all filters match.
func matches(filter *aiboxv1.ListSessionsRequest, metadata map[string]string, s *aiboxv1.Session) bool {
	states := filter.GetStates()
	for _, state := range states {
		if state == s.GetState() {
			states = nil
		}
	}
	for key, value := range metadata {
		if found, ok := s.GetMetadata()[key]; !ok || found != value {
			return false
		}
	}
	return len(states) == 0 && (filter.GetAgent() == "" || filter.GetAgent() == s.GetAgent())
}

// Events streams the events of a session.
func (h *Handler) Events(ctx context.Context, r *connect.Request[aiboxv1.SessionEventsRequest], stream *connect.ServerStream[aiboxv1.SessionEvent]) error {
	if r.Msg.GetFromSeq() < 0 {
		return fault.New(fault.Usage, "from_seq is the number of an event, not %d", r.Msg.GetFromSeq())
	}
	cases, err := h.cases(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	alive := func() *aiboxv1.SessionEvent {
		return &aiboxv1.SessionEvent{Time: timestamppb.Now(), Kind: "alive"}
	}
	sending := eventstream.NewSender(stream.Send, alive, cancel, eventstream.Alive)
	err = cases.Events(ctx, session.ID(r.Msg.GetSessionId()), int(max(r.Msg.GetFromSeq()-1, 0)), func(e audit.Event) error {
		if e.Seq < 0 { // for the counters, which are not in the log
			return nil
		}
		return sending.Send(toEvent(&e))
	})
	return cmp.Or(sending.End(), err)
}

// toEvent returns an event of the schema, whose numbers begin with 1.
func toEvent(e *audit.Event) *aiboxv1.SessionEvent {
	kind := string(e.Type)
	return &aiboxv1.SessionEvent{
		Seq: int64(e.Seq) + 1, Time: timestamppb.New(e.Time), Kind: kind,
		Message: strings.NewReplacer(".", " ", "-", " ").Replace(kind), DetailsJson: strings.ToValidUTF8(string(e.Data), "\uFFFD"),
	}
}

// The time for an agent to end by itself.
const (
	defaultGrace = 10 * time.Second
	maxGrace     = 10 * time.Minute
)

// graceOf returns the time for an agent to end by itself. Zero means to end it at once.
func graceOf(r *aiboxv1.StopSessionRequest) (time.Duration, error) {
	if r.GetGrace() == nil {
		return defaultGrace, nil
	}
	grace := r.GetGrace().AsDuration()
	if r.GetGrace().CheckValid() != nil || grace < 0 || grace > maxGrace {
		return 0, fault.New(fault.Usage, "an agent has from 0 to %v to end, not %v", maxGrace, grace)
	}
	return max(grace, time.Millisecond), nil
}

// Stop ends a session.
func (h *Handler) Stop(ctx context.Context, r *connect.Request[aiboxv1.StopSessionRequest]) (*connect.Response[aiboxv1.Session], error) {
	cases, err := h.cases(ctx)
	if err != nil {
		return nil, err
	}
	grace, err := graceOf(r.Msg)
	if err != nil {
		return nil, err
	}
	return respond(cases.Stop(ctx, session.ID(r.Msg.GetSessionId()), "stopped over the API", grace))
}

// Delete removes a session that has ended.
func (h *Handler) Delete(ctx context.Context, r *connect.Request[aiboxv1.DeleteSessionRequest]) (*connect.Response[emptypb.Empty], error) {
	cases, err := h.cases(ctx)
	if err != nil {
		return nil, err
	}
	if err := cases.Delete(ctx, session.ID(r.Msg.GetSessionId())); err != nil {
		return nil, err
	}
	return connect.NewResponse(&emptypb.Empty{}), nil
}

// toSession returns a session of the schema.
func toSession(s *session.Session) *aiboxv1.Session {
	summary := summary.Of(s)
	out := &aiboxv1.Session{
		SessionId: string(s.ID), Agent: s.Agent, State: stateOf(s), Prompt: utf8(s.Prompt), Repository: utf8(s.Repository), Model: s.Model,
		Metadata: s.Metadata, CreateTime: timestamppb.New(s.Created), Tokens: int64(summary.Tokens),
	}
	if !s.State.Ended.IsZero() {
		out.EndTime = timestamppb.New(s.State.Ended)
	}
	if r := s.State.Result; r != nil && s.State.Phase == session.Ended {
		code, files := int32(r.ExitCode), int32(summary.Files)
		if out.ExitCode = &code; !summary.Unknown {
			out.ChangedFiles = &files
		}
		if r.Fault != nil {
			out.EndReason = termtext.Escape(r.Fault.Message)
		}
	}
	return out
}

// stateOf returns the state of a session in the schema.
func stateOf(s *session.Session) aiboxv1.SessionState {
	switch s.State.Phase {
	case session.Queued:
		return aiboxv1.SessionState_SESSION_STATE_QUEUED
	case session.Preparing:
		return aiboxv1.SessionState_SESSION_STATE_STARTING
	case session.Ended:
	default:
		return aiboxv1.SessionState_SESSION_STATE_RUNNING
	}
	r := s.State.Result
	if r == nil || r.Fault == nil {
		return aiboxv1.SessionState_SESSION_STATE_DONE
	}
	switch fault.ParseKind(r.Fault.Kind) {
	case fault.Interrupted, fault.Limit:
		return aiboxv1.SessionState_SESSION_STATE_STOPPED
	default:
		return aiboxv1.SessionState_SESSION_STATE_FAILED
	}
}

// utf8 returns text as valid UTF-8, which Protobuf requires.
func utf8(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
