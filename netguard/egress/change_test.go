package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aibox/netguard"
	"aibox/netguard/egress/egresstest"
)

func TestAChangeOfThePolicyClosesConnectionsThatItDoesNotAllow(t *testing.T) {
	w, _ := tunnelWorld(t, nil)
	release := make(chan struct{})
	slow := newSite(t, func(rw http.ResponseWriter, r *http.Request) {
		rw.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(rw).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	w.Route("slow.wild.example.org", 80, slow.address())
	kept, cut := w.connect("good.example.org:443"), w.connect("ok.wild.example.org:443")
	_, _ = kept.Write(goodTLS)
	_, _ = cut.Write(simpleHello(serverNames("ok.wild.example.org")))
	response, err := w.client().Get("http://slow.wild.example.org/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()

	if closed := w.proxy.SetPolicy(netguard.NewMatcher(egresstest.Allowlist(t, "good.example.org"))); closed != 2 {
		t.Errorf("%d closed", closed)
	}
	if _, err := io.Copy(io.Discard, cut); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the tunnel: %v", err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err == nil {
		t.Error("the response ended as if it were whole")
	}
	eventually(t, "the closed connections are not recorded", func() bool { return len(w.recorded(Closed)) >= 2 })
	for _, e := range w.recorded(Closed) {
		if e.Code != "not-listed" || e.Reason == "" || e.AllowedID == "" {
			t.Errorf("recorded %+v", e)
		}
	}
	if _, err := kept.Write([]byte("x")); err != nil {
		t.Errorf("the tunnel that is still allowed: %v", err)
	}
	_ = kept.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := kept.Read(make([]byte, 1)); !isTimeout(err) {
		t.Errorf("the tunnel that is still allowed: %v", err)
	}
	if responses := w.say("CONNECT ok.wild.example.org:443 HTTP/1.1\r\n\r\n", 1); responses[0].StatusCode != http.StatusForbidden {
		t.Error("the new policy does not hold")
	}

	if closed := w.proxy.SetPolicy(nil); closed != 1 {
		t.Errorf("without a policy %d closed", closed)
	}
	_ = kept.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.Copy(io.Discard, kept); isTimeout(err) {
		t.Error("without a policy a tunnel stays open")
	}
}

func TestAChangeOfThePolicyClosesDeniedAddresses(t *testing.T) {
	w, _ := tunnelWorld(t, nil)
	conn := w.connect("good.example.org:443")
	_, _ = conn.Write(goodTLS)
	policy := attackPolicy(t)
	for _, e := range w.recorded(Allowed) {
		deny, err := netguard.ParseDeny(e.Address.String())
		if err != nil {
			t.Fatal(err)
		}
		policy.Deny = append(policy.Deny, netguard.Rule{Pattern: deny, Source: "--deny"})
	}
	if closed := w.proxy.SetPolicy(netguard.NewMatcher(policy)); closed != 1 {
		t.Errorf("%d closed", closed)
	}
}

// user answers questions.
type user struct {
	mu      sync.Mutex
	asked   []Question
	answers chan Answer
	left    atomic.Int32
}

func (u *user) ask(ctx context.Context, q Question) Answer {
	u.mu.Lock()
	u.asked = append(u.asked, q)
	u.mu.Unlock()
	select {
	case answer := <-u.answers:
		return answer
	case <-ctx.Done():
		u.left.Add(1)
		return Answer{}
	}
}

func (u *user) questions() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.asked)
}

// eventually waits until something is reached. On failure it reports what.
func eventually(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

func TestHeldRequestsShareOneAnswer(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		u := &user{answers: make(chan Answer)}
		w := newWorld(t, attackPolicy(t), func(c *Config) { c.Ask = u.ask })
		other := newSite(t, hello)
		w.Route("other.example.net", 80, other.address())
		var wait sync.WaitGroup
		var passed atomic.Int32
		for range 5 {
			wait.Go(func() {
				responses := w.say("GET http://other.example.net/ HTTP/1.1\r\nHost: other.example.net\r\n\r\n", 1)
				if len(responses) == 1 && responses[0].StatusCode == http.StatusOK {
					passed.Add(1)
				}
			})
		}
		eventually(t, "not all requests wait", func() bool {
			w.proxy.mu.Lock()
			defer w.proxy.mu.Unlock()
			return w.proxy.waiting == 5
		})
		u.answers <- Answer{Allowed: allowed, Reason: "you answered no"}
		wait.Wait()
		if u.questions() != 1 || passed.Load() != map[bool]int32{true: 5}[allowed] {
			t.Errorf("allowed %v: %d questions, %d requests passed", allowed, u.questions(), passed.Load())
		}
		for _, e := range w.recorded(Refused) {
			if !strings.Contains(e.Reason, "you answered no") {
				t.Errorf("recorded %q", e.Reason)
			}
		}
	}
}

// The user has denied the host while the question was open, and looks for that in the log.
func TestAQuestionThatAChangeOfThePolicyEndsIsRefusedForTheNewReason(t *testing.T) {
	var w *world
	w = newWorld(t, attackPolicy(t), func(c *Config) {
		c.Ask = func(context.Context, Question) Answer {
			policy := attackPolicy(t)
			deny, _ := netguard.ParseDeny("other.example.net")
			policy.Deny = append(policy.Deny, netguard.Rule{Pattern: deny, Source: "aibox deny"})
			w.proxy.SetPolicy(netguard.NewMatcher(policy))
			return Answer{}
		}
	})
	for _, raw := range []string{"CONNECT other.example.net:443 HTTP/1.1\r\n\r\n", "GET http://other.example.net/ HTTP/1.1\r\nHost: other.example.net\r\n\r\n"} {
		w.proxy.SetPolicy(netguard.NewMatcher(attackPolicy(t)))
		responses := w.say(raw, 1)
		body, _ := io.ReadAll(responses[0].Body)
		refused := w.recorded(Refused)
		last := refused[len(refused)-1]
		if last.Code != netguard.DeniedByRule.Name() || last.Rule != "other.example.net (aibox deny)" {
			t.Errorf("%s: recorded %s by %q", raw, last.Code, last.Rule)
		}
		for _, want := range []string{last.Reason, last.Rule, fmt.Sprintf("k3f9-codex/%d", len(refused))} {
			if responses[0].StatusCode != http.StatusForbidden || !strings.Contains(string(body), want) {
				t.Errorf("%s: %s lacks %q", raw, body, want)
			}
		}
	}
}

func TestAnAnswerOnceIsForTheRequestsThatWait(t *testing.T) {
	u := &user{answers: make(chan Answer, 1)}
	w := newWorld(t, attackPolicy(t), func(c *Config) { c.Ask = u.ask })
	other := newSite(t, hello)
	w.Route("other.example.net", 80, other.address())
	u.answers <- Answer{Allowed: true}
	request := "GET http://other.example.net/ HTTP/1.1\r\nHost: other.example.net\r\n\r\n"
	if responses := w.say(request, 1); responses[0].StatusCode != http.StatusOK {
		t.Fatal(responses[0].Status)
	}
	u.answers <- Answer{}
	if responses := w.say(request, 1); responses[0].StatusCode != http.StatusForbidden {
		t.Error("the answer held for a second request")
	}
}

func TestOnlyAskableRefusalsAreAsked(t *testing.T) {
	u := &user{answers: make(chan Answer, 10)}
	for range 10 {
		u.answers <- Answer{Allowed: true}
	}
	w := newWorld(t, attackPolicy(t), func(c *Config) { c.Ask = u.ask })
	w.Name("local.example.net", addresses("10.0.0.1")...)
	for _, to := range []string{"169.254.169.254:80", "127.0.0.1:80", "10.0.0.1:443", "bad.wild.example.org:443"} {
		if responses := w.say("CONNECT "+to+" HTTP/1.1\r\n\r\n", 1); responses[0].StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", to, responses[0].Status)
		}
	}
	if u.questions() != 0 {
		t.Errorf("asked %v", u.asked)
	}
	if responses := w.say("CONNECT local.example.net:443 HTTP/1.1\r\n\r\n", 1); responses[0].StatusCode != http.StatusForbidden || len(w.Dialed()) != 0 {
		t.Errorf("an answer opened a private address: %s", responses[0].Status)
	}
}

func TestAQuestionIsWithdrawnWhenNoRequestWaits(t *testing.T) {
	u := &user{answers: make(chan Answer)}
	w := newWorld(t, attackPolicy(t), func(c *Config) { c.Ask = u.ask })
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "CONNECT other.example.net:443 HTTP/1.1\r\n\r\n")
	eventually(t, "nobody was asked", func() bool { return u.questions() == 1 })
	conn.Close()
	eventually(t, "the question was not withdrawn", func() bool { return u.left.Load() == 1 })
	if len(w.Asked()) != 0 {
		t.Errorf("resolved %v", w.Asked())
	}
}

func TestAHeldRequestWithALargeBodyWaits(t *testing.T) {
	u := &user{answers: make(chan Answer)}
	w := newWorld(t, attackPolicy(t), func(c *Config) { c.Ask = u.ask })
	other := newSite(t, hello)
	w.Route("other.example.net", 80, other.address())
	conn := w.dialProxy()
	body := strings.Repeat("x", 4*maxHead)
	// The head fills the buffer together with the body.
	go fmt.Fprintf(conn, "POST http://other.example.net/ HTTP/1.1\r\nHost: other.example.net\r\nContent-Length: %d\r\nX: %s\r\n\r\n%s", len(body), strings.Repeat("x", maxHead-1000), body)
	eventually(t, "nobody was asked", func() bool { return u.questions() == 1 })
	select {
	case u.answers <- Answer{Allowed: true}:
	case <-time.After(time.Minute):
		t.Fatal("the question was withdrawn")
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", response, err)
	}
}

func TestHeldRequestsAreBounded(t *testing.T) {
	u := &user{answers: make(chan Answer)}
	w := newWorld(t, attackPolicy(t), func(c *Config) { c.Ask, c.Limits = u.ask, Limits{Held: 2} })
	for _, name := range []string{"a.example.net", "b.example.net"} {
		conn, err := net.Dial("tcp", w.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "CONNECT "+name+":443 HTTP/1.1\r\n\r\n")
	}
	eventually(t, "nobody was asked", func() bool { return u.questions() == 2 })
	if responses := w.say("CONNECT c.example.net:443 HTTP/1.1\r\n\r\n", 1); responses[0].StatusCode != http.StatusServiceUnavailable || w.code() != "held-requests" {
		t.Errorf("%s, refused for %q", responses[0].Status, w.code())
	}
}

func TestATunnelApprovedOnceSurvivesOtherChanges(t *testing.T) {
	u := &user{answers: make(chan Answer, 1)}
	w, _ := tunnelWorld(t, func(c *Config) { c.Ask = u.ask })
	w.Route("other.example.net", 443, newSink(t).Addr().String())
	u.answers <- Answer{Allowed: true}
	conn := w.connect("other.example.net:443")
	_, _ = conn.Write(simpleHello(serverNames("other.example.net")))
	if closed := w.proxy.SetPolicy(netguard.NewMatcher(attackPolicy(t))); closed != 0 {
		t.Errorf("%d closed", closed)
	}
	policy := attackPolicy(t)
	deny, _ := netguard.ParseDeny("other.example.net")
	policy.Deny = append(policy.Deny, netguard.Rule{Pattern: deny, Source: "--deny"})
	if closed := w.proxy.SetPolicy(netguard.NewMatcher(policy)); closed != 1 {
		t.Errorf("%d closed after it was denied", closed)
	}
}
