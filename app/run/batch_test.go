package run

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"aibox/bakery"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/session/manager"
)

// batchOf returns a request with agents, models and times.
func batchOf(t *testing.T, agents, models string, times int) Request {
	t.Helper()
	r := Request{Agent: agents, Times: times, Prompt: "fix it"}
	if models != "" {
		if err := r.Settings.Set("model", models); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestARequestHasAMemberForEachAgentModelAndTime(t *testing.T) {
	for _, c := range []struct {
		agents, models string
		times          int
		want           []string
	}{
		{"codex", "", 0, []string{"codex/"}},
		{"", "", 1, []string{"/"}},
		{"codex,claude", "", 0, []string{"codex/", "claude/"}},
		{"codex", "a, b", 0, []string{"codex/a", "codex/b"}},
		{"codex", "", 3, []string{"codex/", "codex/", "codex/"}},
		{"codex,claude", "a,b", 2, []string{"codex/a", "codex/a", "codex/b", "codex/b", "claude/a", "claude/a", "claude/b", "claude/b"}},
	} {
		r := batchOf(t, c.agents, c.models, c.times)
		members, err := r.Members()
		if err != nil {
			t.Errorf("%s %s %d: %v", c.agents, c.models, c.times, err)
			continue
		}
		var got []string
		for _, member := range members {
			got = append(got, member.Agent+"/"+member.Settings.Text("model"))
			if member.IsBatch() || member.Prompt != "fix it" {
				t.Errorf("%s %s %d has the member %+v", c.agents, c.models, c.times, member)
			}
		}
		if !slices.Equal(got, c.want) || r.IsBatch() != (len(c.want) > 1) {
			t.Errorf("%s %s %d has %q, batch %v", c.agents, c.models, c.times, got, r.IsBatch())
		}
	}
}

func TestABatchThatCannotWorkIsRefusedWithASentence(t *testing.T) {
	for want, change := range map[string]func(*Request){
		"at most 32 sessions":   func(r *Request) { r.Times = 17 },
		"--times must be":       func(r *Request) { r.Times = -1 },
		"has an empty name":     func(r *Request) { r.Agent = "codex,,claude" },
		"names \"codex\" twice": func(r *Request) { r.Agent = "codex,codex" },
		"one terminal":          func(r *Request) { r.Interactive = true },
		"--resume continues":    func(r *Request) { r.Resumes = "0dq4f" },
		"--accept delivers":     func(r *Request) { _ = r.Settings.Set("accept", "branch") },
	} {
		r := batchOf(t, "codex,claude", "", 1)
		change(&r)
		_, err := r.Members()
		if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) || want != "--times must be" && len(fault.Hints(err)) == 0 {
			t.Errorf("%s: %v, %q", want, err, fault.Hints(err))
		}
	}
	r := batchOf(t, "codex,claude", "", 1<<62)
	if _, err := r.Members(); err == nil {
		t.Error("a huge number is accepted")
	}
	r = batchOf(t, "codex,claude", "", 1)
	r.Interactive, r.Detached = true, true
	if _, err := r.Members(); err != nil {
		t.Errorf("detached terminals: %v", err)
	}
}

// interrupting is a world in which the user presses ctrl-c while the first session of a batch starts.
type interrupting struct {
	*world
	interrupt context.CancelFunc
}

func (w interrupting) Spawn() (*manager.Launcher, error) {
	w.interrupt()
	return nil, context.Canceled
}

func (w interrupting) NamedImage(context.Context, string) (runtime.ImageID, error) {
	return "sha256:1", nil
}

func (w interrupting) Builder(context.Context) (*bakery.Bakery, error) {
	return nil, errors.New("no builder")
}
func (w interrupting) DaemonFault(_ context.Context, err error) error { return err }

func TestAnInterruptedBatchReportsEachSessionThatDidNotStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := interrupting{&world{}, cancel}
	r := &Runner{Sessions: w, User: w.world, Images: w}
	batch := Batch{Plans: make([]Plan, 3*startsAtOnce())}
	for i := range batch.Plans {
		batch.Plans[i].Launch.Spec.Image = "image"
	}
	var mu sync.Mutex
	reported := map[int]string{}
	_, err := r.StartBatch(ctx, batch, Callbacks{}, func(i int, start BatchStart) {
		mu.Lock()
		defer mu.Unlock()
		reported[i] = start.Err.Error()
	})
	if err != nil || len(reported) != len(batch.Plans) {
		t.Errorf("%d of %d are reported, %v", len(reported), len(batch.Plans), err)
	}
	for i, text := range reported {
		if text != "interrupted; it was not started" {
			t.Errorf("%d: %s", i, text)
		}
	}
}
