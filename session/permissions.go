package session

import "slices"

// Permissions restrict the processes in a sandbox, in addition to its isolation. The zero
// value only keeps processes from becoming root.
type Permissions struct {
	// Root lets processes run as root or another user of the sandbox if they ask for it.
	Root bool `json:"root,omitempty"`

	Files     FilePermissions    `json:"files,omitzero"`
	Processes ProcessPermissions `json:"processes,omitzero"`
	// Inbound are the ports that can be reached from outside: nil means all; an empty list
	// means none.
	Inbound []int `json:"inbound"`
}

// AllowsInbound reports whether a port can be reached from outside.
func (p *Permissions) AllowsInbound(port uint16) bool {
	return p.Inbound == nil || slices.Contains(p.Inbound, int(port))
}

// IsZero reports whether no permission was given.
func (p *Permissions) IsZero() bool { return p.SameInside(&Permissions{}) && p.Inbound == nil }

// SameInside reports whether both restrict processes in the same way. It ignores the ports,
// which are closed outside the sandbox.
func (p *Permissions) SameInside(other *Permissions) bool {
	return p.Root == other.Root && p.Processes == other.Processes && slices.Equal(p.Files.Hidden, other.Files.Hidden) &&
		slices.Equal(p.Files.Write, other.Files.Write) && (p.Files.Write == nil) == (other.Files.Write == nil)
}

// FilePermissions restrict access to files. Entries are absolute paths, or patterns with *
// and ** where a field says so.
type FilePermissions struct {
	// Write are the folders in which the user may write, besides /tmp. nil means wherever the
	// modes of the files allow it; an empty list means only /tmp.
	Write []string `json:"write"`
	// Hidden are patterns of files that the user can neither read nor write.
	Hidden []string `json:"hidden,omitempty"`
}

// ProcessPermissions restrict processes.
type ProcessPermissions struct {
	// NoChildren keeps a process from starting others. Its own threads are allowed.
	NoChildren bool `json:"no_children,omitempty"`
	Max        int  `json:"max,omitempty"` // maximum number of processes; 0 means Spec.Pids
}
