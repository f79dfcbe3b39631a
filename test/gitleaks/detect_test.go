package gitleaks

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"aibox/review/risk/secrets"

	"github.com/lucasjones/reggen"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/sources"
)

// theirs is what gitleaks' own detector finds: the rule and the secret.
func theirs(d *detect.Detector, path, text string) []string {
	var all []string
	for _, f := range d.Detect(detect.Fragment(sources.Fragment{Raw: text, FilePath: path})) {
		all = append(all, f.RuleID+" "+f.Secret)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ours is what our search finds.
func ours(path, text string) []string {
	var all []string
	found, left := secrets.Find(path, []byte(text), 1<<30)
	if left < 0 {
		panic("the budget was too small")
	}
	for _, f := range found {
		all = append(all, f.Rule+" "+text[f.Start:f.End])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// paths are names that rules ask for.
var paths = map[string]string{
	"hashicorp-tf-password": "main.tf", "kubernetes-secret-yaml": "secret.yaml", "nuget-config-password": "nuget.config", "curl-auth-header": "a.sh", "freemius-secret-key": "a.php", "pkcs12-file": "a.p12",
}

func TestTheSearchFindsWhatTheDetectorFinds(t *testing.T) {
	detector, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	detector.IgnoreGitleaksAllow = true // a comment of the agent's must not hide anything
	tried, without := 0, []string(nil)
	for _, id := range detector.Config.OrderedRules {
		rule := detector.Config.Rules[id]
		if rule.Regex == nil {
			continue
		}
		generator, err := reggen.NewGenerator(rule.Regex.String())
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		generator.SetSeed(1)
		path, hit := "src/main.txt", false
		if named := paths[id]; named != "" {
			path = named
		}
		for n := range 40 {
			text := wrap(rand.New(rand.NewPCG(uint64(n), 1)), generator.Generate(20))
			want, got := theirs(detector, path, text), ours(path, text)
			hit = hit || slices.ContainsFunc(want, func(s string) bool { return strings.HasPrefix(s, id+" ") })
			tried++
			if !slices.Equal(want, got) {
				t.Errorf("%s in %q:\n theirs %q\n ours   %q", id, text, want, got)
				break
			}
		}
		if !hit {
			without = append(without, id)
		}
	}
	t.Logf("%d texts; rules that no text met: %v", tried, without)
	if len(without) > 10 {
		t.Errorf("%d rules were never met", len(without))
	}
}

// wrap puts a secret among other text.
func wrap(r *rand.Rand, secret string) string {
	before := []string{"", "x := 1\n", "the key of the token\n", strings.Repeat("# nothing to see\n", 200), "export "}[r.IntN(5)]
	behind := []string{"", "\n", "\nthe rest\n", " // a comment", strings.Repeat("\nmore lines", 500)}[r.IntN(5)]
	return before + secret + behind
}

func TestOrdinaryTextContainsNoSecret(t *testing.T) {
	detector, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"func Token(key string) (secret string) {\n\treturn keys[key]\n}\n", "password = os.Getenv(\"PASSWORD\")\n", "api_key: ${API_KEY}\n", fmt.Sprintf("sha256:%064d\n", 7),
	} {
		if want, got := theirs(detector, "a.go", text), ours("a.go", text); len(want)+len(got) > 0 {
			t.Errorf("%q: theirs %q, ours %q", text, want, got)
		}
	}
}
