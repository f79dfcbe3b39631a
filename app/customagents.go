package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"aibox/agents"
	"aibox/agents/custom"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/health"
	"aibox/internal/paths"
)

// guests are the agents that files of the user's describe, beside the built-in
// ones. They come from the user's configuration alone, never from a repository:
// a file says what is built on the host's Docker and which of the user's variables
// an agent gets.
type guests struct {
	dir     string
	set     agents.Set        // the built-in agents and those of files
	files   map[string]string // where each agent of a file stands, by name
	recipes map[string]string // Dockerfiles by the image's name
	broken  []brokenGuest
}

// brokenGuest is a file that is no agent, and why.
type brokenGuest struct {
	path string
	err  error
}

// mostGuests bounds how many agent files are read.
const mostGuests = 200

// guestDir is the folder of the agent files.
func guestDir() (string, error) {
	dirs, err := paths.Default()
	if err != nil {
		return "", err
	}
	return filepath.Join(dirs.Config, "agents"), nil
}

// guests reads the agent files once in a process.
func (a *app) guests() *guests {
	a.guestsOnce.Do(func() {
		dir, err := guestDir()
		if err != nil {
			a.guestsRead = &guests{set: agents.Builtin()} // who needs a folder says why there is none
			return
		}
		a.guestsRead = readGuests(dir)
	})
	return a.guestsRead
}

// readGuests reads every NAME.toml in dir.
func readGuests(dir string) *guests {
	g := &guests{dir: dir, set: agents.Builtin(), files: map[string]string{}, recipes: map[string]string{}}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.broken = append(g.broken, brokenGuest{dir, err})
	}
	exposed := checkOwner(dir)
	if errors.Is(exposed, fs.ErrNotExist) {
		exposed = nil
	}
	read := 0
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), ".toml")
		if !ok || strings.HasPrefix(name, ".") {
			continue
		}
		if read++; read > mostGuests {
			g.broken = append(g.broken, brokenGuest{dir, fmt.Errorf("it holds more than %d agents, and the others are not read", mostGuests)})
			break
		}
		path := filepath.Join(dir, entry.Name())
		err := exposed
		if err == nil {
			err = g.add(name, path)
		}
		if err != nil {
			g.broken = append(g.broken, brokenGuest{path, err})
			g.set = g.set.WithBroken(name, brokenFault(name, path, err))
		}
	}
	return g
}

// add reads one file. The error says why it is no agent.
func (g *guests) add(name, path string) error {
	definition, err := readGuest(name, path)
	if err != nil {
		return err
	}
	if slices.Contains(g.set.Names(), name) {
		return errTaken
	}
	set, err := g.set.With(definition.Make)
	if err != nil {
		return err
	}
	g.set, g.files[name] = set, path
	if recipe := definition.Recipe(); recipe != "" {
		g.recipes[name] = recipe
	}
	return nil
}

var errTaken = errors.New("aibox has an agent of this name itself, which stays; rename the file")

// readGuest opens and parses an agent file. One that other users can write to is
// refused, since it decides what is built and run.
func readGuest(name, path string) (*custom.Definition, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a fifo must not keep aibox waiting
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	if err := ownedAlone(info, "it", path); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, custom.MaxFile+1))
	if err != nil {
		return nil, err
	}
	return custom.Parse(name, data)
}

// checkOwner returns an error if another user owns dir or can write to it, and could
// so replace the files in it.
func checkOwner(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	return ownedAlone(info, "its folder", dir)
}

// ownedAlone returns an error if another user owns the file or can write to it. Root
// may own it. subject is what the error calls the file.
func ownedAlone(info fs.FileInfo, subject, path string) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Getuid() && stat.Uid != 0 {
		return fmt.Errorf("%s belongs to another user", subject)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fault.New(fault.Usage, "other users can write to %s (mode %04o)", subject, mode).Hint("chmod go-w %s", path)
	}
	return nil
}

// brokenFault is the error for who asks for an agent whose file is wrong.
func brokenFault(name, path string, err error) error {
	f := fault.New(fault.Usage, "the agent %q cannot be used: %s: %w", name, path, err)
	var wrong *custom.Error
	if errors.As(err, &wrong) && wrong.Problems[0].Hint != "" {
		f = f.Hint("%s", wrong.Problems[0].Hint)
	}
	return f.Hint("`aibox agents check %s` tells all that is wrong with it", name)
}

// warnGuests tells of agent files that cannot be used, a line each. It is for
// commands that list agents or run one.
func (a *app) warnGuests() {
	for _, b := range a.guests().broken {
		fmt.Fprintf(a.err, "%s %s is left out: %s\n", a.errTerm.warn("!"), safe(b.path), firstLine(safe(b.err.Error()), 300))
	}
}

// guestsFinding is what doctor says of the user's agent files.
func (a *app) guestsFinding() health.Finding {
	g := a.guests()
	f := health.Finding{Name: "your agents", State: health.OK, Detail: "none"}
	if n := len(g.files); n > 0 {
		f.Detail = amount.Of(n, "file")
	}
	if n := len(g.broken); n > 0 {
		first := g.broken[0]
		f.State, f.Detail = health.Warning, fmt.Sprintf("%s left out, the first is %s: %v", amount.Of(n, "file"), first.path, first.err)
		f.Mend = "aibox agents check " + strings.TrimSuffix(filepath.Base(first.path), ".toml")
	}
	return f
}
