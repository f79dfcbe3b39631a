package rules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"aibox/internal/command"
	"aibox/internal/fault"
	"aibox/netguard"
)

// Our chains, and the chains that jump to them.
const (
	chainInput   = "AIBOX-INPUT"
	chainForward = "AIBOX-FORWARD"
	chainDocker  = "DOCKER-USER" // Docker's own place for rules that come before its own

	// markComment marks a filter table that was not there before us, so that down
	// can take it away again.
	markComment = "aibox-made-this-table"
)

// firewall is lock 1 of one address family: the filter table as it was read.
type firewall struct {
	v6     bool
	tool   string              // path of iptables or ip6tables, of the backend that dockerd uses
	chains map[string][]string // rules by chain, as -S prints them
}

// lookFirewalls reads the tables of both families at the same time.
func lookFirewalls(ctx context.Context) ([]*firewall, error) {
	tables := []*firewall{{}, {v6: true}}
	if _, err := os.Stat("/proc/net/if_inet6"); err != nil {
		tables = tables[:1] // a kernel without IPv6
	}
	errs := make([]error, len(tables))
	var wait sync.WaitGroup
	for i, table := range tables {
		wait.Go(func() { errs[i] = table.find(ctx) })
	}
	wait.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("reading the firewall (%s): %w", tables[i].name(), err)
		}
	}
	return tables, nil
}

func (f *firewall) name() string {
	if f.v6 {
		return "ip6tables"
	}
	return "iptables"
}

// find picks the backend whose table Docker's chains are in, the default when
// none has them, and reads the table.
func (f *firewall) find(ctx context.Context) error {
	var first *firewall
	for _, suffix := range []string{"", "-legacy", "-nft"} {
		candidate := &firewall{v6: f.v6, tool: program(f.name() + suffix)}
		if candidate.tool == "" || suffix == "-legacy" && !legacyTables() {
			continue
		}
		if err := candidate.read(ctx); err != nil {
			if first == nil && suffix == "" {
				return err
			}
			continue
		}
		if first == nil {
			first = candidate
		}
		if candidate.docker() || candidate.ours() {
			*f = *candidate
			return nil
		}
		if f.v6 {
			break // Docker 20 writes nothing here, so there is nothing to look for
		}
	}
	if first == nil {
		return fault.New(fault.Environment, "%s is not installed", f.name()).
			Hint("apt-get install iptables")
	}
	*f = *first
	return nil
}

// legacyTables reports whether the legacy backend may be in use. Asking that
// backend itself brings an empty table into being, so it is asked only where the
// list of tables has one or, as in a user namespace, cannot be read.
func legacyTables() bool {
	names, err := os.ReadFile("/proc/net/ip_tables_names")
	return err != nil && !errors.Is(err, os.ErrNotExist) || strings.Contains(string(names), "filter")
}

func (f *firewall) docker() bool {
	_, user := f.chains[chainDocker]
	_, docker := f.chains["DOCKER"]
	return user || docker
}

func (f *firewall) ours() bool {
	_, input := f.chains[chainInput]
	_, forward := f.chains[chainForward]
	return input || forward
}

func (f *firewall) read(ctx context.Context) error {
	out, err := f.run(ctx, "-t", "filter", "-S")
	if err != nil {
		return err
	}
	f.chains = parseRules(out)
	return nil
}

// parseRules reads the output of iptables -S: rules by chain, in order.
func parseRules(out string) map[string][]string {
	chains := map[string][]string{}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch chain := fields[1]; fields[0] {
		case "-P", "-N":
			chains[chain] = []string{}
		case "-A":
			chains[chain] = append(chains[chain], strings.Join(fields[2:], " "))
		}
	}
	return chains
}

// own is what our chains hold.
func (f *firewall) own() map[string][]string {
	if f.v6 {
		deny := []string{"-p tcp -j REJECT --reject-with tcp-reset", "-j REJECT --reject-with icmp6-port-unreachable"}
		return map[string][]string{chainInput: deny, chainForward: deny}
	}
	// Resets, because the kernel limits how many ICMP errors it sends.
	deny := []string{"-p tcp -j REJECT --reject-with tcp-reset", "-j REJECT --reject-with icmp-port-unreachable"}
	to := "-d " + netguard.Address().String() + "/32 "
	input := []string{}
	for _, port := range []int{netguard.PortDNS, netguard.PortProxy, netguard.PortGateway, netguard.PortLifeline} {
		input = append(input, to+"-p tcp -m tcp --dport "+strconv.Itoa(port)+" -j ACCEPT")
	}
	input = append(input, to+"-p udp -m udp --dport "+strconv.Itoa(netguard.PortDNS)+" -j ACCEPT")
	return map[string][]string{chainInput: append(input, deny...), chainForward: deny}
}

// jumps is what has to stand first in the chains that are not ours. Docker's chain
// gets ours too, because Docker puts its jump back on top of FORWARD whenever it
// makes a network.
func (f *firewall) jumps() map[string][]string {
	in, out := "-i "+netguard.BridgePrefix+"+ -j ", "-o "+netguard.BridgePrefix+"+ -j "
	forward := []string{in + chainForward, out + chainForward}
	jumps := map[string][]string{"INPUT": {in + chainInput}, "FORWARD": forward}
	if _, ok := f.chains[chainDocker]; ok {
		jumps[chainDocker] = forward
	}
	return jumps
}

// drift says what differs from own and jumps.
func (f *firewall) drift() []string {
	var drift []string
	for _, chain := range []string{chainInput, chainForward} {
		have := slices.DeleteFunc(slices.Clone(f.chains[chain]), func(rule string) bool { return strings.Contains(rule, markComment) })
		if !slices.EqualFunc(have, f.own()[chain], sameRule) {
			drift = append(drift, fmt.Sprintf("%s: chain %s is not as it should be", f.name(), chain))
		}
	}
	for _, chain := range []string{"INPUT", "FORWARD", chainDocker} {
		jumps, ok := f.jumps()[chain]
		if !ok {
			continue
		}
		have := f.chains[chain]
		if chain == "FORWARD" && len(have) > 0 && have[0] == "-j "+chainDocker {
			have = have[1:] // that chain begins with ours
		}
		if len(have) < len(jumps) || !slices.EqualFunc(have[:len(jumps)], jumps, sameRule) {
			drift = append(drift, fmt.Sprintf("%s: chain %s does not begin with aibox's rules", f.name(), chain))
		}
	}
	return drift
}

// load puts the whole lock in place in one transaction: there is no moment with
// half of it.
func (f *firewall) load(ctx context.Context) error {
	return f.restore(ctx, f.loading(ctx))
}

func (f *firewall) loading(ctx context.Context) string {
	var b strings.Builder
	b.WriteString("*filter\n:" + chainInput + " - [0:0]\n:" + chainForward + " - [0:0]\n") // made, or emptied
	if f.pristine(ctx) || f.marked() {
		fmt.Fprintf(&b, "-A %s -m comment --comment %s\n", chainInput, markComment)
	}
	for _, chain := range []string{chainInput, chainForward} {
		for _, rule := range f.own()[chain] {
			fmt.Fprintf(&b, "-A %s %s\n", chain, rule)
		}
	}
	f.unjump(&b)
	for _, chain := range []string{"INPUT", "FORWARD", chainDocker} {
		for i, rule := range f.jumps()[chain] {
			fmt.Fprintf(&b, "-I %s %d %s\n", chain, i+1, rule)
		}
	}
	b.WriteString("COMMIT\n")
	return b.String()
}

// unjump deletes every rule outside our chains that leads to them.
func (f *firewall) unjump(b *strings.Builder) {
	for chain, rules := range f.chains {
		for _, rule := range rules {
			if strings.HasSuffix(rule, " -j "+chainInput) || strings.HasSuffix(rule, " -j "+chainForward) {
				fmt.Fprintf(b, "-D %s %s\n", chain, rule)
			}
		}
	}
}

// remove takes the lock away, and the table itself if it was not there before.
func (f *firewall) remove(ctx context.Context) error {
	if !f.ours() {
		return nil
	}
	marked := f.marked()
	var b strings.Builder
	b.WriteString("*filter\n")
	f.unjump(&b)
	for _, chain := range []string{chainInput, chainForward} {
		if _, ok := f.chains[chain]; ok {
			fmt.Fprintf(&b, "-F %s\n-X %s\n", chain, chain)
		}
	}
	b.WriteString("COMMIT\n")
	if err := f.restore(ctx, b.String()); err != nil {
		return err
	}
	if marked {
		return f.removeTable(ctx)
	}
	return nil
}

// removeTable deletes a table that we made, if nothing else is in it by now.
// Where nft is missing an empty table stays; it does nothing.
func (f *firewall) removeTable(ctx context.Context) error {
	out, err := f.run(ctx, "-t", "filter", "-S")
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "-P ") || !strings.HasSuffix(strings.TrimSpace(line), " ACCEPT") {
			return nil
		}
	}
	family := "ip"
	if f.v6 {
		family = "ip6"
	}
	if nft := program("nft"); nft != "" {
		return command.Cmd{Name: nft, Args: []string{"delete", "table", family, "filter"}}.Run(ctx)
	}
	return nil
}

// pristine reports whether the family has no filter table at all (nf_tables only).
func (f *firewall) pristine(ctx context.Context) bool {
	save := program(filepath.Base(f.tool) + "-save")
	if save == "" || f.docker() {
		return false
	}
	// Without "-t filter", which would print a table that is not there.
	out, err := command.Cmd{Name: save}.Output(ctx)
	return err == nil && !strings.Contains(string(out), "*filter")
}

func (f *firewall) marked() bool {
	return slices.ContainsFunc(f.chains[chainInput], func(rule string) bool { return strings.Contains(rule, markComment) })
}

func (f *firewall) restore(ctx context.Context, script string) error {
	tool := program(filepath.Base(f.tool) + "-restore")
	if tool == "" {
		return fault.New(fault.Environment, "%s-restore is not installed", filepath.Base(f.tool)).Hint("apt-get install iptables")
	}
	err := command.Cmd{Name: tool, Args: []string{"-w", "5", "--noflush"}, Stdin: strings.NewReader(script), Env: toolEnv()}.Run(ctx)
	if err != nil {
		return fmt.Errorf("loading the firewall: %w", err)
	}
	return nil
}

func (f *firewall) run(ctx context.Context, args ...string) (string, error) {
	out, err := command.Cmd{Name: f.tool, Args: append([]string{"-w", "5"}, args...), Env: toolEnv()}.Output(ctx)
	return string(out), err
}

// view is what status shows.
func (f *firewall) view(ctx context.Context) (Firewall, error) {
	out, err := f.run(ctx, "-t", "filter", "-v", "-S")
	if err != nil {
		return Firewall{}, err
	}
	view := Firewall{Tool: f.tool, Rules: []string{}}
	version, err := command.Cmd{Name: f.tool, Args: []string{"--version"}}.Output(ctx)
	if err != nil {
		return Firewall{}, err
	}
	if _, backend, ok := strings.Cut(strings.TrimSpace(string(version)), "("); ok {
		view.Backend = strings.TrimSuffix(backend, ")")
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "-A ") || !strings.Contains(line, "AIBOX-") {
			continue
		}
		view.Rules = append(view.Rules, line)
		if count := counters.FindStringSubmatch(line); count != nil && strings.Contains(line, "-j REJECT") {
			packets, _ := strconv.ParseUint(count[1], 10, 64)
			view.Refused += packets
		}
	}
	return view, nil
}

var counters = regexp.MustCompile(` -c (\d+) (\d+)`)

// sameRule compares two rules as iptables prints them. Versions differ in whether
// protocols are names or numbers and in whether the match that a protocol implies
// is named.
func sameRule(a, b string) bool { return a == b || plainRule(a) == plainRule(b) }

func plainRule(rule string) string {
	return strings.NewReplacer("-p 6 ", "-p tcp ", "-p 17 ", "-p udp ", "-m tcp ", "", "-m udp ", "").Replace(rule + " ")
}

// program finds a system tool, also where a normal user's PATH does not look; ""
// if there is none.
func program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	return ""
}

// toolEnv lets the legacy backend, which wants a lock file that only root can
// write, use one that this user can.
func toolEnv() []string {
	env := command.Base()
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		env = append(env, "XTABLES_LOCKFILE="+filepath.Join(dir, "aibox-xtables.lock"))
	}
	return env
}
