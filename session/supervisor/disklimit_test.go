package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"aibox/audit"
	"aibox/config"
	"aibox/internal/diskuse"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/session"
)

// grow writes files into a workspace.
func grow(t *testing.T, folder string, files, bytes int) {
	t.Helper()
	for i := range files {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprint("file", i)), make([]byte, bytes), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheGrowthOfAWorkspaceIsLimited(t *testing.T) {
	for name, c := range map[string]struct {
		files, bytes int
		near, over   bool
	}{
		"small":          {1, 1 << 20, false, false},
		"near its limit": {1, 9 << 20, true, false},
		"too large":      {1, 11 << 20, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := watched(t)
			s.launch.Spec.Run = config.Run{Disk: 10}
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, "repository"), make([]byte, 20<<20), 0o600); err != nil {
				t.Fatal(err)
			}
			base, err := diskuse.Of([]string{folder}, diskuse.Limits{Bytes: 1 << 40, Entries: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			grow(t, folder, c.files, c.bytes)
			l := workspaceLimit(&s.launch.Spec, folder, base)
			s.limitFolders(l)
			open := s.requests.pending()
			if near := len(open) == 1 && open[0].What == session.RequestDisk; near != c.near {
				t.Errorf("open are %+v", open)
			}
			if over := fault.KindOf(s.cause) == fault.Limit; s.isEnding() != c.over || over != c.over {
				t.Errorf("it ends with %v", s.cause)
			}
			if !c.near {
				return
			}
			if err := s.Answer(open[0].ID, "yes"); err != nil {
				t.Fatal(err)
			}
			if limit := l.limit(); limit.bytes != 20<<20 || limit.files != 2*minWorkspaceFiles {
				t.Errorf("the new limit is %+v", limit)
			}
			if events := logged(t, s); !slices.Contains(events, audit.LimitExtended) {
				t.Errorf("logged are %v", events)
			}
		})
	}
}

// What the programs of a sandbox write from the first one on counts as growth of its volumes.
func TestTheVolumesOfASandboxAreMeasuredBeforeAProgramRuns(t *testing.T) {
	s, res := warmed(t, true)
	s.launch.Spec.Run = config.Run{Disk: 10}
	res.volumes = []string{t.TempDir()}
	grow(t, res.volumes[0], 1, 20<<20)
	failed := errors.New("no program starts")
	res.awaitProcess = func() (runtime.Process, error) { return runtime.Process{}, failed }
	if err := s.startAgent(t.Context(), res, nil); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	if res.volumesLimit == nil || res.volumesLimit.base.bytes < 20<<20 {
		t.Errorf("%+v", res.volumesLimit)
	}
}

func TestAUserIsAskedBeforeTheConversationFoldersReachTheirLimit(t *testing.T) {
	_, s := watched(t)
	s.launch.Spec.Run = config.Run{StateSize: 10}
	folder := t.TempDir()
	grow(t, folder, 1, 9<<20)
	l := stateLimit(&s.launch.Spec, []string{folder})
	s.limitFolders(l)
	open := s.requests.pending()
	if len(open) != 1 || open[0].What != session.RequestState || s.isEnding() {
		t.Fatalf("open are %+v, the session ends with %v", open, s.cause)
	}
	if err := s.Answer(open[0].ID, "yes"); err != nil {
		t.Fatal(err)
	}
	if limit := l.limit(); limit.bytes != 20<<20 || limit.files != 2*maxStateEntries {
		t.Errorf("the new limit is %+v", limit)
	}
	grow(t, folder, 2, 11<<20)
	l.meter.rest, l.meter.latest = time.Time{}, time.Time{}
	s.limitFolders(l)
	if !s.isEnding() || fault.KindOf(s.cause) != fault.Limit {
		t.Errorf("beyond the new limit it ends with %v", s.cause)
	}
}

func TestAFileCountBombExceedsTheLimitOfAWorkspace(t *testing.T) {
	l := workspaceLimit(&session.Spec{Run: config.Run{Disk: 1}}, t.TempDir(), diskuse.Usage{Entries: 500})
	_, s := watched(t)
	s.enforceFolderLimit(l, amountOnDisk{0, minWorkspaceFiles}, nil)
	if s.isEnding() {
		t.Errorf("at the limit it ends with %v", s.cause)
	}
	s.enforceFolderLimit(l, amountOnDisk{0, minWorkspaceFiles + 1}, nil)
	if fault.KindOf(s.cause) != fault.Limit {
		t.Errorf("it ends with %v", s.cause)
	}
}

// A folder that belongs to another user of the sandbox cannot be read on the host.
func TestUnreadableContentOfAWorkspaceIsBoundedByTheFreeSpace(t *testing.T) {
	folder := t.TempDir()
	l := workspaceLimit(&session.Spec{Run: config.Run{Disk: 10}}, folder, diskuse.Usage{})
	deep := folder
	for range 140 {
		deep = filepath.Join(deep, "d")
	}
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	fs := fileSystem{free: amountOnDisk{l.startFree.bytes - 50<<20, l.startFree.files}}
	if used, due, _, err := l.measure(fs); !due || err != nil || used.bytes != 50<<20 {
		t.Errorf("used are %+v, %v", used, err)
	}
}
