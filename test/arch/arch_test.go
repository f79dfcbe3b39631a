// Package arch holds the import rules of the architecture. They name folders, so a
// new package below one of them needs no line here. Tests are free.
package arch

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rule lists what the packages of a folder may import of this module, besides their own
// folder. For each package, the rule with the longest matching folder applies.
type rule struct {
	folder string
	knows  []string // folders
}

// domain are the folders that use cases are made of. They do not know each other, but
// for what a rule names.
var domain = []string{"agents", "audit", "bakery", "config", "netguard", "review", "runtime", "workspace"}

// rules are the architecture, from the leaves up.
var rules = []rule{
	{"internal", nil}, // leaves: they know only each other
	{"agents", leaves()},
	{"agents/conversation", leaves()},
	{"agents/custom", leaves("agents", "config")}, // the settings of a run are flags that no agent may take
	{"audit", leaves()},
	{"bakery", leaves()},
	{"netguard", leaves()},
	{"runtime", leaves()},
	{"workspace", leaves()},
	{"config", leaves("agents/spec")},
	{"review", leaves("workspace")},
	{"session", leaves(domain...)},
	{"session/agentstate", leaves()},
	{"session/feedback", leaves("review")},
	{"session/output", leaves()},
	{"session/ports", leaves()},
	{"session/process", leaves()},
	{"session/control", leaves("audit", "session/output", "session/ports", "session/process")},
	{"session/terminal", leaves("session/control")},
	{"app", leaves(append(domain, "session", "dockerfiles", "scripts")...)},
	{"api", leaves(append(domain, "session", "app")...)},
	{"api/aibox", []string{"api/unary"}}, // generated from the schema
	{"ui", leaves("agents/conversation", "agents/spec", "audit", "bakery", "config", "review", "session", "workspace", "app/compose", "app/doctor", "app/firstrun", "app/run", "app/settings")},
	{"cli", leaves(append(domain, "session", "app", "ui", "api")...)},
	{"cmd/aibox", []string{"cli"}},
	{"cmd/aibox-init", leaves()},
	{"dockerfiles", nil},
	{"scripts", nil},
}

func leaves(more ...string) []string { return append([]string{"internal"}, more...) }

// adapters are the packages that speak to a daemon, the kernel or the network, and the
// process that owns a running session. Only the wiring imports them.
var adapters = []string{"bakery/docker", "netguard/egress", "netguard/gateway", "netguard/rules", "runtime/docker", "runtime/limit/process", "runtime/limit/scope", "session/supervisor"}

// wiring is the only package that knows concrete adapters. The packages below it do not.
const wiring = "app"

// sessionLayers are packages of sessions, from the records up. Each imports only those before
// it.
var sessionLayers = []string{"session", "session/queue", "session/client", "session/auditlog", "session/summary", "session/manager", "session/supervisor"}

// owners are the folders that alone may import a module. None is for tests only.
var owners = map[string][]string{
	"charm.land":                         {"ui"},
	"connectrpc.com":                     {"api"},
	"github.com/coder/websocket":         {"api"},
	"github.com/modelcontextprotocol":    {"api/mcp"},
	"modernc.org/sqlite":                 {"api/store"},
	"github.com/prometheus":              {"api/otlp", "api/server"},
	"go.opentelemetry.io":                {"api/otlp"},
	"google.golang.org/protobuf":         {"api", "bakery/docker"},
	"github.com/charmbracelet/x/vt":      {"internal/screen"},
	"github.com/coreos/go-iptables":      {"netguard/rules"},
	"github.com/coreos/go-systemd":       {"runtime/limit/scope"},
	"github.com/creack/pty":              {"cmd/aibox-init"},
	"github.com/docker/docker":           {"bakery/docker", "runtime/docker"},
	"github.com/go-git/go-git/v5":        {"review"},
	"github.com/go-json-experiment/json": {"api/e2b", "api/mcp", "netguard/gateway/schema"},
	"github.com/godbus/dbus":             {"internal/notification", "runtime/limit/scope"},
	"github.com/google/go-cmp":           {"internal/golden", "review/reviewtest"},
	"github.com/miekg/dns":               {"netguard/egress"},
	"github.com/pavlo-v-chernykh":        {"cmd/aibox-init"},
	"github.com/pelletier/go-toml/v2":    {"agents", "app/template", "config", "internal/scripted", "internal/toolconfig"},
	"github.com/rogpeppe/go-internal":    nil,
	"github.com/spf13/cobra":             {"cli"},
	"github.com/spf13/pflag":             {"cli"},
	"github.com/vishvananda/netlink":     {"internal/peer", "netguard/rules"},
	"pgregory.net/rapid":                 {"review/reviewtest"},
	"text/template":                      nil, // it calls methods by name: see TestNoCommandHasATemplate
	"html/template":                      nil,
	"aibox/api/server/servertest":        nil,
	"aibox/internal/golden":              {"ui/uitest"},
	"aibox/internal/peer/peertest":       nil,
	"aibox/internal/unprivileged":        nil,
	"aibox/netguard/egress/egresstest":   nil,
	"aibox/review/reviewtest":            nil,
	"aibox/runtime/limit/limittest":      nil,
	"aibox/runtime/runtimetest":          nil,
	"aibox/session/sessiontest":          nil,
	"aibox/ui/uitest":                    nil,
}

// within reports whether a path is in a folder, or is it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

func inAny(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return within(path, folder) })
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
		if p.ImportPath = strings.TrimPrefix(p.ImportPath, "aibox/"); !within(p.ImportPath, "test") {
			all = append(all, p)
		}
	}
	if len(all) < 50 {
		t.Fatalf("only %d packages were listed", len(all))
	}
	return all
}

func TestImportsRunOneWay(t *testing.T) {
	for _, p := range packages(t) {
		var found rule
		for _, r := range rules {
			if within(p.ImportPath, r.folder) && len(r.folder) > len(found.folder) {
				found = r
			}
		}
		if found.folder == "" {
			t.Errorf("no rule says what %s may import", p.ImportPath)
			continue
		}
		for _, imported := range p.Imports {
			path, ours := strings.CutPrefix(imported, "aibox/")
			switch {
			case !ours:
			case !within(path, found.folder) && !inAny(path, found.knows):
				t.Errorf("%s must not import %s", p.ImportPath, path)
			case inAny(path, adapters) && p.ImportPath != wiring && !inAny(path, []string{p.ImportPath}) && !sameAdapter(p.ImportPath, path):
				t.Errorf("%s must not import the adapter %s", p.ImportPath, path)
			}
		}
	}
}

func TestTheRecordsOfSessionsKnowNothingThatIsDoneWithThem(t *testing.T) {
	found := 0
	for _, p := range packages(t) {
		layer := slices.Index(sessionLayers, p.ImportPath)
		if layer < 0 {
			continue
		}
		found++
		for _, imported := range p.Imports {
			if path, _ := strings.CutPrefix(imported, "aibox/"); slices.Index(sessionLayers, path) >= layer {
				t.Errorf("%s must not import %s", p.ImportPath, path)
			}
		}
	}
	if found != len(sessionLayers) {
		t.Errorf("only %d of the packages %q were found", found, sessionLayers)
	}
}

// sameAdapter reports whether both packages belong to one adapter.
func sameAdapter(a, b string) bool {
	return slices.ContainsFunc(adapters, func(adapter string) bool { return within(a, adapter) && within(b, adapter) })
}

func TestOnlyItsOwnersImportAForeignModule(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			for module, allowed := range owners {
				if within(imported, module) && !inAny(p.ImportPath, allowed) {
					t.Errorf("%s must not import %s", p.ImportPath, imported)
				}
			}
		}
	}
}

// A template calls methods by name, so that the linker keeps every exported method of every type:
// the program is six megabytes larger, and starts later.
func TestNoCommandHasATemplate(t *testing.T) {
	files, err := filepath.Glob("../../cli/*.go")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	calls := regexp.MustCompile(`\.(Set(Version|Usage|Help)Template|AddTemplateFuncs?)\(`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := calls.Find(text); found != nil {
			t.Errorf("%s has %s", file, found)
		}
	}
}

// Screens do not write command lines: package page has a function for each command.
func TestNoScreenComposesACommandLine(t *testing.T) {
	files, err := filepath.Glob("../../ui/*/*.go")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	literal := regexp.MustCompile(`page\.Command\{Args: \[\]string`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if literal.Match(text) && !strings.HasSuffix(file, "_test.go") {
			t.Errorf("%s composes a command line", file)
		}
	}
}

// JSON that commands print holds the agent's bytes, so one place escapes it.
func TestOnlyOneFileEncodesTheJSONThatCommandsPrint(t *testing.T) {
	set := token.NewFileSet()
	files, err := filepath.Glob("../../cli/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := false
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
			if found = found || name == "json.go"; name != "json.go" {
				t.Errorf("%s encodes JSON itself; printJSON and encodeJSON escape what must not be printed raw", set.Position(node.Pos()))
			}
			return true
		})
	}
	if !found {
		t.Error("json.go no longer encodes JSON")
	}
}
