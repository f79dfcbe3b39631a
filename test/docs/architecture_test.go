package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// codePath is a file or folder of this repository, as a page names it.
var codePath = regexp.MustCompile("`([a-z]+/[a-z/-]+(?:\\.go)?)`")

func TestTheArchitectureNamesFilesThatExist(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(pages, "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := codePath.FindAllStringSubmatch(string(page), -1)
	if len(found) < 20 {
		t.Errorf("the page names only %d files", len(found))
	}
	for _, match := range found {
		if _, err := os.Stat(filepath.Join("../..", match[1])); err != nil {
			t.Errorf("the page names %s: %v", match[1], err)
		}
	}
}
