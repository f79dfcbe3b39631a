package cli

import (
	"strings"
	"testing"

	"aibox/app/run"
	"aibox/session"
	"aibox/ui/page"
)

func TestARunOfTheUIThatStartsNothingReturnsItsError(t *testing.T) {
	a, _, errOut := testApp(t)
	err := uiHost{a}.runOnTerminal(t.Context(), run.Request{Agent: "codx", Repository: t.TempDir(), Prompt: "mend it"})
	if err == nil || !strings.Contains(err.Error(), "codx") || !strings.Contains(errOut.String(), "codx") {
		t.Errorf("%v, printed %s", err, errOut)
	}
}

// The commands of the terminal UI are started as processes, so a wrong flag shows only once they run.
func TestEveryCommandOfTheTerminalUIParses(t *testing.T) {
	const id, other = session.ID("0aaaa-codex"), session.ID("0bbbb-codex")
	for _, command := range []page.Command{
		page.Attach(id), page.Shell(id), page.RunInside(id, "ls -l"), page.CopyOut(id, "a", "-b"), page.CopyInto(id, "a", "b"), page.Workspace(id),
		page.Diff(id), page.Accept(id), page.DiffBetween(id, other), page.CloseNetwork(), page.EditSettings(), page.SetUp(),
	} {
		a, _, _ := testApp(t)
		cmd, args, err := a.root().Find(command.Args)
		if err == nil {
			err = cmd.ParseFlags(args)
		}
		if err == nil {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err != nil || !cmd.Runnable() {
			t.Errorf("aibox %s: %v", strings.Join(command.Args, " "), err)
		}
	}
}
