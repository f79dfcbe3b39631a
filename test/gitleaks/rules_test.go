package gitleaks

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"aibox/review/risk/secrets"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
)

var update = flag.Bool("update", false, "write the rules again")

const (
	module = "github.com/zricethezav/gitleaks/v8"
	file   = "../../review/risk/secrets/rules.go"
)

// document is gitleaks' file of rules.
type document struct {
	Allowlist allowlist
	Rules     []struct {
		ID, Regex, Path string
		Entropy         float64
		SecretGroup     int
		Keywords        []string
		Allowlists      []allowlist

		Description string
	}
	Title, MinVersion string
}

type allowlist struct {
	Description, Condition, RegexTarget string
	Paths, Regexes, Stopwords           []string
}

// version is that of the module this test is built with.
func version(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "v")
}

func TestTheRulesAreThoseOfTheModule(t *testing.T) {
	var d document
	decoder := toml.NewDecoder(strings.NewReader(config.DefaultConfig)).DisallowUnknownFields() // a new field may mean a new condition
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	want := source(t, &d)
	if *update {
		if err := os.WriteFile(file, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s is not what gitleaks %s says; `make secrets` mends it", file, version(t))
	}
	if !*update && secrets.Version != version(t) {
		t.Errorf("the rules say they are of %s, the module is %s", secrets.Version, version(t))
	}
}

// source writes the rules as Go.
func source(t *testing.T, d *document) []byte {
	t.Helper()
	var out strings.Builder
	out.WriteString("// Code generated from gitleaks' rules by test/gitleaks; DO NOT EDIT.\n\n" + notice + "package secrets\n\n")
	fmt.Fprintf(&out, "// Version is the release of gitleaks whose rules these are.\nconst Version = %q\n\n", version(t))
	fmt.Fprintf(&out, "// global is what counts for every rule.\nvar global = Rule{Allow: []Allow{%s}}\n\n", d.Allowlist.source(t))
	fmt.Fprintf(&out, "// rules are all rules, in gitleaks' order.\nvar rules = [%d]Rule{\n", len(d.Rules))
	for _, r := range d.Rules {
		fmt.Fprintf(&out, "{ID: %q, ", r.ID)
		field(&out, "Regex", r.Regex)
		field(&out, "Path", r.Path)
		if r.Entropy != 0 {
			fmt.Fprintf(&out, "Entropy: %v, ", r.Entropy)
		}
		if r.SecretGroup != 0 {
			fmt.Fprintf(&out, "Group: %d, ", r.SecretGroup)
		}
		for i, word := range r.Keywords {
			r.Keywords[i] = strings.ToLower(word)
			if len(word) < 2 {
				t.Fatalf("the keyword %q of %s is shorter than the search can find", word, r.ID)
			}
		}
		slices.Sort(r.Keywords)
		list(&out, "Keywords", slices.Compact(r.Keywords))
		if len(r.Allowlists) > 0 {
			out.WriteString("Allow: []Allow{")
			for _, a := range r.Allowlists {
				out.WriteString(a.source(t) + ", ")
			}
			out.WriteString("}, ")
		}
		out.WriteString("},\n")
	}
	out.WriteString("}\n")
	formatted, err := format.Source([]byte(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	return formatted
}

func (a allowlist) source(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("{")
	switch a.Condition {
	case "", "OR", "||":
	case "AND", "&&":
		out.WriteString("All: true, ")
	default:
		t.Fatalf("an unknown condition: %q", a.Condition)
	}
	if !slices.Contains([]string{"", "match", "line"}, a.RegexTarget) {
		t.Fatalf("an unknown target: %q", a.RegexTarget)
	}
	field(&out, "Target", a.RegexTarget)
	list(&out, "Paths", a.Paths)
	list(&out, "Regexes", a.Regexes)
	words := slices.Clone(a.Stopwords)
	for i := range words {
		words[i] = strings.ToLower(words[i])
	}
	slices.Sort(words)
	list(&out, "StopWords", slices.Compact(words))
	return out.String() + "}"
}

func field(out *strings.Builder, name, value string) {
	if value != "" {
		fmt.Fprintf(out, "%s: %s, ", name, quote(value))
	}
}

func list(out *strings.Builder, name string, values []string) {
	if len(values) == 0 {
		return
	}
	fmt.Fprintf(out, "%s: []string{", name)
	for _, value := range values {
		out.WriteString(quote(value) + ", ")
	}
	out.WriteString("}, ")
}

func quote(value string) string {
	if strconv.CanBackquote(value) {
		return "`" + value + "`"
	}
	return strconv.Quote(value)
}
