package summary

import (
	"strings"
	"testing"

	"aibox/session"
)

func TestAFilterFindsSessionsByWordsAndColumns(t *testing.T) {
	all := []Summary{
		{ID: "0aaaa-codex", Agent: "codex", Repository: "/home/ann/shop", Task: "Fix http://x", Phase: session.Ended, Changed: true},
		{ID: "0bbbb-aider", Agent: "aider", Repository: "/home/ann/codex", Branch: "dark", Phase: session.Ended, Failed: true},
		{ID: "0cccc-codex", Agent: "codex", Repository: "/home/ann/shop", Phase: session.Running},
	}
	for typed, want := range map[string]string{
		"":                            "0aaaa 0bbbb 0cccc",
		"codex":                       "0aaaa 0bbbb 0cccc",
		"agent:codex":                 "0aaaa 0cccc",
		"agent:CODEX state:running":   "0cccc",
		"state:to-review":             "0aaaa",
		"state:review":                "0aaaa",
		"state:open":                  "0aaaa",
		"state:ended":                 "0aaaa 0bbbb",
		"state:failed,running":        "0bbbb 0cccc",
		"state:failed,":               "0bbbb",
		"-state:ended":                "0cccc",
		"-agent:codex":                "0bbbb",
		"repo:ann":                    "0aaaa 0bbbb 0cccc",
		"repo:shop branch:dark":       "",
		"branch:dark":                 "0bbbb",
		"http://x":                    "0aaaa",
		"shop -running":               "0aaaa",
		"state:":                      "0aaaa 0bbbb 0cccc",
		"-":                           "0aaaa 0bbbb 0cccc",
		"id:0a":                       "0aaaa",
		"nobody":                      "",
		"task:fix":                    "0aaaa",
		"-state:":                     "0aaaa 0bbbb 0cccc",
		"state:accepted agent:nobody": "",
	} {
		f := ParseFilter(typed)
		var found []string
		for i := range all {
			if f.Match(&all[i]) {
				found = append(found, string(all[i].ID[:5]))
			}
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%q finds %q, want %q", typed, got, want)
		}
	}
}

func TestAFilterWithAnUnknownStateNamesTheStates(t *testing.T) {
	for typed, unknown := range map[string]string{
		"state:running,rnning": "rnning", "-state:done": "done", "state:toreview": "toreview", "state:\x1bx": `\x1bx`,
		"state:to-rev": "", "state:review": "", "state:OPEN": "", "state:failed,": "", "state:": "", "rnning": "", "agent:rnning": "", "state:preparing": "",
	} {
		want := ""
		if unknown != "" {
			want = `"` + unknown + `" is not a state; the states are open, running, to-review, failed`
		}
		if got := ParseFilter(typed).Problem(); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("the problem of %q is %q, not %q", typed, got, want)
		}
	}
}

func TestAFilterKnowsEveryStateOfASession(t *testing.T) {
	for _, phase := range []session.Phase{session.Queued, session.Preparing, session.Warm, session.Running, session.Ending, session.Computing, session.Verifying, session.Ended} {
		for _, one := range []Summary{{Phase: phase}, {Phase: phase, Changed: true}, {Phase: phase, Waiting: 1}, {Phase: phase, Prompting: true}, {Phase: phase, Paused: true}, {Phase: phase, Failed: true}, {Phase: phase, ContinuedBy: "0b"}} {
			for _, word := range strings.Fields(stateWords(&one)) {
				if problem := ParseFilter("state:" + word).Problem(); problem != "" {
					t.Errorf("state:%s finds a session, and %s", word, problem)
				}
			}
		}
	}
}

func FuzzParseFilter(f *testing.F) {
	f.Add("state:running,failed -agent:codex x")
	f.Fuzz(func(_ *testing.T, text string) {
		filter := ParseFilter(text)
		filter.Match(&Summary{ID: "0aaaa-codex", Agent: "codex"})
	})
}

func TestOnlyApplicableActionsAreOffered(t *testing.T) {
	for _, c := range []struct {
		brief Summary
		want  Actions
	}{
		{Summary{Phase: session.Preparing}, Actions{Stop: true}},
		{Summary{Phase: session.Running, Interactive: true}, Actions{Stop: true, Attach: true, Enter: true, Diff: true}},
		{Summary{Phase: session.Running, Template: "code"}, Actions{Stop: true, Enter: true, Snapshot: true}},
		{Summary{Phase: session.Running, Template: "code", Paused: true}, Actions{Stop: true}},
		{Summary{Phase: session.Ended}, Actions{Remove: true, Workspace: true, SendBack: true}},
		{Summary{Phase: session.Ended, Agent: "shell"}, Actions{Remove: true, Workspace: true}},
		{Summary{Phase: session.Ended, Interactive: true, Changed: true}, Actions{Diff: true, Review: true, Accept: true, Discard: true, Workspace: true, SendBack: true}},
		{Summary{Phase: session.Ended, Changed: true, Review: session.PartlyAccepted}, Actions{Diff: true, Review: true, Accept: true, Discard: true, Workspace: true, SendBack: true}},
		{Summary{Phase: session.Ended, Changed: true, Review: session.Accepted}, Actions{Diff: true, Review: true, Accept: true, Remove: true, Workspace: true, SendBack: true}},
		{Summary{Phase: session.Ended, Changed: true, Review: session.Discarded}, Actions{Diff: true, Review: true, Restore: true, Remove: true}},
		{Summary{Phase: session.Ended, Changed: true, ContinuedBy: "0next"}, Actions{Diff: true, Review: true, Remove: true}},
	} {
		if got := c.brief.Actions(); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.brief, got, c.want)
		}
	}
}
