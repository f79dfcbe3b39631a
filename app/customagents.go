package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aibox/agents"
	"aibox/agents/custom"
	"aibox/app/template"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/userfile"
)

// CustomAgents are the agents that the user's own files define, besides the built-in ones.
// The files come only from the user's configuration, never from a repository: a file
// selects the image that the host's Docker builds and the user's variables that an agent
// gets.
type CustomAgents struct {
	Files   map[string]string // the path of each agent's file, by the agent's name
	Recipes map[string]string // Dockerfiles by the image's name
	Broken  []BrokenAgent

	dir string
	set agents.Set // the built-in agents and the custom ones
}

// BrokenAgent is a file that defines no agent.
type BrokenAgent struct {
	Path string
	Err  error // why
}

// maxCustomAgents bounds the number of agent files that are read.
const maxCustomAgents = 200

// CustomAgentsDir returns the folder of the agent files.
func CustomAgentsDir() (string, error) {
	dirs, err := paths.Default()
	if err != nil {
		return "", err
	}
	return filepath.Join(dirs.Config, "agents"), nil
}

// Agents returns all agents that can be run.
func (a *App) Agents() agents.Set { return a.CustomAgents().set }

// CustomAgents reads the agent files, once in a process.
func (a *App) CustomAgents() *CustomAgents {
	a.customOnce.Do(func() {
		dir, err := CustomAgentsDir()
		if err != nil {
			a.custom = &CustomAgents{set: agents.Builtin()} // operations that need a folder report why there is none
			return
		}
		a.custom = readCustomAgents(dir)
	})
	return a.custom
}

// Path returns the path of an agent's file, whether it defines one or is broken; ""
// for none.
func (c *CustomAgents) Path(name string) string {
	if path := c.Files[name]; path != "" {
		return path
	}
	for _, b := range c.Broken {
		if strings.HasSuffix(b.Path, "/"+name+".toml") {
			return b.Path
		}
	}
	return ""
}

// readCustomAgents reads every NAME.toml in dir.
func readCustomAgents(dir string) *CustomAgents {
	c := &CustomAgents{dir: dir, set: agents.Builtin(), Files: map[string]string{}, Recipes: map[string]string{}}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.Broken = append(c.Broken, BrokenAgent{dir, err})
	}
	exposed := userfile.CheckDir(dir)
	read := 0
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), ".toml")
		if !ok || strings.HasPrefix(name, ".") {
			continue
		}
		if read++; read > maxCustomAgents {
			c.Broken = append(c.Broken, BrokenAgent{dir, fmt.Errorf("it holds more than %d agents; the rest are ignored", maxCustomAgents)})
			break
		}
		path := filepath.Join(dir, entry.Name())
		err := exposed
		if err == nil {
			err = c.add(name, path)
		}
		if err != nil {
			c.Broken = append(c.Broken, BrokenAgent{path, err})
			c.set = c.set.WithBroken(name, brokenFault(name, path, err))
		}
	}
	return c
}

// add reads one file. The error is the reason why it does not define an agent.
func (c *CustomAgents) add(name, path string) error {
	definition, err := readDefinition(name, path)
	if err != nil {
		return err
	}
	if slices.Contains(c.set.Names(), name) {
		return errTaken
	}
	if template.IsBuiltin(name) {
		return errTakenByTemplate
	}
	set, err := c.set.With(definition.Make)
	if err != nil {
		return err
	}
	c.set, c.Files[name] = set, path
	if recipe := definition.Recipe(); recipe != "" {
		c.Recipes[name] = recipe
	}
	return nil
}

var (
	errTaken           = errors.New("aibox has a built-in agent with this name; rename the file")
	errTakenByTemplate = errors.New("aibox has a built-in template with this name; rename the file")
)

// readDefinition reads and parses an agent file.
func readDefinition(name, path string) (*custom.Definition, error) {
	data, err := userfile.Read(path, custom.MaxFile)
	if err != nil {
		return nil, err
	}
	return custom.Parse(name, data)
}

// brokenFault is the error of an agent with an invalid file.
func brokenFault(name, path string, err error) error {
	f := fault.New(fault.Usage, "the agent %q cannot be used: %s: %w", name, path, err)
	var wrong *custom.Error
	if errors.As(err, &wrong) && wrong.Problems[0].Hint != "" {
		f = f.Hint("%s", wrong.Problems[0].Hint)
	}
	return f.Hint("`aibox agents check %s` lists all problems", name)
}
