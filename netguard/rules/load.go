package rules

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"aibox/internal/command"
	"aibox/internal/fault"
)

// load installs the lock or repairs it, in one transaction of iptables-restore. Separate
// calls of the library would leave the lock open for a moment while sessions may be
// running: after a chain is emptied, or after a misplaced jump is deleted.
func (f *firewall) load(ctx context.Context) error {
	script := f.restoreScript(f.marked() || f.pristine(ctx))
	tool := program(filepath.Base(f.tool) + "-restore")
	if tool == "" {
		return fault.New(fault.Environment, "%s-restore is not installed", filepath.Base(f.tool)).Hint("apt-get install iptables")
	}
	wait := fmt.Sprint(lockWait)
	err := command.Cmd{Name: tool, Args: []string{"-w", wait, "--noflush"}, Stdin: strings.NewReader(script), Env: toolEnv()}.Run(ctx)
	if err != nil {
		return fmt.Errorf("loading the firewall: %w", err)
	}
	return nil
}

// restoreScript returns the transaction. Chains that hold what they should keep their counters.
func (f *firewall) restoreScript(mark bool) string {
	var b strings.Builder
	b.WriteString("*" + filter + "\n")
	for _, chain := range []string{chainInput, chainForward} {
		if f.isCurrent(chain) {
			continue
		}
		fmt.Fprintf(&b, ":%s - [0:0]\n", chain) // made, or emptied
		if mark && chain == chainInput {
			fmt.Fprintf(&b, "-A %s -m comment --comment %s\n", chain, markComment)
		}
		for _, rule := range f.own()[chain] {
			fmt.Fprintf(&b, "-A %s %s\n", chain, rule)
		}
	}
	for chain, rules := range f.chains {
		for _, rule := range rules {
			if jumpsToOwnChain(rule.spec) {
				fmt.Fprintf(&b, "-D %s %s\n", chain, rule.spec)
			}
		}
	}
	for _, chain := range []string{"INPUT", "FORWARD", chainDocker} {
		for i, rule := range f.jumps()[chain] {
			fmt.Fprintf(&b, "-I %s %d %s\n", chain, i+1, rule)
		}
	}
	b.WriteString("COMMIT\n")
	return b.String()
}

// removeFirewalls removes the lock from every backend that has it: the machine's default or
// dockerd's choice can have changed since it was installed.
func removeFirewalls(ctx context.Context) error {
	kinds, err := families()
	if err != nil {
		return err
	}
	for _, v6 := range kinds {
		for range backends() {
			f, err := findFirewall(v6)
			if err != nil {
				return err
			}
			if !f.hasOwnChains() {
				break
			}
			if err := f.remove(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove removes the lock, and the table itself if we have created it. No sandbox depends on
// the lock any more, so it works in steps, jumps first; the next call continues an
// interrupted removal.
func (f *firewall) remove(ctx context.Context) error {
	marked := f.marked()
	for chain, rules := range f.chains {
		for _, rule := range rules {
			if !jumpsToOwnChain(rule.spec) || strings.Contains(rule.spec, `"`) {
				continue // another program's, with a comment: deleting our chain will fail
			}
			if err := f.table.Delete(filter, chain, strings.Fields(rule.spec)...); err != nil {
				return fmt.Errorf("deleting a rule of chain %s: %w", chain, err)
			}
		}
	}
	for _, chain := range []string{chainForward, chainInput} { // the mark is removed last
		if err := f.table.ClearAndDeleteChain(filter, chain); err != nil {
			return fmt.Errorf("deleting chain %s: %w", chain, err)
		}
	}
	if marked {
		return f.removeTable(ctx)
	}
	return nil
}

// pristine reports whether the family has no filter table at all, so that down can delete
// ours. Only nf_tables can list and delete tables.
func (f *firewall) pristine(ctx context.Context) bool {
	nft := program("nft")
	if nft == "" || f.hasDockerChains() || f.hasOwnChains() {
		return false
	}
	if backend, err := f.backend(ctx); err != nil || backend != "nf_tables" {
		return false
	}
	tables, err := command.Cmd{Name: nft, Args: []string{"list", "tables"}}.Output(ctx)
	return err == nil && !strings.Contains("\n"+string(tables), "\ntable "+f.nftFamily()+" "+filter+"\n")
}

func (f *firewall) nftFamily() string {
	if f.v6 {
		return "ip6"
	}
	return "ip"
}

// removeTable deletes a table that we have created, if it has only the empty built-in
// chains with their default policy. An empty table that remains after an error has no
// effect.
func (f *firewall) removeTable(ctx context.Context) error {
	nft := program("nft")
	if nft == "" {
		return nil
	}
	out, err := command.Cmd{Name: nft, Args: []string{"list", "table", f.nftFamily(), filter}}.Output(ctx)
	if err != nil {
		return fmt.Errorf("reading the empty table: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		ruleText := strings.Fields(line)
		switch {
		case len(ruleText) == 0, ruleText[0] == "#", ruleText[0] == "table", ruleText[0] == "chain", ruleText[0] == "}":
		case ruleText[0] == "type" && strings.HasSuffix(strings.TrimSpace(line), "policy accept;"):
		default:
			return nil
		}
	}
	return command.Cmd{Name: nft, Args: []string{"delete", "table", f.nftFamily(), filter}}.Run(ctx)
}
