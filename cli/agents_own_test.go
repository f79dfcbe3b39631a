package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aibox/agents/custom"
	"aibox/netguard/gateway/modelserver"
)

// Another user may have written an agent file. So it cannot use names that belong to aibox: it
// cannot change the meaning of a flag or bring a key of the user into its sandbox.
func TestAnAgentFileCannotUseNamesThatBelongToAibox(t *testing.T) {
	file := func(option string) []byte {
		return []byte("title = \"B\"\nsummary = \"B\"\n[command]\nheadless = [\"bot\", \"{options}\", \"{prompt}\"]\n[[option]]\nlabel = \"L\"\nhelp = \"h\"\n" + option)
	}
	if _, err := custom.Parse("bot", file("key = \"loud\"\nflag = \"--loud\"\n")); err != nil {
		t.Fatal(err)
	}
	a, _, _ := testApp(t)
	root := a.root()
	run, _, err := root.Find([]string{"run", "codex"})
	if err != nil {
		t.Fatal(err)
	}
	flags := 0
	for _, command := range []*cobra.Command{root, run.Parent()} {
		command.InitDefaultHelpFlag()
		command.PersistentFlags().VisitAll(func(flag *pflag.Flag) {
			flags++
			_, err := custom.Parse("bot", file(fmt.Sprintf("key = %q\nflag = \"--x\"\n", flag.Name)))
			if err == nil || !strings.Contains(err.Error(), "is a flag of `aibox run` itself") {
				t.Errorf("an option --%s: %v (ownFlags of agents/custom lists the flags)", flag.Name, err)
			}
		})
	}
	if flags < 25 {
		t.Errorf("only %d flags were tried", flags)
	}
	for _, name := range modelserver.KeyNames() {
		if name == "OLLAMA_HOST" { // an address
			continue
		}
		if _, err := custom.Parse("bot", file(fmt.Sprintf("key = \"k\"\ntype = \"secret\"\nenv = %q\n", name))); err == nil || !strings.Contains(err.Error(), "never enters a sandbox") {
			t.Errorf("a secret %s: %v", name, err)
		}
	}
}
