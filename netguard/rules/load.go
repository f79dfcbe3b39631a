package rules

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"aibox/internal/command"
	"aibox/internal/fault"
)

// load installs the lock or repairs it, in one transaction of iptables-restore. Separate
// calls of the library would leave the lock open for a moment while sessions may be
// running: after a chain is emptied, or after a misplaced jump is deleted.
func (f *firewall) load(ctx context.Context) (change, error) {
	return f.restore("loading the firewall", f.restoreScript(f.marked() || f.pristine(ctx)))
}

// restore returns a change that loads input.
func (f *firewall) restore(what, input string) (change, error) {
	tool := program(filepath.Base(f.tool) + "-restore")
	if tool == "" {
		return change{}, fault.New(fault.Environment, "%s-restore is not installed", filepath.Base(f.tool)).Hint("apt-get install iptables")
	}
	return toolChange(what, input, tool, "-w", fmt.Sprint(lockWait), "--noflush"), nil
}

// restoreScript returns the transaction. Chains that are already correct keep their counters.
func (f *firewall) restoreScript(mark bool) string {
	var b strings.Builder
	b.WriteString("*" + filter + "\n")
	for _, chain := range []string{chainInput, chainForward} {
		if f.isCurrent(chain) {
			continue
		}
		fmt.Fprintf(&b, ":%s - [0:0]\n", chain) // created, or emptied
		if mark && chain == chainInput {
			fmt.Fprintf(&b, "-A %s -m comment --comment %s\n", chain, markComment)
		}
		for _, rule := range f.own()[chain] {
			fmt.Fprintf(&b, "-A %s %s\n", chain, rule)
		}
	}
	f.deleteJumps(&b)
	for _, chain := range []string{"INPUT", "FORWARD", chainDocker} {
		for i, rule := range f.jumps()[chain] {
			fmt.Fprintf(&b, "-I %s %d %s\n", chain, i+1, rule)
		}
	}
	b.WriteString("COMMIT\n")
	return b.String()
}

// deleteJumps writes the deletion of all jumps to our chains.
func (f *firewall) deleteJumps(b *strings.Builder) {
	for _, chain := range slices.Sorted(maps.Keys(f.chains)) {
		for _, rule := range f.chains[chain] {
			if jumpsToOwnChain(rule.spec) {
				fmt.Fprintf(b, "-D %s %s\n", chain, rule.spec)
			}
		}
	}
}

// removeFirewalls removes the lock from every backend that has it: the machine's default or
// dockerd's choice can have changed since it was installed.
func removeFirewalls(ctx context.Context) ([]change, error) {
	kinds, err := families()
	if err != nil {
		return nil, err
	}
	var changes []change
	for _, v6 := range kinds {
		seen := map[string]bool{} // two names can be one program
		for _, suffix := range backends() {
			f, err := readFirewall(v6, suffix)
			if err != nil {
				return nil, err
			}
			if f == nil || !f.hasOwnChains() {
				continue
			}
			backend, err := f.backend(ctx)
			if err != nil {
				return nil, err
			}
			if seen[backend] {
				continue
			}
			seen[backend] = true
			removal, err := f.removal(ctx)
			if err != nil {
				return nil, err
			}
			changes = append(changes, removal)
		}
	}
	return changes, nil
}

// removal removes the lock in one transaction, and the table itself if we have created it
// and nothing else is in it. With two steps, a job that is killed between them would leave
// a table that is not recognizable as ours.
func (f *firewall) removal(ctx context.Context) (change, error) {
	if f.marked() {
		if ours, err := f.holdsOnlyOurs(ctx); err != nil {
			return change{}, err
		} else if ours {
			return toolChange("deleting the firewall's table", "", program("nft"), "delete", "table", f.nftFamily(), filter), nil
		}
	}
	var b strings.Builder
	b.WriteString("*" + filter + "\n")
	f.deleteJumps(&b)
	for _, verb := range []string{"-F", "-X"} {
		for _, chain := range []string{chainForward, chainInput} {
			if _, ok := f.chains[chain]; ok {
				b.WriteString(verb + " " + chain + "\n")
			}
		}
	}
	b.WriteString("COMMIT\n")
	return f.restore("removing the firewall", b.String())
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

// holdsOnlyOurs reports whether the table has nothing but our rules and the built-in chains
// with their default policy. Only nf_tables can delete tables.
func (f *firewall) holdsOnlyOurs(ctx context.Context) (bool, error) {
	nft := program("nft")
	if nft == "" {
		return false, nil
	}
	for chain, rules := range f.chains {
		for _, rule := range rules {
			if chain != chainInput && chain != chainForward && !slices.Contains(f.jumps()[chain], rule.spec) {
				return false, nil
			}
		}
	}
	out, err := command.Cmd{Name: nft, Args: []string{"list", "table", f.nftFamily(), filter}}.Output(ctx)
	if err != nil {
		return false, fmt.Errorf("reading the firewall's table: %w", err)
	}
	return isPlainTable(string(out)), nil
}

// isPlainTable reports whether nft lists only our chains and the built-in ones, these with
// their default policy: no other chains, sets or maps, which iptables does not show.
func isPlainTable(listing string) bool {
	for line := range strings.Lines(listing) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0, words[0] == "#", words[0] == "table", words[0] == "}":
		case words[0] == "chain" && len(words) > 1:
			if !slices.Contains([]string{"INPUT", "FORWARD", "OUTPUT", chainInput, chainForward}, words[1]) {
				return false
			}
		case words[0] == "type" && slices.Contains(words, "hook"):
			if !strings.HasSuffix(strings.TrimSpace(line), "policy accept;") {
				return false
			}
		case !strings.HasPrefix(line, "\t\t"): // a set, a map, a flow table
			return false
		}
	}
	return true
}
