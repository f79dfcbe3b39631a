package supervisor

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aibox/agents"
	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/session"
	"aibox/session/auditlog"
)

func refused(reason string) auditlog.ModelCall {
	return auditlog.ModelCall{Method: "POST", Path: "/v1/responses", Status: 401, Reason: reason, Outcome: auditlog.Refused, Generates: true}
}

func TestADeadModelIsReportedOnceAfterItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var v modelHealth
		reported := make(chan auditlog.ModelCall, 2)
		begin := time.Now()
		v.onDeath(func(last auditlog.ModelCall) { reported <- last })
		v.began()
		v.ended(refused("no such key"))
		time.Sleep(3 * time.Second)
		v.began() // a slow second attempt
		time.Sleep(20 * time.Second)
		select {
		case <-reported:
			t.Fatal("dead while a request was in flight")
		default:
		}
		v.ended(refused("still none"))
		if last := <-reported; last.Reason != "still none" || time.Since(begin) != 23*time.Second {
			t.Errorf("%+v after %v", last, time.Since(begin))
		}
		v.began()
		v.ended(refused("again"))
		time.Sleep(time.Minute)
		if len(reported) > 0 {
			t.Error("reported twice")
		}
	})
}

func TestADeadModelEndsTheSessionOnlyWhileTheAgentRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var v modelHealth
		v.began()
		v.ended(refused("x"))
		time.Sleep(time.Minute)
		v.onDeath(func(auditlog.ModelCall) { t.Error("reported after its end") })
		v.stop()
		time.Sleep(time.Minute)
		synctest.Wait()
	})
}

func TestEachModelFailureIsReportedOnceUpToALimit(t *testing.T) {
	var c counters
	var reported []string
	for i := range 40 {
		call := refused(fmt.Sprintf("reason %d", i/4))
		if _, tell := c.addCall(call); tell {
			reported = append(reported, failureText(call))
		}
	}
	want := "the model server answered 401: reason 0"
	if len(reported) != maxNotices || reported[0] != want {
		t.Errorf("%q", reported)
	}
	if f := c.modelCalls().failures(); f == nil || f.Count != 40 || f.Status != 401 || !strings.HasSuffix(f.Message, "reason 9") {
		t.Errorf("%+v", f)
	}
	for _, quiet := range []auditlog.ModelCall{
		{Generates: true, Status: 200}, {Generates: true, Status: 499, Outcome: auditlog.GivenUp}, {Status: 404, Outcome: auditlog.Refused},
	} {
		if _, tell := c.addCall(quiet); tell {
			t.Errorf("reported: %+v", quiet)
		}
	}
}

func TestAModelFailureIsDescribedByAClause(t *testing.T) {
	for want, call := range map[string]auditlog.ModelCall{
		"the model server answered 500":                                    {Status: 500, Outcome: auditlog.Broken},
		"the model server answered 429: slow down":                         {Status: 429, Reason: "slow down", Outcome: auditlog.Busy},
		"the model server answered 429: slow down (it asks to wait 20s)":   {Status: 429, Reason: "slow down", RetryAfter: 20_000, Outcome: auditlog.Busy},
		"the model server answered 503 (it asks to wait 1h)":               {Status: 503, RetryAfter: 3_600_400, Outcome: auditlog.Busy},
		"the model server broke off its answer":                            {Status: 200, Error: "the model server broke off its answer", Outcome: auditlog.Broken},
		"the model server broke off its answer: Overloaded":                {Status: 200, Reason: "Overloaded", Outcome: auditlog.Busy},
		"the model server gave no answer: nothing answers on 127.0.0.1:1":  {Status: 502, Error: "nothing answers on 127.0.0.1:1", Outcome: auditlog.Broken},
		"the model server answered 200 without an answer: it sent nothing": {Status: 200, Error: "it sent nothing", Outcome: auditlog.NoAnswer},
		"the model ended its answer without text or a tool call":           {Status: 200, Outcome: auditlog.Blank},
		"the gateway refused a request: more than 32 requests at a time":   {Status: 429, Error: "more than 32 requests at a time", Outcome: auditlog.Busy},
		"the gateway refused a request: the model server x speaks nothing": {Status: 404, Error: "the model server x speaks nothing", Outcome: auditlog.Refused},
	} {
		if got := failureText(call); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// If a server asks to wait longer than a run can, the message has that time, and the hint
// is a command.
func TestADeadModelIsTheReasonForTheEndOfARun(t *testing.T) {
	busy := auditlog.ModelCall{Generates: true, Status: 429, Reason: "Slow down.", RetryAfter: 3_600_000, Outcome: auditlog.Busy}
	failing := auditlog.ModelCall{Generates: true, Status: 500, Reason: "Out of memory.", Outcome: auditlog.Broken}
	for _, test := range []struct {
		answered bool
		last     auditlog.ModelCall
		want     string
		hint     string
	}{
		{false, busy, "the model server answered 429: Slow down. (it asks to wait 1h), and aibox waits 2m at most for a busy server", "aibox run --resume 0abc-talker"},
		{true, busy, "the model server answered 429: Slow down. (it asks to wait 1h), and aibox waits 10m at most for a busy server", "aibox run --resume 0abc-talker"},
		{false, refused("no such key"), "the model server answered 401: no such key, and talker did not get over it", "export SOME_KEY=…"},
		{false, auditlog.ModelCall{Generates: true, Status: 200, Error: "it sent nothing", Outcome: auditlog.NoAnswer}, "the model server answered 200 without an answer: it sent nothing, and talker did not get over it", "aibox models --inference scripted"},
		{true, failing, "the model server answered 500: Out of memory, and talker did not get over it", "aibox models --inference scripted"},
		{false, auditlog.ModelCall{Generates: true, Status: 200, Outcome: auditlog.Blank}, "the model ended its answer without text or a tool call, and talker did not get over it", "--model chooses another"},
	} {
		s := &modelWatch{run: &run{id: "0abc-talker"}, keyVariable: "SOME_KEY"}
		s.launch.Spec.Agent, s.launch.Spec.Inference = "talker", "scripted"
		if test.answered {
			s.counters.addCall(auditlog.ModelCall{Generates: true, Status: 200})
		}
		s.counters.addCall(test.last)
		if got := s.modelDeathText(test.last); got != test.want {
			t.Errorf("%q, not %q", got, test.want)
		}
		f := s.modelFault((&talker{}).Info(), test.last, fault.New(fault.AgentFailed, "x"))
		if hints := strings.Join(f.Hints, "\n"); !strings.Contains(hints, test.hint) {
			t.Errorf("the hints of %q are %q", test.want, hints)
		}
	}
}

// talker is an agent that needs a model and describes its exit codes.
type talker struct{ agents.Shell }

func (*talker) Info() agents.Info {
	return agents.Info{Name: "talker", Title: "Talker", Dialects: []agents.Dialect{agents.OpenAIResponses}}
}

func (*talker) Meaning(code int) string {
	if code == 55 {
		return "too many turns"
	}
	return ""
}

func TestARunIsJudgedByTheWorkDone(t *testing.T) {
	well, blank := auditlog.ModelCall{Generates: true, Status: 200}, auditlog.ModelCall{Generates: true, Status: 200, Outcome: auditlog.Blank}
	without := auditlog.ModelCall{Generates: true, Status: 200, Outcome: auditlog.NoAnswer, Error: "it sent nothing"}
	exit := func(code int) sandboxOutcome { return sandboxOutcome{exit: &lifeline.Exit{Code: code}} }
	for _, test := range []struct {
		name    string
		agent   agents.Agent
		calls   []auditlog.ModelCall
		out     sandboxOutcome
		changed bool
		fault   string // "" for none
		note    string
	}{
		{"work", &talker{}, []auditlog.ModelCall{well}, exit(0), true, "", ""},
		{"talk", &talker{}, []auditlog.ModelCall{well}, exit(0), false, "", ""},
		{"silence", &talker{}, nil, exit(0), false, "", "talker asked the model nothing and changed nothing"},
		{"a command", &agents.Shell{}, nil, exit(0), false, "", ""},
		{"hidden failure", &talker{}, []auditlog.ModelCall{well, refused("no such key")}, exit(0), false, "talker exited with success, but its last request failed: the model server answered 401: no such key", ""},
		{"late failure", &talker{}, []auditlog.ModelCall{well, refused("no such key")}, exit(0), true, "", "may be unfinished"},
		{"mended", &talker{}, []auditlog.ModelCall{refused("x"), well}, exit(0), false, "", ""},
		{"failure", &talker{}, []auditlog.ModelCall{refused("no such key")}, exit(1), false, "talker ended with exit code 1: the model server answered 401: no such key", ""},
		{"no answer", &talker{}, []auditlog.ModelCall{well, without}, exit(0), false, "talker exited with success, but its last request failed: the model server answered 200 without an answer: it sent nothing", ""},
		{"nothing more to say", &talker{}, []auditlog.ModelCall{well, blank}, exit(0), false, "", ""},
		{"never a word", &talker{}, []auditlog.ModelCall{blank}, exit(0), false, "talker exited with success, but its last request failed: the model ended its answer without text or a tool call", ""},
		{"own failure", &talker{}, []auditlog.ModelCall{well}, exit(1), false, "talker ended with exit code 1", ""},
		{"known code", &talker{}, []auditlog.ModelCall{well}, exit(55), false, "talker ended with exit code 55 (too many turns)", ""},
		{"a failed command", &agents.Shell{}, []auditlog.ModelCall{refused("x")}, exit(3), false, "talker ended with exit code 3", ""},
		{"a signal", &talker{}, nil, sandboxOutcome{exit: &lifeline.Exit{Signal: 9}}, false, "talker was ended by signal 9", ""},
		{"no word", &talker{}, nil, sandboxOutcome{cause: errors.New("gone")}, false, "the sandbox ended without a report: gone", ""},
	} {
		s := newSupervisor(&run{id: "0abc-talker"})
		s.launch.Spec.Agent, s.launch.Spec.Prompt, s.launch.Spec.Inference = "talker", "go", "scripted"
		for _, call := range test.calls {
			s.counters.addCall(call)
		}
		result := session.Result{Changed: test.changed, Fault: session.FailureOf(s.exitFault(test.agent, test.out))}
		s.checkWork(&resources{agent: test.agent, model: modelServer{server: nobody{}}}, &result)
		message := ""
		if result.Fault != nil {
			message = result.Fault.Message
			if kind := fault.ParseKind(result.Fault.Kind); kind.ExitCode() != 1 {
				t.Errorf("%s: %v", test.name, kind)
			}
		}
		if message != test.fault || !strings.Contains(strings.Join(result.Notes, "\n"), test.note) || (test.note == "") != (len(result.Notes) == 0) {
			t.Errorf("%s: %q %q", test.name, message, result.Notes)
		}
	}
}

// nobody is a model server that is never called.
type nobody struct{ Inference }
