package rules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/coreos/go-iptables/iptables"

	"aibox/internal/command"
	"aibox/internal/fault"
	"aibox/internal/lazyregexp"
)

const (
	filter = "filter" // the table of lock 1

	// lockWait is for how many seconds a tool waits for the lock of the legacy tables.
	lockWait = 5

	// resourceProblem is a tool's exit code if it did not get the lock.
	resourceProblem = 4
)

// firewall is lock 1 of one address family: the current filter table.
type firewall struct {
	v6     bool
	tool   string // path of iptables or ip6tables, of the backend that dockerd uses
	table  *iptables.IPTables
	chains map[string][]listedRule // rules by chain, in order
}

// listedRule is one rule of a chain.
type listedRule struct {
	line    string // as -S -v prints it
	spec    string // without its chain and counters
	packets uint64 // packets that it matched
}

// readFirewalls reads the tables of both families at the same time.
func readFirewalls() ([]*firewall, error) {
	kinds, err := families()
	if err != nil {
		return nil, err
	}
	tables := make([]*firewall, len(kinds))
	errs := make([]error, len(kinds))
	var wait sync.WaitGroup
	for i, v6 := range kinds {
		wait.Go(func() { tables[i], errs[i] = findFirewall(v6) })
	}
	wait.Wait()
	return tables, errors.Join(errs...)
}

// families returns the address families of this machine: false is IPv4, true is IPv6.
func families() ([]bool, error) {
	_, err := os.Stat("/proc/self/net/if_inet6")
	if errors.Is(err, os.ErrNotExist) {
		return []bool{false}, nil // a kernel without IPv6
	}
	return []bool{false, true}, err
}

func toolName(v6 bool) string {
	if v6 {
		return "ip6tables"
	}
	return "iptables"
}

func (f *firewall) name() string { return toolName(f.v6) }

// backends returns the ends of the tools' names, the machine's default first.
func backends() []string { return []string{"", "-legacy", "-nft"} }

// findFirewall picks the backend whose table has Docker's chains, or the default if none
// has them.
func findFirewall(v6 bool) (*firewall, error) {
	var first *firewall
	for _, suffix := range backends() {
		f, err := readFirewall(v6, suffix)
		if err != nil {
			return nil, err
		}
		if f == nil {
			continue
		}
		if f.hasDockerChains() || f.hasOwnChains() {
			return f, nil
		}
		if first == nil {
			first = f
		}
		if v6 {
			break // Docker 20 writes no IPv6 rules
		}
	}
	if first == nil {
		return nil, fault.New(fault.Environment, "%s is not installed", toolName(v6)).
			Hint("apt-get install iptables")
	}
	return first, nil
}

// readFirewall reads the table of one backend; nil if this machine does not have that
// backend. A failure of the default backend or of a busy one is an error: otherwise a table
// with Docker's chains, or ours, would be overlooked.
func readFirewall(v6 bool, suffix string) (*firewall, error) {
	f := &firewall{v6: v6, tool: program(toolName(v6) + suffix)}
	if f.tool == "" || suffix == "-legacy" && !legacyTables() {
		return nil, nil
	}
	err := f.read()
	if exit, ok := errors.AsType[*iptables.Error](err); err != nil && suffix != "" && (!ok || exit.ExitStatus() != resourceProblem) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the firewall (%s): %w", f.name(), err)
	}
	return f, nil
}

// legacyTables reports whether the legacy backend can be in use. Querying that backend
// creates an empty table, so this is done only if the list of tables has one or cannot be
// read, as in a user namespace.
func legacyTables() bool {
	names, err := os.ReadFile("/proc/net/ip_tables_names")
	return err != nil && !errors.Is(err, os.ErrNotExist) || strings.Contains(string(names), filter)
}

func (f *firewall) read() error {
	family := iptables.ProtocolIPv4
	if f.v6 {
		family = iptables.ProtocolIPv6
	}
	var err error
	if f.table, err = iptables.New(iptables.Path(f.tool), iptables.IPFamily(family), iptables.Timeout(lockWait)); err != nil {
		return err
	}
	// An option instead of a chain's name lists the whole table at once, with one program
	// instead of one for each chain.
	lines, err := f.table.List(filter, "--verbose")
	if err != nil {
		return err
	}
	f.chains = parseRules(lines)
	return nil
}

// counters matches a rule's counters: before its target, or at its end.
var counters = lazyregexp.New(` -c (\d+) \d+( |$)`)

// parseRules reads the lines of iptables -S -v: rules by chain, in order.
func parseRules(lines []string) map[string][]listedRule {
	chains := map[string][]listedRule{}
	for _, line := range lines {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch chain := fields[1]; fields[0] {
		case "-P", "-N":
			chains[chain] = []listedRule{}
		case "-A":
			rule := listedRule{line: line, spec: strings.Join(fields[2:], " ")}
			if at := counters.FindStringSubmatchIndex(" " + rule.spec); at != nil {
				text := " " + rule.spec
				rule.packets, _ = strconv.ParseUint(text[at[2]:at[3]], 10, 64)
				rule.spec = strings.TrimSpace(text[:at[0]] + " " + text[at[1]:])
			}
			chains[chain] = append(chains[chain], rule)
		}
	}
	return chains
}

func (f *firewall) hasDockerChains() bool {
	_, user := f.chains[chainDocker]
	_, docker := f.chains["DOCKER"]
	return user || docker
}

func (f *firewall) hasOwnChains() bool {
	_, input := f.chains[chainInput]
	_, forward := f.chains[chainForward]
	return input || forward
}

// view returns the firewall's part of the status.
func (f *firewall) view(ctx context.Context) (Firewall, error) {
	view := Firewall{Tool: f.tool, Rules: []string{}}
	var err error
	if view.Backend, err = f.backend(ctx); err != nil {
		return Firewall{}, err
	}
	for _, chain := range []string{"INPUT", "FORWARD", chainDocker, chainInput, chainForward} {
		own := chain == chainInput || chain == chainForward
		for _, rule := range f.chains[chain] {
			if !own && !jumpsToOwnChain(rule.spec) {
				continue
			}
			view.Rules = append(view.Rules, rule.line)
			switch {
			case own && strings.Contains(rule.spec, "-j REJECT"):
				view.Refused += rule.packets
			case own && strings.HasSuffix(rule.spec, "-j ACCEPT"):
				view.Accepted += rule.packets
			}
		}
	}
	return view, nil
}

// backend returns nf_tables or legacy; the library does not expose it.
func (f *firewall) backend(ctx context.Context) (string, error) {
	version, err := command.Cmd{Name: f.tool, Args: []string{"--version"}, Env: toolEnv()}.Output(ctx)
	if err != nil {
		return "", err
	}
	if _, backend, ok := strings.Cut(strings.TrimSpace(string(version)), "("); ok {
		return strings.TrimSuffix(backend, ")"), nil
	}
	return "legacy", nil // old versions do not print a name
}

// program finds a system tool, even outside a normal user's PATH. It returns "" if there is
// none.
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

// lockFile is the tools' variable for the path of the legacy tables' lock.
const lockFile = "XTABLES_LOCKFILE"

// toolEnv returns the environment of a job in place, and of the tools that a job runs.
func toolEnv() []string {
	env := command.Base()
	if path := os.Getenv(lockFile); path != "" {
		env = append(env, lockFile+"="+path)
	}
	return env
}
