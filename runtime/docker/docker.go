// Package docker runs sandboxes with Docker: rootless, and under gVisor. Besides
// bakery/docker it is the only package that knows Docker's types. It talks only to the
// user's own daemon unless configured otherwise.
package docker

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"

	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/runtime"
)

// minAPI is the API of Docker 20.10.
const minAPI = "1.41"

// Options select the daemon and its use. The zero value is the default; only the network
// pool needs Leases.
type Options struct {
	// Host is the daemon's socket, "unix:///path". Empty means DOCKER_HOST, else
	// the rootless daemon's in paths.RuntimeDir, else, with Rootful, the system's.
	Host string
	// Rootful accepts a daemon that runs as root.
	Rootful bool
	// Runtime is the OCI runtime that sandboxes need; empty means "runsc".
	Runtime string
	// Leases is a private folder for the locks on the pool's networks. All of a
	// user's processes that share a daemon must name the same one.
	Leases string
	// Pool is the range the networks' subnets are taken from; the zero value
	// means 10.201.0.0/16.
	Pool netip.Prefix
}

// Backend is runtime.Backend on one Docker daemon.
type Backend struct {
	api      *client.Client
	networks *Networks
	socket   string
	rootful  bool
	runtime  string
	limit    time.Duration // of each call to the daemon, for tests; 0 means answerTimeout or startTimeout

	asking chan struct{} // of length 1; full while Info reads or sets info
	info   *runtime.Info
}

// Endpoint returns the daemon that Open would use, as "unix:///path". A Host that is
// no local socket is a fault of kind Usage.
func Endpoint(o Options) (string, error) {
	socket, err := socketPath(o)
	return "unix://" + socket, err
}

// Open connects to the daemon and refuses one that is absent or too old (faults
// of kind Environment). Info checks the other requirements of sandboxes.
func Open(ctx context.Context, o Options) (*Backend, error) {
	socket, err := socketPath(o)
	if err != nil {
		return nil, err
	}
	api, err := client.NewClientWithOpts(client.WithHost("unix://"+socket), client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, fault.New(fault.Usage, "the Docker socket %q cannot be used: %w", socket, err)
	}
	b := &Backend{api: api, socket: socket, rootful: o.Rootful, runtime: o.Runtime, asking: make(chan struct{}, 1)}
	if b.runtime == "" {
		b.runtime = "runsc"
	}
	b.networks = newNetworks(b, o)
	if err := b.checkVersion(ctx); err != nil {
		_ = api.Close()
		return nil, err
	}
	return b, nil
}

// Networks returns the daemon's pool of bridges.
func (b *Backend) Networks() *Networks { return b.networks }

// Close frees the connections. Sandboxes are usable only until then.
func (b *Backend) Close() error { return b.api.Close() }

func socketPath(o Options) (string, error) {
	host := o.Host
	if host == "" {
		host = os.Getenv("DOCKER_HOST")
	}
	if host != "" {
		path, ok := strings.CutPrefix(host, "unix://")
		if !ok || !filepath.IsAbs(path) {
			return "", fault.New(fault.Usage, "the Docker host %q is not a local socket, and sandboxes need one on this machine", host).
				Hint("unset DOCKER_HOST, or set it to unix://$XDG_RUNTIME_DIR/docker.sock")
		}
		return path, nil
	}
	if o.Rootful {
		return "/var/run/docker.sock", nil
	}
	return filepath.Join(paths.RuntimeDir(), "docker.sock"), nil
}

// setupHint is the hint of every refusal that the setup script can fix.
const setupHint = "set the machine up: aibox doctor --fix"

// ownDockerHint is a hint of refusals of the system's Docker.
const ownDockerHint = "use a Docker of your own instead: remove --rootful or --site host, and the setting rootful"

// unreachable turns a failed call into a fault when the daemon did not answer,
// and returns any other error unchanged.
func (b *Backend) unreachable(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case isPermission(err):
		f := fault.New(fault.Environment, "this user may not use the Docker socket %q", b.socket)
		f.Err = fs.ErrPermission
		if b.rootful {
			return f.Hint("add your user to the group of the socket, whose members are as powerful as root").
				Hint(ownDockerHint)
		}
		return f.Hint("use a rootless daemon of your own: unset DOCKER_HOST").
			Hint(setupHint)
	case !lost(err):
		return err
	}
	f := fault.New(fault.Environment, "no Docker daemon answers at %q", b.socket)
	f.Err = err
	if b.rootful {
		return f.Hint("start the system's Docker: sudo systemctl start docker").
			Hint(ownDockerHint)
	}
	return f.Hint("start it: systemctl --user start docker (or, without systemd: dockerd-rootless.sh)").
		Hint(setupHint).
		Hint("`aibox doctor` checks Docker and runsc")
}

// isPermission looks for EACCES, which the client reports as text only.
func isPermission(err error) bool {
	return errors.Is(err, syscall.EACCES) || strings.Contains(err.Error(), "permission denied while trying to connect")
}

// lost reports whether err means that the connection to the daemon failed or
// broke, rather than that the daemon answered with an error.
func lost(err error) bool {
	var op *net.OpError
	return client.IsErrConnectionFailed(err) || errors.As(err, &op) || isEOF(err) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// checkVersion refuses a daemon older than 20.10. It costs one ping, which also
// negotiates the API version for all later calls.
func (b *Backend) checkVersion(ctx context.Context) error {
	var ping types.Ping
	err := b.answered(ctx, "connecting to Docker", func(ctx context.Context) (err error) {
		ping, err = b.api.Ping(ctx)
		return err
	})
	if err != nil {
		return b.unreachable(err)
	}
	if ping.APIVersion == "" || versions.LessThan(ping.APIVersion, minAPI) {
		return fault.New(fault.Environment, "the Docker daemon is too old (API %q); sandboxes need Docker 20.10 or newer", ping.APIVersion).
			Hint("upgrade Docker, then: aibox doctor")
	}
	b.api.NegotiateAPIVersionPing(ping)
	return nil
}
