package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"aibox/agents"
	"aibox/internal/fault"
	"aibox/internal/scripted"
	"aibox/internal/spelling"
	"aibox/internal/termtext"
	"aibox/netguard/gateway"
	"aibox/netguard/gateway/modelserver"
	"aibox/netguard/gateway/price"
	"aibox/netguard/gateway/schema"
	"aibox/session/auditlog"
	"aibox/session/supervisor"
)

// openUpstream finds the model server that the setting inference selects.
func openUpstream(ctx context.Context, value string, env func(string) (string, bool), providers []modelserver.Provider) (modelserver.Server, error) {
	upstream, err := modelserver.Detect(ctx, value, env, admitsOwner, providers...)
	if err != nil || upstream.Kind != modelserver.Scripted {
		return upstream, err
	}
	script, err := scripted.Open(upstream.Script)
	if err != nil {
		return modelserver.Server{}, err
	}
	upstream.Handler = scripted.New(script)
	return upstream, nil
}

// openInference is supervisor.Deps.Inference with the user's own providers.
func openInference(ctx context.Context, value string, env func(string) (string, bool), providers []modelserver.Provider) (supervisor.Inference, error) {
	upstream, err := openUpstream(ctx, value, env, providers)
	if err != nil {
		return nil, err
	}
	known, err := loadPrices()
	if err != nil {
		return nil, err
	}
	return inference{upstream, value, modelserver.OllamaVersion(ctx, upstream), known, ownerNotices(ctx, upstream)}, nil
}

// CheckModel is run.Models.CheckModel.
func (a *App) CheckModel(ctx context.Context, agent agents.Info, inference, model string) error {
	server, err := openInference(ctx, inference, a.keys.lookup, a.providers())
	if err == nil {
		_, err = agent.CommonDialect(server.Speaks(model))
	}
	if err == nil {
		_, err = server.Model(ctx, model)
	}
	var loading *modelserver.Loading
	if errors.As(err, &loading) {
		return nil // the start waits for it
	}
	return err
}

// inference adapts the gateway to session.Inference.
type inference struct {
	upstream modelserver.Server
	value    string // value of the setting
	version  modelserver.Version
	prices   prices
	notices  []string // about the user who runs the server, escaped
}

// ownerNotices returns notices about servers of other users that were not used, and about a
// server in use that belongs to another user.
func ownerNotices(ctx context.Context, u modelserver.Server) []string {
	var notices []string
	for _, owner := range u.Skipped {
		notices = append(notices, termtext.Escape(owner.String())+" runs as another user of this machine, so it is not used")
	}
	if owner, other := modelserver.OtherOwner(ctx, u); other {
		notices = append(notices, termtext.Escape(owner.String())+" runs as another user of this machine, who sees your prompts")
	}
	return notices
}

func (i inference) Name() string { return i.upstream.Name }

func (i inference) Leaves(models []string) string {
	if !i.upstream.Fallback {
		return ""
	}
	which := i.Name()
	if len(models) > 0 {
		which = termtext.Escape(models[0])
	}
	return fmt.Sprintf("`auto` found no model server on this machine, so prompts and code of this repository go to %s at %s", which, i.upstream.Address())
}

func (i inference) Notices(models []string) []string {
	notices := slices.Clone(i.notices)
	for _, name := range models {
		if host := i.upstream.RemoteHost(modelserver.Model{ID: name}); host != "" {
			notices = append(notices, leaves(name, host))
		}
	}
	return notices
}

// leaves describes that a model does not run on its server's machine.
func leaves(model, host string) string {
	return fmt.Sprintf("the model %s runs on %s: your prompts leave this machine", termtext.Escape(model), host)
}

// price returns the price of a model with this server: the user's own, the server's own,
// or a list price. OpenRouter's prices are those of the vendors.
func (i inference) price(model string) (price.Price, bool) {
	provider := i.upstream.PriceName()
	if p, ok := i.prices.own.Find(model, provider, price.Any); ok {
		return p, true
	}
	if i.upstream.Free(model) {
		return price.Price{}, true
	}
	if p, ok := i.prices.list.Find(model, provider); ok || provider != "openrouter" {
		return p, ok
	}
	if p, ok := i.prices.own.Resold(model); ok {
		return p, true
	}
	return i.prices.list.Resold(model)
}

func (i inference) Priced(model string) bool { _, known := i.price(model); return known }

func (i inference) Free(model string) bool {
	p, known := i.price(model)
	return known && p == (price.Price{})
}

func (i inference) PriceName() string { return i.upstream.PriceName() }

// askMore adapts the supervisor's question about a limit; nil stays nil.
func askMore(ask func(ctx context.Context, limit string, times int64) bool) func(context.Context, gateway.Limit, int64) bool {
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, reached gateway.Limit, times int64) bool {
		return ask(ctx, reached.String(), times)
	}
}

func (i inference) KeyVariable() string { return i.upstream.KeyVariable() }

func (i inference) Searches(model string) bool { return i.upstream.Searches(model) }

// The versions of Ollama that added other dialects.
// https://docs.ollama.com/api/openai-compatibility
var (
	ollamaResponses = modelserver.Version{0, 13, 3}
	ollamaMessages  = modelserver.Version{0, 14, 0}
)

// Speaks returns dialects that the gateway allows. Whether a user's own server has all
// calls of OpenAI and Anthropic can only be seen in its answers, so aibox assumes it,
// except for an old Ollama. A cloud's dialects may depend on the model; an empty model
// means any.
func (i inference) Speaks(model string) []agents.Dialect {
	var speaks []agents.Dialect
	for _, dialect := range i.upstream.DialectsFor(model) {
		switch dialect {
		case schema.OpenAI:
			speaks = append(speaks, agents.OpenAIChat)
			if !i.version.Older(ollamaResponses) {
				speaks = append(speaks, agents.OpenAIResponses)
			}
		case schema.Anthropic:
			if !i.version.Older(ollamaMessages) {
				speaks = append(speaks, agents.Anthropic)
			}
		case schema.Gemini:
			speaks = append(speaks, agents.Gemini)
		}
	}
	return speaks
}

// describeTimeout bounds the time that a start waits for the size of a context.
const describeTimeout = 2 * time.Second

func (i inference) Model(ctx context.Context, asked string) (supervisor.Model, error) {
	models, err := modelserver.Preflight(ctx, i.upstream)
	if err != nil {
		return supervisor.Model{}, err
	}
	model, err := i.choose(models, asked)
	if err != nil {
		return supervisor.Model{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	model = modelserver.Describe(ctx, i.upstream, model)
	chosen := supervisor.Model{ID: model.ID, Context: model.Window()}
	if text := i.contextWarning(model); text != "" {
		chosen.Warnings = append(chosen.Warnings, text)
	}
	// Notices handles a name that shows where the model runs.
	if host := i.upstream.RemoteHost(model); host != "" && i.upstream.RemoteHost(modelserver.Model{ID: asked}) == "" {
		chosen.Warnings = append(chosen.Warnings, leaves(model.ID, host))
	}
	return chosen, nil
}

// choose finds the requested model, or the only one there is.
func (i inference) choose(models []modelserver.Model, asked string) (modelserver.Model, error) {
	list := fmt.Sprintf("`aibox models --inference %s`", i.value)
	switch {
	case asked != "":
		model, known := modelserver.Resolve(i.upstream, models, asked)
		if known {
			return model, nil
		}
		unknown := fault.New(fault.Usage, "%s has no model %q", i.Name(), asked)
		var ids []string
		for _, model := range models {
			ids = append(ids, model.ID)
		}
		if near := spelling.Nearest(asked, ids); near != "" {
			unknown = unknown.Hint("did you mean --model %s?", near)
		}
		if i.upstream.Kind == modelserver.OllamaHost {
			unknown = unknown.Hint("ollama pull %s", asked)
		}
		return modelserver.Model{}, unknown.Hint("%s lists the models: %s", list, head(ids))
	case models == nil:
		return modelserver.Model{}, fault.New(fault.Usage, "%s does not list its models, and no model was chosen", i.Name()).Hint("name one with --model")
	case len(models) == 0:
		return modelserver.Model{}, fault.New(fault.Environment, "%s has no model", i.Name()).
			Hint("load one there, or choose another server with --inference")
	case len(models) > 1:
		return modelserver.Model{}, fault.New(fault.Usage, "%s has %d models, and none was chosen", i.Name(), len(models)).
			Hint("name one with --model, such as --model %s", models[0].ID).
			Hint("%s lists them", list)
	}
	if host := i.upstream.RemoteHost(models[0]); host != "" {
		return modelserver.Model{}, fault.New(fault.Usage, "the only model of %s is %s, which runs on %s, so your prompts would leave this machine", i.Name(), models[0].ID, host).
			Hint("--model %s uses it", models[0].ID).
			Hint("ollama pull qwen3-coder   # a model that runs here")
	}
	return models[0], nil
}

// head returns the first few names.
func head(names []string) string {
	const few = 5
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// minContext is the size of a context, in tokens, that is enough for most agents. Servers
// with a smaller context silently truncate the first prompt of an agent.
const minContext = 16 << 10

// contextWarning reports a context that is, or may be, too small; "" means no warning.
func (i inference) contextWarning(model modelserver.Model) string {
	remedy := "set a larger context in the server"
	if i.upstream.Kind == modelserver.OllamaHost {
		remedy = "start the server with OLLAMA_CONTEXT_LENGTH=65536"
	}
	switch {
	case model.Context > 0 && model.Context < minContext:
		return fmt.Sprintf("%s gives %s a context of %d tokens, which is too small for most agents: %s", i.Name(), model.ID, model.Context, remedy)
	case model.Context == 0 && i.upstream.Kind == modelserver.OllamaHost:
		// Ollama chooses by memory when it loads the model: 4096 below 24 GB.
		return fmt.Sprintf("%s may give %s a context of only 4096 tokens, which is too small for most agents: %s", i.Name(), model.ID, remedy)
	default:
		return ""
	}
}

func (i inference) Serve(ctx context.Context, listener net.Listener, access supervisor.ModelAccess) error {
	handler, err := gateway.New(gateway.Config{
		Upstream: i.upstream, Placeholder: access.Placeholder, OnRequest: access.Calls.Began, OnAnswer: access.Calls.Received, Timeout: access.Timeout,
		Models: access.Models, ServerTools: access.ServerTools, UploadLimit: access.UploadLimit, TokenLimit: access.TokenLimit,
		Price: i.price, CostLimit: access.CostLimit, AskMore: askMore(access.AskMore),
		Log: func(e gateway.Event) {
			access.Calls.Ended(auditlog.ModelCall{
				Cached: int(e.CachedTokens), Cost: e.Cost, Unpriced: e.Unpriced,
				Method: e.Method, Path: e.Path, Model: e.Model, Status: e.Status,
				Input: int(e.InputTokens), Output: int(e.OutputTokens), Millis: e.Millis,
				Uncounted: e.Uncounted, Error: e.Error, Reason: e.Reason, Outcome: auditlog.Outcome(e.Outcome.String()),
				Generates: e.Generates, Spends: e.Spends, RetryAfter: e.RetryAfter.Milliseconds(), Sent: e.Sent, LeftOut: e.LeftOut, Limit: e.Limit.String(),
			})
		},
	})
	if err != nil {
		return err
	}
	defer handler.Close()
	return gateway.Serve(ctx, listener, handler)
}
