package session

import (
	"slices"

	"aibox/internal/amount"
)

// GCKind is a kind of thing that is tidied away.
type GCKind string

// The kinds, in the order of a report.
const (
	GCSessions      GCKind = "sessions"      // records
	GCConversations GCKind = "conversations" // the agents' own state of those sessions
	GCWorkspaces    GCKind = "workspaces"
	GCSaved         GCKind = "saved states"
	GCObjects       GCKind = "objects" // of git, that nothing names any more
	GCRepositories  GCKind = "repositories"
	GCScratch       GCKind = "scratch"
	GCSandboxes     GCKind = "boxes" // that appeared after their session was gone
	GCNetworks      GCKind = "networks"
	GCImages        GCKind = "images"
	GCCaches        GCKind = "caches"
)

// Freed is what went of one kind.
type Freed struct {
	Kind  GCKind   `json:"kind"`
	Count int      `json:"count"`
	Files int      `json:"files"`
	Bytes int64    `json:"bytes"` // on the disk
	Names []string `json:"names,omitempty"`
}

// Kept is something that may look as if it could go, and why it does not.
type Kept struct {
	What string `json:"what"` // raw: escape before printing
	Why  string `json:"why"`  // a clause, raw
}

// GCReport is what a clean-up did, or would do.
type GCReport struct {
	DryRun    bool            `json:"dry_run"`
	OlderThan amount.Duration `json:"older_than"`
	Freed     []Freed         `json:"freed"`
	Kept      []Kept          `json:"kept"`
}

// Add notes something that goes. files and bytes are what it takes on the disk.
func (r *GCReport) Add(kind GCKind, name string, files int, bytes int64) {
	i := slices.IndexFunc(r.Freed, func(f Freed) bool { return f.Kind == kind })
	if i < 0 {
		i = len(r.Freed)
		r.Freed = append(r.Freed, Freed{Kind: kind})
	}
	f := &r.Freed[i]
	f.Count, f.Files, f.Bytes, f.Names = f.Count+1, f.Files+files, f.Bytes+bytes, append(f.Names, name)
}

// Keep notes something that stays.
func (r *GCReport) Keep(what, why string) { r.Kept = append(r.Kept, Kept{what, why}) }

// Total is all that went.
func (r *GCReport) Total() (files int, bytes int64) {
	for _, f := range r.Freed {
		files, bytes = files+f.Files, bytes+f.Bytes
	}
	return files, bytes
}
