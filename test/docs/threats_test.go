package docs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// threats is how many kinds of attacks docs/threats.md lists.
const threats = 22

// TestEveryThreatHasAControlAndATestThatExists keeps docs/threats.md true: all
// threats in order, no row without a control and a test, and no test that is gone.
func TestEveryThreatHasAControlAndATestThatExists(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(pages, "threats.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(page), "\n## ")[1:]
	if len(sections) != threats {
		t.Fatalf("%d sections, want %d", len(sections), threats)
	}
	for i, section := range sections {
		title, body, _ := strings.Cut(section, "\n")
		if number := fmt.Sprintf("%d. ", i+1); !strings.HasPrefix(title, number) {
			t.Errorf("section %q, want it to begin with %q", title, number)
		}
		rows := threatRows(body)
		if len(rows) == 0 {
			t.Errorf("section %q has no rows", title)
		}
		for _, row := range rows {
			checkThreatRow(t, row)
		}
	}
}

// TestEveryFaultHasATestThatExists keeps docs/reliability.md true.
func TestEveryFaultHasATestThatExists(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(pages, "reliability.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, title := range []string{"What the repair compares", "Faults and what happens"} {
		_, section, _ := strings.Cut(string(page), "\n## "+title+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		rows := threatRows(section)
		if len(rows) < 2 {
			t.Errorf("section %q has no rows", title)
		}
		for _, row := range rows[1:] { // the first one is the head
			checkThreatRow(t, row)
		}
	}
}

// threatRows are the rows of the tables in a section, without their heads.
func threatRows(section string) []string {
	var rows []string
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| attack |") && !strings.HasPrefix(line, "| ---") {
			rows = append(rows, line)
		}
	}
	return rows
}

var threatTest = regexp.MustCompile("^`([a-z0-9/-]+)` ((?:Test|Fuzz)[A-Za-z0-9]+)$")

func checkThreatRow(t *testing.T, row string) {
	t.Helper()
	cells := strings.Split(strings.Trim(row, "|"), "|")
	if len(cells) != 3 || strings.TrimSpace(cells[0]) == "" || strings.TrimSpace(cells[1]) == "" {
		t.Errorf("a row needs an attack, a control and tests: %s", row)
		return
	}
	for _, cell := range strings.Split(cells[2], ";") {
		found := threatTest.FindStringSubmatch(strings.TrimSpace(cell))
		if found == nil {
			t.Errorf("%q does not name a test as `package` TestName, in: %s", cell, row)
			continue
		}
		if !testExists(t, found[1], found[2]) {
			t.Errorf("there is no %s in %s", found[2], found[1])
		}
	}
}

// testExists reports whether a package of this module has the test function.
func testExists(t *testing.T, pkg, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(source, []byte("\nfunc "+name+"(")) {
			return true
		}
	}
	return false
}
