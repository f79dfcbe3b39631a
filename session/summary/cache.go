package summary

import (
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"aibox/internal/paths"
	"aibox/session"
)

// summaryCacheFile holds the summaries of ended sessions between two lists. It can be
// deleted: missing summaries are read from the sessions.
const summaryCacheFile = "summaries"

// oldSummaryCacheFile is the cache of earlier versions.
const oldSummaryCacheFile = "briefs.json"

// minCached is the minimum number of ended sessions for which a cache is useful.
const minCached = 20

// stateVersion identifies the content of a session's state file. A state is replaced as a
// whole, so different content means a different file. The zero value means no file.
type stateVersion struct {
	inode   int64
	changed int64 // ctime in nanoseconds
}

// cachedSummaries are summaries, and the versions of the states from which they were made.
type cachedSummaries struct {
	versions  []stateVersion
	summaries []Summary
}

// summaryCache has the summaries of ended sessions.
type summaryCache struct {
	root     string // folder with the sessions' folders
	ids      []session.ID
	versions []stateVersion  // versions of the ids' states
	known    cachedSummaries // the summaries in the file
	next     int             // index of the first one in known that find has not passed
	hits     int             // number of known summaries that are up to date
	kept     []keptSummary   // summaries for the file
}

// keptSummary is a summary for the cache, by its index in the list of all.
type keptSummary struct {
	version stateVersion
	index   int
}

// readSummaryCache reads the cache in the folder root. Nothing is known without one.
func readSummaryCache(root string) cachedSummaries {
	data, err := os.ReadFile(filepath.Join(root, summaryCacheFile))
	if err != nil {
		return cachedSummaries{}
	}
	return decodeSummaries(data)
}

// current returns the cached summaries if they are those of all sessions, and none has
// changed since.
func (c *summaryCache) current() ([]Summary, bool) {
	known := c.known
	if len(known.summaries) != len(c.ids) {
		return nil, false
	}
	for i := range known.summaries {
		if known.summaries[i].ID != c.ids[i] || known.versions[i] != c.versions[i] || c.versions[i].inode == 0 {
			return nil, false
		}
	}
	return known.summaries, true
}

// stateVersions returns the versions of the states of sessions below root; the zero value
// where there is none. Reading them takes most of the time of a long list, so two threads
// do it.
func stateVersions(root string, ids []session.ID) []stateVersion {
	versions := make([]stateVersion, len(ids))
	folder, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return versions
	}
	defer unix.Close(folder)
	look := func(from, to int) {
		for i := from; i < to; i++ {
			var st unix.Stat_t
			if unix.Fstatat(folder, string(ids[i])+"/"+session.StateFile, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
				versions[i] = stateVersion{int64(st.Ino), st.Ctim.Nano()}
			}
		}
	}
	var other sync.WaitGroup
	half := 0
	if len(ids) >= 2*minCached {
		half = len(ids) / 2
		other.Go(func() { look(0, half) })
	}
	look(half, len(ids))
	other.Wait()
	return versions
}

// find returns the summary of the session at index i of the ids if it is up to date, and the
// version of the session's state. It must be called in the order of ids.
func (c *summaryCache) find(i int) (Summary, stateVersion, bool) {
	id, version, known := c.ids[i], c.versions[i], c.known.summaries
	for c.next < len(known) && known[c.next].ID < id {
		c.next++
	}
	if c.next == len(known) || known[c.next].ID != id || c.known.versions[c.next] != version || version.inode == 0 {
		return Summary{}, version, false
	}
	c.hits++
	return known[c.next], version, true
}

// keep adds the last of the summaries to the cache if its session has ended.
func (c *summaryCache) keep(all []Summary, version stateVersion) {
	if last := len(all) - 1; all[last].Phase == session.Ended && version.inode != 0 {
		c.kept = append(c.kept, keptSummary{version, last})
	}
}

// save writes the cache of the summaries if it changed. A failure only costs time.
func (c *summaryCache) save(all []Summary) {
	unchanged := len(c.kept) == c.hits && len(c.kept) == len(c.known.summaries)
	if unchanged || len(c.kept) < minCached {
		return
	}
	var content cachedSummaries
	for _, k := range c.kept {
		content.versions = append(content.versions, k.version)
		content.summaries = append(content.summaries, all[k.index])
	}
	if paths.WriteFile(filepath.Join(c.root, summaryCacheFile), encodeSummaries(content)) == nil {
		_ = os.Remove(filepath.Join(c.root, oldSummaryCacheFile))
	}
}
