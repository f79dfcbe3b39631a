package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// control is a security decision in the code, and the tests that must fail without it.
type control struct {
	name  string // what the control does
	file  string // from the root of the repository
	text  string // of the control; it occurs once in the file
	off   string // replaces text and switches the control off
	tests string // names of tests, separated by spaces, of which one must fail
	in    string // the folder of the tests; "" is that of the file
}

// result is what the tests report without a control.
type result string

const (
	noticed   result = "noticed"
	unnoticed result = "UNNOTICED"
	notBuilt  result = "NOT BUILT" // the replacement is not valid Go
)

// folder returns the folder of the tests.
func (c control) folder() string {
	if c.in != "" {
		return c.in
	}
	return path.Dir(c.file)
}

// without returns the file's content without the control.
func (c control) without(root string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(root, c.file))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(content), c.text); n != 1 {
		return nil, fmt.Errorf("%s has the text of the control %d times, not once: %s", c.file, n, c.text)
	}
	return []byte(strings.Replace(string(content), c.text, c.off, 1)), nil
}

// check runs the tests without the control. The working directory is the root of the
// repository. The files of the repository are unchanged: the compiler reads a copy.
func (c control) check(ctx context.Context) (result, error) {
	content, err := c.without(".")
	if err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp("", "controls-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	replaced, overlay := filepath.Join(folder, "replaced.go"), filepath.Join(folder, "overlay.json")
	original, err := filepath.Abs(c.file)
	if err != nil {
		return "", err
	}
	files, err := json.Marshal(map[string]map[string]string{"Replace": {original: replaced}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(replaced, content, 0o600), os.WriteFile(overlay, files, 0o600)); err != nil {
		return "", err
	}
	pattern := "^(" + strings.Join(strings.Fields(c.tests), "|") + ")$"
	args := []string{"test", "-vet=off", "-count=1", "-failfast", "-timeout=2m", "-overlay", overlay, "-run", pattern, "./" + c.folder()}
	rapid, err := usesRapid(c.folder())
	if err != nil {
		return "", err
	}
	if rapid { // it would store each failed example in the repository
		args = append(args, "-rapid.nofailfile")
	}
	output, err := exec.CommandContext(ctx, "go", args...).CombinedOutput() //nolint:gosec // texts of the table
	switch text := string(output); {
	case strings.Contains(text, "[build failed]"), strings.Contains(text, "[setup failed]"):
		return notBuilt, nil
	case strings.Contains(text, "no tests to run"):
		return "", fmt.Errorf("%s has none of the tests %s", c.folder(), c.tests)
	case err == nil:
		return unnoticed, nil
	case strings.Contains(text, "--- FAIL"), strings.Contains(text, "panic: "):
		return noticed, nil
	default:
		return "", fmt.Errorf("go test: %w\n%s", err, text)
	}
}

// usesRapid reports whether a test in the folder uses the package rapid.
func usesRapid(folder string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return false, err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return false, err
		}
		if strings.Contains(string(content), `"pgregory.net/rapid"`) {
			return true, nil
		}
	}
	return false, nil
}
