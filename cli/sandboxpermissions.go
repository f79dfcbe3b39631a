package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/internal/fault"

	"github.com/spf13/pflag"
)

// permissionFlags are the flags for the permissions of a sandbox. The API checks their values.
type permissionFlags struct {
	root, noChildren     bool
	write, hide, inbound []string
	max                  int32
}

// permissionNames are the names of the flags.
var permissionNames = []string{"root", "write", "hide", "no-children", "max-processes", "inbound"}

func (p *permissionFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&p.root, "root", false, "let its processes become root of the sandbox")
	flags.StringSliceVar(&p.write, "write", nil, "let its processes change only these `FOLDERS`, /tmp and volumes (comma-separated); --write= for no folders")
	flags.StringArrayVar(&p.hide, "hide", nil, "hide the files that match this `PATTERN`, an absolute path with *, ? and [ (repeatable)")
	flags.BoolVar(&p.noChildren, "no-children", false, "do not let its processes start others")
	flags.Int32Var(&p.max, "max-processes", 0, "limit the processes of its user to this `NUMBER`; 0 for only --pids")
	flags.StringSliceVar(&p.inbound, "inbound", nil, "let the server connect only to these `PORTS` of it (comma-separated); --inbound= for none")
}

// permissions returns the permissions that the flags give; nil for none. A list that is given
// empty is not the same as none.
func (p *permissionFlags) permissions(flags *pflag.FlagSet) (*aiboxv1.Permissions, error) {
	given := false
	for _, name := range permissionNames {
		given = given || flags.Changed(name)
	}
	if !given {
		return nil, nil
	}
	out := &aiboxv1.Permissions{Root: p.root, NoChildProcesses: p.noChildren, MaxProcesses: p.max}
	if flags.Changed("write") {
		out.Write = &aiboxv1.PatternList{Patterns: p.write}
	}
	if flags.Changed("hide") {
		out.Hidden = &aiboxv1.PatternList{Patterns: p.hide}
	}
	if flags.Changed("inbound") {
		out.InboundPorts = &aiboxv1.PortList{}
		for _, text := range p.inbound {
			port, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16)
			if err != nil {
				return nil, fault.New(fault.Usage, "--inbound takes ports, not %q", text)
			}
			out.InboundPorts.Ports = append(out.InboundPorts.Ports, uint32(port))
		}
	}
	return out, nil
}

// permissionRows are the rows of `aibox sandbox get` for what a sandbox's permissions restrict
// or allow.
func permissionRows(p *aiboxv1.Permissions) [][]string {
	var rows [][]string
	add := func(key, value string) { rows = append(rows, []string{key, safe(value)}) }
	if p.GetRoot() {
		add("root", "allowed")
	}
	if p.GetWrite() != nil {
		add("write access", strings.Join(slices.Concat(p.GetWrite().GetPatterns(), []string{"/tmp", "volumes"}), ", "))
	}
	if hidden := p.GetHidden().GetPatterns(); len(hidden) > 0 {
		add("hidden files", strings.Join(hidden, ", "))
	}
	if p.GetNoChildProcesses() {
		add("child processes", "refused")
	}
	if p.GetMaxProcesses() > 0 {
		add("of its user", fmt.Sprintf("%d processes", p.GetMaxProcesses()))
	}
	if p.GetInboundPorts() != nil {
		ports := "none"
		if all := p.GetInboundPorts().GetPorts(); len(all) > 0 {
			ports = strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ", "), "[]")
		}
		add("inbound ports", ports)
	}
	return rows
}
