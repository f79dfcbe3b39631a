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
	// Leaves describes where prompts and code go when they leave this machine without the
	// user's choice, in an escaped sentence; empty if they do not, or if the user chose it.
	Leaves(models []string) string
	// Notices are warnings about the server and the session's models, one escaped line
	// each.
	Notices(models []string) []string
	// KeyVariable is the environment variable for the server's key, even if it is not set;
	// empty if the server takes no key.
	KeyVariable() string
	// Priced reports whether the price of a model is known.
	Priced(model string) bool
	// Free reports whether a model is known to cost nothing.
	Free(model string) bool
	// PriceName is the server's name in the user's file of prices.
	PriceName() string
	// Searches reports whether a model searches the web by itself.
	Searches(model string) bool
	// Speaks lists the dialects that the server may understand with a model, among those
	// of the gateway; an empty model means any. An empty list means unknown.
	Speaks(model string) []agents.Dialect
	// Model asks the server for the model named asked, which proves that the server runs and
	// accepts the key. Empty means its only model. Errors are faults.
	Model(ctx context.Context, asked string) (Model, error)
	// Serve answers the sandbox's requests on listener until ctx ends.
	Serve(ctx context.Context, listener net.Listener, access ModelAccess) error
}

// ModelAccess defines how a session may use its model server.
type ModelAccess struct {
	Placeholder secret.Value // must be in each request
	// Models returns the session's models; requests to others are refused. It may wait
	// for the server's answer, and is safe for concurrent use.
	Models      func() []string
	ServerTools []netguard.ServerTool // the server's own tools that are allowed
	UploadLimit int64                 // limit on the bytes of all requests; 0 for none
	TokenLimit  int64                 // limit on the tokens read and written in all requests; 0 for none
	CostLimit   float64               // limit on the US dollars that all answers cost; 0 for none
	// AskMore waits until the user has decided whether to raise a limit to a multiple, times,
	// of its first amount. The limit is named as in ModelCall.Limit. It may be nil.
	AskMore func(ctx context.Context, limit string, times int64) bool
	Timeout time.Duration // time limit for the beginning of an answer; 0 for no limit
	Calls   Calls         // receives each request
}

// Model is a model that a session uses.
type Model struct {
	ID      string
	Context int // size of the context window in tokens; 0 if the server does not report it
	// Warnings are warnings about the model, one escaped line each.
	Warnings []string
}

// modelServer is the model server of a session; its zero value means none.
type modelServer struct {
	server      Inference
	placeholder secret.Value
	answered    <-chan struct{}       // closed when chosen no longer waits
	chosen      func() (Model, error) // waits for the server's answer about the model
	models      func() []string       // models of ModelAccess; also waits for the answer
	tools       []string              // names of ModelAccess.ServerTools
	cloud       bool                  // the agent uses its vendor's servers instead
}

// inference finds the model server, unless the policy allows none. The server's answer
// about the model may take longer than all other steps, so only the start of the agent
// waits for it: the query runs until chosen returns or working ends.
func (s *preparation) inference(ctx, working context.Context, agent agents.Agent) (modelServer, error) {
	info := agent.Info()
	if !s.launch.Spec.HasModel() || info.UsesCloud(s.launch.Spec.Inference) {
		return modelServer{cloud: info.UsesCloud(s.launch.Spec.Inference)}, nil
	}
	server, err := s.findServer(ctx, len(info.Dialects) > 0)
	if err != nil {
		if len(info.Dialects) == 0 { // the command may work without a model
			var loading notReadyError
			if fault.KindOf(err) == fault.Refused || errors.As(err, &loading) {
				s.postNotice("there is no model: " + err.Error())
			}
			return modelServer{}, nil
		}
		return modelServer{}, err
	}
	if _, err := info.CommonDialect(server.Speaks(s.launch.Spec.Model)); err != nil {
		return modelServer{}, err
	}
	models, err := agents.Models(agent, s.launch.Spec.Model)
	if err != nil {
		return modelServer{}, err
	}
	if err := s.checkSearching(server, models); err != nil {
		return modelServer{}, err
	}
	if err := s.checkPrices(server, models); err != nil {
		return modelServer{}, err
	}
	if text := server.Leaves(models); text != "" { // reported before anything is sent, even in a session without followers
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
	own := &ownModels{find: func() ([]string, error) { return sessionModels(working, server, agent, m.chosen) }}
	m.models = own.list
	m.tools = s.launch.Spec.InferenceTools
	return m, nil
}

// findServer finds the requested model server. An agent that needs one waits for a server
// that is not ready.
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

// checkSearching refuses models that search the web by themselves, unless web search is
// open: the gateway could not stop them.
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

// modelsOf returns the model's name, if it has one.
func modelsOf(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}

// checkPrices refuses models without a known price if the session has a limit of cost,
// which could not be enforced.
func (s *preparation) checkPrices(server Inference, models []string) error {
	if s.launch.Spec.MaxCost == 0 {
		return nil
	}
	for _, name := range models {
		if !server.Priced(name) {
			return fault.New(fault.Usage, "the price of the model %q at %s is not known, so --max-cost cannot limit what it costs", name, server.Name()).
				Hint("add it to prices.toml beside your settings: [%s.%q] with input and output, in US dollars per million tokens", server.PriceName(), name).
				Hint("or limit its tokens instead: --max-tokens")
		}
	}
	return nil
}

// refusedForFees describes the tools of the model's server that are open, but that the gateway refuses
// because of the session's limit of cost; empty if there are none.
func (s *preparation) refusedForFees(server Inference, model string) string {
	if s.launch.Spec.MaxCost == 0 || server.Free(model) {
		return ""
	}
	var tools []string
	for _, tool := range s.launch.Spec.ServerTools() {
		if tool.HasFees() {
			tools = append(tools, tool.String())
		}
	}
	if tools == nil {
		return ""
	}
	return fmt.Sprintf("requests with %s are refused because of --max-cost: aibox does not know the fees of these tools", strings.Join(tools, ", "))
}

// chooseModel asks the server for the model. Agents without a dialect do not wait for the
// answer, as they may not need one.
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
	if err := s.checkPrices(server, modelsOf(chosen.ID)); err != nil {
		return Model{}, err
	}
	for _, warning := range chosen.Warnings {
		s.postNotice(warning)
	}
	if text := s.refusedForFees(server, chosen.ID); text != "" {
		s.postNotice(text)
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

// err returns the error if the model is already known to be invalid.
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

// preview returns the agent's model as far as it is known before the server has answered:
// asked is used as its name.
func (m modelServer) preview(asked string) agents.Inference {
	if m.server == nil {
		return agents.Inference{Cloud: m.cloud, Model: m.named(asked)}
	}
	return agents.Inference{
		BaseURL: gatewayURL(), Key: m.placeholder.Reveal(), Model: cmp.Or(asked, "model"), Speaks: m.server.Speaks(asked),
		ServerTools: m.tools,
	}
}

// named returns the requested model in the vendor's cloud; "" means its default.
func (m modelServer) named(asked string) string {
	if !m.cloud {
		return ""
	}
	return asked
}

// forAgent returns the agent's model; asked is its name in the vendor's cloud. It waits for the server's answer.
func (m modelServer) forAgent(asked string) (agents.Inference, error) {
	if m.server == nil {
		return m.preview(asked), nil
	}
	chosen, err := m.chosen()
	inference := m.preview(chosen.ID)
	inference.Model, inference.Context = chosen.ID, chosen.Context
	return inference, err
}
