package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"aibox/app"
	"aibox/app/settings"
	"aibox/internal/fault"
	"aibox/session"
)

func accessRequest(host string) session.Request {
	return session.Request{
		Session: "0aaaa-codex", ID: 3, What: session.RequestAccess, Until: time.Now().Add(time.Minute),
		Access: &session.AccessRequest{Agent: "codex", Host: host, Port: 443, Method: "CONNECT", Reason: "no", Allow: host + ":443"},
	}
}

// answers records the answers that a session received.
type answers struct{ said []string }

func (a *answers) Answer(_ context.Context, id session.ID, _ int, answer session.Answer) error {
	a.said = append(a.said, string(id)+" "+string(answer))
	return nil
}

func TestAHostileQuestionIsEscapedInAPrompt(t *testing.T) {
	r := accessRequest("evil.example\x1b]0;CANARY\x07\n→ yes")
	r.Access.Agent, r.Access.Method = "co\x1b[2Jdex", "GET\r\n"
	if text := accessQuestion(&r); strings.ContainsAny(text, "\x1b\x07\r\n") || !strings.Contains(text, "evil.example") {
		t.Errorf("%q", text)
	}
	line := &questionLine{openQuestions: newOpenQuestions()}
	_ = line.update([]session.Request{r, accessRequest("b.example"), {What: session.RequestTime}})
	if text := line.text(); strings.ContainsAny(text, "\x1b\x07\r\n") || !strings.Contains(text, "and 1 more") || !line.isNew() || line.isNew() {
		t.Errorf("%q", text)
	}
	line.drop(3)
	if _, count := line.first(); count != 0 || (*questionLine)(nil).text() != "" {
		t.Errorf("%d questions are left", count)
	}
}

func TestAnswersAreWordsOrTheirFirstLetters(t *testing.T) {
	for text, want := range map[string]session.Answer{"o": "once", " Once\r": "once", "s": "session", "always": "always", "A": "always", "d": "deny", "deny": "deny"} {
		if got, ok := parseAccessAnswer(text); !ok || got != want {
			t.Errorf("%q is %q", text, got)
		}
	}
	for _, text := range []string{"", "y", "yes", "once more", "ls", "on", "x"} {
		if got, ok := parseAccessAnswer(text); ok {
			t.Errorf("%q is %q", text, got)
		}
	}
}

func TestAlwaysIsAddedToTheSettingsByTheClientThatAnswers(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	a, to := &cli{app: app.New(nil)}, &answers{}
	file, err := settings.File()
	if err != nil {
		t.Fatal(err)
	}
	const unused = "this list has no effect under the network policy local; `aibox config set network allowlist` uses it"
	r := accessRequest("example.org")
	for answer, want := range map[session.Answer]string{
		"once": "example.org:443 is allowed once", "session": "example.org:443 is allowed until the session ends",
		"always": "example.org:443 is allowed, and added to " + file + "; " + unused, "deny": "example.org:443 is refused until the session ends",
	} {
		to.said = nil
		if done, err := a.answerRequest(t.Context(), to, &r, answer); err != nil || done != want || len(to.said) != 1 || to.said[0] != "0aaaa-codex "+string(answer) {
			t.Errorf("%s: %q, %v, %v", answer, done, err, to.said)
		}
	}
	if own, err := a.app.UserSettings(); err != nil || len(own.Settings.Allow) != 1 || own.Settings.Allow[0] != "example.org:443" {
		t.Errorf("%v", err)
	}
	to.said = nil
	if _, err := a.answerRequest(t.Context(), to, &r, "perhaps"); fault.KindOf(err) != fault.Usage || to.said != nil {
		t.Errorf("%v, %v", err, to.said)
	}
}

func TestAnAnswerNeedsANumberIfThereAreSeveralQuestions(t *testing.T) {
	one, two := accessRequest("a.example"), accessRequest("b.example")
	two.ID = 4
	open := []session.Request{one, two}
	if r, err := chooseRequest("0a", open, []string{"4"}); err != nil || r.ID != 4 {
		t.Errorf("%v, %v", r, err)
	}
	if r, err := chooseRequest("0a", open[:1], nil); err != nil || r.ID != 3 {
		t.Errorf("%v, %v", r, err)
	}
	for _, c := range []struct {
		open   []session.Request
		number []string
		kind   fault.Kind
	}{{open, nil, fault.Usage}, {nil, nil, fault.Usage}, {open, []string{"9"}, fault.Usage}, {open, []string{"x"}, fault.Usage}} {
		if _, err := chooseRequest("0a", c.open, c.number); fault.KindOf(err) != c.kind {
			t.Errorf("%v of %d: %v", c.number, len(c.open), err)
		}
	}
}

func TestTheAnswerKeyGoesToTheAgentWhileNoQuestionIsOpen(t *testing.T) {
	asks := false
	keys := detachKeys{asks: func() bool { return asks }}
	if send, request := keys.take([]byte("a\x10\x01b")); string(send) != "a\x10\x01b" || request != nil {
		t.Errorf("%q, %v", send, request)
	}
	asks = true
	if send, request := keys.take([]byte("a\x10\x01b")); string(send) != "a" || !errors.Is(request, errQuestions) {
		t.Errorf("%q, %v", send, request)
	}
}
