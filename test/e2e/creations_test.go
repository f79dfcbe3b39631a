package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
)

// creationsInCI is how many sandboxes the ordinary test creates; manual runs create many.
const creationsInCI = 2

var (
	creationsAll   = flag.Int("creations", creationsInCI, "how many sandboxes are created over the API")
	creationsLanes = flag.Int("creations.lanes", 2, "how many of them at a time")
	creationsTime  = flag.Duration("creations.time", 4*time.Hour, "create no more sandboxes after this time")
)

// creations are sandboxes that are created, used and destroyed over the API. It is safe for
// concurrent use.
type creations struct {
	sandboxes aiboxv1connect.SandboxesClient
	processes aiboxv1connect.ProcessesClient

	mu     sync.Mutex
	took   []time.Duration // of successful calls of Create
	done   int
	failed map[string]int // by step and code
	errors []string
}

func newCreations(s *apiServer) *creations {
	token := connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
			request.Header().Set("Authorization", "Bearer "+s.token)
			return next(ctx, request)
		}
	}))
	return &creations{
		sandboxes: aiboxv1connect.NewSandboxesClient(http.DefaultClient, s.url, token),
		processes: aiboxv1connect.NewProcessesClient(http.DefaultClient, s.url, token),
		failed:    map[string]int{},
	}
}

// one creates a sandbox, runs a command in it and destroys it.
func (c *creations) one(n int) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	begin := time.Now()
	made, err := c.sandboxes.Create(ctx, connect.NewRequest(&aiboxv1.CreateSandboxRequest{Name: fmt.Sprint("n", n)}))
	took := time.Since(begin)
	if err != nil {
		c.count(0, "create", err)
		return
	}
	id := made.Msg.GetSandboxId()
	ran, execErr := c.processes.Exec(ctx, connect.NewRequest(&aiboxv1.ExecRequest{SandboxId: id, Argv: []string{"echo", id}}))
	if execErr == nil {
		if got := string(ran.Msg.GetStdout()); got != id+"\n" || ran.Msg.GetExit().GetCode() != 0 {
			execErr = fmt.Errorf("it printed %q and ended with %v", got, ran.Msg.GetExit())
		}
	}
	_, endErr := c.sandboxes.Destroy(ctx, connect.NewRequest(&aiboxv1.DestroySandboxRequest{SandboxId: id}))
	switch {
	case execErr != nil:
		c.count(took, "exec", execErr)
	case endErr != nil:
		c.count(took, "destroy", endErr)
	default:
		c.count(took, "", nil)
	}
}

// count counts one creation. step is where it failed.
func (c *creations) count(took time.Duration, step string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	if took > 0 {
		c.took = append(c.took, took)
	}
	if err != nil {
		code := "wrong result"
		if _, ok := errors.AsType[*connect.Error](err); ok {
			code = connect.CodeOf(err).String()
		}
		c.failed[step+": "+code]++
		c.errors = append(c.errors, fmt.Sprintf("%s: %v", step, err))
	}
}

// table prints what was counted.
func (c *creations) table(all time.Duration, left map[string][]string) string {
	slices.Sort(c.took)
	at := func(q float64) time.Duration {
		if len(c.took) == 0 {
			return 0
		}
		return c.took[int(q*float64(len(c.took)-1))].Round(time.Millisecond)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\ncreations %d, failed %d, in %v\ncreate: median %v, 99 of 100 within %v, longest %v\n",
		c.done, len(c.errors), all.Round(time.Second), at(0.5), at(0.99), at(1))
	for kind, count := range c.failed {
		fmt.Fprintf(&b, "%s: %d\n", kind, count)
	}
	for kind, what := range left {
		fmt.Fprintf(&b, "left: %s %d\n", kind, len(what))
	}
	return b.String()
}

// Sandboxes that programs create one after the other and in parallel all start, run a command and
// end, and leave only their records.
func TestManyCreationsLeaveNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	firewall, _ := m.locks()
	server := m.serve("ci")
	c := newCreations(server)
	begin := time.Now()
	var lanes sync.WaitGroup
	var tried atomic.Int64
	for lane := range *creationsLanes {
		lanes.Go(func() {
			for n := lane; n < *creationsAll && time.Since(begin) < *creationsTime; n += *creationsLanes {
				tried.Add(1)
				c.one(n)
			}
		})
	}
	lanes.Wait()
	all := time.Since(begin)
	server.stop()
	m.tidied()
	left := (&soak{m: m}).left(firewall)
	delete(left, "records")
	t.Log(c.table(all, left))
	if ran := int(tried.Load()); ran < *creationsAll {
		t.Errorf("%d of %d creations took place in %v (-creations.time)", ran, *creationsAll, *creationsTime)
	}
	for _, problem := range c.errors {
		t.Errorf("a creation failed: %s", problem)
	}
	for kind, what := range left {
		t.Errorf("%s are left: %q", kind, what)
	}
}
