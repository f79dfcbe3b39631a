package docs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/internal/golden"

	"github.com/google/go-cmp/cmp"
)

// pages are where the pages are.
const pages = "../../docs"

func TestThePagesMatchTheProgram(t *testing.T) {
	parts, err := Parts()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(pages, "*.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	var used []string
	for _, file := range files {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		filled, names, err := Fill(string(page), parts)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		used = append(used, names...)
		if golden.Update() && filled != string(page) {
			if err := os.WriteFile(file, []byte(filled), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if diff := cmp.Diff(filled, string(page)); diff != "" {
			t.Errorf("%s is not what the program says (-program +page); `make docs` fixes it:\n%s", file, diff)
		}
	}
	for name := range parts {
		if !slices.Contains(used, name) {
			t.Errorf("no page holds %q", name)
		}
	}
}

func TestEveryOptionOfEveryAgentIsInItsTable(t *testing.T) {
	parts, err := Parts()
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(parts["agents"], "\n## ")
	for _, agent := range agents.Builtin().All() {
		info := agent.Info()
		section, _, _ := strings.Cut(text[strings.Index("\n## "+text, "\n## "+info.Title+"\n"):], "\n## ")
		fields, err := spec.Of(agents.Options(agent))
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range fields {
			want := "| `" + field.Key + "` |"
			if field.Type == spec.Secret {
				want = "- `$" + field.Env + "`"
			}
			if !strings.Contains(section, want) {
				t.Errorf("the section of %s has no %s", info.Name, want)
			}
		}
	}
}

func TestAPartWithWrongMarksIsAnError(t *testing.T) {
	parts := map[string]string{"a": "new\n", "b": "other\n"}
	page := "x\n<!-- begin a: made -->\nold\n<!-- end a -->\ny\n"
	filled, names, err := Fill(page, parts)
	if want := "x\n<!-- begin a: made -->\n\nnew\n\n<!-- end a -->\ny\n"; err != nil || filled != want || !slices.Equal(names, []string{"a"}) {
		t.Errorf("%q, %q, %v", filled, names, err)
	}
	if again, _, err := Fill(filled, parts); err != nil || again != filled {
		t.Errorf("a second time: %q, %v", again, err)
	}
	for _, page := range []string{
		"<!-- begin c -->\n<!-- end c -->\n", "<!-- begin a -->\n", "<!-- end a -->\n",
		"<!-- begin a -->\n<!-- end b -->\n", "<!-- begin a -->\n<!-- begin b -->\n<!-- end b -->\n<!-- end a -->\n",
	} {
		if _, _, err := Fill(page, parts); err == nil {
			t.Errorf("%q was taken", page)
		}
	}
}
