// Command standin replaces an agent that cannot be installed without its vendor's network.
// It checks its command line as strictly as the agent does, prints what it was given, and
// sends the model one request like the agent's. It acts as the agent by whose name it is
// called. It never does an agent's work.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	name := filepath.Base(os.Args[0])
	if len(os.Args) == 2 && os.Args[1] == "--help" {
		fmt.Print(programs[name].help())
		return
	}
	given, err := parse(name, os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(2)
	}
	if err := printTask(os.Stdout, name, given); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// printTask prints everything that determines what the agent would do, and changes a file.
func printTask(out io.Writer, name string, given arguments) error {
	for _, arg := range os.Args[1:] {
		fmt.Fprintf(out, "arg   %q\n", arg)
	}
	for _, variable := range variables() {
		fmt.Fprintln(out, "env  ", variable)
	}
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "input %q\n", input)
	for _, path := range given.files(name) {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "file  %s: %s\n", path, content(path, data))
	}
	if history := given.values["--chat-history-file"]; history != nil {
		if err := remember(out, history[0]); err != nil {
			return err
		}
	}
	if err := keep(name); err != nil {
		return err
	}
	if ask := models[name]; ask != nil {
		status, err := ask(given)
		if err != nil {
			return err
		}
		if status != "" {
			fmt.Fprintln(out, "model", status)
		}
	}
	return os.WriteFile("made-by-"+name, []byte(name+"\n"), 0o600)
}

// keep creates the files that the agent keeps in the repository for itself.
func keep(name string) error {
	if name != "aider" {
		return nil
	}
	cache := ".aider.tags.cache.v4"
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(cache, "cache.db"), []byte("tags\n"), 0o600)
}

// variables are those of the environment that agents look at, the secret part of a
// placeholder left out.
func variables() []string {
	var found []string
	for _, variable := range os.Environ() {
		known := slices.ContainsFunc([]string{
			"AIBOX_API_KEY=", "AMP_", "ANTHROPIC_", "CURSOR_", "DO_NOT_TRACK=", "GEMINI_", "NO_COLOR=", "NO_OPEN_BROWSER=", "OLLAMA_", "OPENAI_",
		}, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
		if before, _, ok := strings.Cut(variable, "=sk-aibox-"); ok {
			variable = before + "=(placeholder)"
		}
		if known {
			found = append(found, variable)
		}
	}
	slices.Sort(found)
	return found
}

// content is a file's content; of the instructions, which change with aibox, only
// that they are there.
func content(path string, data []byte) string {
	if strings.HasSuffix(path, ".md") && len(data) > 0 {
		return "(instructions)"
	}
	return fmt.Sprintf("%q", data)
}

// remember prints what an earlier conversation left, and adds to it.
func remember(out io.Writer, history string) error {
	before, err := os.ReadFile(history)
	if err == nil {
		fmt.Fprintf(out, "past  %q\n", before)
	}
	file, err := os.OpenFile(history, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = fmt.Fprintln(file, "we talked")
	return err
}
