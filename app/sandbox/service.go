package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"aibox/app/run"
	"aibox/app/template"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/snapshot"
	"aibox/session/volume"
)

// Service creates and changes sandboxes. It is safe for concurrent use.
type Service struct {
	Sessions  *manager.Manager
	Templates Templates
	Volumes   volume.Store
	Snapshots snapshot.Store
	// SnapshotRoom returns the maximum size of the tenant's next snapshot in bytes, 0 for no
	// limit, and a function that must be called afterwards. Nil means no limit.
	SnapshotRoom func(ctx context.Context, tenant session.Tenant) (most int64, release func(), err error)
	// Settings resolves the settings of the machine's user with overrides.
	Settings func(overrides ...config.Override) (*config.Resolved, error)
	// Defaults returns the settings that a tenant's sandboxes have if neither a request nor its
	// template gives them; nil means none. If it fails, nothing is created.
	Defaults func(ctx context.Context, tenant session.Tenant) (config.RunOverrides, error)
	// CheckAddresses decides about addresses in place of hosts; nil skips it.
	CheckAddresses run.AddressCheck
	// Secrets reads the values that the egress proxy adds to a sandbox's requests.
	Secrets func(ctx context.Context, settings *config.Resolved, spec *session.Spec) (map[string]string, error)
	// ModelKeys returns the keys of model servers by variable.
	ModelKeys func() map[string]string
	// NamedImage finds the image that the machine's user named.
	NamedImage func(ctx context.Context, ref string) (runtime.ImageID, error)
	// Warm provides sandboxes that were started in advance; nil means that there are none. It
	// is set before the first call.
	Warm Warm
	// Launch starts a sandbox, and returns when processes can be started in it. It goes
	// through ClaimOr, inside everything that limits creations, such as quotas.
	Launch Launch
}

// Templates finds the templates of sandboxes and their images.
type Templates interface {
	// Template returns the template that a tenant names. For a template of another tenant the
	// error is a NotFound fault.
	Template(ctx context.Context, tenant session.Tenant, name string) (template.Template, error)
	// Image finds the image of a template. If it is not built, the error is a fault of kind
	// Environment.
	Image(ctx context.Context, t *template.Template) (Image, error)
}

// Warm provides sandboxes that were started before they were requested.
type Warm interface {
	// Claim assigns one to the launch's tenant. ok is false if none matches.
	Claim(ctx context.Context, launch session.Launch) (id session.ID, ok bool)
}

// Image is an image that the container daemon has.
type Image struct {
	ID  runtime.ImageID
	Ref string // for the record; may be empty
}

// notFound is the error for a sandbox that does not exist or belongs to another tenant.
func notFound(id string) error {
	return fault.New(fault.NotFound, "there is no sandbox %q", id).Hint("`aibox sandbox ls` lists your sandboxes")
}

// Create creates a sandbox and returns when processes can be started in it. step, which may
// be nil, receives each stage, from one goroutine. If it fails or ctx ends, the sandbox is
// removed. If this process dies before the sandbox is started, the sandbox ends; if it dies
// later, Abandon ends it.
func (s *Service) Create(ctx context.Context, r Request, step func(session.Step)) (Sandbox, error) {
	launch, err := s.launch(ctx, &r)
	if err != nil {
		return Sandbox{}, err
	}
	release, err := s.holdVolumes(ctx, r.Tenant, r.Volumes)
	if err != nil {
		return Sandbox{}, err
	}
	defer release()
	if step == nil {
		step = func(session.Step) {}
	}
	if launch.Client, err = runtime.FindProcess(os.Getpid()); err != nil {
		return Sandbox{}, err
	}
	launch.RecordID = r.RecordID
	id, err := s.Launch(ctx, launch, step)
	if err != nil && ctx.Err() != nil {
		return Sandbox{}, fault.New(fault.Interrupted, "interrupted; nothing was started")
	}
	if err != nil {
		return Sandbox{}, err
	}
	err = s.awaitServices(ctx, id, launch.Spec.Sandbox.Services)
	if err == nil && ctx.Err() != nil { // the caller would not know of the sandbox
		err = fault.New(fault.Interrupted, "interrupted; the sandbox was ended")
	}
	if err != nil {
		return Sandbox{}, errors.Join(err, s.Destroy(context.WithoutCancel(ctx), r.Tenant, string(id)))
	}
	return s.Get(ctx, r.Tenant, string(id))
}

// Launch starts a sandbox.
type Launch = func(ctx context.Context, launch session.Launch, step func(session.Step)) (session.ID, error)

// ClaimOr returns a Launch that claims a warm sandbox if one fits, and otherwise starts one
// with cold.
func (s *Service) ClaimOr(cold Launch) Launch {
	return func(ctx context.Context, launch session.Launch, step func(session.Step)) (session.ID, error) {
		if s.Warm != nil {
			if id, ok := s.Warm.Claim(ctx, launch); ok {
				return id, nil
			}
		}
		return cold(ctx, launch, step)
	}
}

// Plan validates a request and completes it to a launch. It starts nothing.
func (s *Service) Plan(ctx context.Context, r Request) (session.Launch, error) {
	return s.launch(ctx, &r)
}

// awaitServices waits until the programs of a template listen on their ports.
func (s *Service) awaitServices(ctx context.Context, id session.ID, services []session.Service) error {
	for _, service := range services {
		if service.Port == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, service.Timeout)
		err := s.awaitPort(ctx, id, service.Port)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return fault.New(fault.Environment, "the template's program %q did not listen on port %d within %v", service.Argv[0], service.Port, service.Timeout)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// portPoll is how often a port is checked.
const portPoll = 50 * time.Millisecond

func (s *Service) awaitPort(ctx context.Context, id session.ID, port int) error {
	tick := time.NewTicker(portPoll)
	defer tick.Stop()
	for {
		listening, err := s.Sessions.Ports(ctx, id)
		if err != nil && ctx.Err() == nil && (!errors.Is(err, session.ErrWrongState) || s.hasEnded(id)) {
			return err
		}
		for _, one := range listening {
			if int(one.Port) == port {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// hasEnded reports whether a sandbox has ended. The state is needed because ports of a
// sandbox that was just started are also refused as a wrong state.
func (s *Service) hasEnded(id session.ID) bool {
	found, err := s.Sessions.Load(id)
	return err != nil || found.State.Phase == session.Ended
}

// find returns the session of a tenant's sandbox. id is a whole id. Only the agent that
// created a sandbox can use it: if the tenant can see it, the error is a Refused fault.
func (s *Service) find(tenant session.Tenant, id string) (session.Session, error) {
	found, err := s.see(tenant, id)
	if err == nil && !found.OwnedBy(tenant) {
		return session.Session{}, fault.New(fault.Refused, "only the agent of the session %[2]s can use the sandbox %[1]s", id, found.ParentOf()).
			Hint("end it: aibox sandbox rm %s", id)
	}
	return found, err
}

// see is like find, but also returns sandboxes that the agents of the tenant's sessions
// created.
func (s *Service) see(tenant session.Tenant, id string) (session.Session, error) {
	name, err := session.ParseID(id)
	if err != nil {
		return session.Session{}, notFound(id)
	}
	found, err := s.Sessions.Load(name)
	if session.IsUnreadable(err) && tenant != session.LocalTenant { // whose it is cannot be known
		return session.Session{}, notFound(id)
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && !found.OwnedBy(tenant) && !s.Sessions.CreatedByAgentOf(tenant, &found) {
		return session.Session{}, notFound(id)
	}
	return found, err
}

// Get returns a sandbox of the tenant, or one that the agent of its session created.
func (s *Service) Get(_ context.Context, tenant session.Tenant, id string) (Sandbox, error) {
	found, err := s.see(tenant, id)
	if err != nil {
		return Sandbox{}, err
	}
	return view(&found), nil
}

// Running returns the session of a tenant's sandbox in which processes, files and ports can
// be used. If it has ended or is paused, the fault has the cause session.ErrWrongState.
func (s *Service) Running(_ context.Context, tenant session.Tenant, id string) (session.ID, error) {
	found, err := s.find(tenant, id)
	if err != nil {
		return "", err
	}
	if state := stateOf(&found); state != Running {
		return "", notRunning(id, state)
	}
	return found.ID, nil
}

// notRunning is the fault of a call that needs a running sandbox.
func notRunning(id string, state State) error {
	f := session.WrongState("the sandbox %s is %s", id, state)
	if state == Paused {
		return f.Hint("resume it first: `aibox sandbox resume %s`", id)
	}
	return f
}

// Destroy ends a sandbox of the tenant, or one that the agent of its session created, and
// returns when it has ended. Its files are removed; its record is kept. It is no error if
// the sandbox has already ended.
func (s *Service) Destroy(ctx context.Context, tenant session.Tenant, id string) error {
	found, err := s.see(tenant, id)
	if err != nil || found.State.Phase == session.Ended {
		return err
	}
	stopped, err := s.Sessions.Stop(ctx, found.ID, "destroyed by "+string(tenant))
	if err == nil && stopped.State.Phase != session.Ended { // its supervisor has died, or its record is gone
		err = s.Sessions.EndDead(ctx, found.ID)
	}
	return err
}

// Abandon ends the sandbox of a creation whose process has died, and returns when it has
// ended. It is no error if the sandbox does not exist.
func (s *Service) Abandon(ctx context.Context, id session.ID) error {
	return s.Sessions.Abandon(ctx, id)
}

// Extend gives a running sandbox more time.
func (s *Service) Extend(ctx context.Context, tenant session.Tenant, id string, by time.Duration) (Sandbox, error) {
	found, err := s.find(tenant, id)
	if err != nil {
		return Sandbox{}, err
	}
	if err := s.Sessions.Extend(ctx, found.ID, by); err != nil {
		return Sandbox{}, err
	}
	return s.Get(ctx, tenant, id)
}

// Update changes the labels or the time of a running sandbox.
func (s *Service) Update(ctx context.Context, tenant session.Tenant, id string, change session.SandboxChange) (Sandbox, error) {
	found, err := s.find(tenant, id)
	if err != nil {
		return Sandbox{}, err
	}
	var labels session.Labels
	if change.Name != nil {
		labels.Name = *change.Name
	}
	if change.Metadata != nil {
		labels.Metadata = *change.Metadata
	}
	if err := checkLabels(labels); err != nil {
		return Sandbox{}, err
	}
	if err := s.Sessions.UpdateSandbox(ctx, found.ID, change); err != nil {
		return Sandbox{}, err
	}
	return s.Get(ctx, tenant, id)
}

// Pause stops all programs of a running sandbox; their memory is kept. Its time is stopped
// until Resume.
func (s *Service) Pause(ctx context.Context, tenant session.Tenant, id string) (Sandbox, error) {
	return s.change(ctx, tenant, id, s.Sessions.PauseSandbox)
}

// Resume continues a paused sandbox.
func (s *Service) Resume(ctx context.Context, tenant session.Tenant, id string) (Sandbox, error) {
	return s.change(ctx, tenant, id, s.Sessions.ResumeSandbox)
}

func (s *Service) change(ctx context.Context, tenant session.Tenant, id string, change func(context.Context, session.ID) error) (Sandbox, error) {
	found, err := s.find(tenant, id)
	if err != nil {
		return Sandbox{}, err
	}
	if err := change(ctx, found.ID); err != nil {
		return Sandbox{}, err
	}
	return s.Get(ctx, tenant, id)
}
