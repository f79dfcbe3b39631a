package risk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// manifest describes a kind of package description in JSON.
type manifest struct {
	harmless  []string // keys that run nothing
	lifecycle []string // scripts that run without being named
	scripts   string   // the key that holds scripts
	when      string   // when the lifecycle scripts run
}

// npmLifecycle and composerLifecycle are the scripts that run without being named.
var (
	npmLifecycle = []string{
		"preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish", "prepack", "postpack", "dependencies", "pnpm:devPreinstall", "preuninstall", "uninstall", "postuninstall", "prerestart", "preshrinkwrap",
	}
	composerLifecycle = []string{
		"pre-install-cmd", "post-install-cmd", "pre-update-cmd", "post-update-cmd", "post-autoload-dump", "pre-autoload-dump", "post-root-package-install", "post-create-project-cmd", "pre-status-cmd", "post-status-cmd",
		"pre-package-install", "post-package-install", "pre-operations-exec", "init", "command", "pre-command-run", "pre-file-download", "pre-pool-create", "pre-dependencies-solving", "post-dependencies-solving",
	}
)

func packageJSON(r *rule, f *File) []Risk {
	if !strings.HasSuffix(strings.ToLower(f.Path), ".json") {
		return r.one(f.first(), "") // YAML and JSON5 are not read
	}
	return manifest{
		harmless: []string{
			"name", "version", "description", "keywords", "author", "contributors", "maintainers", "license", "licenses", "homepage", "repository", "bugs", "funding", "private", "files", "engines", "os", "cpu",
			"type", "sideEffects", "displayName", "icon", "categories", "main", "module", "types", "typings", "exports", "browser", "unpkg", "jsdelivr", "publisher",
		},
		lifecycle: npmLifecycle,
		scripts:   "scripts", when: "on npm install, without being named",
	}.judge(r, f)
}

func composerJSON(r *rule, f *File) []Risk {
	return manifest{
		harmless:  []string{"name", "version", "description", "keywords", "authors", "license", "homepage", "support", "type", "funding", "readme", "time", "abandoned", "_comment", "archive"},
		lifecycle: composerLifecycle,
		scripts:   "scripts", when: "on composer install or update, without being named",
	}.judge(r, f)
}

// maxScripts and maxKeys are how many scripts and other keys of one file are listed one by one.
// The file is searched for each of them.
const (
	maxScripts = 8
	maxKeys    = 32
)

// judge compares the manifest key by key. If it cannot be parsed, it counts as a whole.
func (m manifest) judge(r *rule, f *File) []Risk {
	if f.link() || f.New.Cut || f.Old.Cut {
		return r.one(0, "")
	}
	now, err := object(f.Text())
	if err != nil {
		return r.one(0, "cannot be read as JSON")
	}
	was, err := object(plainText(f.Old.Content))
	if err != nil || f.Old.Mode == symlink {
		was = map[string]json.RawMessage{}
	}
	var found []Risk
	keys := 0
	for _, key := range slices.Sorted(maps.Keys(was)) {
		if _, there := now[key]; !there && key != m.scripts && !slices.Contains(m.harmless, key) {
			found = append(found, r.at(0, "taken away: "+key)) // such as overrides, or which packages may run scripts
			break
		}
	}
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if slices.Contains(m.harmless, key) || same(now[key], was[key]) {
			continue
		}
		if key == m.scripts {
			found = append(found, m.judgeScripts(r, f, was[key], now[key])...)
			continue
		}
		switch keys++; {
		case keys == maxKeys:
			found = append(found, r.at(f.first(), "and more keys"))
		case keys < maxKeys:
			found = append(found, r.at(f.lineOf(key), key+entries(was[key], now[key])))
		}
	}
	return found
}

// judgeScripts reports each new or changed script.
func (m manifest) judgeScripts(r *rule, f *File, was, now json.RawMessage) []Risk {
	scripts, err := object(now)
	if err != nil {
		return r.one(f.lineOf(m.scripts), m.scripts)
	}
	before, _ := object(was)
	var found []Risk
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		if same(scripts[name], before[name]) {
			continue
		}
		if len(found) == maxScripts {
			found[maxScripts-1].Found = "and more scripts"
			found[maxScripts-1].Severity = High
			break
		}
		command := string(scripts[name])
		var plain string
		if json.Unmarshal(scripts[name], &plain) == nil {
			command = plain
		}
		risk := r.at(f.lineOf(name), name+": "+command)
		risk.Runs = "the script " + excerpt(name)
		if slices.Contains(m.lifecycle, name) {
			risk.Severity, risk.When = High, m.when
		}
		found = append(found, risk)
	}
	return found
}

// entries names the differences between two objects, such as dependencies.
func entries(was, now json.RawMessage) string {
	after, err := object(now)
	if err != nil {
		return ""
	}
	before, _ := object(was)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if !same(after[name], before[name]) {
			names = append(names, name)
		}
	}
	const most = 3
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, ", ")
}

// object reads a JSON object; for an empty text it returns an empty one.
func object(data []byte) (map[string]json.RawMessage, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return map[string]json.RawMessage{}, nil
	}
	var all map[string]json.RawMessage
	err := json.Unmarshal(data, &all)
	return all, err
}

// same reports whether two values are equal except for white space.
func same(a, b json.RawMessage) bool {
	if (a == nil) != (b == nil) {
		return false
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// lineOf is the first added line that holds the quoted key, else the first added
// one.
func (f *File) lineOf(key string) int {
	number := f.first()
	f.lines(func(l line) bool {
		if strings.Contains(l.text, `"`+key+`"`) {
			number = l.number
			return false
		}
		return true
	})
	return number
}
