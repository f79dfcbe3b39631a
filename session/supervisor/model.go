package supervisor

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"aibox/agents"
	"aibox/internal/fault"
	"aibox/internal/secret"
	"aibox/netguard"
)

// Inference is a model server seen through the gateway.
type Inference interface {
	// Name is a description without credentials.
	Name() string
	// Leaves says where prompts and code go when they leave this machine without the user's choice,
	// a sentence, escaped; empty when they do not, or when the user chose it.
	Leaves(models []string) string
	// Notices are what the user has to know about the server and the session's models,
	// a line each, escaped.
	Notices(models []string) []string
	// KeyVariable is the environment variable that the server's key comes from, or would
	// come from; empty when it takes none.
	KeyVariable() string
	// Searches reports whether a model goes to the web by itself.
	Searches(model string) bool
	// Speaks is what the server may understand of what the gateway lets through.
	// Empty means unknown.
	Speaks() []agents.Dialect
	// Model asks the server which of its models asked names, which proves that it is
	// there and takes the key. Empty means the only one it has. Errors are faults.
	Model(ctx context.Context, asked string) (Model, error)
	// Serve answers the sandbox's requests on listener until ctx ends.
	Serve(ctx context.Context, listener net.Listener, access ModelAccess) error
}

// ModelAccess is what a session may do with its model server.
type ModelAccess struct {
	Placeholder secret.Value // what requests must carry
	// Models are the session's models; no other is asked. It may wait for the server's
	// word, and is safe for concurrent use.
	Models      func() []string
	ServerTools []netguard.ServerTool // tools of the server's own that are open
	UploadLimit int64                 // bytes of all requests; 0 for no limit
	TokenLimit  int64                 // tokens of all requests, read and written; 0 for no limit
	Timeout     time.Duration         // how long the server may take for the beginning of an answer; 0 for no limit
	Calls       Calls                 // receives each request
}

// Model is the model a session uses.
type Model struct {
	ID      string
	Context int // tokens that fit into one request; 0 when the server does not report it
	// Warnings are what the user has to know about it, a line each, escaped.
	Warnings []string
}

// modelServer is the model server of a session; its zero value is none.
type modelServer struct {
	server      Inference
	placeholder secret.Value
	answered    <-chan struct{}       // closed when chosen does not wait any more
	chosen      func() (Model, error) // waits for the server's word about the model
	models      func() []string       // waits for it, too: ModelAccess.Models
	tools       []string              // ModelAccess.ServerTools by name
}

// inference finds the model server, unless the policy wants none. The server's word
// about the model may take longer than everything else here, so it is waited for
// only before the agent starts: it runs until chosen returns or working ends.
func (s *preparation) inference(ctx, working context.Context, agent agents.Agent) (modelServer, error) {
	info := agent.Info()
	if !s.launch.Spec.HasModel() || info.OwnCloud {
		return modelServer{}, nil
	}
	server, err := s.findServer(ctx, len(info.Dialects) > 0)
	if err != nil {
		if len(info.Dialects) == 0 { // the command may do without
			var loading notReadyError
			if fault.KindOf(err) == fault.Refused || errors.As(err, &loading) {
				s.postNotice("there is no model: " + err.Error())
			}
			return modelServer{}, nil
		}
		return modelServer{}, err
	}
	if _, err := info.Spoken(server.Speaks()); err != nil {
		return modelServer{}, err
	}
	models, err := agents.Models(agent, s.launch.Spec.Model)
	if err != nil {
		return modelServer{}, err
	}
	if err := s.checkSearching(server, models); err != nil {
		return modelServer{}, err
	}
	if text := server.Leaves(models); text != "" { // reported before anything is sent, also for a session without a follower
		s.report.warn("model", text)
		s.postNotice(text)
	}
	for _, text := range append(server.Notices(models), s.launch.Spec.WaysOut()...) {
		s.postNotice(text)
	}
	s.keyVariable = server.KeyVariable()
	m := modelServer{server: server, placeholder: secret.New("sk-aibox-" + rand.Text())}
	known := make(chan struct{})
	m.answered = known
	m.chosen = async(func() (Model, error) {
		defer close(known)
		return s.chooseModel(working, server, info)
	})
	s.onUndo(func(context.Context) error { _, _ = m.chosen(); return nil })
	m.models = func() []string { return sessionModels(working, server, agent, m.chosen) }
	m.tools = s.launch.Spec.InferenceTools
	return m, nil
}

// findServer is the model server that was asked for. An agent that needs one waits for
// one that is not ready.
func (s *preparation) findServer(ctx context.Context, needed bool) (server Inference, err error) {
	find := func() error {
		server, err = s.deps.Inference(ctx, s.launch.Spec.Inference, func(name string) (string, bool) {
			value, ok := s.launch.Keys[name]
			return value, ok
		})
		return err
	}
	if !needed {
		return server, find()
	}
	err = s.awaitServer(ctx, find)
	return server, err
}

// checkSearching refuses models that reach the web by themselves, unless web search is
// open: the gateway could not keep them from it.
func (s *preparation) checkSearching(server Inference, models []string) error {
	if slices.Contains(s.launch.Spec.ServerTools(), netguard.WebSearch) {
		return nil
	}
	for _, name := range models {
		if server.Searches(name) {
			return fault.New(fault.Usage, "the model %q searches the web by itself, which is a way out of the sandbox: web-search is not open", name).
				Hint("aibox run --inference-tools web-search …   # opens it").
				Hint("or choose another model with --model")
		}
	}
	return nil
}

// sessionModels are the models that the session may ask for. An agent that may do
// without a model was not kept waiting for the server's word about it; without a choice
// it gets the only model that the server has.
func sessionModels(ctx context.Context, server Inference, agent agents.Agent, chosen func() (Model, error)) []string {
	model, err := chosen()
	if err == nil && model.ID == "" {
		model, err = server.Model(ctx, "")
	}
	if err != nil {
		return nil
	}
	models, err := agents.Models(agent, model.ID)
	if err != nil {
		return nil
	}
	return models
}

// chooseModel asks the server for the model. Agents without a dialect are not kept
// waiting for it: they may not need one.
func (s *preparation) chooseModel(ctx context.Context, server Inference, info agents.Info) (Model, error) {
	done := s.report.step("model")
	chosen := Model{ID: s.launch.Spec.Model}
	if len(info.Dialects) > 0 {
		err := s.awaitServer(ctx, func() (err error) {
			chosen, err = server.Model(ctx, s.launch.Spec.Model)
			return err
		})
		if err != nil {
			return Model{}, err
		}
	}
	for _, warning := range chosen.Warnings {
		s.postNotice(warning)
	}
	detail := server.Name()
	if chosen.ID != detail {
		detail = strings.TrimSpace(detail + " " + chosen.ID)
	}
	if chosen.Context > 0 {
		detail += fmt.Sprintf(", %d tokens of context", chosen.Context)
	}
	done(detail)
	return chosen, nil
}

// err is the error of a model that is known to be wrong by now.
func (m modelServer) err() error {
	if m.server == nil {
		return nil
	}
	select {
	case <-m.answered:
		_, err := m.chosen()
		return err
	default:
		return nil
	}
}

// preview is the model as the agent gets it, as far as that is known before the
// server has answered: asked is used for its name.
func (m modelServer) preview(asked string) agents.Inference {
	if m.server == nil {
		return agents.Inference{}
	}
	return agents.Inference{
		BaseURL: gatewayURL(), Key: m.placeholder.Reveal(), Model: cmp.Or(asked, "model"), Speaks: m.server.Speaks(),
		ServerTools: m.tools,
	}
}

// forAgent is the model as the agent gets it. It waits for the server's word.
func (m modelServer) forAgent() (agents.Inference, error) {
	if m.server == nil {
		return agents.Inference{}, nil
	}
	chosen, err := m.chosen()
	inference := m.preview(chosen.ID)
	inference.Model, inference.Context = chosen.ID, chosen.Context
	return inference, err
}
