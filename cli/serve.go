package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"aibox/api/calllog"
	"aibox/api/otlp"
	"aibox/api/server"
	"aibox/api/store"
	"aibox/api/wiring"
	"aibox/audit"
	"aibox/internal/delay"
	"aibox/internal/fault"
	"aibox/netguard"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// serveOptions are the flags of `aibox serve`.
type serveOptions struct {
	*cli

	listen      []string
	cert, key   string
	hosts       []string
	domains     []string
	installUnit bool
	warm        []string
	warmMemory  int64
	repos       []string // on which agents of callers of /mcp can run

	port string // that the first listener on TCP has; set before any request is served
}

// The memory limit and the timeouts of a server.
const (
	serverMemory = 256 << 20
	stopGrace    = 30 * time.Second
)

func newServeCommand(a *cli) *cobra.Command {
	o := serveOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve sandboxes and sessions to programs",
		Long: `Serve the API: sandboxes, processes, files and agents for programs, over gRPC, gRPC-Web,
Connect, REST, WebSockets and MCP.

The server listens on a Unix socket that only your own programs can use, without a token.
With --listen 127.0.0.1:PORT it also listens on TCP, for callers with a token of
` + "`aibox token create`" + `. Any other address needs --cert and --key.

Sandboxes do not depend on the server: you can end and start it at any time, and they and
their processes continue. On ctrl-c or SIGTERM, it waits up to 30 seconds for calls to end; a
second one ends them at once.

--warm code=2..8 keeps 2 to 8 sandboxes of the template code started, depending on how often
they are requested. A request gets one if all its settings are the template's; any other
request starts a new sandbox.

With OTEL_EXPORTER_OTLP_ENDPOINT, the server sends its metrics to that OpenTelemetry
collector every minute, by OTLP over HTTP.

--install-unit writes a systemd unit, so that the server starts when you log in, or
at boot if your systemd does (loginctl enable-linger).`,
		Example: `  aibox serve
  aibox serve --listen 127.0.0.1:8800
  aibox serve --warm code=2..8
  aibox serve --repo ~/src/shop
  aibox serve --listen 0.0.0.0:8800 --cert server.pem --key server.key --host box.example.org`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.listen, "listen", nil, "also listen on this `ADDRESS:PORT` (repeatable)")
	flags.StringVar(&o.cert, "cert", "", "PEM `FILE` with the server's certificate and its certificate chain")
	flags.StringVar(&o.key, "key", "", "PEM `FILE` with the certificate's private key")
	flags.StringArrayVar(&o.hosts, "host", nil, "accept requests whose Host header has this `NAME` (repeatable)")
	flags.StringArrayVar(&o.warm, "warm", nil, "keep sandboxes of a template started for later requests: `TEMPLATE=MIN..MAX` (repeatable)")
	sizeVar(flags, &o.warmMemory, "warm-memory", "limit the memory of these sandboxes to this `SIZE`; 0 for a quarter of the available memory")
	flags.StringArrayVar(&o.domains, "domain", nil, "serve ports of sandboxes as PORT-ID.`DOMAIN` instead of PORT-ID.localhost (repeatable)")
	flags.StringArrayVar(&o.repos, "repo", nil, "let agents that clients start over MCP run on your repository at `PATH` or a URL (repeatable)")
	flags.BoolVar(&o.installUnit, "install-unit", false, "write a systemd user unit that starts this server with these flags, and exit")
	_ = cmd.RegisterFlagCompletionFunc("warm", a.complete.warmTemplates)
	return cmd
}

func (o *serveOptions) run(ctx context.Context) error {
	config, names, err := o.certificate()
	if err != nil {
		return err
	}
	if err := o.checkAddresses(config); err != nil {
		return err
	}
	if o.repos, err = workingTrees(o.repos); err != nil {
		return err
	}
	if o.installUnit {
		return o.writeUnit()
	}
	metrics, err := otlp.FromEnvironment(os.Getenv)
	if err != nil {
		return err
	}
	debug.SetGCPercent(200) // it runs for a long time and should stay small; but each piece of a large file soon becomes garbage
	debug.SetMemoryLimit(serverMemory)
	signal.Ignore(unix.SIGPIPE, unix.SIGHUP)
	var log *calllog.Log
	api, err := o.openAPI(ctx, func(so *server.Options) {
		so.Hosts = o.names(names)
		so.Ports.Domains, so.Ports.Origin = o.portDomains(names), func() (scheme, port string) { return o.origin(config) }
		so.Record = func(call server.Call) { o.record(log, call) }
	})
	if err != nil {
		return err
	}
	defer api.Close()
	defer api.AddMCP(ctx, o.repos)()
	if err := o.checkTokens(ctx, api.Store); err != nil {
		return err
	}
	if err := api.AddE2B(ctx, o.portDomains(names), len(o.domains) > 0); err != nil {
		return err
	}
	socket := server.SocketPath(api.Dirs)
	listener, unlock, err := server.ListenUnix(socket)
	if err != nil {
		return err
	}
	defer unlock()
	// Only the server that has the socket writes the log.
	if log, err = calllog.Open(filepath.Join(api.Dirs.State, "api", "audit.jsonl")); err != nil {
		return errors.Join(fault.New(fault.Environment, "the log of calls cannot be used: %w", err), listener.Close())
	}
	defer log.Close()
	defer o.endAbandoned(ctx, api)()
	defer o.exportMetrics(ctx, api, metrics)()
	stopWarm, err := o.keepWarm(ctx, api)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer stopWarm()
	return o.serve(ctx, api, listener, config)
}

// exportMetrics sends the metrics of the server to an OpenTelemetry collector, if the
// environment names one. stop sends them once more.
func (o *serveOptions) exportMetrics(ctx context.Context, api *wiring.API, to otlp.Settings) (stop func()) {
	if to.URL == "" {
		return func() {}
	}
	to.Attributes["service.version"] = version()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		otlp.Run(ctx, api, to, func(err error) {
			fmt.Fprintf(o.err, "%s metrics were not exported to OpenTelemetry: %s\n", o.errTerm.warn("!"), safe(err.Error()))
		})
	}()
	return func() { cancel(); <-done }
}

// repairDelay is how long after its start the server repairs: what a killed server was removing
// counts as its remains 10 seconds later.
const repairDelay = 15 * time.Second

// repairEvery is the time between two repairs: supervisors can also die while the server runs.
// Until a repair, a dead sandbox counts against the quota of its tenant.
const repairEvery = time.Minute

// endAbandoned ends creations that killed servers have left unfinished, and removes the remains of
// their uploads and removals. Then it cleans up after supervisors that have died, every now and
// then. stop waits for it.
func (o *serveOptions) endAbandoned(ctx context.Context, api *wiring.API) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := errors.Join(api.EndAbandoned(ctx), api.Trees.Sweep())
		o.keepRepaired(ctx, err, func() error {
			_, err := api.Sessions.Repair(ctx)
			return err
		})
	}()
	return func() { cancel(); <-done }
}

// keepRepaired repairs until ctx ends. It prints err, and each error of a repair once until there is
// another one or a repair succeeds.
func (o *serveOptions) keepRepaired(ctx context.Context, err error, repair func() error) {
	printed := ""
	report := func(err error) {
		if err == nil {
			printed = ""
		} else if text := err.Error(); text != printed && ctx.Err() == nil {
			printed = text
			fmt.Fprintf(o.err, "%s what a server or a supervisor that was killed has left could not be removed: %s\n", o.errTerm.warn("!"), safe(text))
		}
	}
	report(err)
	for wait := repairDelay; ; wait = repairEvery {
		if delay.Wait(ctx, wait); ctx.Err() != nil {
			return
		}
		report(repair())
	}
}

// serve serves all listeners until ctx ends.
func (o *serveOptions) serve(ctx context.Context, api *wiring.API, socket net.Listener, config *tls.Config) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	listeners, configs := []net.Listener{socket}, []*tls.Config{nil}
	for _, address := range o.listen {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err != nil {
			for _, open := range listeners {
				_ = open.Close()
			}
			return fault.New(fault.Environment, "the server cannot listen: %w", err)
		}
		if _, port, err := net.SplitHostPort(listener.Addr().String()); err == nil && o.port == "" {
			o.port = port
		}
		listeners, configs = append(listeners, listener), append(configs, config)
	}
	defer o.watchEnd(ctx, api)()
	var wait sync.WaitGroup
	failures := make([]error, len(listeners))
	for i, listener := range listeners {
		fmt.Fprintf(o.err, "%s listening on %s\n", o.errTerm.faint("→"), addressOf(listener, configs[i]))
		wait.Go(func() {
			failures[i] = api.Serve(ctx, listener, configs[i], stopGrace)
			stop() // all end when the first one ends
		})
	}
	wait.Wait()
	return errors.Join(failures...)
}

// addressOf returns the address of a listener as clients write it.
func addressOf(listener net.Listener, config *tls.Config) string {
	address := listener.Addr()
	switch {
	case address.Network() == "unix":
		return "unix:" + address.String()
	case config != nil:
		return "https://" + address.String()
	default:
		return "http://" + address.String()
	}
}

// certificate reads the certificate. It returns nil without one, and the names in it.
func (o *serveOptions) certificate() (*tls.Config, []string, error) {
	if o.cert == "" && o.key == "" {
		return nil, nil, nil
	}
	if o.key == "" {
		return nil, nil, fault.New(fault.Usage, "--cert needs --key").Hint("add `--key FILE`, the file with the certificate's private key")
	}
	if o.cert == "" {
		return nil, nil, fault.New(fault.Usage, "--key needs --cert").Hint("add `--cert FILE`, the file with the key's certificate")
	}
	certificate, err := openCertificate(o.cert, o.key, func(err error) {
		fmt.Fprintf(o.err, "%s the server keeps its earlier certificate: %s\n", o.errTerm.warn("!"), safe(err.Error()))
	})
	if err != nil {
		return nil, nil, err
	}
	return certificate.config(), certificate.names(), nil
}

// checkAddresses refuses invalid addresses, names and domains, and to send tokens over a network in the
// clear.
func (o *serveOptions) checkAddresses(config *tls.Config) error {
	for _, name := range o.hosts {
		if _, err := netguard.ParseHost(name); err != nil {
			return fault.New(fault.Usage, "--host: %w", err)
		}
	}
	for _, domain := range o.domains {
		if _, err := netguard.ParseHost(strings.TrimPrefix(domain, "*.")); err != nil {
			return fault.New(fault.Usage, "--domain: %w", err)
		}
	}
	for _, address := range o.listen {
		host, port, err := net.SplitHostPort(address)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			return fault.New(fault.Usage, "--listen takes ADDRESS:PORT, not %q", address).Hint("`aibox serve --listen 127.0.0.1:8800`")
		}
		ip := net.ParseIP(host)
		if config == nil && (ip == nil || !ip.IsLoopback()) {
			return fault.New(fault.Usage, "%s is not only reachable from this machine, so tokens could be read on the network", address).
				Hint("--cert and --key encrypt the connections").Hint("--listen 127.0.0.1:8800 listens only on this machine")
		}
	}
	if len(o.listen) == 0 && config != nil {
		return fault.New(fault.Usage, "--cert needs --listen")
	}
	return nil
}

// checkTokens refuses to listen on TCP when nobody could call.
func (o *serveOptions) checkTokens(ctx context.Context, s *store.Store) error {
	if len(o.listen) == 0 {
		return nil
	}
	tokens, err := s.Tokens(ctx)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if t.Revoked.IsZero() && (t.Expires.IsZero() || t.Expires.After(time.Now())) {
			return nil
		}
	}
	return fault.New(fault.Usage, "there is no valid token, so no program could call the server").Hint("`aibox token create` creates one")
}

// names returns the names that requests can have for the server.
func (o *serveOptions) names(certificate []string) []string {
	all := []string{"localhost", "127.0.0.1", "::1"}
	for _, name := range append(o.hosts, certificate...) {
		all = append(all, strings.ToLower(name))
	}
	for _, address := range o.listen {
		host, _, _ := net.SplitHostPort(address)
		if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() {
			all = append(all, ip.String())
		}
	}
	return all
}

// origin returns the scheme and the port of the first address on TCP; empty if there is none.
func (o *serveOptions) origin(config *tls.Config) (scheme, port string) {
	switch {
	case o.port == "":
		return "", ""
	case config != nil:
		return "https", o.port
	default:
		return "http", o.port
	}
}

// portDomains returns the domains below which ports have host names: those that were given,
// and the names of the server. Signed URLs have the first one.
func (o *serveOptions) portDomains(certificate []string) []string {
	var all []string
	for _, name := range slices.Concat(o.domains, o.hosts, certificate, []string{"localhost"}) {
		name = strings.TrimPrefix(strings.ToLower(name), "*.")
		if net.ParseIP(name) == nil && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// record records a call.
func (o *serveOptions) record(log *calllog.Log, call server.Call) {
	if log == nil {
		return
	}
	if err := log.Append(audit.APICalled, call); err != nil {
		fmt.Fprintf(o.err, "%s a call could not be recorded: %s\n", o.errTerm.warn("!"), safe(err.Error()))
	}
}
