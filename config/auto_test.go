package config

import (
	"strings"
	"testing"

	"aibox/internal/fault"
)

func machineCatalog() Catalog {
	c := catalog()
	c.Auto = map[string]string{"memory": "4096", "cpus": "3"}
	return c
}

// TestAutoIsTheNumberOfTheMachineInEverySource resolves the word from each source.
func TestAutoIsTheNumberOfTheMachineInEverySource(t *testing.T) {
	file, err := Parse(UserFile, "config.toml", []byte("memory = \"auto\"\ncpus = \"auto\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]Input{
		"built in":    {},
		"file":        {User: file},
		"environment": {Environment: []string{"AIBOX_MEMORY=auto", "AIBOX_CPUS=auto"}},
		"flag":        {Flags: []Override{{Key: "memory", Name: "--memory", Value: "auto"}, {Key: "cpus", Name: "--cpus", Value: "auto"}}},
	} {
		r, err := machineCatalog().Resolve(in)
		if err != nil || r.Settings.Memory != 4096 || r.Settings.CPUs.String() != "3" {
			t.Errorf("%s: %v and %v, %v", name, r.Settings.Memory, r.Settings.CPUs, err)
		}
	}
}

func TestARepositoryTightensTheNumberOfTheMachine(t *testing.T) {
	for text, ok := range map[string]bool{
		"memory = 1024\ncpus = 1.5": true,
		"memory = \"auto\"":         true,
		"memory = 8192":             false,
		"memory = 0":                false,
		"cpus = 3.5":                false,
	} {
		file, err := Parse(RepositoryFile, ".aibox.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = machineCatalog().Resolve(Input{Repository: file})
		if (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
		if err != nil && !strings.Contains(strings.Join(fault.Hints(err), " "), "you allow") {
			t.Errorf("%q: %v has the hints %q", text, err, fault.Hints(err))
		}
	}
}

func TestTheFileKeepsTheWordAuto(t *testing.T) {
	data, err := machineCatalog().With(nil, "memory", "auto")
	if err != nil || string(data) != "memory = \"auto\"\n" {
		t.Errorf("%q, %v", data, err)
	}
}
