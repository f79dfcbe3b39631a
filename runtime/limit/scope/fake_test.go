package scope

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
)

// fakeSystemd is a user's systemd and its cgroups, as files below a folder.
type fakeSystemd struct {
	t    testing.TB
	root string

	old     bool            // it does not know OOMPolicy for scopes
	ignores map[string]bool // properties without effect, as if their controllers were missing
	job     string          // how the job ends; empty is "done"
	forks   func() int      // called while a scope is created; returns a process outside of it

	mu     sync.Mutex
	result string // of the scope
	closed int
	scopes map[string]map[string]any // the properties by unit
}

func newFakeSystemd(t testing.TB) *fakeSystemd {
	return &fakeSystemd{t: t, root: t.TempDir(), ignores: map[string]bool{}, scopes: map[string]map[string]any{}, result: "success"}
}

func (f *fakeSystemd) enforcer() *Enforcer {
	return &Enforcer{
		connect: func() (manager, error) { return f, nil },
		cgroups: cgroups{root: filepath.Join(f.root, "cgroup"), proc: filepath.Join(f.root, "proc")},
	}
}

func (f *fakeSystemd) write(text string, path ...string) {
	file := filepath.Join(append([]string{f.root}, path...)...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// move puts a process into a cgroup.
func (f *fakeSystemd) move(pid uint32, path string) {
	f.write("0::/"+path+"\n", "proc", strconv.Itoa(int(pid)), "cgroup")
}

func (f *fakeSystemd) StartTransientUnitContext(_ context.Context, name, _ string, properties []dbus.Property, ch chan<- string) (int, error) {
	given := map[string]any{}
	for _, p := range properties {
		given[p.Name] = p.Value.Value()
	}
	if _, ok := given["OOMPolicy"]; ok && f.old {
		return 0, godbus.Error{Name: "org.freedesktop.DBus.Error.PropertyReadOnly", Body: []any{"Cannot set property OOMPolicy, or unknown property."}}
	}
	if f.forks != nil {
		f.move(uint32(f.forks()), "docker.service")
	}
	f.mu.Lock()
	f.scopes[name] = given
	f.mu.Unlock()
	number := func(property, file string) {
		if n, ok := given[property].(uint64); ok && !f.ignores[property] {
			f.write(fmt.Sprintln(n), "cgroup", "app.slice", name, file)
		} else {
			f.write("max\n", "cgroup", "app.slice", name, file)
		}
	}
	number("MemoryMax", "memory.max")
	number("MemorySwapMax", "memory.swap.max")
	number("TasksMax", "pids.max")
	f.write("max 100000\n", "cgroup", "app.slice", name, "cpu.max")
	if n, ok := given["CPUQuotaPerSecUSec"].(uint64); ok && !f.ignores["CPUQuotaPerSecUSec"] {
		f.write(fmt.Sprintln(n/10, 100000), "cgroup", "app.slice", name, "cpu.max")
	}
	f.memoryEvents(name, 0, 0)
	f.populated(name, 1)
	pids, _ := given["PIDs"].([]uint32)
	for _, pid := range pids {
		f.move(pid, "app.slice/"+name)
	}
	if f.job == "" {
		f.job = "done"
	}
	ch <- f.job
	return 1, nil
}

// events replaces the content of memory.events of a scope at its limit.
func (f *fakeSystemd) events(name string, kills int) { f.memoryEvents(name, 1, kills) }

// memoryEvents replaces the content of memory.events.
func (f *fakeSystemd) memoryEvents(name string, atLimit, kills int) {
	f.write(fmt.Sprintf("low 0\nhigh 0\nmax 3\noom %d\noom_kill %d\n", atLimit, kills), "cgroup", "app.slice", name, "memory.events")
}

// populated replaces the content of cgroup.events.
func (f *fakeSystemd) populated(name string, processes int) {
	f.write(fmt.Sprintf("populated %d\nfrozen 0\n", processes), "cgroup", "app.slice", name, "cgroup.events")
}

func (f *fakeSystemd) AttachProcessesToUnit(_ context.Context, unit, _ string, pids []uint32) error {
	for _, pid := range pids {
		f.move(pid, "app.slice/"+unit)
	}
	return nil
}

func (f *fakeSystemd) GetUnitTypePropertyContext(_ context.Context, unit, unitType, property string) (*dbus.Property, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.scopes[unit]; !ok || unitType != "Scope" || property != "Result" {
		return nil, errors.New("no such property")
	}
	return &dbus.Property{Name: property, Value: godbus.MakeVariant(f.result)}, nil
}

// end sets the reason for which the scope has ended.
func (f *fakeSystemd) end(result string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.result = result
}

func (f *fakeSystemd) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
}
