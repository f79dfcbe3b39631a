package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"aibox/audit"

	"github.com/google/go-cmp/cmp"
)

// eventTables returns the rows of the tables of events in docs/audit.md, each as its cells,
// without their heads: first that of the kinds, then that of the fields.
func eventTables(t *testing.T) (tables [][][]string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(pages, "audit.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Events\n")
	text, _, _ = strings.Cut(text, "\n## ")
	inTable := false
	for line := range strings.Lines(text) {
		row, isRow := strings.CutPrefix(strings.TrimSpace(line), "| ")
		switch {
		case !isRow:
			inTable = false
		case strings.HasPrefix(row, "---"):
			inTable = true
			tables = append(tables, nil)
		case inTable:
			last := len(tables) - 1
			tables[last] = append(tables[last], strings.SplitN(strings.TrimSuffix(row, " |"), " | ", 2))
		}
	}
	if len(tables) != 2 {
		t.Fatalf("the section on events has %d tables", len(tables))
	}
	return tables
}

// quoted matches a name in backticks.
var quoted = regexp.MustCompile("`([^`]+)`")

// namesIn returns the names in backticks.
func namesIn(text string) (names []string) {
	for _, match := range quoted.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

func TestTheTableOfEventsHasEveryKindAndType(t *testing.T) {
	var want, got [][]string
	for _, kind := range append(audit.Kinds(), audit.KindAPI) {
		row := []string{string(kind)}
		for _, one := range audit.Types(kind) {
			row = append(row, string(one))
		}
		want = append(want, row)
	}
	for _, cells := range eventTables(t)[0] {
		types, _, _ := strings.Cut(cells[1], ": ") // what follows is a remark
		got = append(got, append(namesIn(cells[0]), namesIn(types)...))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/audit.md does not list the events of audit/kind.go (-program +page):\n%s", diff)
	}
}

func TestTheTableOfFieldsNamesOnlyEventsThatExist(t *testing.T) {
	seen := map[string]bool{}
	for _, cells := range eventTables(t)[1] {
		for _, name := range namesIn(cells[0]) {
			if !slices.Contains(audit.Types(), audit.Type(name)) || seen[name] {
				t.Errorf("%q is listed twice, or is no type of event", name)
			}
			seen[name] = true
		}
	}
	if len(seen) < 10 {
		t.Errorf("the table has only %d types", len(seen))
	}
}
