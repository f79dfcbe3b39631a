package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// program is what a command line may hold.
type program struct {
	switches []string          // flags without a value
	valued   []string          // flags with one
	commands []string          // words that may come first, each once
	words    int               // further words it takes
	files    []string          // files that it always reads
	pointing []string          // flags whose values are files it reads
	needs    map[string]string // flags that it takes with another one only
}

// help lists the flags.
func (p program) help() string {
	var out strings.Builder
	for _, flag := range p.switches {
		fmt.Fprintln(&out, " ", flag)
	}
	for _, flag := range p.valued {
		fmt.Fprintln(&out, " ", flag, "<value>")
	}
	return out.String()
}

// programs are the agents' command lines, as their own help and documentation list
// them.
var programs = map[string]program{
	"aider": {
		switches: []string{
			"--analytics-disable", "--architect", "--auto-commits", "--auto-test", "--cache-prompts", "--no-auto-commits", "--no-auto-lint",
			"--no-check-model-accepts-settings", "--no-check-update", "--no-detect-urls", "--no-dirty-commits", "--no-fancy-input",
			"--no-gitignore", "--no-pretty", "--no-show-model-warnings", "--no-show-release-notes", "--no-stream",
			"--no-suggest-shell-commands", "--restore-chat-history", "--subtree-only", "--verbose", "--yes-always",
		},
		valued: []string{
			"--chat-history-file", "--edit-format", "--editor-edit-format", "--editor-model", "--file", "--input-history-file", "--lint-cmd",
			"--map-tokens", "--max-chat-history-tokens", "--message-file", "--model", "--model-metadata-file", "--read", "--reasoning-effort",
			"--test-cmd", "--thinking-tokens", "--timeout", "--weak-model",
		},
		pointing: []string{"--message-file", "--model-metadata-file", "--read"},
	},
	"cursor-agent": {
		switches: []string{
			"--approve-mcps", "--auto-review", "--continue", "--force", "--list-models", "--plan", "--print", "--skip-worktree-setup",
			"--stream-partial-output", "--trust", "--yolo",
		},
		valued: []string{
			"--add-dir", "--api-key", "--endpoint", "--header", "--mode", "--model", "--output-format", "--plugin-dir", "--resume",
			"--sandbox", "--workspace", "--worktree", "--worktree-base",
		},
		words: 1,
		needs: map[string]string{"--trust": "--print", "--output-format": "--print", "--stream-partial-output": "--print"},
		files: []string{".cursor/projects/workspace/.workspace-trusted"},
	},
	"crush": {
		switches: []string{"--continue", "--debug", "--quiet", "--verbose", "--yolo"},
		valued:   []string{"--data-dir", "--model", "--small-model"},
		commands: []string{"run"},
		files:    []string{".config/crush/crush.json"},
	},
	"amp": {
		switches: []string{
			"--execute", "--fast", "--last", "--no-color", "--no-ide", "--no-notifications", "--no-remote-control-terminal", "--stream-json",
			"--stream-json-thinking",
		},
		valued:   []string{"--label", "--log-level", "--mcp-config", "--mode", "--settings-file", "--title", "--visibility"},
		commands: []string{"threads", "continue"},
		files:    []string{".config/amp/AGENTS.md"},
		pointing: []string{"--settings-file"},
	},
}

// arguments are a command line, taken apart.
type arguments struct{ values map[string][]string }

// parse refuses a flag that the program does not have, one without its value, and a
// word too many.
func parse(name string, args []string) (arguments, error) {
	known, ok := programs[name]
	if !ok {
		return arguments{}, fmt.Errorf("nobody is called that")
	}
	given, words, ended := arguments{map[string][]string{}}, 0, false
	for i := 0; i < len(args); i++ {
		flag, value, joined := strings.Cut(args[i], "=")
		switch {
		case ended || !strings.HasPrefix(flag, "-"):
			if words++; !slices.Contains(known.commands, args[i]) && words > known.words {
				return given, fmt.Errorf("unknown word %q", args[i])
			}
		case flag == "--":
			ended = true
		case slices.Contains(known.switches, flag) && !joined:
			given.values[flag] = []string{"on"}
		case !slices.Contains(known.valued, flag):
			return given, fmt.Errorf("unknown option %q", args[i])
		case joined:
			given.values[flag] = append(given.values[flag], value)
		case i+1 == len(args) || strings.HasPrefix(args[i+1], "-"):
			return given, fmt.Errorf("option %q has no value", flag)
		default:
			i++
			given.values[flag] = append(given.values[flag], args[i])
		}
	}
	for flag, with := range known.needs {
		if given.values[flag] != nil && given.values[with] == nil {
			return given, fmt.Errorf("%s can only be used with %s", flag, with)
		}
	}
	return given, nil
}

// files are those that the program would read.
func (a arguments) files(name string) []string {
	var paths []string
	for _, flag := range programs[name].pointing {
		paths = append(paths, a.values[flag]...)
	}
	for _, file := range programs[name].files {
		path := filepath.Join(os.Getenv("HOME"), file)
		if _, err := os.Stat(path); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}
