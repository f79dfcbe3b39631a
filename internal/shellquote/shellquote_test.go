package shellquote

import "testing"

func TestACommandLineCanBePasted(t *testing.T) {
	for word, want := range map[string]string{
		"a": "a", "--x=1,2": "--x=1,2", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'", "~": "'~'", "é": "'é'",
	} {
		if got := Join([]string{word}); got != want {
			t.Errorf("%q became %s, want %s", word, got, want)
		}
	}
}
