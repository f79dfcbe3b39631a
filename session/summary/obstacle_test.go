package summary

import (
	"strings"
	"testing"

	"aibox/session"
)

func TestAnObstacleSaysWhyAnActionDoesNotApply(t *testing.T) {
	sandbox := func(phase session.Phase) Summary { return Summary{Phase: phase, Template: "base"} }
	for _, c := range []struct {
		of   Summary
		need Need
		want string
	}{
		{Summary{Phase: session.Queued}, NeedsReview, "0a has not started yet"},
		{Summary{Phase: session.Running}, NeedsReview, "0a is still running"},
		{Summary{Phase: session.Running}, NeedsSnapshot, "0a is the session of an agent"},
		{Summary{Phase: session.Ending}, NeedsSandbox, "0a is ending"},
		{Summary{Phase: session.Ended}, NeedsSandbox, "0a has ended"},
		{Summary{Phase: session.Running}, NeedsEnd, "0a is still running"},
		{sandbox(session.Running), NeedsReview, "0a is a sandbox without an agent"},
		{sandbox(session.Running), NeedsRemove, "0a is still running"},
		{Summary{Phase: session.Running, Template: "base", Paused: true}, NeedsRemove, "0a is paused"},
		{Summary{Phase: session.Running, Template: "base", Paused: true}, NeedsSandbox, "0a is paused"},
		{sandbox(session.Warm), NeedsSandbox, "0a waits for its first user"},
		{Summary{Phase: session.Ended}, NeedsAccept, "0a changed nothing"},
		{Summary{Phase: session.Ended, ContinuedBy: "0b"}, NeedsReview, "0a changed nothing"},
		{Summary{Phase: session.Ended, Review: session.Discarded}, NeedsDiff, "0a changed nothing"},
		{Summary{Phase: session.Ended, Changed: true}, NeedsRemove, "the work of 0a waits for a review"},
		{Summary{Phase: session.Ended, Changed: true}, NeedsRestore, "the work of 0a is not discarded"},
		{Summary{Phase: session.Ended, Unknown: true, Review: session.Discarded}, NeedsRestore, "the changes of 0a are unknown"},
		{Summary{Phase: session.Ended, Changed: true, Agent: "shell"}, NeedsSendBack, "shell has no conversation to continue"},
		{Summary{Phase: session.Ended, Changed: true, ContinuedBy: "0b"}, NeedsAccept, "0a is continued by 0b"},
		{Summary{Phase: session.Ended, Changed: true, Review: session.Discarded}, NeedsSendBack, "the work of 0a is discarded"},
		{Summary{Phase: session.Ended, Changed: true, Review: session.Accepted}, NeedsDiscard, "the work of 0a is accepted"},
	} {
		c.of.ID = "0a"
		if got := c.of.Obstacle(c.need); got != c.want {
			t.Errorf("%+v: %q, not %q", c.of, got, c.want)
		}
	}
}

func TestAnObstacleOfASessionNamesADeadSupervisor(t *testing.T) {
	for _, phase := range []session.Phase{session.Queued, session.Running, session.Ending, session.Ended} {
		for need := range needs {
			s := session.Session{Spec: session.Spec{ID: "0a", Agent: "codex"}, State: session.State{Phase: phase}, Alive: true}
			b := Of(&s)
			want := b.Obstacle(need)
			if got := Obstacle(&s, need); got != want {
				t.Errorf("%s, alive: %q, not %q", phase, got, want)
			}
			if s.Alive = false; phase != session.Ended && need != NeedsSnapshot {
				want = "the supervisor of 0a has died"
			}
			if got := Obstacle(&s, need); got != want {
				t.Errorf("%s, dead: %q, not %q", phase, got, want)
			}
		}
	}
}

// truths are the ends of all clauses, with what makes each one true.
var truths = map[string]func(Summary) bool{
	"has not started yet":      func(b Summary) bool { return b.Phase == session.Queued || b.Phase == session.Preparing },
	"waits for its first user": func(b Summary) bool { return b.Phase == session.Warm },
	"is still running":         func(b Summary) bool { return b.Phase == session.Running && !b.Paused },
	"is paused":                func(b Summary) bool { return b.Phase == session.Running && b.Paused },
	"is ending": func(b Summary) bool {
		return b.Phase == session.Ending || b.Phase == session.Computing || b.Phase == session.Verifying
	},
	"has ended":                             func(b Summary) bool { return b.Phase == session.Ended },
	"is a sandbox without an agent":         func(b Summary) bool { return b.Template != "" },
	"is the session of an agent":            func(b Summary) bool { return b.Template == "" },
	"changed nothing":                       func(b Summary) bool { return b.Phase == session.Ended && !b.Changed && !b.Unknown },
	"are unknown":                           func(b Summary) bool { return b.Unknown },
	"waits for a review":                    func(b Summary) bool { return b.Open() },
	"is continued by 0b":                    func(b Summary) bool { return b.ContinuedBy == "0b" },
	"is not discarded":                      func(b Summary) bool { return b.Review != session.Discarded },
	"is discarded":                          func(b Summary) bool { return b.Review == session.Discarded },
	"is accepted":                           func(b Summary) bool { return b.Review == session.Accepted },
	"shell has no conversation to continue": func(b Summary) bool { return b.Agent == "shell" },
}

func TestEveryObstacleIsTrueAndNoOfferedActionHasOne(t *testing.T) {
	for _, b := range possible() {
		for need := range needs {
			why := b.Obstacle(need)
			if b.Meets(need) != (why == "") {
				t.Fatalf("%+v: the obstacle to %d is %q", b, need, why)
			}
			if why == "" {
				continue
			}
			end, most := "", 0
			for text := range truths {
				if strings.HasSuffix(why, text) && len(text) > most {
					end, most = text, len(text)
				}
			}
			if end == "" || !truths[end](b) {
				t.Fatalf("%+v: %q is not true", b, why)
			}
		}
	}
}

// possible returns summaries in all states that sessions can be in.
func possible() []Summary {
	var all []Summary
	for _, phase := range []session.Phase{session.Queued, session.Preparing, session.Warm, session.Running, session.Ending, session.Computing, session.Verifying} {
		all = append(all, Summary{ID: "0a", Agent: "codex", Phase: phase}, Summary{ID: "0a", Template: "base", Phase: phase},
			Summary{ID: "0a", Agent: "codex", Phase: phase, Interactive: true})
	}
	all = append(all, Summary{ID: "0a", Template: "base", Phase: session.Running, Paused: true}, Summary{ID: "0a", Template: "base", Phase: session.Ended})
	for _, agent := range []string{"codex", "shell"} {
		for _, review := range []session.Review{session.Unreviewed, session.PartlyAccepted, session.Accepted, session.Discarded} {
			for _, by := range []session.ID{"", "0b"} {
				for _, changed := range []bool{false, true} {
					for _, unknown := range []bool{false, true} {
						all = append(all, Summary{ID: "0a", Agent: agent, Phase: session.Ended, Review: review, ContinuedBy: by, Changed: changed, Unknown: unknown})
					}
				}
			}
		}
	}
	return all
}
