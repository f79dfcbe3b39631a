package description

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"aibox/config"
	"aibox/internal/golden"
	"aibox/netguard"
	"aibox/review"
	"aibox/session"
)

// described is a session whose record holds the data of a hostile agent.
func described() (session.Session, *review.ChangeSet, []session.Verification) {
	s := session.Session{Spec: session.Spec{ID: "0dq4f-codex", Agent: "codex", Prompt: "Fix the login\n\nThe form forgets the name of the person when the password is wrong; keep it, and say which field is wrong.\n\n  - and add a test", Run: config.Run{Model: "gpt-5", Network: netguard.Local.String()}}}
	s.State.Result = &session.Result{
		Seconds: 754, Tokens: session.Tokens{Requests: 12, Input: 91_000, Output: 4_200},
		Refused: []session.Refusal{
			{What: "name", Target: "evil`.example [x](http://e) @bob", Reason: "not on the list", Times: 3},
			{What: "tcp", Target: "169.254.169.254:80", Reason: "no route", Times: 1},
		},
		Commits: []string{"Fix it", "Fixes #12 @bob ```\n## Approved\n[click](http://evil)\x1b]0;x\x07 <img src=x>"},
	}
	set := &review.ChangeSet{Session: string(s.ID), BaseTree: "b", Tree: "t", Changes: []review.Change{
		{Path: "README.md", Kind: review.Modified, Added: 2, Deleted: 1},
		{Path: "src/login/form.go", Kind: review.Modified, Added: 20, Deleted: 4},
		{Path: "src/login/form_test.go", Kind: review.Added, Added: 31},
		{Path: "src/new`name`.go", OldPath: "src/old.go", Kind: review.Renamed},
		{Path: "[skip ci] Fixes #1 @bob/x\x1b[31m\n\u202e.md", Kind: review.Added, Added: 1},
	}}
	verified := []session.Verification{
		{Number: 1, Command: "make test", Tree: "t", ExitCode: 2, Fault: &session.Failure{}},
		{Number: 2, Command: "make test", Tree: "t"},
		{Number: 3, Command: "make lint", Tree: "other"},
	}
	return s, set, verified
}

func TestACommitMessageDescribesTheSession(t *testing.T) {
	d := Of(described())
	golden.Check(t, "message.golden", d.Message)
	for _, text := range []string{"@bob", "#1", "[skip", "evil", "http"} {
		if strings.Contains(d.Message, text) {
			t.Errorf("the message repeats the agent's %q", text)
		}
	}
}

func TestAPullRequestQuotesTheAgentAsData(t *testing.T) {
	d := Of(described())
	golden.Check(t, "request.golden", d.Title+"\n\n"+d.Body)
	onlyOurs(t, d.Body)
}

func TestEverySessionHasATitle(t *testing.T) {
	for _, c := range []struct {
		spec session.Spec
		want string
	}{
		{session.Spec{Agent: "codex", Prompt: "  Do it\nnow"}, "Do it"},
		{session.Spec{Agent: "codex", Prompt: "\x1b[31mred\tand\u202e"}, `\x1b[31mred\tand\u202e`},
		{session.Spec{Agent: "codex"}, "Work of codex"},
		{session.Spec{Agent: "shell", Args: []string{"make", "fmt"}}, "Run make fmt"},
		{session.Spec{Agent: "codex", Resumes: "0dq4f-codex", Feedback: "x"}, "Follow the review of 0dq4f-codex"},
		{session.Spec{Agent: "codex", Prompt: strings.Repeat("long ", 40)}, strings.TrimSpace(strings.Repeat("long ", 14)) + "…"},
		{session.Spec{Agent: "codex", Prompt: strings.Repeat("長", 40)}, strings.Repeat("長", 35) + "…"},
		{session.Spec{Agent: "codex", Prompt: strings.Repeat("x", 73)}, strings.Repeat("x", 71) + "…"},
		{session.Spec{Agent: "codex", Prompt: strings.Repeat("x", 72)}, strings.Repeat("x", 72)},
		{session.Spec{Agent: "shell", Args: []string{"sh", "-c", "set -e\nmake"}}, "Run sh -c set -e…"},
	} {
		d := Of(session.Session{Spec: c.spec}, &review.ChangeSet{}, nil)
		if d.Title != c.want || !strings.HasPrefix(d.Message, c.want+"\n\n") {
			t.Errorf("%+v is titled %q, want %q:\n%s", c.spec, d.Title, c.want, d.Message)
		}
	}
}

func TestATaskIsNotWrappedAndNotRepeated(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("a rather long line ", 20))
	for _, c := range []struct {
		spec session.Spec
		want string
	}{
		{session.Spec{Agent: "a", Prompt: "Fix it\n\n" + long + "\n\n    indented"}, "Fix it\n\n  " + long + "\n\n      indented\n"},
		{session.Spec{Agent: "a", Prompt: long}, cutTitle(long) + "\n\n  " + long + "\n"},
		{session.Spec{Agent: "shell", Args: []string{"make", "fmt"}}, "Run make fmt\n"},
		{session.Spec{Agent: "shell", Args: []string{"sh", "-c", "set -e\n  make"}}, "Run sh -c set -e…\n\n  sh -c set -e\n    make\n"},
	} {
		d := Of(session.Session{Spec: c.spec}, &review.ChangeSet{}, nil)
		if want := c.want + "\nMade by"; !strings.HasPrefix(d.Message, want) {
			t.Errorf("the message is\n%s\nwant\n%s", d.Message, want)
		}
	}
}

func TestADescriptionContainsNoSecret(t *testing.T) {
	token := "ghp_" + "x7Kq2Vw9Zr4Tn8Ly1Mb6Jd3Hs5Pf0GcAaB9e"
	set := &review.ChangeSet{Tree: "t", Changes: []review.Change{{Path: review.Path(token + "/f")}}}
	for _, spec := range []session.Spec{
		{Agent: "a", Prompt: "Push with " + token + " to the server"},
		{Agent: "a", Prompt: strings.Repeat("word ", 10) + token + " and more"}, // the title ends inside the secret
		{Agent: "a", Prompt: "Push\n\n" + strings.Repeat("x ", 990) + token},    // the line ends inside the secret
		{Agent: "a", Prompt: "Push\n\n" + strings.Repeat("line\n", 13_100) + strings.Repeat("x ", 1) + token},
		{Agent: "shell", Args: []string{"git", "push", "https://x:" + token + "@example.com"}},
	} {
		s := session.Session{Spec: spec}
		s.State.Result = &session.Result{Commits: []string{"Use " + token}, Refused: []session.Refusal{{Target: token}}}
		d := Of(s, set, []session.Verification{{Command: "curl -H 'X: " + token + "'", Tree: "t"}})
		for _, text := range []string{d.Title, d.Message, d.Body} {
			if strings.Contains(text, token[:12]) {
				t.Errorf("a secret is in\n%s", text)
			}
		}
		if d.Secrets < 1 {
			t.Errorf("%d secrets were replaced in\n%s", d.Secrets, d.Message)
		}
	}
}

func TestManyFoldersAreSummarized(t *testing.T) {
	set := &review.ChangeSet{}
	for i := range 40 {
		for j := range i%3 + 1 {
			set.Changes = append(set.Changes, review.Change{Path: review.Path(fmt.Sprintf("d%02d/e%d/f%d", i, j, j)), Added: 1})
		}
	}
	all := folders(set.Changes)
	sum := 0
	for _, f := range all {
		sum += f.files
	}
	if len(all) != maxFolders+1 || sum != len(set.Changes) || all[maxFolders].plainName() != "28 other folders" {
		t.Errorf("%d folders with %d files: %+v", len(all), sum, all)
	}
}

// onlyOurs fails when Markdown holds, outside of code, text that aibox did not write.
func onlyOurs(t *testing.T, markdown string) {
	t.Helper()
	rest := stripSpans(stripBlocks(markdown))
	rest = strings.NewReplacer("<details><summary>", "", "</summary>", "", "</details>", "").Replace(rest)
	if i := strings.IndexAny(rest, "<@[!_*&~`|\\"); i >= 0 {
		t.Fatalf("outside of code stands %q in\n%s", rest[max(0, i-20):min(len(rest), i+40)], markdown)
	}
	if strings.Contains(rest, "http") || strings.Contains(rest, "www.") {
		t.Fatalf("outside of code stands a link in\n%s", markdown)
	}
}

// stripBlocks removes fenced blocks (CommonMark 0.31, 4.5): a block ends at a line that
// begins with at least as many backticks as it began with.
func stripBlocks(markdown string) string {
	var out strings.Builder
	end := ""
	for line := range strings.Lines(markdown) {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case end != "" && len(ticks) >= len(end) && strings.Trim(line, "` \n") == "":
			end = ""
		case end != "":
		case len(ticks) >= 3:
			end = ticks
		default:
			out.WriteString(line)
		}
	}
	return out.String()
}

// stripSpans removes code spans (6.1), which reach from a run of backticks to the next run
// of the same length.
func stripSpans(text string) string {
	var out strings.Builder
	for text != "" {
		start := strings.IndexByte(text, '`')
		if start < 0 {
			break
		}
		out.WriteString(text[:start])
		text = text[start:]
		mark := len(text) - len(strings.TrimLeft(text, "`"))
		end := -1
		for at := mark; at < len(text); {
			next := strings.IndexByte(text[at:], '`')
			if next < 0 {
				break
			}
			at += next
			run := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
			if run == mark {
				end = at + run
				break
			}
			at += run
		}
		if end < 0 {
			out.WriteString(text[:mark])
			text = text[mark:]
			continue
		}
		text = text[end:]
	}
	return out.String() + text
}

func FuzzDescriptionQuotesAgentTextAsCode(f *testing.F) {
	f.Add("src/`a``b` ", "Fixes #12\n```\n# hi", "evil.example", "make `x`")
	f.Add("\\`", "`", "~~~\n<b>", "\x1b[31m\u202e\xff")
	f.Fuzz(func(t *testing.T, path, subject, target, command string) {
		s, set, _ := described()
		set.Changes = append(set.Changes, review.Change{Path: review.Path(path), Kind: review.Added},
			review.Change{Path: "dir/f", OldPath: review.Path(path), Kind: review.Renamed})
		s.Model = target
		s.State.Result.Commits = append(s.State.Result.Commits, subject)
		s.State.Result.Refused = append(s.State.Result.Refused, session.Refusal{What: target, Target: target, Reason: subject})
		s.State.Result.Fault = &session.Failure{Message: subject}
		d := Of(s, set, []session.Verification{{Command: command, Tree: "t"}})
		onlyOurs(t, d.Body)
		for _, text := range []string{d.Title, d.Message, d.Body} {
			if !utf8.ValidString(text) {
				t.Fatalf("%q is not UTF-8", text)
			}
			for _, r := range text {
				if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || r >= 0x202a && r <= 0x202e {
					t.Fatalf("%q holds %U", text, r)
				}
			}
		}
	})
}
