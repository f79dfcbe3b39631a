package e2e

import (
	"encoding/json"
	"slices"
	"testing"

	"aibox/internal/termtext"
)

// concealed are characters that a terminal acts upon or does not show: C1 controls, DEL,
// direction, invisible ones, separators, tags, a noncharacter.
const concealed = "\u009b31m \u0085 \x7f \u202e\u2066 \u200b\u00ad\ufeff \u2028\u2029 \U000e0041\U000e007f \ufdd0 end"

// concealer leaves them wherever an agent can: in output, names, contents, targets and
// subjects. Its first argument is concealed.
const concealer = `
set -e
echo "says $1"; echo "says $1" >&2
printf '%s\n' "new $1" >> known.txt
printf x > "name $1.txt"
mkdir "folder $1"; printf x > "folder $1/.envrc"
ln -s "../../target $1" "link $1"
mkfifo "pipe $1"
git add -A >/dev/null 2>&1; git commit -qm "subject $1"
`

// firstConcealed is a character that JSON must not print raw.
func firstConcealed(text string) string {
	for _, r := range text {
		if r == '\n' || r >= ' ' && r < 0x7f {
			continue
		}
		if shown := "a" + string(r); r < ' ' || termtext.Escape(shown) != shown {
			return string(r)
		}
	}
	return ""
}

// The JSON output escapes everything that could hide text from a reader, and programs read
// the unchanged names.
func TestJSONOfEveryCommandShowsWhatItHolds(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"known.txt": "one\n"})
	check := func(args ...string) string {
		t.Helper()
		o := m.exec(aibox, args...) // some exit codes report what was found
		if bad := firstConcealed(o.stdout); bad != "" {
			t.Errorf("%q prints %+q:\n%+q", args, bad, o.stdout)
		}
		if !json.Valid([]byte(o.stdout)) {
			t.Errorf("%q prints no JSON:\n%s", args, o)
		}
		return o.stdout
	}
	// The prompt is the user's own and ends up in the records.
	run := check("run", "shell", "--network", "none", "--repo", repo, "--json", "--prompt", "task "+concealed, "--", "sh", "-c", concealer, "sh", concealed)
	id := m.stored()[0].ID
	var names struct {
		Files []struct {
			Path string `json:"path"`
		} `json:"files"`
	}
	if err := json.Unmarshal([]byte(run), &names); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range names.Files {
		paths = append(paths, f.Path)
	}
	if want := "name " + concealed + ".txt"; !slices.Contains(paths, want) {
		t.Errorf("the names are %+q, without %+q", paths, want)
	}
	m.aibox(0, "comment", id, ".", "see "+concealed)
	m.aibox(0, "verify", id, "--verify", "cat known.txt; ls; : '"+concealed+"'")
	for _, args := range [][]string{
		{"ls", "--json"},
		{"diff", "--json", id},
		{"diff", "--json", "--hunks", id},
		{"accept", "--dry-run", "--json", id},
		{"accept", "--dry-run", "--to", "worktree", "--json", id},
		{"describe", "--json", id},
		{"comment", id, "--json"},
		{"verify", id, "--show", "--json"},
		{"verify", id, "--json", "--verify", "ls; : '" + concealed + "'"},
		{"accept", "--json", "--message", "take " + concealed, id},
		{"recover", "--json"},
		{"discard", id},
		{"recover", "--json"},
		{"gc", "--dry-run", "--json"},
		{"config", "show", "--json"},
		{"prompts", "--json"},
		{"agents", "--json"},
		{"version", "--json"},
		{"netguard", "status", "--json"},
		{"bake", "--check", "--json"},
	} {
		if args[0] == "discard" {
			m.aibox(0, args...)
			continue
		}
		check(args...)
	}
}
