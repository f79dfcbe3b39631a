package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// This is the quick part of make controls: it fails when an entry no longer fits the code.
func TestEachControlOfTheTableIsInTheCodeOnce(t *testing.T) {
	names := map[string]bool{}
	for _, c := range table() {
		if names[c.name] {
			t.Errorf("two controls have the name %q", c.name)
		}
		names[c.name] = true
		content, err := c.without(root)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if c.text == c.off || len(content) == 0 {
			t.Errorf("%s: the replacement does not switch the control off", c.name)
		}
	}
}

func TestTheTestsOfEachControlExist(t *testing.T) {
	sources := map[string]string{}
	for _, c := range table() {
		source, ok := sources[c.folder()]
		if !ok {
			source = testSource(t, filepath.Join(root, c.folder()))
			sources[c.folder()] = source
		}
		tests := strings.Fields(c.tests)
		if len(tests) == 0 {
			t.Errorf("%s has no test", c.name)
		}
		for _, test := range tests {
			if !strings.Contains(source, "\nfunc "+test+"(") {
				t.Errorf("%s: %s has no test %s", c.name, c.folder(), test)
			}
		}
	}
}

func testSource(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(content)
	}
	return all.String()
}
