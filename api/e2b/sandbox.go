package e2b

import (
	"context"
	"math"
	"net/http"
	"runtime"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	aiboxv1 "aibox/api/aibox/v1"
)

// clientID is a field that the packages require and do not use.
const clientID = "aibox"

// forever is the end time of a sandbox without a time limit, since the packages require one.
var forever = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// States of a sandbox in the packages' format.
const (
	stateRunning = "running"
	statePaused  = "paused"
)

// errNoSandbox is the answer for a sandbox that does not exist, has ended, or belongs to
// another tenant.
var errNoSandbox = &apiError{http.StatusNotFound, "there is no such sandbox"}

// accessJSON holds the data that a caller needs to reach the inside of a sandbox.
type accessJSON struct {
	SandboxID    string `json:"sandboxID"`
	TemplateID   string `json:"templateID"`
	Alias        string `json:"alias,omitempty"`
	ClientID     string `json:"clientID"`
	Domain       string `json:"domain,omitempty"`
	EnvdVersion  string `json:"envdVersion"`
	AccessToken  string `json:"envdAccessToken,omitempty"`
	TrafficToken string `json:"trafficAccessToken,omitempty"`
}

// sandboxJSON describes a sandbox.
type sandboxJSON struct {
	SandboxID   string            `json:"sandboxID"`
	TemplateID  string            `json:"templateID"`
	Alias       string            `json:"alias,omitempty"`
	ClientID    string            `json:"clientID"`
	Domain      string            `json:"domain,omitempty"`
	StartedAt   time.Time         `json:"startedAt"`
	EndAt       time.Time         `json:"endAt"`
	State       string            `json:"state"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	CPUCount    int               `json:"cpuCount"`
	MemoryMB    int64             `json:"memoryMB"`
	DiskMB      int64             `json:"diskSizeMB"` // always 0: unknown
	EnvdVersion string            `json:"envdVersion"`
	Volumes     []volumeMountJSON `json:"volumeMounts"`
	// Only of a single sandbox.
	Network   *networkJSON   `json:"network,omitempty"`
	Internet  *bool          `json:"allowInternetAccess,omitempty"`
	Lifecycle *lifecycleJSON `json:"lifecycle,omitempty"`
}

type volumeMountJSON struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

type lifecycleJSON struct {
	OnTimeout  string `json:"onTimeout"`
	AutoResume bool   `json:"autoResume"`
}

// access returns the data with which a caller reaches the inside of a sandbox.
func (s *Server) access(r *http.Request, found *aiboxv1.Sandbox) accessJSON {
	token := callerOf(r.Context()).token
	return accessJSON{
		SandboxID: found.SandboxId, TemplateID: found.Template, Alias: found.Template, ClientID: clientID,
		Domain: s.domainOf(r), EnvdVersion: envdVersion,
		AccessToken:  s.tokens.issue(forInside, found.SandboxId, token),
		TrafficToken: s.tokens.issue(forPorts, found.SandboxId, token),
	}
}

// describe describes a sandbox in the packages' format.
func (s *Server) describe(r *http.Request, found *aiboxv1.Sandbox) sandboxJSON {
	j := sandboxJSON{
		SandboxID: found.SandboxId, TemplateID: found.Template, Alias: found.Template, ClientID: clientID, Domain: s.domainOf(r),
		StartedAt: found.CreateTime.AsTime(), EndAt: forever, State: stateRunning, Metadata: found.Metadata,
		CPUCount: cpuCount(found.Limits), MemoryMB: found.GetLimits().GetMemoryMib(),
		EnvdVersion: envdVersion, Volumes: []volumeMountJSON{},
	}
	if found.ExpireTime != nil {
		j.EndAt = found.ExpireTime.AsTime()
	}
	if found.State == aiboxv1.SandboxState_SANDBOX_STATE_PAUSED {
		j.State = statePaused
	}
	for _, v := range found.Volumes {
		j.Volumes = append(j.Volumes, volumeMountJSON{Name: v.Volume, Path: v.Path})
	}
	return j
}

// cpuCount returns how many processors a sandbox can use.
func cpuCount(limits *aiboxv1.Limits) int {
	if cpus := limits.GetCpus(); cpus > 0 {
		return int(math.Ceil(cpus))
	}
	return runtime.NumCPU()
}

// existing returns a sandbox of the caller that has not ended. Its supervisor may have died.
func (s *Server) existing(ctx context.Context, id string) (*aiboxv1.Sandbox, error) {
	found, err := s.backend.sandboxes.Get(ctx, connect.NewRequest(&aiboxv1.GetSandboxRequest{SandboxId: id}))
	switch {
	case kindOf(err) == kindNotFound, kindOf(err) == kindInvalid: // no such id
		return nil, errNoSandbox
	case err != nil:
		return nil, err
	case found.Msg.State == aiboxv1.SandboxState_SANDBOX_STATE_ENDED:
		return nil, errNoSandbox
	}
	return found.Msg, nil
}

// live returns a sandbox of the caller that runs or is paused.
func (s *Server) live(ctx context.Context, id string) (*aiboxv1.Sandbox, error) {
	found, err := s.existing(ctx, id)
	if err != nil {
		return nil, err
	}
	switch found.State {
	case aiboxv1.SandboxState_SANDBOX_STATE_STARTING, aiboxv1.SandboxState_SANDBOX_STATE_RUNNING, aiboxv1.SandboxState_SANDBOX_STATE_PAUSED:
		return found, nil
	default:
		return nil, errNoSandbox
	}
}

// changing is live for a call that changes the time or the state of a sandbox by what it has now.
// Until unlock is called, no other such call changes it. The lock is only taken on a sandbox of the
// caller.
func (s *Server) changing(ctx context.Context, id string) (found *aiboxv1.Sandbox, unlock func(), err error) {
	if found, err = s.live(ctx, id); err != nil {
		return nil, nil, err
	}
	if unlock, err = s.changes.Lock(ctx, found.SandboxId); err != nil {
		return nil, nil, err
	}
	if found, err = s.live(ctx, id); err != nil {
		unlock()
		return nil, nil, err
	}
	return found, unlock, nil
}

func (s *Server) getSandbox(w http.ResponseWriter, r *http.Request) error {
	found, err := s.live(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	j := s.describe(r, found)
	j.Network, j.Internet = describeNetwork(found.Network)
	j.Lifecycle = &lifecycleJSON{OnTimeout: "kill"}
	if found.OnTimeout == aiboxv1.OnTimeout_ON_TIMEOUT_PAUSE {
		j.Lifecycle.OnTimeout = "pause"
	}
	writeJSON(w, http.StatusOK, j)
	return nil
}

func (s *Server) deleteSandbox(w http.ResponseWriter, r *http.Request) error {
	found, err := s.existing(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if _, err := s.backend.sandboxes.Destroy(r.Context(), connect.NewRequest(&aiboxv1.DestroySandboxRequest{SandboxId: found.SandboxId})); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// timeoutBody is a new timeout in seconds.
type timeoutBody struct {
	Timeout *int64 `json:"timeout"`
	Memory  *bool  `json:"memory"` // whether a paused sandbox keeps its memory
}

// maxTimeout is the maximum timeout in seconds: a year, so that no sum overflows.
const maxTimeout = 366 * 24 * 60 * 60

// duration returns a timeout. The minimum is a second: 0 ends a sandbox for the packages,
// and means no limit for aibox.
func (b timeoutBody) duration() (time.Duration, error) {
	if b.Timeout == nil {
		return 0, &apiError{http.StatusBadRequest, "the timeout is missing"}
	}
	if *b.Timeout < 0 || *b.Timeout > maxTimeout {
		return 0, &apiError{http.StatusBadRequest, "the timeout is between 0 seconds and a year"}
	}
	return time.Duration(max(*b.Timeout, 1)) * time.Second, nil
}

func (s *Server) setTimeout(w http.ResponseWriter, r *http.Request) error {
	var body timeoutBody
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	timeout, err := body.duration()
	if err != nil {
		return err
	}
	found, unlock, err := s.changing(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := s.update(r.Context(), found.SandboxId, timeout); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) update(ctx context.Context, id string, timeout time.Duration) (*aiboxv1.Sandbox, error) {
	updated, err := s.backend.sandboxes.Update(ctx, connect.NewRequest(&aiboxv1.UpdateSandboxRequest{SandboxId: id, Timeout: durationpb.New(timeout)}))
	if err != nil {
		return nil, err
	}
	return updated.Msg, nil
}

// refresh gives a sandbox at least the requested time.
func (s *Server) refresh(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Duration *int64 `json:"duration"`
	}
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	if body.Duration == nil {
		body.Duration = new(int64)
		*body.Duration = defaultTimeout
	}
	found, unlock, err := s.changing(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := s.prolong(r.Context(), found, timeoutBody{Timeout: body.Duration}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// prolong gives a running sandbox the time of the body if it has less.
func (s *Server) prolong(ctx context.Context, found *aiboxv1.Sandbox, body timeoutBody) (*aiboxv1.Sandbox, error) {
	if body.Timeout == nil {
		return found, nil
	}
	timeout, err := body.duration()
	if err != nil {
		return nil, err
	}
	if found.ExpireTime == nil || !found.ExpireTime.AsTime().Before(time.Now().Add(timeout)) {
		return found, nil
	}
	return s.update(ctx, found.SandboxId, timeout)
}

// connectSandbox returns the access to a sandbox, and resumes a paused one.
func (s *Server) connectSandbox(w http.ResponseWriter, r *http.Request) error {
	var body timeoutBody
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	found, unlock, err := s.changing(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer unlock()
	status := http.StatusOK
	if found.State == aiboxv1.SandboxState_SANDBOX_STATE_PAUSED {
		found, err = s.resume(r.Context(), found, body)
		status = http.StatusCreated
	} else {
		found, err = s.prolong(r.Context(), found, body)
	}
	if err != nil {
		return err
	}
	writeJSON(w, status, s.access(r, found))
	return nil
}

// resumeSandbox resumes a paused sandbox.
func (s *Server) resumeSandbox(w http.ResponseWriter, r *http.Request) error {
	var body timeoutBody
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	found, unlock, err := s.changing(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer unlock()
	if found.State != aiboxv1.SandboxState_SANDBOX_STATE_PAUSED {
		return &apiError{http.StatusConflict, "the sandbox is not paused"}
	}
	if found, err = s.resume(r.Context(), found, body); err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, s.access(r, found))
	return nil
}

var errKeepsMemory = &apiError{http.StatusNotImplemented, "aibox pauses a sandbox with its memory, and cannot drop that"}

func (s *Server) resume(ctx context.Context, found *aiboxv1.Sandbox, body timeoutBody) (*aiboxv1.Sandbox, error) {
	if body.Memory != nil && !*body.Memory {
		return nil, errKeepsMemory
	}
	request := &aiboxv1.ResumeSandboxRequest{SandboxId: found.SandboxId}
	if body.Timeout != nil {
		timeout, err := body.duration()
		if err != nil {
			return nil, err
		}
		request.Timeout = durationpb.New(timeout)
	}
	resumed, err := s.backend.sandboxes.Resume(ctx, connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	return resumed.Msg, nil
}

// pauseSandbox pauses a sandbox. If it is already paused, the answer is a conflict, which
// the packages report as a result.
func (s *Server) pauseSandbox(w http.ResponseWriter, r *http.Request) error {
	var body timeoutBody
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	found, unlock, err := s.changing(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer unlock()
	switch {
	case found.State == aiboxv1.SandboxState_SANDBOX_STATE_PAUSED:
		return &apiError{http.StatusConflict, "the sandbox is paused"}
	case body.Memory != nil && !*body.Memory:
		return errKeepsMemory
	}
	_, err = s.backend.sandboxes.Pause(r.Context(), connect.NewRequest(&aiboxv1.PauseSandboxRequest{SandboxId: found.SandboxId}))
	if kindOf(err) == kindConflict {
		return &apiError{http.StatusBadRequest, sentence(err)} // a conflict would mean that the sandbox is paused
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
