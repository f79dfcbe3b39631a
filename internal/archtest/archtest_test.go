// Package archtest holds the import rules of the house: who may know whom. A new
// package needs a line in the table, so that nobody adds a room without saying
// where it belongs.
package archtest

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layer says what one package may import of this module, and which foreign
// modules are its alone.
type layer struct {
	path  string
	knows []string // packages of this module, without "aibox/"
}

// leaves are what everybody may know.
var leaves = []string{
	"internal/fault", "internal/undo", "internal/secret", "internal/command", "internal/paths", "internal/termtext", "internal/probe",
	"internal/amount", "internal/flock",
}

// layers is the architecture, top to bottom.
var layers = []layer{
	{"cmd/aibox", []string{"internal/cli"}},
	{"cmd/aibox-init", []string{"internal/lifeline", "internal/watchdog"}},
	{"internal/cli", []string{
		"agents", "agents/custom", "agents/spec", "audit", "bakery", "bakery/docker", "dockerfiles", "internal/config", "internal/health", "internal/initbin", "internal/prompts", "internal/screen", "internal/scripted",
		"netguard", "netguard/egress", "netguard/gateway", "netguard/rules", "review", "review/risk", "runtime", "runtime/docker", "scripts", "session", "session/draft", "ui", "ui/dashboard", "ui/form", "ui/newrun", "ui/plain", "workspace",
		"ui/network", "ui/page", "ui/settings", "ui/traffic",
	}},
	{"session", []string{"agents", "agents/spec", "audit", "internal/diskerr", "internal/diskuse", "internal/lifeline", "internal/screen", "internal/watchdog", "netguard", "review", "runtime", "workspace"}},
	{"session/draft", []string{"agents/spec", "internal/config", "session", "workspace"}},
	{"agents", []string{"agents/spec"}},
	{"agents/custom", []string{"agents", "agents/spec"}},
	{"agents/spec", nil},
	{"audit", nil},
	{"bakery", nil},
	{"bakery/bakerytest", []string{"bakery"}},
	{"bakery/docker", []string{"bakery"}},
	{"dockerfiles", nil},
	{"internal/amount", nil},
	{"internal/archtest", nil},
	{"internal/command", nil},
	{"internal/config", []string{"agents/spec", "internal/gitignore"}},
	{"internal/docs", []string{"agents", "agents/custom", "agents/spec", "internal/config", "review/risk"}},
	{"internal/fault", nil},
	{"internal/diskerr", nil},
	{"internal/diskuse", nil},
	{"internal/flock", nil},
	{"internal/gitignore", nil},
	{"internal/git", nil},
	{"internal/golden", nil},
	{"internal/health", nil},
	{"internal/initbin", nil},
	{"internal/lifeline", nil},
	{"internal/paths", nil},
	{"internal/peer", nil},
	{"internal/peer/peertest", nil},
	{"internal/probe", nil},
	{"internal/prompts", nil},
	{"internal/redact", nil},
	{"internal/scripted", nil},
	{"internal/screen", nil},
	{"internal/secret", nil},
	{"internal/termtext", nil},
	{"internal/undo", nil},
	{"internal/watchdog", nil},
	{"netguard", nil},
	{"netguard/egress", []string{"netguard"}},
	{"netguard/gateway", []string{"internal/peer", "internal/redact", "netguard", "netguard/gateway/schema"}},
	{"netguard/gateway/schema", []string{"netguard"}},
	{"netguard/rules", []string{"netguard"}},
	{"review", []string{"internal/diskerr", "internal/git", "internal/gitignore", "review/risk", "workspace"}},
	{"review/risk", []string{"review/risk/secrets"}},
	{"review/risk/secrets", nil},
	{"runtime", nil},
	{"scripts", nil},
	{"runtime/docker", []string{"runtime"}},
	{"runtime/runtimetest", []string{"runtime"}},
	{"ui", []string{"review", "session", "ui/attend", "ui/changes", "ui/dashboard", "ui/dialog", "ui/doctor", "ui/help", "ui/images", "ui/keymap", "ui/lookback", "ui/network", "ui/newrun", "ui/page", "ui/palette", "ui/requests", "ui/settings", "ui/theme"}},
	{"ui/attend", []string{"audit", "internal/amount", "internal/screen", "session", "ui/dialog", "ui/frame", "ui/keymap", "ui/page", "ui/record", "ui/standing", "ui/stream", "ui/theme", "ui/traffic"}},
	{"ui/changes", []string{"review", "session", "ui/cursor", "ui/dialog", "ui/frame", "ui/keymap", "ui/page", "ui/syntax", "ui/theme"}},
	{"ui/checkup", []string{"internal/health"}},
	{"ui/cursor", []string{"ui/keymap"}},
	{"ui/dashboard", []string{"internal/screen", "review", "session", "ui/checkup", "ui/cursor", "ui/dialog", "ui/frame", "ui/keymap", "ui/page", "ui/standing", "ui/theme", "ui/welcome"}},
	{"ui/dialog", []string{"ui/frame", "ui/keymap", "ui/theme"}},
	{"ui/doctor", []string{"internal/health", "session", "ui/checkup", "ui/cursor", "ui/frame", "ui/keymap", "ui/page", "ui/theme"}},
	{"ui/images", []string{"bakery", "ui/cursor", "ui/dialog", "ui/frame", "ui/keymap", "ui/page", "ui/theme"}},
	{"ui/plain", []string{"session", "session/draft", "ui/newrun"}},
	{"ui/lookback", []string{"session", "ui/frame", "ui/keymap", "ui/page", "ui/record", "ui/theme"}},
	{"ui/network", []string{"internal/amount", "session", "ui/cursor", "ui/frame", "ui/keymap", "ui/page", "ui/stream", "ui/theme", "ui/traffic", "ui/words"}},
	{"ui/newrun", []string{
		"agents/spec", "internal/config", "internal/prompts", "session", "session/draft", "ui/cursor", "ui/dialog", "ui/form", "ui/frame", "ui/keymap", "ui/page", "ui/theme", "workspace",
	}},
	{"ui/form", []string{"agents/spec", "ui/theme"}},
	{"ui/frame", []string{"ui/theme"}},
	{"ui/help", []string{"ui/dialog", "ui/keymap", "ui/theme"}},
	{"ui/keymap", []string{"ui/theme"}},
	{"ui/page", []string{"session", "ui/keymap", "ui/theme"}},
	{"ui/record", []string{"internal/amount", "session", "ui/dialog", "ui/frame", "ui/keymap", "ui/stream", "ui/theme", "ui/words"}},
	{"ui/requests", []string{"internal/amount", "session", "ui/dialog", "ui/frame", "ui/keymap", "ui/theme"}},
	{"ui/standing", []string{"session", "ui/theme"}},
	{"ui/stream", nil},
	{"ui/syntax", nil},
	{"ui/palette", []string{"ui/cursor", "ui/dialog", "ui/keymap", "ui/theme"}},
	{"ui/settings", []string{"agents/spec", "internal/config", "ui/cursor", "ui/frame", "ui/keymap", "ui/page", "ui/theme"}},
	{"ui/theme", nil},
	{"ui/traffic", []string{"internal/amount", "session"}},
	{"ui/words", []string{"ui/dialog", "ui/keymap"}},
	{"ui/uitest", []string{"internal/golden", "ui/keymap", "ui/page", "ui/theme"}},
	{"ui/welcome", []string{"internal/health", "ui/checkup", "ui/keymap", "ui/page", "ui/theme"}},
	{"workspace", []string{"internal/diskerr", "internal/git", "internal/gitignore"}},
}

// owners says which packages alone may import a foreign module.
var owners = map[string][]string{
	"github.com/docker/docker":             {"runtime/docker", "bakery/docker"},
	"github.com/spf13/cobra":               {"internal/cli"},
	"github.com/spf13/pflag":               {"internal/cli"},
	"github.com/go-git/go-git/v5":          {"review"},
	"github.com/vishvananda/netlink":       {"internal/peer", "netguard/rules"},
	"github.com/coreos/go-iptables":        {"netguard/rules"},
	"github.com/miekg/dns":                 {"netguard/egress"},
	"github.com/go-json-experiment/json":   {"netguard/gateway/schema"},
	"github.com/charmbracelet/x/ansi":      {"internal/termtext", "internal/screen", "internal/cli", "bakery", "review", "ui", "ui/changes", "ui/dashboard", "ui/dialog", "ui/doctor", "ui/form", "ui/frame", "ui/help", "ui/images", "ui/keymap", "ui/palette", "ui/settings", "ui/uitest", "ui/welcome", "ui/newrun", "ui/attend", "ui/lookback", "ui/network", "ui/record", "ui/requests"},
	"github.com/fsnotify/fsnotify":         {"session"},
	"github.com/charmbracelet/x/vt":        {"internal/screen"},
	"github.com/charmbracelet/ultraviolet": {"internal/screen"},
	"charm.land/bubbletea/v2":              {"ui", "ui/changes", "ui/checkup", "ui/cursor", "ui/dashboard", "ui/dialog", "ui/doctor", "ui/form", "ui/help", "ui/images", "ui/keymap", "ui/page", "ui/palette", "ui/settings", "ui/uitest", "ui/welcome", "ui/newrun", "ui/attend", "ui/lookback", "ui/network", "ui/record", "ui/requests", "ui/words"},
	"charm.land/bubbles/v2":                {"ui", "ui/changes", "ui/cursor", "ui/dashboard", "ui/dialog", "ui/doctor", "ui/form", "ui/help", "ui/images", "ui/keymap", "ui/page", "ui/palette", "ui/settings", "ui/welcome", "ui/newrun", "ui/attend", "ui/lookback", "ui/network", "ui/record", "ui/requests", "ui/words"},
	"charm.land/lipgloss/v2":               {"ui/changes", "ui/dashboard", "ui/dialog", "ui/doctor", "ui/form", "ui/images", "ui/keymap", "ui/palette", "ui/theme", "ui/welcome", "ui/newrun", "ui/attend", "ui/requests", "ui/standing"},
	"github.com/muesli/cancelreader":       {"ui/form", "internal/cli"},
	"charm.land/huh/v2":                    {"ui/form"},
	"github.com/pelletier/go-toml/v2":      {"agents/custom", "agents/spec", "internal/config", "internal/scripted"},
	"github.com/rogpeppe/go-internal":      {},
	"github.com/creack/pty":                {"cmd/aibox-init"},
	"aibox/runtime/runtimetest":            {},
	"github.com/google/go-cmp":             {"internal/golden"},
	"aibox/internal/golden":                {"ui/uitest"},
	"aibox/ui/uitest":                      {},
	"aibox/internal/peer/peertest":         {},
	"pgregory.net/rapid":                   {},
	"github.com/opencontainers/image-spec": {"runtime/docker", "bakery/docker"},

	"github.com/charmbracelet/colorprofile": {"ui"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

// packages lists the module's packages with what their shipped code imports.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "aibox/...")
	cmd.Dir = "../.."
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, complaints.String())
	}
	var all []listed
	for in := json.NewDecoder(strings.NewReader(string(out))); in.More(); {
		var p listed
		if err := in.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(p.ImportPath, "aibox/test/") {
			all = append(all, p)
		}
	}
	return all
}

func TestEveryPackageImportsOnlyWhatItsLayerMayKnow(t *testing.T) {
	for _, p := range packages(t) {
		path := strings.TrimPrefix(p.ImportPath, "aibox/")
		i := slices.IndexFunc(layers, func(l layer) bool { return l.path == path })
		if i < 0 {
			t.Errorf("%s has no line in the table of layers", path)
			continue
		}
		for _, imported := range p.Imports {
			name, ours := strings.CutPrefix(imported, "aibox/")
			if ours && !slices.Contains(leaves, name) && !slices.Contains(layers[i].knows, name) {
				t.Errorf("%s must not import %s", path, name)
			}
		}
	}
}

func TestEveryForeignModuleIsWrappedByItsOwners(t *testing.T) {
	for _, p := range packages(t) {
		path := strings.TrimPrefix(p.ImportPath, "aibox/")
		for _, imported := range p.Imports {
			for module, allowed := range owners {
				if (imported == module || strings.HasPrefix(imported, module+"/")) && !slices.Contains(allowed, path) {
					t.Errorf("%s must not import %s", path, imported)
				}
			}
		}
	}
}

func TestTheTableNamesNoPackageThatIsGone(t *testing.T) {
	all := packages(t)
	for _, l := range layers {
		if !slices.ContainsFunc(all, func(p listed) bool { return p.ImportPath == "aibox/"+l.path }) {
			t.Errorf("%s is in the table, but there is no such package", l.path)
		}
	}
}

// jsonOnDisk are files of internal/cli that encode JSON, but for files of aibox's own.
var jsonOnDisk = []string{"agents_checkrun.go", "modelcache.go", "owners.go"}

// JSON that commands print holds the agent's bytes, so one place escapes it.
func TestOnlyOneFileEncodesTheJSONThatCommandsPrint(t *testing.T) {
	set := token.NewFileSet()
	files, err := filepath.Glob("../cli/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := selector.X.(*ast.Ident)
			encodes := strings.HasPrefix(selector.Sel.Name, "Marshal") || selector.Sel.Name == "NewEncoder"
			if !ok || pkg.Name != "json" || !encodes {
				return true
			}
			found[name] = true
			if name != "json.go" && !slices.Contains(jsonOnDisk, name) {
				t.Errorf("%s encodes JSON itself; printJSON and encodeJSON escape what must not be printed raw", set.Position(node.Pos()))
			}
			return true
		})
	}
	for _, name := range append([]string{"json.go"}, jsonOnDisk...) {
		if !found[name] {
			t.Errorf("%s encodes no JSON any more", name)
		}
	}
}
