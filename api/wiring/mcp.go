package wiring

import (
	"context"
	"net/http"
	"strings"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/api/client"
	"aibox/api/mcp"
	"aibox/api/server"
	"aibox/app/sandbox"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
)

// AddMCP adds the route of the Model Context Protocol. The user's agents run only on these
// repositories. What it returns ends its connections.
func (s *API) AddMCP(ctx context.Context, repositories []string) (end func()) {
	local, endLocal := client.InProcess(server.WithLocal(ctx), s)
	other, endOther := client.InProcess(server.WithinProcess(ctx), s)
	// A request of the user's tenant without a token that came through authentication is the
	// user's own.
	apiOf := func(tenant string) func(context.Context, http.Header) (context.Context, *client.Client) {
		return func(ctx context.Context, header http.Header) (context.Context, *client.Client) {
			token := header.Get("Authorization")
			if token == "" && session.Tenant(tenant) == session.LocalTenant {
				return ctx, local
			}
			return client.WithAuthorization(ctx, token), other
		}
	}
	s.Handle(server.Route{Pattern: "/mcp", Right: aiboxv1.Right_RIGHT_READ, Handler: &mcp.Handler{
		Tenant: func(r *http.Request) (string, bool) {
			tenant := auth.From(r.Context()).Tenant
			return string(tenant), tenant != ""
		},
		Config: func(tenant string) mcp.Config {
			policy := agentPolicy(session.Tenant(tenant))
			// The caller is a model.
			policy.AnyRepository, policy.AnySettings, policy.AcceptRisks = false, false, false
			if policy.Tenant == session.LocalTenant {
				policy.Repositories = repositories
			}
			api := apiOf(tenant)
			c := mcp.Config{
				Version: s.version, Repositories: policy.Repositories, Agents: s.app.Agents(),
				Authorize: func(ctx context.Context, header http.Header, right aiboxv1.Right) error {
					return s.authorize(ctx, header, session.Tenant(tenant), right)
				},
				Record: func(ctx context.Context, header http.Header, tool, subject string, took time.Duration, acted bool, err error) {
					caller, unknown := s.callerOf(ctx, header)
					if unknown != nil || caller.Tenant != session.Tenant(tenant) {
						caller = auth.Caller{Tenant: session.Tenant(tenant)}
					}
					s.Record(ctx, server.Call{Tenant: caller.Tenant, Token: caller.Token, Method: "mcp " + tool, Subject: subject, Took: took, Err: err, Acted: acted})
				},
				Shown: func(ctx context.Context, err error) error { return s.Shown(ctx, session.Tenant(tenant), err) },
				Sandboxes: &mcp.Sandboxes{
					API: api,
					Bound: func(ctx context.Context, template string, given config.RunOverrides) error {
						return s.checkSandbox(ctx, policy.Tenant, template, given)
					},
					OpenPort: func(ctx context.Context, header http.Header, id string, port int) (string, error) {
						ctx, c := api(ctx, header)
						signed, err := c.SignPort(ctx, id, uint32(port))
						return signed.GetUrl(), err
					},
				},
			}
			if service, err := s.agents(policy); err == nil {
				c.Sessions = service
			}
			return c
		},
	}})
	return func() { endLocal(); endOther() }
}

// checkSandbox refuses settings of a sandbox that are freer than the user's own and freer than the
// tenant's defaults. The settings of a template count unless it is the user's.
func (s *API) checkSandbox(ctx context.Context, tenant session.Tenant, template string, given config.RunOverrides) error {
	if tenant != session.LocalTenant {
		if of, err := s.app.TenantTemplates(tenant).Find(template); err == nil { // otherwise there will be no sandbox
			var all config.RunOverrides
			if _, err := sandbox.Merge(&all, of.Defaults, given); err != nil {
				return err
			}
			given = all
		}
	}
	refused := s.app.CheckSandbox(config.RunOverrides{}, given)
	if refused == nil {
		return nil
	}
	defaults, err := s.Store.Defaults(ctx, tenant)
	if err != nil {
		return err
	}
	switch {
	case !defaults.IsZero() && s.app.CheckSandbox(defaults, given) == nil:
		return nil
	case tenant == session.LocalTenant || fault.KindOf(refused) != fault.Refused:
		return refused
	default: // another tenant must not see the user's settings
		return fault.New(fault.Refused, "the settings of a sandbox, here %s, can be at most as free as in the user's settings or in the defaults of the tenant", strings.Join(given.Keys(), " and ")).
			Hint("leave out what is freer, or let the user change the defaults: aibox token defaults %s", tenant)
	}
}

// authorize checks that the caller of a request, which was authenticated, has a right.
func (s *API) authorize(ctx context.Context, header http.Header, tenant session.Tenant, right aiboxv1.Right) error {
	caller, err := s.callerOf(ctx, header)
	if err != nil {
		return err
	}
	if caller.Tenant != tenant { // a session of the protocol never changes its tenant
		caller = auth.Caller{}
	}
	return caller.Check(right)
}

// callerOf returns the caller of a request, which was authenticated.
func (s *API) callerOf(ctx context.Context, header http.Header) (auth.Caller, error) {
	given := header.Get("Authorization")
	if given == "" {
		return auth.Local(), nil
	}
	_, token, _ := strings.Cut(given, " ")
	return s.ByToken(ctx, token)
}
