package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/runtime"
)

// A warm sandbox is started before it is requested. Its network is closed, its limits are
// set and its probes have passed, but no program has run in it and no tenant owns it. A
// claim assigns it to a tenant, once. The claim describes all properties of the requested
// sandbox, and the supervisor refuses it if they differ from those of the sandbox that it
// started.

// WarmStart marks a sandbox that waits for a claim.
type WarmStart struct {
	// Owner is the process that manages the pool. The sandbox ends with it unless it was
	// claimed.
	Owner runtime.Process `json:"owner"`
}

// Claim is the request to assign a warm sandbox to a tenant.
type Claim struct {
	Launch Launch `json:"launch"` // the launch that a cold start would use
	Facts  string `json:"facts"`  // see Facts
}

// Blueprint returns the launch of a warm sandbox that a claim for l can use. It is l
// without the values of a tenant. ok is false if no warm sandbox can be used for l, because
// it mounts volumes or its supervisor needs secrets from the start.
func (l *Launch) Blueprint(owner runtime.Process) (blueprint Launch, ok bool) {
	if l.Spec.Sandbox == nil || l.Spec.Sandbox.Parent != nil || len(l.Spec.Sandbox.Volumes) > 0 || l.Spec.Sandbox.Snapshot != "" || len(l.Spec.Secret) > 0 || len(l.Secrets) > 0 || len(l.Injected) > 0 || l.Login != "" || l.Spec.HasModel() {
		return Launch{}, false
	}
	b := Launch{Spec: l.Spec, ImageID: l.ImageID}
	b.Spec.Env, b.Spec.Timeout, b.Spec.IdleTimeout, b.Spec.DefaultMemory = nil, 0, 0, true
	sandbox := *l.Spec.Sandbox
	sandbox.Tenant, sandbox.Labels, sandbox.OnTimeout = "", Labels{}, Destroy
	sandbox.Warm, sandbox.Claimed = &WarmStart{Owner: owner}, false
	b.Spec.Sandbox = &sandbox
	return b, true
}

// WarmKey returns a digest of all properties of a launch's sandbox on a machine with these
// facts. Only a warm sandbox with the same key can be used for the launch. ok is false if
// none can.
func (l *Launch) WarmKey(facts string) (key string, ok bool) {
	b, ok := l.Blueprint(runtime.Process{})
	if !ok {
		return "", false
	}
	b.Spec.ID, b.Spec.Created = "", time.Time{}
	data, err := json.Marshal(struct {
		Spec  Spec
		Image runtime.ImageID
		Facts string
	}{b.Spec, b.ImageID, facts})
	if err != nil {
		return "", false
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), true
}

// claimed returns the spec of a warm sandbox after it was claimed for a launch.
func (spec Spec) claimed(by *Spec) Spec {
	own := spec
	own.Env, own.Timeout, own.IdleTimeout, own.DefaultMemory = by.Env, by.Timeout, by.IdleTimeout, by.DefaultMemory
	sandbox := *spec.Sandbox
	sandbox.Tenant, sandbox.Labels, sandbox.OnTimeout, sandbox.Warm = by.Sandbox.Tenant, by.Sandbox.Labels, by.Sandbox.OnTimeout, nil
	sandbox.Claimed = true
	own.Sandbox = &sandbox
	return own
}

// Accept checks a claim of the warm sandbox of l on a machine with these facts, and returns
// the sandbox's new launch. If the claim is for a different sandbox, the error is a Refused
// fault.
func (c *Claim) Accept(l *Launch, facts string) (Launch, error) {
	if c.Launch.Spec.Sandbox == nil {
		return Launch{}, fault.New(fault.Refused, "the claim is for a session with an agent")
	}
	if _, err := ParseTenant(string(c.Launch.Spec.Sandbox.Tenant)); err != nil {
		return Launch{}, err
	}
	if l.Spec.Sandbox == nil || l.Spec.Sandbox.Warm == nil {
		return Launch{}, fault.New(fault.Refused, "the sandbox is not warm")
	}
	own, ownOK := l.WarmKey(facts)
	asked, askedOK := c.Launch.WarmKey(c.Facts)
	if !ownOK || !askedOK || own != asked {
		return Launch{}, fault.New(fault.Refused, "the claim is for another kind of sandbox")
	}
	accepted := *l
	accepted.Spec, accepted.Env = l.Spec.claimed(&c.Launch.Spec), c.Launch.Env
	return accepted, nil
}

// Facts describes the properties of this machine on which sandboxes depend, as text to
// compare: the daemon with its runtimes, the programs of the runtimes, PID 1, and this
// program.
func Facts(ctx context.Context, backend runtime.Backend, init string) (string, error) {
	info, err := backend.Info(ctx)
	if err != nil {
		return "", err
	}
	self, err := fileFacts("/proc/self/exe")
	if err != nil {
		return "", err
	}
	programs := map[string]string{"aibox": self}
	for _, r := range info.Runtimes {
		if program, err := fileFacts(r.Path); err == nil {
			programs[r.Name] = program
		}
	}
	facts, err := json.Marshal(struct {
		Version  string
		Rootless bool
		Runtimes []runtime.Runtime
		Init     string
		Programs map[string]string
	}{info.Version, info.Rootless, info.Runtimes, init, programs})
	return string(facts), err
}

// fileFacts identifies a version of a file.
func fileFacts(path string) (string, error) {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return "", &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return fmt.Sprintf("%d:%d:%d:%d.%d", stat.Dev, stat.Ino, stat.Size, stat.Mtim.Sec, stat.Mtim.Nsec), nil
}
