package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"aibox/agents/spec"
	"aibox/internal/fault"
)

// drawn returns a value for the field, good or bad, as TOML.
func drawn(t *rapid.T, field spec.Field, label string) string {
	switch field.Type {
	case spec.Bool:
		return rapid.SampledFrom([]string{"true", "false"}).Draw(t, label)
	case spec.Size:
		return rapid.SampledFrom([]string{`-1`, `0`, `3`, `"3MiB"`, `"no limit"`, `"1g"`, `2048`, `"2 TB"`}).Draw(t, label)
	case spec.Int:
		return fmt.Sprint(rapid.IntRange(-1, 12).Draw(t, label))
	case spec.Duration:
		return rapid.SampledFrom([]string{`0`, `"0s"`, `"1s"`, `"59m"`, `"1h"`, `"61m"`, `"99h"`}).Draw(t, label)
	case spec.Choice:
		return fmt.Sprintf("%q", rapid.SampledFrom(append(field.Choices, "")).Draw(t, label))
	case spec.List, spec.Choices:
		known := []string{"A", "B", "C"}
		if field.Type == spec.Choices {
			known = field.Choices
		}
		words := rapid.SliceOfN(rapid.SampledFrom(known), 0, 3).Draw(t, label)
		return strings.ReplaceAll(fmt.Sprintf("%q", words), `" "`, `", "`)
	default:
		return fmt.Sprintf("%q", rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, label))
	}
}

// drawnFile sets some of the settings, in their order.
func drawnFile(t *rapid.T, entries []entry, label string) string {
	var file strings.Builder
	for _, e := range entries {
		if rapid.IntRange(0, 5).Draw(t, label+" has "+e.key) == 0 {
			fmt.Fprintf(&file, "%s = %s\n", e.key, drawn(t, e.field, label+" "+e.key))
		}
	}
	return file.String()
}

func drawnEnvironment(t *rapid.T, entries []entry) []string {
	var environment []string
	for _, e := range entries {
		if rapid.IntRange(0, 7).Draw(t, "environment has "+e.key) == 0 {
			value := strings.NewReplacer(`"`, "", "[", "", "]", "", " ", "").Replace(drawn(t, e.field, "environment "+e.key))
			environment = append(environment, Variable(e.key)+"="+value)
		}
	}
	return environment
}

func plainEntries(t interface{ Fatal(...any) }) []entry {
	sections, err := catalog().sections(namedTables{})
	if err != nil {
		t.Fatal(err)
	}
	var entries []entry
	for _, s := range sections {
		for _, e := range s.entries() {
			if e.field.Type != spec.Secret {
				entries = append(entries, e)
			}
		}
	}
	return entries
}

// With any files and environment, a repository's file is refused or leaves each setting
// unchanged or tighter; and if only the run with the file fails, the mistake is in that
// file.
func TestNoRepositoryFileEverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := plainEntries(t)
		user, repository := drawnFile(t, entries, "user"), drawnFile(t, entries, "repository")
		environment := drawnEnvironment(t, entries)
		before, err := resolve(user, "", environment...)
		if err != nil {
			return // the user's own mistake
		}
		after, err := resolve(user, repository, environment...)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "/src/price/.aibox.toml:") {
				t.Fatalf("the repository's file is to blame, and the error is %v", err)
			}
			return
		}
		for i, now := range after.All() {
			was := before.All()[i]
			if fmt.Sprint(was.Value) == fmt.Sprint(now.Value) {
				continue
			}
			if !tighter(now.Field, was.Value, now.Value) {
				t.Fatalf("%s went from %v to %v by\n%s", now.Key, was.Value, now.Value, repository)
			}
		}
	})
}

// tighter states a second time what a repository may do to a value: from the manual, not
// from the code.
func tighter(field spec.Field, was, now any) bool {
	number := func(value any) int64 {
		limits := map[any]int64{"1s": 1, "59m": 3540, "1h": 3600, "1h1m": 3660, "61m": 3660, "99h": 356400}
		if n, ok := value.(int64); ok && n > 0 {
			return n
		}
		if n, ok := limits[value]; ok {
			return n
		}
		return 1 << 40
	}
	subset := func(a, b any) bool {
		small, _ := a.([]string)
		large, _ := b.([]string)
		return !slices.ContainsFunc(small, func(word string) bool { return !slices.Contains(large, word) })
	}
	switch field.Key {
	case "cloud": // accepts traffic that aibox does not see
		return false
	case "inference-tools": // a way out of the sandbox: no change is allowed, not even a removal
		return false
	case "tone":
		return true
	case "sandboxes": // 0 is none
		count := func(value any) int64 { n, _ := value.(int64); return n }
		return count(now) <= count(was)
	case "allow":
		return now != nil && subset(now, was)
	case "system", "hide", "deny":
		return subset(was, now)
	case "brushes": // without any the painter uses all colors
		words, _ := now.([]string)
		before, _ := was.([]string)
		return len(words) > 0 && subset(now, was) || len(before) == 0 && len(words) == 0
	case "env":
		return now != nil && subset(now, was)
	case "ask-timeout", "egress-upload", "egress-download", "egress-upload-host", "egress-download-host", "timeout", "max-parallel", "pids", "layers", "max-upload", "max-tokens", "max-cost", "state-size", "model-timeout", "idle-timeout", "disk", "max-output":
		return number(now) <= number(was)
	case "network":
		order := []any{"none", "local", "allowlist", "public"}
		return slices.Index(order, now) < slices.Index(order, was)
	case "ask":
		return now != true
	case "accept":
		order := []any{"none", "branch", "worktree"}
		return slices.Index(order, now) < slices.Index(order, was)
	case "clean", "require-changes":
		return now == true
	default:
		return false
	}
}

// A value comes from the last source that sets it. For a list that adds up, all sources
// that set it are named, in order.
func TestProvenanceNamesTheLastSource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := plainEntries(t)
		user, repository := drawnFile(t, entries, "user"), drawnFile(t, entries, "repository")
		environment := drawnEnvironment(t, entries)
		r, err := resolve(user, repository, environment...)
		if err != nil {
			return
		}
		for _, setting := range r.All() {
			if setting.Field.Type == spec.Secret {
				continue
			}
			list := setting.Field.Type == spec.List || setting.Field.Type == spec.Choices
			var writers []Kind
			if writes(user, setting.Key) {
				writers = append(writers, UserFile)
			}
			if writes(repository, setting.Key) {
				writers = append(writers, RepositoryFile)
			}
			if slices.ContainsFunc(environment, func(pair string) bool {
				name, value, _ := strings.Cut(pair, "=")
				return name == Variable(setting.Key) && (value != "" || list)
			}) {
				writers = append(writers, Environment)
			}
			want := BuiltIn
			if len(writers) > 0 {
				want = writers[len(writers)-1]
			}
			if setting.Source().Kind != want {
				t.Fatalf("%s is said to come from %v, and %v wrote it last", setting.Key, setting.From, want)
			}
		}
	})
}

func writes(file, key string) bool {
	return slices.ContainsFunc(strings.Split(file, "\n"), func(line string) bool { return strings.HasPrefix(line, key+" = ") })
}

// unharmed sets and unsets settings in the file. Each edit succeeds and leaves everything else
// unchanged, or is refused.
func unharmed(t *testing.T, d *Document) {
	for _, key := range []string{"timeout", "images.base", "agents.painter.color"} {
		value := map[string]string{"timeout": "7m", "images.base": "x", "agents.painter.color": "blue"}[key]
		set, err := catalog().With(d, key, value)
		if err == nil {
			_, err = Parse(UserFile, UserName, set)
		} else if fault.KindOf(err) == fault.Usage {
			err = nil
		}
		if err != nil {
			t.Fatalf("setting %s in %q makes %q: %v", key, d.data, set, err)
		}
		if unset, err := catalog().Without(d, key); err != nil && fault.KindOf(err) != fault.Usage {
			t.Fatalf("unsetting %s in %q makes %q: %v", key, d.data, unset, err)
		}
	}
}

// For any bytes, parsing and checking return settings, or a Usage fault that has a place in the
// file and can be printed.
func FuzzSettingsFile(f *testing.F) {
	for _, seed := range []string{
		"", "timeout = \"1h\"", "[agents.painter]\ncolor = \"red\"", "images = { base = \"x\" }", "hide = [\n\"a\", # b\n]",
		"a.b.c = 1", "[[x]]", "x = {}", "\xef\xbb\xbfpids = 1", "[x]\r\ny = '''\n'''", "pids = 0x10", "allow = []\ndeny = [\"*\"]\nnetwork = \"none\"", "allow = [\"npm\", \"*.example.org:22\"]", "[agents.painter]\nallow = [\"npm\"]\nnetwork = \"public\"\ncloud = [\"example.org\"]",
		"secret = [\"A=example.org:Authorization\"]", "\"a\\u0000\" = 1", "é = ",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(RepositoryFile, ".aibox.toml", data)
		if err == nil {
			unharmed(t, d)
			_, err = catalog().Resolve(Input{Repository: d})
		}
		if err == nil {
			return
		}
		var known *fault.Fault
		if !errors.As(err, &known) || known.Kind != fault.Usage || !strings.HasPrefix(known.Message, ".aibox.toml:") {
			t.Fatalf("%q gives %v", data, err)
		}
		lines := strings.Count(known.Message, "\n") + strings.Count(strings.Join(known.Hints, ""), "\n")
		if !utf8.ValidString(known.Message) || strings.ContainsAny(known.Message, "\x00\r\x1b") || lines > 2 {
			t.Fatalf("%q gives a message that cannot be printed: %q %q", data, known.Message, known.Hints)
		}
	})
}
