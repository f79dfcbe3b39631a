package e2b

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	aiboxv1 "aibox/api/aibox/v1"
)

// maxForks is the maximum number of sandboxes of one fork.
const maxForks = 16

// forkPrefix begins the names of snapshots that exist only during a fork.
const forkPrefix = "fork-"

// forkNames makes and recognizes the names of snapshots that exist only during a fork. No
// caller can make such a name, so no caller's own snapshot is taken for one.
type forkNames struct {
	key    []byte
	server string // identifies this process

	mu      sync.Mutex
	running map[string]int // forks of this process by their sandboxes
}

func newForkNames(key []byte) *forkNames {
	return &forkNames{key: derive(key, "fork"), server: rand.Text(), running: map[string]int{}}
}

// begin begins a fork of a sandbox: its snapshot is not left until end is called.
func (f *forkNames) begin(sandbox string) (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running[sandbox]++
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.running[sandbox]--; f.running[sandbox] == 0 {
			delete(f.running, sandbox)
		}
	}
}

// name returns the name of a snapshot of a sandbox.
func (f *forkNames) name(sandbox string) string {
	return forkPrefix + f.server + "-" + f.code(f.server, sandbox)
}

func (f *forkNames) code(server, sandbox string) string {
	mac := hmac.New(sha256.New, f.key)
	mac.Write([]byte(server + "\x00" + sandbox))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// check reports whether a snapshot of a sandbox is that of a fork, and whether the fork has left it:
// its server was killed, or the snapshot could not be deleted.
func (f *forkNames) check(sandbox, name string) (isFork, isLeft bool) {
	text, isFork := strings.CutPrefix(name, forkPrefix)
	server, code, _ := strings.Cut(text, "-")
	isFork = isFork && hmac.Equal([]byte(code), []byte(f.code(server, sandbox)))
	f.mu.Lock()
	defer f.mu.Unlock()
	return isFork, isFork && (server != f.server || f.running[sandbox] == 0)
}

// forkJSON is one sandbox of a fork, or the reason why it could not be created.
type forkJSON struct {
	Sandbox *accessJSON    `json:"sandbox,omitempty"`
	Error   map[string]any `json:"error,omitempty"`
}

// endUnknown ends the sandboxes of a fork whose caller has gone: nobody knows their ids.
func (s *Server) endUnknown(ctx context.Context, made []forkJSON) {
	if ctx.Err() == nil {
		return
	}
	for _, one := range made {
		if one.Sandbox != nil {
			request := &aiboxv1.DestroySandboxRequest{SandboxId: one.Sandbox.SandboxID}
			_, _ = s.backend.sandboxes.Destroy(context.WithoutCancel(ctx), connect.NewRequest(request)) // its timeout ends it in any case
		}
	}
}

// forkSandbox creates sandboxes that continue from the state of another.
func (s *Server) forkSandbox(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		timeoutBody
		Count *int `json:"count"`
	}
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	count := 1
	if body.Count != nil {
		count = *body.Count
	}
	if count < 1 || count > maxForks {
		return &apiError{http.StatusBadRequest, "the count is between 1 and " + strconv.Itoa(maxForks)}
	}
	request := &aiboxv1.CreateSandboxRequest{}
	if body.Timeout != nil {
		timeout, err := body.duration()
		if err != nil {
			return err
		}
		request.Timeout = durationpb.New(timeout)
	}
	if _, err := s.snapshots(r.Context(), ""); err != nil { // what a fork has left may use up the quota
		return err
	}
	defer s.forks.begin(r.PathValue("id"))()
	taken, err := s.snapshot(r.Context(), r.PathValue("id"), s.forks.name(r.PathValue("id")))
	if err != nil {
		return err
	}
	request.SnapshotId = taken.SnapshotId
	var made []forkJSON
	for range count {
		one, err := s.backend.sandboxes.Create(r.Context(), connect.NewRequest(request))
		if err != nil {
			made = append(made, forkJSON{Error: map[string]any{"code": statusOf(err), "message": sentence(err)}})
			continue
		}
		access := s.access(r, one.Msg)
		made = append(made, forkJSON{Sandbox: &access})
	}
	// The sandboxes exist in any case. A snapshot that cannot be deleted is left; see check.
	_, _ = s.backend.sandboxes.DeleteSnapshot(context.WithoutCancel(r.Context()), connect.NewRequest(&aiboxv1.DeleteSnapshotRequest{SnapshotId: taken.SnapshotId}))
	s.endUnknown(r.Context(), made)
	writeJSON(w, http.StatusCreated, made)
	return nil
}
