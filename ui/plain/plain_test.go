package plain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/app/compose"
	"aibox/app/run"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/summary"
)

// scene is a conversation with the answers of the user.
type scene struct {
	t       *testing.T
	briefs  []summary.Summary
	answers []string
	out     strings.Builder
	done    []string // commands
	broken  error    // of every look at sessions, agents and images
	breaks  error    // of every look at agents but the first
	looked  int      // at agents
}

func (s *scene) Next(ctx context.Context) (string, error) {
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if len(s.answers) == 0 {
		return "", io.EOF
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	fmt.Fprintln(&s.out)
	return answer, nil
}

func (s *scene) Summaries() ([]summary.Summary, error)              { return s.briefs, s.broken }
func (s *scene) Repair(context.Context) ([]manager.Repaired, error) { return nil, s.broken }
func (s *scene) Recent(context.Context) ([]string, error) {
	return []string{"/home/ann/shop", "/home/ann/\x1b[2Jblog"}, s.broken
}

func (s *scene) Agents(context.Context) ([]compose.Agent, error) {
	if s.looked++; s.looked > 1 && s.breaks != nil {
		return nil, s.breaks
	}
	return []compose.Agent{
		{Name: "codex", Summary: "OpenAI's agent", NeedsPrompt: true},
		{Name: "cursor", Unservable: errors.New("its own cloud")},
		{Name: "shell", Summary: "Any command", Shell: true},
		{Name: "amp", Summary: "Amp's agent", NeedsPrompt: true, Unservable: fault.New(fault.Refused, "%w", run.UnacceptedCloud{})},
		{Name: "linter", Summary: "An agent of the user that always does the same"},
	}, s.broken
}

func (s *scene) Images(context.Context) (map[string]string, error) {
	return map[string]string{"codex": "missing", "shell": "fresh"}, nil
}

func (s *scene) do(_ context.Context, args ...string) error {
	s.done = append(s.done, strings.Join(args, " "))
	return nil
}

func (s *scene) runRequest(_ context.Context, request run.Request, form bool) error {
	var more []string
	if form {
		more = []string{"--form"}
	}
	s.done = append(s.done, strings.Join(request.CommandLine(nil, more...)[1:], " "))
	return nil
}

func talked(t *testing.T, briefs []summary.Summary, answers ...string) *scene {
	t.Helper()
	s := &scene{t: t, briefs: briefs, answers: answers}
	s.run(t.Context())
	return s
}

func (s *scene) run(ctx context.Context) {
	s.t.Helper()
	err := Run(ctx, Request{In: s, Out: &s.out, Sessions: s, Places: s, Choices: s, Do: s.do, Run: s.runRequest})
	if err != nil {
		s.t.Errorf("it ended with %v", err)
	}
	if text := s.out.String(); strings.ContainsAny(text, "\x1b\x07") {
		s.t.Errorf("something of the agent's is printed raw: %q", text)
	}
}

func (s *scene) sees(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if !strings.Contains(s.out.String(), text) {
			s.t.Errorf("%q was not said:\n%s", text, s.out.String())
		}
	}
}

func (s *scene) did(commands ...string) {
	s.t.Helper()
	if fmt.Sprintf("%q", s.done) != fmt.Sprintf("%q", commands) {
		s.t.Errorf("%q were run, not %q:\n%s", s.done, commands, s.out.String())
	}
}

func some() []summary.Summary {
	now := time.Now()
	return []summary.Summary{
		{ID: "0aaaa-codex", Agent: "codex", Repository: "/home/ann/shop", Branch: "dark", Task: "evil \x1b]0;title\x07 task", Created: now, Phase: session.Ended, Changed: true, Files: 3, Added: 40, Deleted: 2, Refused: 2},
		{ID: "0bbbb-aider", Agent: "aider", Repository: "/home/ann/blog", Created: now, Phase: session.Ended, Failed: true},
		{ID: "0cccc-shell", Agent: "shell", Repository: "/home/ann/shop", Created: now, Phase: session.Running, Interactive: true, Waiting: 1},
		{ID: "0dddd-codex", Agent: "codex", Repository: "/home/ann/shop", Created: now, Phase: session.Running},
	}
}

func TestTheEndOfTheInputEndsTheConversationWithoutAnAction(t *testing.T) {
	script := []string{"4", "7", "yes", "q", "n", "1", "", "1", "do it", ".", "1", "q"}
	whole := talked(t, some(), script...)
	whole.did("discard 0aaaa-codex", "run codex --repo=/home/ann/shop --prompt=do it")
	for n := range script {
		part := talked(t, some(), script[:n]...)
		if len(part.done) > len(whole.done) {
			t.Errorf("after %d answers: %q", n, part.done)
		}
	}
	talked(t, some(), script[:2]...).did() // the word yes has not come
	talked(t, some(), script[:11]...).did("discard 0aaaa-codex", "run codex --repo=/home/ann/shop --prompt=do it")
	talked(t, some(), script[:10]...).did("discard 0aaaa-codex")
}

func TestAnAgentWhoseCloudIsNotAcceptedIsOffered(t *testing.T) {
	s := talked(t, nil, "n", "1", "", "3", "do it", ".", "1", "q")
	s.sees("3  amp: Amp's agent (it asks first whether to allow its vendor's servers)")
	s.did("run amp --repo=/home/ann/shop --prompt=do it")
}

func TestSessionsAreDescribedInSentencesAndFoundByWords(t *testing.T) {
	s := talked(t, some(), "state:open", "a", "nothing like it", "a", "x", "99", "state:opne")
	s.sees("4 sessions, 2 running, 1 to review", "1  0dddd-codex, running, shop, 0s old", `0aaaa-codex, to review, shop on dark, 3 files +40 -2, 2 refused, 0s old: evil \x1b]0;title\x07 task`,
		`1 with "state:open"`, `0 with "nothing like it"`, `"x" is not in the list`, `"99" is not in the list`, `"opne" is not a state; the states are open, running`)
}

func TestManySessionsComeInParts(t *testing.T) {
	var many []summary.Summary
	for i := range 25 {
		many = append(many, summary.Summary{ID: session.ID(fmt.Sprintf("0%03d-codex", i)), Phase: session.Ended, Changed: true})
	}
	s := talked(t, many, "m", "m", "5", "1", "q", "a")
	s.sees("these are 1 to 10, newest first", "these are 11 to 20", "these are 21 to 25")
	s.did("logs 0000-codex")
}

func TestOnlyPossibleActionsAreOfferedAndEachIsACommandOfAibox(t *testing.T) {
	s := talked(t, some(), "4", "1", "2", "3", "4", "5", "no", "5", "yes", "6", "yes", "7", "y", "8", "q", "3", "1", "q", "2", "1", "1 yes", "4", "30m", "2", "5", "yes", "q", "1", "1", "q")
	s.did("logs 0aaaa-codex", "diff --stat 0aaaa-codex", "diff --no-pager 0aaaa-codex", "accept --interactive 0aaaa-codex", "accept 0aaaa-codex",
		"accept --to worktree 0aaaa-codex", "rerun 0aaaa-codex", "logs 0bbbb-aider", "answer", "answer 0cccc-shell 1 yes", "extend 0cccc-shell 30m", "attach 0cccc-shell", "stop 0cccc-shell", "attach 0dddd-codex")
	s.sees("answer its 1 question", "$ aibox accept --to worktree 0aaaa-codex", "3  remove the session")
}

func TestQGoesBackFromEveryListAndEndsAtTheTop(t *testing.T) {
	for _, list := range []string{"1", "i", "w", "d", "s", "n"} {
		s := talked(t, some(), list, "q", "q", "4", "1")
		s.sees("q goes back:")
		s.did()
		if n := strings.Count(s.out.String(), "q quits; sessions continue:"); n != 2 {
			t.Errorf("%s: the list of sessions was shown %d times:\n%s", list, n, s.out.String())
		}
	}
}

func TestAnEmptyAnswerShowsTheListAsItIsNow(t *testing.T) {
	s := talked(t, some(), "", "n", "", "q", "4", "", "q", "q")
	text := s.out.String()
	for what, times := range map[string]int{"4 sessions": 4, "Which repository?": 2, "8  run it again": 2} {
		if n := strings.Count(text, what); n != times {
			t.Errorf("%q stands there %d times, not %d:\n%s", what, n, times, text)
		}
	}
	if strings.Contains(text, "goes on: \nWhich?") {
		t.Errorf("a question is asked without its list:\n%s", text)
	}
}

func TestDiscardedWorkCanBeRestored(t *testing.T) {
	briefs := some()[:1]
	briefs[0].Review = session.Discarded
	s := talked(t, briefs, "1", "4", "no", "4", "yes", "q", "q")
	s.sees("4  restore the discarded changes")
	s.did("recover 0aaaa-codex --to-workspace")
}

func TestTheNewestSessionComesFirstAsOnTheScreen(t *testing.T) {
	briefs := some()
	briefs[1].Created = briefs[1].Created.Add(time.Minute)
	talked(t, briefs).sees("1  0bbbb-aider", "2  0dddd-codex", "3  0cccc-shell")
}

func TestASessionThatIsGoneIsReported(t *testing.T) {
	s := &scene{t: t, briefs: some(), answers: []string{"1", "1", "q"}}
	first := true
	err := Run(t.Context(), Request{In: s, Out: &s.out, Sessions: s, Places: s, Choices: s, Do: func(context.Context, ...string) error {
		if first {
			s.briefs, first = s.briefs[:1], false
		}
		return nil
	}})
	if err != nil {
		t.Error(err)
	}
	s.sees("0dddd-codex is gone")
}

func TestANewRunIsAskedForAndShownAsACommandFirst(t *testing.T) {
	s := talked(t, nil, "n", "../other repo", "feature", "codex", "say hello", "", "twice", ".", "2", "q")
	s.sees("No sessions yet", "codex: OpenAI's agent (its image has to be baked first)", `/home/ann/\x1b[2Jblog`, "This is the command:\naibox run codex")
	s.did("run codex --repo=../other repo --branch=feature --detach --prompt=say hello\n\ntwice")
	if strings.Contains(s.out.String(), "cursor") {
		t.Error("an agent that cannot run is offered")
	}

	talked(t, nil, "n", "1", "", "2", "make test", "3", "q").did("run shell --repo=/home/ann/shop --form -- sh -c make test")
	talked(t, nil, "n", "1", "", "2", "make test", "q", "n", "q", "n", "1", "", "q", "q").did()
	talked(t, nil, "n", "1", "", "1", "look", ".", "4", "q").did("run codex --repo=/home/ann/shop --interactive --prompt=look")
	s = talked(t, nil, "n", "1", "", "1", ".", "1", "q")
	s.sees("Without a task it can only be run interactively.")
	s.did("run codex --repo=/home/ann/shop --interactive")
	talked(t, nil, "n", "1", "", "linter", "1", "q").did("run linter --repo=/home/ann/shop")
	talked(t, nil, "n", "1", "", "2", "", "q").sees("A run needs a command")
	talked(t, nil, "n", "1", "", "nobody", "shell", "true", "1", "q").did("run shell --repo=/home/ann/shop -- sh -c true")
}

func TestImagesTheMachineTheNetworkAndTheSettingsAreReached(t *testing.T) {
	s := talked(t, nil, "i", "1", "a", "q", "d", "1", "2", "3", "4", "q", "w", "1", "2", "q", "s", "1", "2", "accept", "branch", "3", "accept", "2", "", "3", "", "q", "q")
	s.did("bake codex", "bake --all", "doctor", "doctor --fix", "doctor --probe", "models", "netguard log", "netguard status",
		"config show", "config set -- accept branch", "config unset -- accept")
	s.sees("1  codex, missing")
}

func TestTheValueOfASettingIsOneArgument(t *testing.T) {
	for _, value := range []string{"make  test", "*.key,vault", ""} {
		s := &scene{t: t, answers: []string{"s", "2", "verify", value, "q", "q"}}
		var ran [][]string
		err := Run(t.Context(), Request{In: s, Out: &s.out, Sessions: s, Places: s, Choices: s, Do: func(_ context.Context, args ...string) error {
			ran = append(ran, args)
			return nil
		}})
		if err != nil || len(ran) != 1 || !slices.Equal(ran[0], []string{"config", "set", "--", "verify", value}) {
			t.Errorf("%q runs %q, %v", value, ran, err)
		}
	}
}

func TestAFailureIsReportedWithItsHintAndTheConversationContinues(t *testing.T) {
	s := &scene{t: t, briefs: some(), answers: []string{"i", "q"}, broken: fault.New(fault.Environment, "no \x1b[31mdaemon").Hint("start it")}
	s.run(t.Context())
	s.sees(`error: no \x1b[31mdaemon`, "try: start it")
}

func TestACommandThatCannotBeRunAndASignalEndTheConversation(t *testing.T) {
	s := &scene{t: t, briefs: some(), answers: []string{"1", "1"}}
	away := errors.New("no such program")
	err := Run(t.Context(), Request{In: s, Out: &s.out, Sessions: s, Places: s, Choices: s, Do: func(context.Context, ...string) error { return away }})
	if !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = Run(ctx, Request{In: s, Out: &s.out, Sessions: s, Places: s, Choices: s, Do: s.do, Run: s.runRequest})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// FuzzAnswers gives any answers: nothing panics, nothing is printed raw, and nothing
// is taken away without the word yes.
func FuzzAnswers(f *testing.F) {
	f.Add("4\n7\nno\nq\nq\n")
	f.Add("n\n1\n\n1\nx\n.\n1\n")
	f.Add("a\nm\nstate:\n-\n\x1b\n")
	f.Fuzz(func(t *testing.T, text string) {
		s := talked(t, some(), strings.Split(strings.ReplaceAll(strings.ToLower(text), "yes", "ye"), "\n")...)
		for _, command := range s.done {
			verb, rest, _ := strings.Cut(command, " ")
			if verb == "discard" || verb == "rm" || verb == "stop" || verb == "accept" && !strings.HasPrefix(rest, "--interactive") {
				t.Errorf("%q was run", command)
			}
		}
	})
}

func TestAFailureToReadTheAgentsAgainGoesBackToTheList(t *testing.T) {
	s := &scene{t: t, briefs: some(), answers: []string{"n", "1", "", "1", "q"}, breaks: errors.New("no disk")}
	s.run(t.Context())
	s.sees("no disk")
	s.did()
}
