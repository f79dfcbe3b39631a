package traffic

import (
	"fmt"
	"strings"
	"testing"

	"aibox/session"
	"aibox/session/auditlog"
)

func name(target string) auditlog.Access {
	return auditlog.Access{Session: "0a-x", What: "name", Target: target, Why: "no", Times: 1}
}

func TestTheSameRefusalIsOneWithANumber(t *testing.T) {
	var l Log
	l.Add(name("a"))
	l.Add(name("b"))
	l.Add(name("a"))
	l.Add(auditlog.Access{Session: "0a-x", Allowed: true, What: auditlog.AskedModel, Times: 1})
	l.Add(auditlog.Access{Session: "0a-x", Allowed: true, What: auditlog.AskedModel, Times: 1})
	if all := l.All(); len(all) != 4 || all[0].Times != 2 || all[1].Times != 1 {
		t.Errorf("%+v", all)
	}
	l.Count("0a-x", session.Live{Refused: []session.Refusal{{What: "name", Target: "b", Reason: "no", Times: 9}, {What: "name", Target: "c", Times: 1}}})
	l.Count("0b-y", session.Live{Refused: []session.Refusal{{What: "name", Target: "a", Reason: "no", Times: 7}}})
	if all := l.All(); len(all) != 4 || all[0].Times != 2 || all[1].Times != 9 {
		t.Errorf("%+v", all)
	}
}

func TestAFullLogDropsTheOldestAndContinuesCounting(t *testing.T) {
	var l Log
	dropped := 0
	for i := range keep + 1 {
		if l.Add(name(fmt.Sprint(i))) {
			dropped++
		}
	}
	if all := l.All(); dropped != 1 || len(all) != keep/2+1 || all[0].Target != fmt.Sprint(keep/2) {
		t.Errorf("%d times dropped, %d left", dropped, len(l.All()))
	}
	l.Add(name(fmt.Sprint(keep)))
	l.Add(name("0")) // forgotten, so it is new
	if all := l.All(); all[len(all)-2].Times != 2 || all[len(all)-1].Target != "0" {
		t.Errorf("%+v", all[len(all)-2:])
	}
}

func TestAnAccessIsPutInWordsThatAreSafe(t *testing.T) {
	for _, test := range []struct {
		access auditlog.Access
		want   string
	}{
		{auditlog.Access{What: "name", Target: "a\x1b]52;c;x\a", Why: "n\no", Times: 3}, `✗ name a\x1b]52;c;x\x07 ×3 n\no`},
		{
			auditlog.Access{Allowed: true, What: "model", Target: "POST /v1/x", Call: auditlog.ModelCall{Model: "m\x1b", Status: 200, Millis: 1234, Input: 12_000, Output: 40}},
			`✓ model m\x1b 200 1.2s 12k in 40 out`,
		},
		{
			auditlog.Access{What: "model", Target: "GET /x", Why: "no such path", Call: auditlog.ModelCall{Status: 404, Error: "no such path", Outcome: auditlog.Refused}},
			"✗ model GET /x 404 0.0s: no such path",
		},
		{auditlog.RefusedAccess(session.Refusal{What: "model", Target: "GET /x", Reason: "no such path", Times: 2}), "✗ model GET /x ×2 no such path"},
		{auditlog.Access{Allowed: true, What: "model", Target: "GET /x", Call: auditlog.ModelCall{Status: 429, Reason: "slow down"}}, "✓ model GET /x 429 0.0s: slow down"},
		{auditlog.Access{Allowed: true, What: "model", Target: "GET /x", Call: auditlog.ModelCall{Status: 499, Outcome: auditlog.GivenUp}}, "✓ model GET /x 499 0.0s: the agent hung up"},
	} {
		w := Say(test.access)
		if got := strings.Join([]string{w.Mark, w.What, w.Target, w.Detail}, " "); got != test.want {
			t.Errorf("%q, not %q", got, test.want)
		}
		if line := w.String(); line != w.What+" "+w.Target+": "+w.Detail {
			t.Errorf("in a line it is %q", line)
		}
	}
}
