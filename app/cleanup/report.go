package cleanup

import (
	"slices"

	"aibox/internal/amount"
)

// Kind is a kind of removed data.
type Kind string

// The kinds, in the order of a report.
const (
	KindSessions      Kind = "sessions"      // session records
	KindConversations Kind = "conversations" // the agents' own state of these sessions
	KindWorkspaces    Kind = "workspaces"
	KindLogs          Kind = "audit logs" // logs of removed sessions
	KindSaved         Kind = "saved states"
	KindObjects       Kind = "objects" // unreferenced git objects
	KindRepositories  Kind = "repositories"
	KindClones        Kind = "clones" // of URLs
	KindScratch       Kind = "scratch"
	KindSnapshots     Kind = "snapshots"
	KindSandboxes     Kind = "sandboxes" // those that were created after their session was removed
	KindNetworks      Kind = "networks"
	KindImages        Kind = "images"
	KindCaches        Kind = "caches"
)

// Freed is the removed data of one kind.
type Freed struct {
	Kind  Kind     `json:"kind"`
	Count int      `json:"count"`
	Files int      `json:"files"`
	Bytes int64    `json:"bytes"` // size on disk
	Names []string `json:"names,omitempty"`
}

// Kept is something that looks unused but was kept, with the reason.
type Kept struct {
	What string `json:"what"` // raw: escape before printing
	Why  string `json:"why"`  // a clause, raw
}

// Report lists what a cleanup removed, or would remove.
type Report struct {
	DryRun    bool            `json:"dry_run"`
	OlderThan amount.Duration `json:"older_than"`
	Freed     []Freed         `json:"freed"`
	Kept      []Kept          `json:"kept"`
}

// Add records something that is removed, with its number of files and its size on disk.
func (r *Report) Add(kind Kind, name string, files int, bytes int64) {
	i := slices.IndexFunc(r.Freed, func(f Freed) bool { return f.Kind == kind })
	if i < 0 {
		i = len(r.Freed)
		r.Freed = append(r.Freed, Freed{Kind: kind})
	}
	f := &r.Freed[i]
	f.Count, f.Files, f.Bytes, f.Names = f.Count+1, f.Files+files, f.Bytes+bytes, append(f.Names, name)
}

// Keep records something that was kept.
func (r *Report) Keep(what, why string) { r.Kept = append(r.Kept, Kept{what, why}) }

// Total returns the number and size of all removed files.
func (r *Report) Total() (files int, bytes int64) {
	for _, f := range r.Freed {
		files, bytes = files+f.Files, bytes+f.Bytes
	}
	return files, bytes
}
