package e2b

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	aiboxv1 "aibox/api/aibox/v1"
)

func TestTheSnapshotOfAForkIsRecognizedAndOnlyThatOfADeadServerIsLeft(t *testing.T) {
	key := make([]byte, KeySize)
	dead, own := newForkNames(key), newForkNames(key)
	end := own.begin("s")
	for name, c := range map[string]struct {
		sandbox, name  string
		isFork, isLeft bool
	}{
		"of this server":       {"s", own.name("s"), true, false},
		"of a dead server":     {"s", dead.name("s"), true, true},
		"of another sandbox":   {"t", dead.name("s"), false, false},
		"a name of a caller":   {"s", "fork-of-mine", false, false},
		"a changed name":       {"s", dead.name("s") + "0", false, false},
		"a name without code":  {"s", forkPrefix + dead.server + "-", false, false},
		"a name of another":    {"s", newForkNames([]byte{1}).name("s"), false, false},
		"the empty name":       {"s", "", false, false},
		"the end of a name":    {"s", strings.TrimPrefix(dead.name("s"), forkPrefix), false, false},
		"another kind of name": {"s", "mine", false, false},
	} {
		if isFork, isLeft := own.check(c.sandbox, c.name); isFork != c.isFork || isLeft != c.isLeft {
			t.Errorf("%s: %v %v", name, isFork, isLeft)
		}
	}
	endSecond := own.begin("s")
	end()
	if _, isLeft := own.check("s", own.name("s")); isLeft {
		t.Error("a snapshot is left while another fork of the sandbox runs")
	}
	endSecond()
	if _, isLeft := own.check("s", own.name("s")); !isLeft {
		t.Error("a snapshot that could not be deleted is not left")
	}
}

func TestAForkWhoseCallerGoesLeavesNoSandbox(t *testing.T) {
	fake, s, front := serve(t)
	a := create(t, front, "token-a")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	begun := 0
	fake.creating = func(of context.Context) {
		if begun++; begun == 3 {
			leave()
			<-of.Done()
		}
	}
	r := httptest.NewRequestWithContext(ctx, "POST", "/e2b/sandboxes/"+a.SandboxID+"/fork", strings.NewReader(`{"count": 5}`))
	r.Header.Set("X-API-KEY", "token-a")
	s.ServeHTTP(httptest.NewRecorder(), r)
	running := 0
	for _, one := range fake.sandboxes {
		if one.state == aiboxv1.SandboxState_SANDBOX_STATE_RUNNING {
			running++
		}
	}
	if len(fake.created) != 3 || running != 1 || len(fake.snapshots) != 0 {
		t.Errorf("%d sandboxes were created, %d run, with the snapshots %v", len(fake.created), running, fake.snapshots)
	}
}

func TestAForkWhoseCallerGoesWhileItsSnapshotIsDeletedLeavesNoSandbox(t *testing.T) {
	fake, s, front := serve(t)
	a := create(t, front, "token-a")
	ctx, leave := context.WithCancel(t.Context())
	fake.deleting = leave
	r := httptest.NewRequestWithContext(ctx, "POST", "/e2b/sandboxes/"+a.SandboxID+"/fork", strings.NewReader(`{"count": 2}`))
	r.Header.Set("X-API-KEY", "token-a")
	s.ServeHTTP(httptest.NewRecorder(), r)
	for id, one := range fake.sandboxes {
		if running := one.state == aiboxv1.SandboxState_SANDBOX_STATE_RUNNING; running != (id == a.SandboxID) {
			t.Errorf("%s runs: %v", id, running)
		}
	}
}

func TestAForkWhoseSnapshotCannotBeDeletedReturnsItsSandboxes(t *testing.T) {
	fake, _, front := serve(t)
	a := create(t, front, "token-a")
	fake.keeps = true
	status, body := call(t, front, "POST", "/e2b/sandboxes/"+a.SandboxID+"/fork", `{"count": 2}`, "X-API-KEY", "token-a")
	if status != http.StatusCreated || strings.Count(body, `"sandboxID"`) != 2 {
		t.Errorf("%d %s", status, body)
	}
	list := func() string {
		_, body := call(t, front, "GET", "/e2b/snapshots", "", "X-API-KEY", "token-a")
		return strings.TrimSpace(body)
	}
	if body := list(); body != "[]" || len(fake.snapshots) != 1 {
		t.Errorf("snapshots that forks have left are listed: %s, %v", body, fake.snapshots)
	}
	fake.mu.Lock()
	fake.keeps = false
	fake.mu.Unlock()
	if body := list(); body != "[]" || len(fake.snapshots) != 0 {
		t.Errorf("the snapshot stays: %s, %v", body, fake.snapshots)
	}
}
